"""The invariants, bounds and termination causes that the spec states hold in every state that is reached; each
invariant refuses some other state."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..case import Case
from ..context import Context
from ..excuses import Excuses
from ..finding import Finding
from ..laws import broken
from ..lockstep import FastRows, References
from ..playback import FORMS
from ..records import Record, plain, state_namespace
from ..sources import Actions, seeds
from ..states import States, rollout_states

TRIES, CANDIDATES = 8, 2048  # of states, in each of which an invariant may not hold


def check(context: Context) -> None:
    """A large fast batch and a few references, every state of both looked at, terminal and first ones too."""
    rows, steps = context.profile.sweep
    fast = FastRows(context.package, context.env(rows, seeds(context.rng, rows)))
    _sweep(context, fast, fast.reset(), rows, steps, FORMS[context.form])
    few = 16
    references = References(context.package, few)
    _sweep(context, references, references.reset(seeds(context.rng, few)), few, steps, "reference.py")
    if not context.package.is_variant:  # with its constants an invariant may rightly refuse nothing
        _refusals(context)
    for cause in context.package.spec.terminations:
        context.met(f"cause {cause}", f"the termination {cause!r}")


def _sweep(context: Context, side: Any, now: Record, rows: int, steps: int, name: str) -> None:
    actions = Actions(context.package, context.rng, rows)
    _look(context, now, now, None, name)
    for step in range(steps):
        chosen = actions.next(now)
        ended, after = side.step(chosen)
        _look(context, ended, now, chosen, name)
        _look(context, after, now, chosen, name)
        context.count_causes(ended)
        now = after
        context.count("states looked at", 2 * rows)
        if step % 32 == 0:
            context.progress(step / steps)


def _look(context: Context, record: Record, before: Record, actions: np.ndarray | None, side: str) -> None:
    """Every law of the package holds in every row."""
    found = broken(context.package, record)
    if found is None:
        return
    row, message = found
    seed, episode, t = (int(before[f"clock.{name}"][row]) for name in ("seed", "episode", "t"))
    state = {name[6:]: plain(value[row]) for name, value in record.items() if name.startswith("state.")}
    finding = Finding(
        context.name,
        f"{side}: {message} in the state {state}, t = {record['clock.t'][row]}",
        side,
        row,
        seed,
        episode,
        t,
        action="" if actions is None else str(plain(actions[row])),
    )
    case = Case(seeds=before["clock.seed"], watched=np.array([row]), laws=True)
    if actions is not None:
        case = Case(starts=before, actions=actions[None], watched=np.array([row]), laws=True)
    context.fail(finding, case)


def _refusals(context: Context) -> None:
    """Each invariant does not hold in some state that is drawn: inside of the bounds, or beyond a bound."""
    package = context.package
    states = States(package, context.rng, rollout_states(package, context.env(64, seeds(context.rng, 64)), context.rng))
    silent = list(package.checks.INVARIANTS)
    for number in range(TRIES):
        drawn = states._candidates(CANDIDATES, states.pool)
        view = state_namespace(package, _beyond(context, drawn) if number % 2 else drawn)
        silent = [invariant for invariant in silent if not _refuses(invariant, view)]
    excuses = Excuses(context, "invariant ")
    for name in (invariant.__name__ for invariant in silent):
        if not excuses.accepts(name):
            context.problem(
                f"the invariant {name!r} holds in each of {TRIES * CANDIDATES} drawn states, also beyond a bound: "
                f"make it stricter, or {excuses.offer(name)}"
            )
    excuses.finish()
    context.count("states tried on the invariants", TRIES * CANDIDATES)


def _refuses(invariant: Any, view: Any) -> bool:
    """Whether an invariant does not hold in some row; one that raises, beyond a bound, does not hold there."""
    try:
        with np.errstate(all="ignore"):
            return not np.asarray(invariant(view)).all()
    except Exception:
        return True


def _beyond(context: Context, states: Record) -> Record:
    """The same states with a field, at one place of an array, next to a bound on its other side, where there is one."""
    rng, rows = context.rng, np.arange(len(states["clock.t"]))
    for name, field in context.package.spec.fields.items():
        outside = [value for value in (field.low - 1, field.high + 1) if _has(field.dtype, value)]
        if name == "t" or not outside:
            continue
        values = states[f"state.{name}"].copy()
        flat = values.reshape(len(rows), -1)
        chosen = rows[rng.random(len(rows)) < 0.5]
        flat[chosen, rng.integers(0, flat.shape[1], len(chosen))] = rng.choice(outside, len(chosen))
        states = {**states, f"state.{name}": values}
    return states


def _has(dtype: np.dtype[Any], value: float) -> bool:
    """Whether a dtype of numbers has a value."""
    if dtype.kind == "f":
        return bool(np.isfinite(value))
    return dtype.kind in "iu" and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
