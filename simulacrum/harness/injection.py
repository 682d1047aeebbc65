"""Single transitions of both sides from given states: injected, observed, stepped once, compared bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces

from ..fast import FastEnv
from ..reference import ReferenceEnv, state_of
from ..spec import Package
from .case import Case
from .context import Context
from .finding import OTHER_FORM, Finding
from .lockstep import BESIDE, FastRows
from .records import Record, action_key, difference, plain, stacked_record, take
from .sources import legal_actions

Label = Callable[[Record, int], str]


class Transitions(NamedTuple):
    """What a side showed of each row [rows, ...] when its state was entered, and of the step."""

    before: Record
    ended: Record


class RowFailed(Exception):
    """A reference raised: in which row, and what."""

    def __init__(self, row: int, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.row = row


class SingleReference:
    """One reference that is put into each row's state in turn, and stepped once.

    Args:
        package: whose reference.
        reference: the class; the package's own by default (coverage takes one whose decisions are counted).
        each: called with the number of a row when its step is done.
    """

    def __init__(
        self, package: Package, reference: type[Any] | None = None, each: Callable[[int], None] | None = None
    ) -> None:
        self.package, self.each = package, each
        self.env: ReferenceEnv[Any] = (reference or package.reference)()
        self.env.reset(seed=0)
        self._arrays = {name for name, value in vars(state_of(self.env)).items() if isinstance(value, np.ndarray)}
        self._discrete = isinstance(package.environment.action_space, spaces.Discrete)

    def __call__(self, states: Record, actions: np.ndarray) -> Transitions:
        """Step every row once. Raises :class:`RowFailed`."""
        env, each = self.env, self.each
        names = list(env._field_names)
        columns = [self._column(name, states[f"state.{name}"]) for name in names]
        clocks = list(zip(*(states[f"clock.{name}"].tolist() for name in ("seed", "episode", "t")), strict=True))
        chosen = actions.tolist() if self._discrete else actions
        first, ended = _Gathered(), _Gathered()
        for row, (seed, episode, t) in enumerate(clocks):
            state = {name: column[row] for name, column in zip(names, columns, strict=True)}
            try:
                seen, info = env.set_state({"state": state, "clock": {"seed": seed, "episode": episode, "t": t}})
                first.add(env, seen, info)
                seen, reward, terminated, truncated, info = env.step(chosen[row])
            except Exception as error:
                raise RowFailed(row, error) from error
            ended.add(env, seen, info)
            ended.outcomes.append((reward, terminated, truncated))
            if each is not None:
                each(row)
        return Transitions(first.record(self.package), ended.record(self.package))

    def _column(self, name: str, values: np.ndarray) -> list[Any]:
        """A field's values by row, in the type that the reference's ``State`` has."""
        return (
            list(values) if name in self._arrays or (values.dtype.kind == "f" and values.ndim == 1) else values.tolist()
        )


class _Gathered:
    """What rows showed, to be stacked."""

    def __init__(self) -> None:
        self.states: list[Any] = []
        self.clocks: list[tuple[Any, int, int]] = []
        self.seen: list[Any] = []
        self.infos: list[Any] = []
        self.outcomes: list[tuple[float, bool, bool]] = []

    def add(self, env: ReferenceEnv[Any], seen: Any, info: Any) -> None:
        state = state_of(env)
        self.states.append(state)
        self.clocks.append((env._seed, env._episode, state.t))
        self.seen.append(seen)
        self.infos.append(info)

    def record(self, package: Package) -> Record:
        return stacked_record(
            package, self.states, self.clocks, self.seen, self.infos, self.outcomes if self.outcomes else None
        )


class SingleFast:
    """The same of the fast side, all rows at once: entered first, then stepped."""

    def __init__(self, package: Package, env: FastEnv[Any], states: Record) -> None:
        self.fast = FastRows(package, env)
        self.before = self.fast.enter(states)

    def step(self, actions: np.ndarray) -> Transitions:
        """Step every row once."""
        env = self.fast.env
        action = torch.from_numpy(actions).to(env.device).reshape((*env.batch_size, *actions.shape[1:]))
        return Transitions(
            self.before, self.fast.record(env.step(self.fast.td.set(action_key(self.fast.package), action)).get("next"))
        )


class OtherForm:
    """Another form in the place of the reference: all rows at once, in batches of any size."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, states: Record, actions: np.ndarray) -> Transitions:
        """Step every row once."""
        env = self.context.env(len(actions), 0)
        return SingleFast(self.context.package, env, states).step(actions)


class Injector:
    """Compares single transitions of both sides, and ends the check at the first that differs.

    Args:
        context: the running check.
        label: says of a row's state whether rollouts reached it.
        reference, each: see :class:`SingleReference`.
        oracle: another form, which stands for the reference.
    """

    def __init__(
        self,
        context: Context,
        label: Label | None = None,
        reference: type[Any] | None = None,
        each: Callable[[int], None] | None = None,
        oracle: OtherForm | None = None,
    ) -> None:
        self.context, self.label, self.oracle = context, label, oracle
        self.single = oracle or SingleReference(context.package, reference, each)

    def compare(self, states: Record, actions: np.ndarray, **options: Any) -> Transitions:
        """One step of every row from ``states`` [rows, ...]; what both sides showed of it."""
        context, rows = self.context, len(actions)
        env = context.env(rows, 0, **options)
        side = SingleFast(context.package, env, states)
        options = {**options, **side.fast.options}
        actions = legal_actions(context.package, context.rng, actions, side.before)
        kept = actions.copy()
        fast = side.step(actions)
        try:
            reference = self.single(states, kept)
        except RowFailed as failed:
            self._fail(f"reference.py raised {failed}", options, states, kept, failed.row)
        for when, one, other in zip(("after a state was injected", "after a step"), reference, fast, strict=True):
            found = difference(one, other)
            if found is not None:
                who = "the two sides differ" if self.oracle is None else OTHER_FORM
                self._fail(f"{who} {when}", options, states, kept, found[1], found)
        ended = reference.ended
        context.count("transitions" if self.oracle is None else BESIDE, rows)
        context.count("states injected", rows)
        context.count_agents(reference.ended)
        context.count("terminations", int(ended["terminated"].sum()))
        context.count("truncations", int(ended["truncated"].sum()))
        return reference

    def _fail(
        self,
        message: str,
        options: dict[str, Any],
        states: Record,
        actions: np.ndarray,
        row: int,
        found: tuple[str, int, Any, Any] | None = None,
    ) -> Any:
        field, _, one, other = found or ("", row, "", "")
        seed, episode, t = (int(states[f"clock.{name}"][row]) for name in ("seed", "episode", "t"))
        finding = Finding(
            self.context.name,
            message,
            f"N = {len(actions)}, one injected transition",
            row,
            seed,
            episode,
            t,
            field,
            str(one),
            str(other),
            str(plain(actions[row])),
            reached="" if self.label is None else self.label(states, row),
        )
        alone = Case(starts=take(states, [row]), actions=actions[None, [row]], options=options)
        batch = Case(starts=states, actions=actions[None], watched=np.array([row]), options=options)
        self.context.fail(finding, [alone, batch])
