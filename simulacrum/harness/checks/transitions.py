"""Single transitions from anywhere: generated states injected into both sides, and one step compared.

The states come from the spec's fields, near bounds and near what rollouts had, filtered by the invariants; each with
any t, episode and seed (:mod:`..states`).
"""

from __future__ import annotations

from ..context import Context
from ..evidence import INDEPENDENT
from ..injection import Injector
from ..sources import mixed_actions
from ..states import POOL_ROWS, States, rollout_states

SIZES = (4096, 1024, 257, 33, 6, 1)  # batch sizes, in turn


def check(context: Context) -> None:
    """Batches of states until the profile's number of transitions is compared."""
    package, rng = context.package, context.rng
    pool = rollout_states(package, context.env(POOL_ROWS, int(rng.integers(0, 2**62))), rng)
    states = States(package, rng, pool)
    injector = Injector(context, states.reached)
    wanted = context.profile.transitions
    batches = [*SIZES, *SIZES, *[SIZES[0]] * (wanted // SIZES[0])]
    for number, size in enumerate(batches):
        drawn = states.draw(size)
        rows = len(drawn["clock.t"])
        context.require(rows > 0, "no legal state was found: the invariants leave none of the states that were tried")
        injector.compare(drawn, mixed_actions(package, rng, rows), resets=("rows", "masked")[number % 2])
        context.count(INDEPENDENT, rows)
        context.progress((number + 1) / len(batches))
        if context.counts["transitions"] >= wanted:
            return
    context.note(f"fewer than {wanted} transitions: the invariants leave few of the states that are tried")
