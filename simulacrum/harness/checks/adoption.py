"""An adopted environment: what its original tells of itself, and the transition table that it publishes.

Its steps must show what it shows of the same state put in from outside, and lead on from there alike, or the state that
is read from it is not its whole state. A table ``P`` (of Gymnasium's toy_text: state -> action -> [(probability, next
state, reward, terminated)]) is an oracle from outside the pair: the fast side must do what the table says, for every
state and action and for both ends of each interval of the number by which an entry is chosen.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from gymnasium import spaces

from ...originals import AdoptedEnv
from ...originals.inferred import step_cap
from ..context import Context
from ..outcomes import Outcomes, between
from ..pure import PureFast
from ..records import Record, difference, reference_record

BITS = 53  # of numpy's random(), by which Gymnasium chooses an entry
SEEDS = 20
STEPS = 200


def check(context: Context) -> None:
    """Not applicable where the rules are the package's own."""
    reference = context.package.reference
    if not issubclass(reference, AdoptedEnv):
        context.not_applicable("the rules are the package's own")
    adopts = context.package.spec.adopts
    context.require(
        adopts is not None, "spec.md declares no `adopts`: name the distribution for pip that the original comes from"
    )
    cap, stated = step_cap(reference.adopts), context.package.environment.max_episode_steps
    if cap is not None and cap != stated:
        context.problem(f"max_episode_steps: the original is registered with {cap}, __init__.py has {stated}")
    _whole(context)
    original = reference.adopts.make()
    if hasattr(original, "P") and hasattr(original, "initial_state_distrib"):
        _Table(context, original).compare()
    else:
        context.note("the original publishes no transition table P")


def _whole(context: Context) -> None:
    """The state that is read is the whole state, and what is shown of it does not depend on how it came to be."""
    package = context.package
    going, entering = package.reference(), package.reference()
    discrete = isinstance(going.action_space, spaces.Discrete)
    going.action_space.seed(context.profile.seed)
    for number in range(SEEDS):
        seed = int(context.rng.integers(0, 2**63))
        seen, info = going.reset(seed=seed)
        for step in range(STEPS):
            shown = entering.set_state(going.get_state())
            _alike(context, (going, seen, info, None), (entering, *shown, None), f"seed {seed}, t = {step}: a state")
            action = going.action_space.sample(info.get("action_mask", None) if discrete else None)
            (seen, *result, info), (other, *other_result, other_info) = going.step(action), entering.step(action)
            where = f"seed {seed}, t = {step}, action {action}: what a step leads to"
            _alike(context, (going, seen, info, result), (entering, other, other_info, other_result), where)
            context.count("steps continued from a state that was put in")
            if result[1] or result[2]:
                break
        context.progress((number + 1) / (2 * SEEDS))


def _alike(context: Context, one: tuple[Any, ...], other: tuple[Any, ...], where: str) -> None:
    records = [
        reference_record(context.package, [env], [seen], [info], None if result is None else [result])
        for env, seen, info, result in (one, other)
    ]
    found = difference(*records)
    if found is not None:
        context.fail(
            f"{where} is another one in a fresh original that was put into the same state: {found}; is the whole "
            "state read and written (Adoption.state), and is Adoption.observation what its steps return?"
        )


