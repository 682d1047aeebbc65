"""Single transitions from anywhere: generated states injected into both sides, and one step compared.

The states come from the spec's fields, near bounds and near what rollouts had, filtered by the invariants; each with
any t, episode and seed (:mod:`..states`).
"""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..evidence import INDEPENDENT
from ..injection import Injector
from ..sources import edge_actions, random_actions
from ..states import POOL_ROWS, States, rollout_states

SIZES = (4096, 1024, 257, 33, 6, 1)  # batch sizes, in turn


def check(context: Context) -> None:
    """Batches of states until the profile's number of transitions is compared."""
    package, rng = context.package, context.rng
    pool = rollout_states(package, context.env(POOL_ROWS, int(rng.integers(0, 2**62))), rng)
    states = States(package, rng, pool)
    injector = Injector(context, states.reached)
    wanted, number = context.profile.transitions, 0
    while context.counts["transitions"] < wanted:
        drawn = states.draw(SIZES[number % len(SIZES)] if number < 12 else SIZES[0])
        rows = len(drawn["clock.t"])
        context.require(rows > 0, "no legal state was found: the invariants leave none of the states that were tried")
        actions = random_actions(package.environment.action_space, rng, rows)
        edges = edge_actions(package.environment.action_space, rng, rows)
        actions = np.where((rng.random(rows) < 0.2).reshape(-1, *(1,) * (actions.ndim - 1)), edges, actions)
        injector.compare(drawn, actions, resets=("rows", "masked")[number % 2])
        context.count(INDEPENDENT, rows)
        number += 1
        context.progress(context.counts["transitions"] / wanted)
