"""Both sides' pure functions on many states at once, with stated outcomes in place of the draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from ..fast.core import INFO, Carry, expect
from ..reference import state_of
from ..rng.fixed import FixedDraw, FixedRows, tensor
from ..spec import Package
from ..spec.state import build
from .injection import RowFailed
from .outcomes import Outcomes
from .records import Record, observation_parts, stacked_record

Asked = dict[Any, tuple[int, str, int, tuple[Any, ...]]]


class PureReference:
    """``initial``, ``transition``, ``observation`` and the rest of ``reference.py``, row by row.

    ``asked`` has each kind of draw that was made once: (slot, distribution, index beyond the last, arguments).
    """

    name = "reference.py"

    def __init__(self, package: Package) -> None:
        self.package, self.env = package, package.reference()
        self.env.reset(seed=0)
        self._arrays = {name for name, value in vars(state_of(self.env)).items() if isinstance(value, np.ndarray)}
        self._discrete = isinstance(package.environment.action_space, spaces.Discrete)
        self.asked: Asked = {}

    def initial(self, outcomes: Outcomes) -> Record:
        """The first state of each outcome. Raises :class:`RowFailed`."""
        rows = []
        for row in range(len(outcomes.probabilities)):
            draw = FixedDraw(outcomes.of(row))
            try:
                rows.append(self._seen(self.env.initial(draw), 0))
            except Exception as error:
                raise RowFailed(row, error) from error
            self._note(draw)
        return self._record(rows)

    def transition(self, states: Record, actions: np.ndarray, outcomes: Outcomes, which: np.ndarray) -> Record:
        """What a step of each row shows: states, actions [N, ...], ``which`` outcome [N]. Raises :class:`RowFailed`."""
        env, names = self.env, self.env._field_names
        draws = [FixedDraw(outcomes.of(outcome)) for outcome in range(len(outcomes.probabilities))]
        columns = [self._column(name, states[f"state.{name}"]) for name in names]
        chosen = actions.tolist() if self._discrete else [env._element(action) for action in actions]
        rows, results = [], []
        for row, (t, outcome) in enumerate(zip(states["clock.t"].tolist(), which.tolist(), strict=True)):
            values = {name: column[row] for name, column in zip(names, columns, strict=True)}
            try:
                state = build(env._state_class, values, env._converters)
                state.t = t
                after, reward, terminated = env.transition(state, chosen[row], draws[outcome])
                seen = self._seen(after, t + 1)
                if env._agents is not None:
                    seen[2].update(env._of_agents(reward, terminated))
                    reward, terminated = env._joint(reward), False
                rows.append(seen)
                results.append((float(env._reward_type(reward)), bool(terminated), t + 1 >= env._cap))
            except Exception as error:
                raise RowFailed(row, error) from error
        for draw in draws:
            self._note(draw)
        return self._record(rows, results)

    def _column(self, name: str, values: np.ndarray) -> list[Any]:
        """A field's values by row, in the type that the reference's ``State`` has."""
        as_they_are = name in self._arrays or (values.dtype.kind == "f" and values.ndim == 1)
        return list(values) if as_they_are else values.tolist()

    def _seen(self, state: Any, t: int) -> tuple[Any, Any, Any]:
        state.t = t
        return state, self.env.observation(state), self.env._infos(state)

    def _record(self, rows: list[tuple[Any, Any, Any]], results: Any = None) -> Record:
        states, seen, infos = zip(*rows, strict=True)
        return stacked_record(self.package, states, [(0, 0, state.t) for state in states], seen, infos, results)

    def _note(self, draw: FixedDraw) -> None:
        self.asked.update({repr(one): one for one in draw.asked})


class PureFast:
    """The same of ``fast.py``, all rows at once."""

    name = "fast.py"

    def __init__(self, package: Package, device: str = "cpu") -> None:
        self.package = package
        self.env = package.fast(batch_size=[1], seed=0, device=device)
        self.asked: Asked = {}

    def initial(self, outcomes: Outcomes) -> Record:
        """The first state of each outcome."""
        rows = len(outcomes.probabilities)
        draw = self._draw(outcomes.draws, rows)
        state = self.env.initial(draw)
        self._note(draw)
        return self._record(state, torch.zeros(rows, dtype=torch.int64, device=self.env.device))

    def transition(self, states: Record, actions: np.ndarray, outcomes: Outcomes, which: np.ndarray) -> Record:
        """What a step of each row shows: states and actions [N, ...], ``which`` outcome [N]."""
        env, rows = self.env, len(which)
        fields = {name: self._tensor(states[f"state.{name}"]) for name in env._field_names}
        t = self._tensor(states["clock.t"])
        draw = self._draw({slot: values[which] for slot, values in outcomes.draws.items()}, rows)
        after, reward, terminated = env.transition(env._core.state(fields, t), self._tensor(actions), draw)
        self._note(draw)
        expect("reward", reward, env._reward_dtype, (rows,))
        expect("terminated", terminated, torch.bool, (rows,))
        record = self._record(after, t + 1)
        cap = env.environment.max_episode_steps
        truncated = np.zeros(rows, np.bool_) if cap is None else record["clock.t"] >= cap
        return {**record, "reward": _array(reward), "terminated": _array(terminated), "truncated": truncated}

    def _record(self, state: Any, t: Tensor) -> Record:
        core, rows = self.env._core, len(t)
        zeros = torch.zeros_like(t)
        fields = core.fields(state, rows)
        seen = core.observation(Carry(fields, zeros, zeros, t, zeros, zeros))
        record = {part.name: _array(seen[part.key]) for part in observation_parts(self.package)}
        record.update({f"state.{name}": _array(value) for name, value in fields.items()})
        clock = {"clock.seed": np.zeros(rows, np.uint64), "clock.episode": np.zeros(rows, np.int64)}
        record.update(clock, **{"clock.t": _array(t)})
        for key, value in seen.items():
            if key == "action_mask":
                record[key] = _array(value)
            elif isinstance(key, tuple) and key[0] == INFO:
                record[".".join(key)] = _array(value)
        return record

    def _draw(self, draws: dict[int, np.ndarray], rows: int) -> FixedRows:
        return FixedRows(draws, rows, lambda values, dtype: tensor(values, dtype).to(self.env.device))

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(values)).to(self.env.device)

    def _note(self, draw: FixedRows) -> None:
        self.asked.update({repr(one): one for one in draw.asked})


def _array(value: Tensor) -> np.ndarray:
    array: np.ndarray = value.detach().cpu().numpy()
    return array
