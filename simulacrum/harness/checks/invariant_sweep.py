"""The invariants, bounds and termination causes that the spec states hold in every state that is reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..case import Case
from ..context import Context
from ..finding import Finding
from ..laws import broken
from ..lockstep import FastRows, References
from ..records import Record, plain, state_namespace
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
        _causes(context, ended)
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


def _causes(context: Context, ended: Record) -> None:
    """How often each declared cause ended an episode."""
    state = state_namespace(context.package, ended)
    for cause in context.package.checks.TERMINATIONS:
        context.count(f"cause {cause.__name__}", int((np.asarray(cause(state)) & ended["terminated"]).sum()))
