"""The columnar form of a trajectory: a Parquet file through pyarrow, every field in its dtype, nothing skipped.

A row for each state: the first state of an episode, whose columns of steps are null, then the state after each step
with what led to it.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..trajectory import First, Metadata, Step
from ..trajectory.values import plain
from ..trajectory.writing import naming
from .errors import PackError
from .fields import Field
from .flat import total
from .layout import Layout

AT_ONCE = 8192  # rows of a row group at most
BYTES_AT_ONCE = 1 << 26  # of the states in it
MISSING = 'a columnar form needs pyarrow: pip install "simulacrum[parquet]"'


def pyarrow() -> ModuleType | None:
    """pyarrow, where it is installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return None
    module: ModuleType = pyarrow
    return module


class Columns:
    """Takes a trajectory part by part, and gives record batches of it to ``emit``."""

    def __init__(self, layout: Layout, metadata: Metadata, emit: Callable[[Any], None]) -> None:
        arrow = pyarrow()
        if arrow is None:
            raise PackError(MISSING)
        self._arrow, self._layout, self._emit = arrow, layout, emit
        self._states = {f"state_{name}": field for name, field in layout.state.items()}
        self._of_steps = _of_steps(layout)
        fields = {"episode_seed": Field("uint64"), "episode_number": Field("uint32"), **self._of_steps, **self._states}
        described = json.dumps(plain(metadata.as_json()), separators=(",", ":"))
        self.schema = arrow.schema(
            [(name, self._type(field)) for name, field in fields.items()], metadata={"simulacrum": described}
        )
        self._rows: dict[str, list[Any]] = {name: [] for name in fields}
        size = sum(np.dtype(one.dtype).itemsize * math.prod(n or 1 for n in one.shape) for one in layout.state.values())
        self._at_once = max(1, min(AT_ONCE, BYTES_AT_ONCE // size))
        self._seed, self._return = 0, 0.0

    def begin(self, first: First) -> None:
        """Begin an episode."""
        self._seed, self._return = first.seed, 0.0
        self._row(first.episode, first.state, dict.fromkeys(self._of_steps))

    def add(self, step: Step) -> None:
        """Add a step to the latest episode."""
        reward = total(step.reward, self._layout.reward)
        self._return += reward
        made = {"t": step.t, "action": step.action, "reward": reward, "cumulative_return": self._return}
        made |= {"terminated": step.terminated, "truncated": step.truncated}
        if self._layout.agents is not None:
            made |= {"reward_of_agents": step.reward, "died": step.died}
        self._row(step.episode, step.state, made)

    def finish(self) -> None:
        """Give what is left."""
        if self._rows["episode_seed"]:
            self._give()

    def _row(self, episode: int, state: dict[str, Any], step: dict[str, Any]) -> None:
        values = {"episode_seed": self._seed, "episode_number": episode, **step}
        values |= {f"state_{name}": value for name, value in state.items()}
        for name, value in values.items():
            self._rows[name].append(value)
        if len(self._rows["episode_seed"]) >= self._at_once:
            self._give()

    def _give(self) -> None:
        made = [self._array(name, values) for name, values in self._rows.items()]
        self._emit(self._arrow.record_batch(made, schema=self.schema))
        for values in self._rows.values():
            values.clear()

    def _array(self, name: str, values: list[Any]) -> Any:
        field, kind = self._states.get(name), self.schema.field(name).type
        if field is None or not field.shape or None in field.shape or 0 in field.shape:
            return self._arrow.array([one.tolist() if isinstance(one, np.ndarray) else one for one in values], kind)
        made = self._arrow.array(np.stack(values).ravel())
        for length in reversed(field.shape):
            made = self._arrow.FixedSizeListArray.from_arrays(made, length)
        return made

    def _type(self, field: Field) -> Any:
        kind = self._arrow.bool_() if field.dtype == "bool" else getattr(self._arrow, field.dtype)()
        for length in reversed(field.shape):
            kind = self._arrow.list_(kind, length) if length else self._arrow.list_(kind)
        return kind


class Parquet:
    """Writes the columnar form of a trajectory into a file."""

    def __init__(self, layout: Layout, metadata: Metadata, file: Path) -> None:
        self._columns = Columns(layout, metadata, self._write)
        from pyarrow import parquet

        self._file = file
        with naming(file):
            self._writer = parquet.ParquetWriter(file, self._columns.schema, compression="zstd")
        self.begin, self.add = self._columns.begin, self._columns.add

    def __enter__(self) -> Parquet:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        """Finish the file, or leave it as it is after an error."""
        if kind is not None:
            with contextlib.suppress(OSError):  # the disk may be full
                self._writer.close()
            return
        self._columns.finish()
        with naming(self._file):
            self._writer.close()

    def _write(self, batch: Any) -> None:
        with naming(self._file):
            self._writer.write_batch(batch)


def _of_steps(layout: Layout) -> dict[str, Field]:
    """The fields of a step."""
    agents = {}
    if layout.agents is not None:
        agents = {"reward_of_agents": Field(layout.reward, (layout.agents,)), "died": Field("bool", (layout.agents,))}
    return {
        "t": Field("uint32"),
        "action": layout.action,
        "reward": Field(layout.reward),
        **agents,
        "terminated": Field("bool"),
        "truncated": Field("bool"),
        "cumulative_return": Field("float64"),
    }
