"""Flat companions of trajectories: one JSON object of typed arrays, for readers whose JSON cannot nest."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..trajectory import First, Metadata, Step
from ..trajectory.writing import naming
from .layout import OVER, Identity, Layout

FORMAT = 1


class Flat:
    """Takes a trajectory part by part, and makes the flat object of it.

    A column over ``rows`` has an item for each state, so one more an episode than a column over ``steps``; one over
    ``ends`` has an item for each episode that ended.
    """

    def __init__(self, layout: Layout, metadata: Metadata) -> None:
        self._layout, self._metadata = layout, metadata
        self._listed = layout.columns()
        self._columns: dict[str, list[Any]] = {column.name: [] for column in self._listed}
        self._texts = {column.name for column in self._listed if column.json == "string"}
        self._scalars = [
            (name, self._columns[f"state_{name}"], f"state_{name}" in self._texts)
            for name, field in layout.state.items()
            if not field.shape
        ]
        self._return = 0.0
        self.counts = dict.fromkeys(OVER, 0)
        self.cut_off = False  # whether what it was made of had been cut off

    def begin(self, first: First) -> None:
        """Begin an episode."""
        self._put(
            episode_seed=first.seed,
            episode_number=first.episode,
            episode_first_row=self.counts["rows"],
            episode_first_step=self.counts["steps"],
            episode_steps=0,
        )
        self.counts["episodes"] += 1
        self._return = 0.0
        self._state(first.state)

    def add(self, step: Step) -> None:
        """Add a step to the latest episode. Raises ValueError for a return that no float64 can hold."""
        reward = total(step.reward, self._layout.reward)
        self._return += reward
        if not math.isfinite(self._return):
            raise ValueError(f"the sum of the rewards up to here is {self._return}")
        self._put(t=step.t, reward=reward, terminated=step.terminated, truncated=step.truncated)
        self._put(cumulative_return=self._return)
        self._parts("action", self._layout.action.shape, step.action)
        if self._layout.agents is not None:
            for name, values in (("reward", step.reward), ("died", step.died)):
                self._parts(name, (self._layout.agents,), values)
        if step.terminated or step.truncated:
            self._put(terminal_steps=self.counts["steps"])
            self.counts["ends"] += 1
        self.counts["steps"] += 1
        self._columns["episode_steps"][-1] += 1
        self._state(step.state)

    def content(self) -> dict[str, Any]:
        """The flat object."""
        metadata = self._metadata
        return {
            "format": FORMAT,
            **Identity.of(metadata)._asdict(),
            "source": metadata.source,
            "instance": metadata.instance,
            "seed": str(metadata.seed),
            **self.counts,
            "cut_off": self.cut_off,
            "names": [column.name for column in self._listed],
            "dtypes": [column.dtype for column in self._listed],
            "over": [column.over for column in self._listed],
            "skipped": [one.name for one in self._layout.skipped()],
            **self._columns,
        }

    def write(self, file: Path) -> None:
        """Write the flat object, a line for each of its members."""
        members = (f"{json.dumps(name)}:{_dumped(value)}" for name, value in self.content().items())
        with naming(file):
            file.write_text("{" + ",\n".join(members) + "}\n", "utf-8")

    def _state(self, state: dict[str, Any]) -> None:
        for name, column, text in self._scalars:
            column.append(str(state[name]) if text else state[name])
        self.counts["rows"] += 1

    def _parts(self, name: str, shape: tuple[int | None, ...], value: Any) -> None:
        """A step's number, or the components of its array where they have columns."""
        if not shape:
            self._put(**{name: value})
        elif f"{name}_0" in self._columns:
            values = value.tolist() if isinstance(value, np.ndarray) else value
            self._put(**{f"{name}_{index}": one for index, one in enumerate(values)})

    def _put(self, **values: Any) -> None:
        for name, value in values.items():
            self._columns[name].append(str(value) if name in self._texts else value)


def total(reward: Any, dtype: str) -> float:
    """A step's reward: the sum over agents in their order, rounded to the dtype after each addition."""
    if not isinstance(reward, list):
        return float(reward)
    with np.errstate(over="ignore"):
        return float(np.add.accumulate(np.array(reward, dtype))[-1])


def _dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