class _Table:
    """The fast side against ``P`` and ``initial_state_distrib``, whose states are put into the original as ``s``."""

    def __init__(self, context: Context, original: Any) -> None:
        package = context.package
        self.context, self.package, self.original = context, package, original
        self.side = PureFast(package)
        self.env = package.reference()
        self.phases = {
            "reset": sorted(slot.number for slot in package.spec.slots.values() if slot.phase == "reset"),
            "step": sorted(slot.number for slot in package.spec.slots.values() if slot.phase == "step"),
        }

    def compare(self) -> None:
        """Every state and action, and the first states."""
        self._first_states()
        alike: dict[tuple[float, ...], list[tuple[int, int]]] = defaultdict(list)
        for state, actions in self.original.P.items():
            for action, entries in actions.items():
                alike[tuple(float(entry[0]) for entry in entries)].append((state, action))
        for number, (chances, places) in enumerate(alike.items()):
            self._transitions(chances, places)
            self.context.progress(0.5 + (number + 1) / (2 * len(alike)))

    def _transitions(self, chances: tuple[float, ...], places: list[tuple[int, int]]) -> None:
        drawn, entries = _choices(chances)
        self.context.count("probabilities compared", len(chances) * len(places))
        outcomes = self._outcomes("step", drawn)
        rows = [(state, action, outcome) for state, action in places for outcome in range(len(drawn))]
        states = self._records([state for state, _, _ in rows])
        actions = np.array([action for _, action, _ in rows], self.package.environment.action_space.dtype)
        shown = self.side.transition(states, actions, outcomes, np.array([outcome for *_, outcome in rows]))
        stated = [self.original.P[state][action][entries[outcome]] for state, action, outcome in rows]
        after = self._records([int(entry[1]) for entry in stated])
        self._expect(rows, "next state", {name: after[name] for name in self._fields()}, shown)
        self._expect(rows, "reward", {"reward": np.array([entry[2] for entry in stated])}, shown)
        self._expect(rows, "terminated", {"terminated": np.array([bool(entry[3]) for entry in stated])}, shown)
        self.context.count("table entries compared", sum(len(chances) for _ in places))
        self.context.count("transitions of the table compared", len(rows))

    def _first_states(self) -> None:
        chances = tuple(np.asarray(self.original.initial_state_distrib).tolist())
        drawn, entries = _choices(chances)
        shown = self.side.initial(self._outcomes("reset", drawn))
        stated = self._records(entries)
        rows = [(entry, None, outcome) for outcome, entry in enumerate(entries)]
        self._expect(rows, "first state", {name: stated[name] for name in self._fields()}, shown)
        self.context.count("first states of the table compared", len(rows))

    def _fields(self) -> list[str]:
        return [f"state.{name}" for name in self.package.spec.fields if name != "t"]

    def _records(self, states: list[int]) -> Record:
        """The original's states ``s`` as the package's fields, at t = 0."""
        by_state = {}
        for state in set(states):
            self.env.original.s = state
            by_state[state] = self.env.adopts.read(self.env.original)
        fields = {name: field for name, field in self.package.spec.fields.items() if name != "t"}
        columns = {
            f"state.{name}": np.array([by_state[state][name] for state in states], field.dtype)
            for name, field in fields.items()
        }
        return {**columns, "clock.t": np.zeros(len(states), np.int64)}

    def _outcomes(self, phase: str, drawn: list[float]) -> Outcomes:
        """``drawn`` in the phase's first slot; 0 in the others, of which the table says nothing."""
        slots = self.phases[phase]
        counts = {slot.number: slot.count for slot in self.package.spec.slots.values()}
        draws = {slot: np.zeros((len(drawn), counts[slot])) for slot in slots}
        if slots:
            draws[slots[0]][:, 0] = drawn
        return Outcomes(draws, [Fraction(1, len(drawn))] * len(drawn), False)

    def _expect(self, rows: list[Any], what: str, stated: Record, shown: Record) -> None:
        for name, values in stated.items():
            wrong = np.flatnonzero((values != shown[name]).reshape(len(rows), -1).any(axis=1))
            if len(wrong):
                state, action, outcome = rows[wrong[0]]
                self.context.fail(
                    f"{what}: of state {state}, action {action}, for outcome {outcome} of the number drawn, the "
                    f"original's table says {values[wrong[0]]}, {self.side.name} gives {shown[name][wrong[0]]} in "
                    f"{name} ({len(wrong)} of {len(rows)} differ)"
                )


def _choices(chances: tuple[float, ...]) -> tuple[list[float], list[int]]:
    """Numbers at both ends of each interval that ``argmax(cumsum(chances) > number)`` tells apart, and its choices."""
    sums = np.cumsum(chances)
    cuts = sorted(set(sums[sums < 1.0].tolist()))
    drawn = [float(number) for number, _ in between(cuts, BITS)]
    return drawn, [int(np.argmax(sums > number)) for number in drawn]
