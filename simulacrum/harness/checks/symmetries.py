"""The symmetries that the spec declares: a turned state, action and draws give the turned next state, bit for bit.

They come from the spec and not from the pair, so a rule that both sides misread alike shows where it breaks one. Each
side's own functions are followed with stated outcomes in place of the draws, so that these can be turned as well.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ... import bits
from ...checks import Symmetry
from ...spec import Package, Slot
from ..context import Context
from ..finding import Finding
from ..lockstep import FastRows
from ..outcomes import Outcomes
from ..pure import PureFast, PureReference
from ..records import Record, plain, state_namespace, take
from ..sources import Actions, legal_actions, random_actions, seeds

ROLLOUT = 48  # steps before the start, at most, where episodes are longer
LONGEST = 200  # steps that a row is followed at the most
Side = PureFast | PureReference


def check(context: Context) -> None:
    """Follow many rows of ``fast.py`` and some of ``reference.py`` beside their turned twins, for whole episodes."""
    package = context.package
    symmetries: list[Symmetry] = getattr(package.checks, "SYMMETRIES", [])
    if not symmetries:
        context.not_applicable("spec.md declares no symmetry")
    few = context.profile.name == "quick"
    sides: list[tuple[Side, int]] = [(PureReference(package), 8 if few else 64)]
    if context.form == "tensor":
        sides.insert(0, (PureFast(package, context.profile.devices[0]), 256 if few else 4096))
    else:
        context.note("a kernel draws out of sight, so the reference alone was turned")
    for number, symmetry in enumerate(symmetries):
        for side, rows in sides:
            _follow(context, side, symmetry, _starts(context, rows))
        context.progress((number + 1) / len(symmetries))


def _starts(context: Context, rows: int) -> Record:
    """Half of the rows in first states, the others where a rollout of the fast side was at some step."""
    fast = FastRows(context.package, context.env(rows, seeds(context.rng, rows)))
    actions, leaves = Actions(context.package, context.rng, rows), context.rng.integers(0, ROLLOUT, rows)
    leaves[: rows // 2] = 0
    now = fast.reset()
    starts = {name: value.copy() for name, value in now.items()}
    for step in range(1, ROLLOUT):
        _, now = fast.step(actions.next(now))
        for name, value in starts.items():
            value[leaves == step] = now[name][leaves == step]
    return starts


def _follow(context: Context, side: Side, symmetry: Symmetry, states: Record) -> None:
    """Random actions and outcomes from these states until every episode has ended."""
    package, rng = context.package, context.rng
    slots = [slot for slot in package.spec.slots.values() if slot.phase == "step"]
    changed = 0
    for _ in range(package.environment.max_episode_steps or LONGEST):
        rows = len(states["clock.t"])
        if not rows:
            break
        actions = random_actions(package.environment.action_space, rng, rows)
        actions = legal_actions(package, rng, actions, states)
        draws = {slot.name: _random(slot, rng, rows) for slot in slots}
        turned = _turned(package, symmetry, states)
        other = np.asarray(symmetry.action(actions.copy())).astype(actions.dtype)
        new = symmetry.draws({name: value.copy() for name, value in draws.items()}) if symmetry.draws else {}
        other_draws = {name: np.asarray(new.get(name, value), value.dtype) for name, value in draws.items()}
        after = side.transition(states, actions, *_outcomes(slots, draws, rows))
        after_turned = side.transition(turned, other, *_outcomes(slots, other_draws, rows))
        _compare(context, side, symmetry, (states, actions, draws), _turned(package, symmetry, after), after_turned)
        changed += int((actions != other).sum()) + sum(int((turned[name] != states[name]).sum()) for name in turned)
        context.count("transitions turned", rows)
        states = take(after, np.flatnonzero(~(after["terminated"] | after["truncated"])))
        states = {name: value for name, value in states.items() if name not in ("reward", "terminated", "truncated")}
    if not changed:
        context.fail(f"{symmetry.name}: it maps every state and action to itself, so that it says nothing")


def _random(slot: Slot, rng: np.random.Generator, rows: int) -> np.ndarray:
    """Outcomes of a slot, all alike probable: [N], or [N, count] where it is drawn several times."""
    kind, arguments, shape = slot.distribution, slot.arguments, (rows, slot.count) if slot.count > 1 else (rows,)
    if kind == "permutation":
        return rng.permuted(np.tile(np.arange(arguments[0]), (rows, 1)), axis=1)
    if kind == "bits":
        return rng.integers(0, 2 ** (arguments[0] if arguments else 32), shape, np.uint64)
    if kind == "uniform":
        return rng.integers(0, 2**24, shape) * np.float32(2.0**-24)
    if kind == "randint":
        return rng.integers(0, arguments[0], shape)
    if kind == "bernoulli":
        return rng.random(shape) < (arguments[0] if arguments[0] in (0, 1) else 0.5)
    possible = np.flatnonzero(np.array(arguments[0]) > 0)
    return rng.choice(possible, shape)


def _outcomes(slots: list[Slot], draws: dict[str, np.ndarray], rows: int) -> tuple[Outcomes, np.ndarray]:
    """Each row's own outcomes."""
    values = {slot.number: draws[slot.name].reshape(rows, -1) for slot in slots}
    return Outcomes(values, [Fraction(1, rows)] * rows, False), np.arange(rows)


def _turned(package: Package, symmetry: Symmetry, states: Record) -> Record:
    """The record with its states turned; what a state does not hold stays as it is."""
    copies = {name: value.copy() for name, value in states.items()}
    new = symmetry.state(state_namespace(package, copies))
    fields = package.spec.fields
    unknown = [name for name in new if name not in fields or name == "t"]
    if unknown:
        raise ValueError(f"the symmetry {symmetry.name} turns {unknown}, which are no state fields of the spec")
    turned = {f"state.{name}": np.asarray(value).astype(fields[name].dtype) for name, value in new.items()}
    return {**states, **turned}


def _compare(
    context: Context, side: Side, symmetry: Symmetry, step: tuple[Any, ...], expected: Record, found: Record
) -> None:
    """State fields, reward and flag of the turned step are those of the step, turned."""
    states, actions, draws = step
    for name, value in expected.items():
        if not name.startswith("state.") and name not in ("reward", "terminated"):
            continue
        equal = bits.same_rows(value, found[name])
        if not equal.all():
            row = int(np.argmin(equal))
            texts = bits.pair_shown(value[row], found[name][row])
            state = {key[6:]: plain(one[row]) for key, one in states.items() if key.startswith("state.")}
            stated = {key: plain(one[row]) for key, one in draws.items()}
            message = (
                f"{side.name}: the symmetry {symmetry.name} does not hold: from the state {state}, t = "
                f"{states['clock.t'][row]}, with the draws {stated}, the step and then {symmetry.name} gives "
                f"{texts[0]}, {symmetry.name} and then the step {texts[1]}"
            )
            context.fail(Finding(context.name, message, side.name, row, field=name, action=str(plain(actions[row]))))
