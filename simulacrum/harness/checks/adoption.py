"""An adopted environment: what its original tells of itself, and the transition table that it publishes.

Its steps must show what it shows of the same state put in from outside, and lead on from there alike, or the state that
is read from it is not its whole state. A table ``P`` (of Gymnasium's toy_text: state -> action -> [(probability, next
state, reward, terminated)]) is an oracle from outside the pair: the fast side must do what the table says, for every
state and action and for both ends of each interval of the number by which an entry is chosen.
"""

from __future__ import annotations

import copy
import sys
from collections import defaultdict
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from ...originals import AdoptedEnv, KeyedGenerator
from ...originals.env import call_slots
from ...originals.inferred import step_cap
from ...rng import Draw, episode_key
from ..context import Context
from ..fingerprint import ITSELF, installed
from ..outcomes import Outcomes, between
from ..pure import PureFast
from ..records import Record, difference, reference_record

BITS = 53  # of numpy's random(), by which Gymnasium chooses an entry
SEEDS = 20
STEPS = 200
ENTERED = (
    "a fresh original that was put into the same state",
    "is the whole state read and written (Adoption.state), and is Adoption.observation what its steps return?",
)
ALONE = (
    "a new original whose state is neither read nor written",
    "does reading its state change it, does it keep something from episode to episode, or is Adoption.action_mask not "
    "the mask of its infos?",
)


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
    original = reference.adopts.make()
    _covered(context, adopts, original)
    _whole(context)
    if hasattr(original, "P") and hasattr(original, "initial_state_distrib"):
        _Table(context, original).compare()
    else:
        context.note("the original publishes no transition table P")


def _covered(context: Context, adopts: str | None, original: Any) -> None:
    """The report covers the file of the original: it is one of the distribution that spec.md names."""
    file = getattr(sys.modules.get(type(original).__module__), "__file__", None)
    own = adopts == ITSELF
    files = {(context.package.path / name).resolve() for name in context.package.files} if own else set()
    files |= set() if own else {path.resolve() for path in installed(adopts or "").values()}
    if file is None or Path(file).resolve() not in files:
        context.problem(
            f"`adopts` of spec.md: the original is {type(original).__module__}.{type(original).__qualname__}, which is "
            f"in none of the {len(files)} files of {adopts} that are here: name the distribution for pip that it comes "
            f"from, whose version and files the report then covers, or put it into the package and write {ITSELF}"
        )


def _whole(context: Context) -> None:
    """The state that is read is the whole state, and what is shown of it does not depend on how it came to be."""
    package = context.package
    going, entering = package.reference(), package.reference()
    for number, env in enumerate((going, entering)):
        env.action_space.seed(context.profile.seed + number)
    for number in range(SEEDS):
        seed = int(context.rng.integers(0, 2**63))
        alone = _Alone(package.reference, seed)
        seen, info = going.reset(seed=seed)
        _alike(context, (going, seen, info, None), (going, *alone.reset(info)), f"seed {seed}: a reset", ALONE)
        for step in range(STEPS):
            _elsewhere(entering, seed + 1 + step, (step + 1) % 4)
            shown = entering.set_state(going.get_state())
            where = f"seed {seed}, t = {step}: a state"
            _alike(context, (going, seen, info, None), (entering, *shown, None), where, ENTERED)
            action = _chosen(going, info)
            (seen, *result, info), (other, *other_result, other_info) = going.step(action), entering.step(action)
            where = f"seed {seed}, t = {step}, action {action}: what a step leads to"
            _alike(context, (going, seen, info, result), (entering, other, other_info, other_result), where, ENTERED)
            _alike(context, (going, seen, info, result), (going, *alone.step(step, action, result, info)), where, ALONE)
            context.count("steps continued from a state that was put in")
            if result[1] or result[2]:
                break
        context.progress((number + 1) / (2 * SEEDS))


def _chosen(env: AdoptedEnv[Any], info: dict[str, Any]) -> Any:
    """A random action, a legal one where there is a mask."""
    mask = info.get("action_mask") if isinstance(env.action_space, spaces.Discrete) else None
    return env.action_space.sample(None if mask is None else mask.astype(np.int8))


def _elsewhere(env: AdoptedEnv[Any], seed: int, steps: int) -> None:
    """Another past, of another length, than that of the state that is put in next."""
    _, info = env.reset(seed=seed)
    for _ in range(steps):
        _, _, terminated, truncated, info = env.step(_chosen(env, info))
        if terminated or truncated:
            return


class _Alone:
    """A new original of its own, whose state nobody reads or writes."""

    def __init__(self, reference: type[AdoptedEnv[Any]], seed: int) -> None:
        self.adopts, environment = reference.adopts, reference.environment
        self.slots = dict(zip(("reset", "step"), call_slots(environment), strict=True))
        self.phases = {"reset": environment.reset_phase, "step": environment.step_phase}
        self.key = episode_key(seed, 0)
        self.env: Any = self.adopts.make()
        self.generator = self.env.np_random = KeyedGenerator()

    def reset(self, info: dict[str, Any]) -> tuple[Any, dict[str, Any], None]:
        """Observation, and the infos of the reference with its own action mask."""
        seen, own = self._drawn("reset", 0, self.env.reset)
        return self.adopts.translated(seen), _own_mask(info, own), None

    def step(self, t: int, action: Any, result: list[Any], info: dict[str, Any]) -> tuple[Any, dict[str, Any], Any]:
        """The same, and reward and terminated with the reference's truncated."""
        seen, reward, terminated, _, own = self._drawn("step", t, lambda: self.env.step(copy.deepcopy(action)))
        outcome = [float(reward), bool(terminated), result[2]]
        return self.adopts.translated(seen), _own_mask(info, own), outcome

    def _drawn(self, phase: str, t: int, call: Any) -> Any:
        with self.generator.drawing(Draw(self.key, t, self.phases[phase]), self.slots[phase], phase):
            return call()


def _own_mask(info: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    both = "action_mask" in info and "action_mask" in own
    return {**info, "action_mask": np.array(own["action_mask"], np.bool_)} if both else info


def _alike(context: Context, one: tuple[Any, ...], other: tuple[Any, ...], where: str, told: tuple[str, str]) -> None:
    records = [
        reference_record(context.package, [env], [seen], [info], None if result is None else [result])
        for env, seen, info, result in (one, other)
    ]
    found = difference(*records)
    if found is not None:
        context.fail(f"{where} is another one in {told[0]}: {found}; {told[1]}")


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
        self._expect(rows, "next state", {name: after[name] for name in self.told}, shown)
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
        self._expect(rows, "first state", {name: stated[name] for name in self.told}, shown)
        self.context.count("first states of the table compared", len(rows))

    @cached_property
    def told(self) -> list[str]:
        """The fields of which the table tells: those that vary with ``s``."""
        records = self._records(list(self.original.P))
        return [name for name, values in records.items() if name != "clock.t" and (values != values[0]).any()]

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
