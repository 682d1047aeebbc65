"""A search guided by the reference's decisions, and runs with some actions left out, from where it has led.

What earlier runs kept (the package's ``corpus/``) is replayed first; what this run adds is kept there.
"""

from __future__ import annotations

import numpy as np

from .. import corpus
from ..context import Context
from ..lockstep import Lockstep
from ..records import take
from ..search import Search
from ..sources import Actions

ROWS = 33  # of the runs


def check(context: Context) -> None:
    """Rounds of the search, then runs of both sides from the kept inputs."""
    rounds, rows, steps = context.profile.search
    search = Search(context)
    replayed = search.replay()
    for number in range(rounds):
        search.round(rows)
        context.progress(0.8 * (number + 1) / rounds)
    if len(search.kept_actions):
        _runs(context, search, steps)
    kept = len(search.kept_actions)
    context.note(f"{replayed} inputs replayed, {kept - replayed} further ones with something new kept")
    if context.profile.keeps and not context.package.is_variant:  # one corpus, of the constants in spec.md's table
        corpus.add(context.package, search.kept, search.kept_actions, range(replayed, kept))


def _runs(context: Context, search: Search, steps: int) -> None:
    """Both sides from kept states on, each row with some actions left out for a while."""
    rng, kept = context.rng, len(search.kept_actions)
    for number in range(3):
        chosen = rng.integers(0, kept, ROWS)
        starts = take(search.kept, chosen)
        starts["clock.episode"] = np.minimum(starts["clock.episode"], 2**32 - 2 - steps)  # every end begins another
        lockstep = Lockstep(context, context.env(ROWS, 0), np.arange(ROWS), f"N = {ROWS}, from kept states")
        now = lockstep.enter(starts)
        actions = Actions(context.package, rng, ROWS, left_out=True)
        for _ in range(steps):
            _, now = lockstep.step(actions.next(now))
        context.progress(0.8 + 0.2 * (number + 1) / 3)
