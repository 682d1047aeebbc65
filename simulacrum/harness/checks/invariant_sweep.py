"""The invariants, bounds and termination causes that the spec states hold in every state that is reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..context import Context
from ..finding import Finding
from ..lockstep import FastRows, References
from ..records import Record, observation_names, plain, state_namespace
from ..sources import Actions, seeds


def check(context: Context) -> None:
    """A large fast batch and a few references, every state of both looked at, terminal and first ones too."""
    rows, steps = context.profile.sweep
    fast = FastRows(context.package, context.env(rows, seeds(context.rng, rows)))
    _sweep(context, fast, fast.reset(), rows, steps, "fast.py")
    few = 16
    references = References(context.package, few)
    _sweep(context, references, references.reset(seeds(context.rng, few)), few, steps, "reference.py")
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
        _causes(context, ended, now, chosen, name)
        now = after
        context.count("states looked at", 2 * rows)
        if step % 32 == 0:
            context.progress(step / steps)


def _look(context: Context, record: Record, before: Record, actions: np.ndarray | None, side: str) -> None:
    state = state_namespace(context.package, record)
    for invariant in context.package.checks.INVARIANTS:
        holds = np.asarray(invariant(state))
        _all(context, holds, f"the invariant {invariant.__name__!r} does not hold", record, before, actions, side)
    for field in context.package.spec.fields.values():
        values = getattr(state, field.name)
        holds = ((values >= field.low) & (values <= field.high)).reshape(len(values), -1).all(axis=1)
        _all(context, holds, f"{field.name} is outside [{field.low}, {field.high}]", record, before, actions, side)
    for name, space in observation_names(context.package).items():
        low, high = bounds(space)
        holds = ((record[name] >= low) & (record[name] <= high)).reshape(len(record[name]), -1).all(axis=1)
        _all(context, holds, f"{name} is outside {space}", record, before, actions, side)


def _causes(context: Context, ended: Record, before: Record, actions: np.ndarray, side: str) -> None:
    """An episode terminates exactly when a declared cause is there."""
    state = state_namespace(context.package, ended)
    there = np.zeros(len(ended["terminated"]), np.bool_)
    for cause in context.package.checks.TERMINATIONS:
        mine = np.asarray(cause(state))
        context.count(f"cause {cause.__name__}", int((mine & ended["terminated"]).sum()))
        there |= mine
    message = "terminated without a declared cause"
    _all(context, there | ~ended["terminated"], message, ended, before, actions, side)
    message = "a termination cause is there, but terminated is False"
    _all(context, ~there | ended["terminated"], message, ended, before, actions, side)


def _all(
    context: Context,
    holds: np.ndarray,
    message: str,
    record: Record,
    before: Record,
    actions: np.ndarray | None,
    side: str,
) -> None:
    if holds.all():
        return
    row = int(np.argmin(holds))
    seed, episode, t = (int(before[f"clock.{name}"][row]) for name in ("seed", "episode", "t"))
    state = {name[6:]: plain(value[row]) for name, value in record.items() if name.startswith("state.")}
    context.fail(
        Finding(
            context.name,
            f"{side}: {message} in the state {state}, t = {record['clock.t'][row]}",
            side,
            row,
            seed,
            episode,
            t,
            action="" if actions is None else str(plain(actions[row])),
        )
    )


def bounds(space: Any) -> tuple[Any, Any]:
    """The least and the greatest elements of a space."""
    if hasattr(space, "low"):
        return space.low, space.high
    if hasattr(space, "nvec"):
        return space.start, space.start + space.nvec - 1
    return (space.start, space.start + space.n - 1) if hasattr(space, "start") else (0, 1)
