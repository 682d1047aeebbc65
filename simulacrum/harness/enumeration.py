"""A small world, wholly: every state that can be reached, every action, every outcome of the draws, on both sides.

Breadth-first, one level a step: a state holds its ``t``, so states of different levels differ. Both sides go the same
way, since a level is entered only when they agreed on it, bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from .. import bits
from ..checks import ScriptedPolicy
from ..spec.document import UNIFORM
from .case import Case
from .context import Context
from .finding import Finding
from .injection import RowFailed
from .laws import broken
from .outcomes import LIMIT, Outcomes, TooLarge, all_actions, outcomes, seed_with
from .pure import PureFast, PureReference
from .records import FormError, Record, concatenated, difference, plain, take
from .seeded import SeededFast
from .sources import policy_actions

CHUNK = 8192  # rows of one batch
Fast = PureFast | SeededFast


class Level(NamedTuple):
    """The S states of one ``t`` from which episodes go on, and the M transitions from them.

    Attributes:
        states: what both sides show of the states, [S, ...].
        state, action, outcome: of each transition: which state, action and outcome of the draws, [M].
        reward: float64 [M], the reward's value exactly.
        follow: the state of the next level that it leads to, [M]; -1 where the episode ends.
    """

    states: Record
    state: np.ndarray
    action: np.ndarray
    outcome: np.ndarray
    reward: np.ndarray
    follow: np.ndarray


class _Drawn(NamedTuple):
    """Which of the outcomes each row draws: ``which`` [N]."""

    outcomes: Outcomes
    which: np.ndarray


class World:
    """Enumerates one world, and ends the check with a finding at the first difference or broken law.

    Args:
        context: the running check.
        name: what findings call the world.
        constants: values in the place of the package's own.

    Attributes:
        package: the package with the world's constants.
        levels: all states and transitions; ``first``: the probability of each state of the first level.
        states, transitions: how many there are.
        exhaustive: whether every action and outcome was taken; else edge values stand for floats.
    """

    def __init__(self, context: Context, name: str, constants: Mapping[str, Any]) -> None:
        self.context, self.name, self.constants = context, name, dict(constants)
        self.package = package = context.package.with_constants(constants)
        self.reference = PureReference(package)
        self.fast: Fast = SeededFast(context, package)
        if context.form == "tensor":
            self.fast = PureFast(package, context.profile.devices[0])
        self.resets, self.steps = outcomes(package, "reset"), outcomes(package, "step")
        self.actions, exhaustive = all_actions(package)
        self.exhaustive = exhaustive and self.resets.exhaustive and self.steps.exhaustive
        self.levels: list[Level] = []
        self.states = self.transitions = 0

    def explore(self) -> None:
        """Visit every state. Raises :class:`~.outcomes.TooLarge` where there are too many."""
        shown = self._first_states()
        chances = np.array([float(chance) for chance in self.resets.probabilities])
        rows, which = _distinct(shown)
        self.first = np.bincount(which, chances)
        states = take(shown, rows)
        while len(states["clock.t"]):
            states = self._expand(states)
        self._draws_are_the_tables()

    def returns(self, policy: ScriptedPolicy | None) -> tuple[float, float]:
        """The exact mean and standard deviation of a policy's undiscounted return, by recursion from the last level;
        None is the policy that takes each legal action alike.

        The rewards are those of both sides, the probabilities those of the slot table. The variance follows from the
        law of total variance, as a sum of squares.
        """
        chances = np.array([float(chance) for chance in self.steps.probabilities])
        mean: np.ndarray = np.zeros(0)
        variance: np.ndarray = np.zeros(0)
        for level in reversed(self.levels):
            count, rows = len(level.states["clock.t"]), np.arange(len(level.state))
            share = len(chances) / np.bincount(level.state, minlength=count)  # one action's, where each is as likely
            if policy is not None:
                chosen = policy_actions(self.package, policy.policy, level.states)
                equal = self.actions[level.action] == chosen[level.state]
                rows, share = np.flatnonzero(equal.reshape(len(equal), -1).all(axis=1)), np.ones(count)
            state, follow = level.state[rows], level.follow[rows]
            weight, goes_on = chances[level.outcome[rows]] * share[state], follow >= 0
            later_mean, later_variance = np.zeros(len(rows)), np.zeros(len(rows))
            later_mean[goes_on], later_variance[goes_on] = mean[follow[goes_on]], variance[follow[goes_on]]
            total = level.reward[rows] + later_mean
            mean = np.bincount(state, weight * total, count)
            variance = np.bincount(state, weight * (later_variance + (total - mean[state]) ** 2), count)
            legal = bool(np.allclose(np.bincount(state, weight, count), 1.0))
            name = UNIFORM if policy is None else policy.name
            self.context.require(legal, f"{self.name}: the policy {name} takes an action that is not legal")
        expected = float(self.first @ mean)
        return expected, float(np.sqrt(self.first @ (variance + (mean - expected) ** 2)))

    # ------------------------------------------------------------------ both sides

    def _first_states(self) -> Record:
        every = np.arange(len(self.resets.probabilities))
        self.context.count("first states", len(every))
        return self._agreed("in the first state", _Drawn(self.resets, every))

    def _expand(self, states: Record) -> Record:
        """Every transition from the states of one level; the states of the next."""
        self.states += len(states["clock.t"])
        legal = self._legal(states)
        self.transitions += len(legal) * len(self.steps.probabilities)
        if self.transitions > LIMIT:
            raise TooLarge(f"more than {LIMIT} states x actions x outcomes (at t = {states['clock.t'][0]})")
        pairs = np.repeat(legal, len(self.steps.probabilities), axis=0)
        outcome = np.tile(np.arange(len(self.steps.probabilities)), len(legal))
        ended = []
        for start in range(0, len(pairs), CHUNK):
            chunk = slice(start, start + CHUNK)
            before, chosen = take(states, pairs[chunk, 0]), self.actions[pairs[chunk, 1]]
            ended.append(self._agreed("after a step", _Drawn(self.steps, outcome[chunk]), before, chosen))
        shown = concatenated(ended)
        goes_on = np.flatnonzero(~(shown["terminated"] | shown["truncated"]))
        rows, which_state = _distinct(take(shown, goes_on))
        follow = np.full(len(pairs), -1)
        follow[goes_on] = which_state
        reward = shown["reward"].astype(np.float64).reshape(len(pairs), -1).sum(axis=1)  # of all agents
        self.levels.append(Level(states, pairs[:, 0], pairs[:, 1], outcome, reward, follow))
        self.context.count("transitions", len(pairs))
        for flag in ("terminated", "truncated"):
            self.context.count(f"{flag[:-2]}ions", int(shown[flag].sum()))
        return {name: value for name, value in take(shown, goes_on[rows]).items() if name in states}

    def _legal(self, states: Record) -> np.ndarray:
        """The pairs of a state and an action that is legal there, [.., 2]."""
        mask = np.ones((len(states["clock.t"]), len(self.actions)), np.bool_)
        if "action_mask" in states and isinstance(self.package.environment.action_space, spaces.Discrete):
            mask = states["action_mask"]
        return np.argwhere(mask)

    def _agreed(self, when: str, drawn: _Drawn, states: Record | None = None, actions: Any = None) -> Record:
        """What both sides show of first states, or of a step from states: the same on both, and no law broken."""
        try:
            reference = self._of(self.reference, drawn, states, actions)
        except RowFailed as failed:
            self._fail(f"reference.py raised {failed}", failed.row, drawn, states, actions)
        except FormError as error:
            self.context.fail(f"{self.name}: reference.py gave {error}")
        fast = self._of(self.fast, drawn, states, actions)
        found = difference(reference, fast)
        if found is not None:
            field, row, *values = found
            one, other = values if isinstance(values[0], str) else bits.pair_shown(*values)
            self._fail(f"the two sides differ {when}", row, drawn, states, actions, (field, one, other))
        law = broken(self.package, reference, states if self.package.spec.adopts else None)
        if law is not None:
            row, message = law
            self._fail(f"{message} {when}, on both sides: {_shown(reference, row)}", row, drawn, states, actions)
        return reference

    def _of(self, side: PureReference | Fast, drawn: _Drawn, states: Record | None, actions: Any) -> Record:
        if states is None:
            return side.initial(drawn.outcomes)
        return side.transition(states, actions, drawn.outcomes, drawn.which)

    def _fail(
        self,
        message: str,
        row: int,
        drawn: _Drawn,
        states: Record | None,
        actions: Any,
        values: tuple[str, str, str] = ("", "", ""),
    ) -> Any:
        names = {slot.number: name for name, slot in self.package.spec.slots.items()}
        draws = {names[slot]: listed for slot, listed in drawn.outcomes.of(int(drawn.which[row])).items()}
        where = f"{self.name}, with the draws {draws}"
        finding = Finding(self.context.name, message, where, None, None, None, None, *values)
        if states is not None:
            where = f"{self.name}, from the state {_shown(states, row)}, with the draws {draws}"
            t, action = int(states["clock.t"][row]), str(plain(actions[row]))
            finding = replace(finding, setting=where, step=t, action=action)
        self.context.fail(finding, self._case(drawn.outcomes.of(int(drawn.which[row])), row, states, actions))

    def _case(self, outcome: dict[int, list[Any]], row: int, states: Record | None, actions: Any) -> Case | None:
        """What replays a row, where a seed with these draws is found."""
        phase, t = ("reset", 0) if states is None else ("step", int(states["clock.t"][row]))
        seed = seed_with(self.package, phase, t, outcome)
        if seed is None:
            return None
        seeds = np.array([seed], np.uint64)
        if states is None:
            return Case(seeds=seeds, constants=self.constants, laws=True, options=self.context.case_options)
        starts = {**take(states, [row]), "clock.seed": seeds}
        return Case(
            starts=starts,
            actions=actions[None, [row]],
            constants=self.constants,
            laws=True,
            options=self.context.case_options,
        )

    def _draws_are_the_tables(self) -> None:
        """Every draw was made as the slot table says, on which the probabilities rest."""
        slots = {slot.number: slot for slot in self.package.spec.slots.values()}
        for side in (self.reference, self.fast):
            for number, kind, _, arguments in side.asked.values():
                slot = slots[number]
                if kind != slot.distribution or (slot.arguments and list(arguments) != list(slot.arguments)):
                    self.context.problem(
                        f"{self.name}: {side.name} draws slot {slot.name} as {kind}{arguments}, "
                        f"spec.md says {slot.distribution}{slot.arguments}"
                    )


def _shown(record: Record, row: int) -> str:
    """The state of a row, for people."""
    values = [f"{name[6:]} = {plain(value[row])}" for name, value in record.items() if name.startswith("state.")]
    return "; ".join([*values, f"t = {record['clock.t'][row]}"])


def _distinct(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which no two are in the same state, by bits; and for every row which of these it equals."""
    fields = [value for name, value in record.items() if name.startswith(("state.", "clock.t"))]
    flat = [np.ascontiguousarray(value).reshape(len(value), math.prod(value.shape[1:])) for value in fields]
    joined = np.concatenate([value.view(np.uint8) for value in flat], axis=1)
    _, first, which = np.unique(joined.view(f"V{joined.shape[1]}").ravel(), return_index=True, return_inverse=True)
    return first, which
