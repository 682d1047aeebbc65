"""Resets in every way: by the end of an episode, by mask in mid-episode, twice over, whole, and at the step cap."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..lockstep import Lockstep
from ..records import Record
from ..sources import Actions, seeds

ROWS = 33
FORMS = (("rows", True), ("rows", False), ("masked", True), ("masked", False))


def check(context: Context) -> None:
    """Terminal and first observations, survivors and clocks of all rows against references, in every form of reset."""
    cap = context.package.environment.max_episode_steps
    steps = (2 if context.profile.name == "quick" else 5) * min(cap or 100, 100)
    for number, (resets, fused) in enumerate(FORMS):
        setting = f"N = {ROWS}, resets by {resets}, {'step_and_maybe_reset' if fused else 'step, then reset'}"
        env = context.env(ROWS, seeds(context.rng, ROWS), resets=resets)
        lockstep = Lockstep(context, env, np.arange(ROWS), setting, fused)
        _masks(context, lockstep, steps)
        if cap is not None:
            _at_the_cap(context, lockstep, cap)
        _together(context, resets, fused, setting)
        context.progress((number + 1) / len(FORMS))
    for count in ("steps with 0 rows ending", "steps with 1 row ending", "steps with some rows ending"):
        context.met(count, "an end of episodes")
    context.met("steps with all rows ending", "an end of episodes")


def _masks(context: Context, lockstep: Lockstep, steps: int) -> None:
    """Partial resets of none, one, some and all rows between steps, and whole resets."""
    rng = context.rng
    actions = Actions(context.package, rng, ROWS)
    instance_seeds = seeds(rng, ROWS)
    now = lockstep.reset(instance_seeds)
    for step in range(steps):
        way = rng.integers(0, 24)
        if way < 5:
            share = (0.0, 1.0 / ROWS, 0.3, 1.0, 0.05)[way]
            mask = rng.random(ROWS) < share
            mask[rng.integers(0, ROWS)] |= way == 1
            now = lockstep.reset(mask=mask)
            context.count("partial resets")
            if rng.random() < 0.3:
                now = lockstep.reset(mask=mask)  # twice over: the next episode but one
        elif way == 5 and step % 7 == 0:
            now = lockstep.reset()
            context.count("whole resets")
        elif way == 6 and step % 7 == 0:
            now = lockstep.reset(seeds(rng, ROWS))
            context.count("whole resets")
        ended, now = lockstep.step(actions.next(now))
        _tally(context, ended, ROWS)


def _at_the_cap(context: Context, lockstep: Lockstep, cap: int) -> None:
    """All rows one step before the cap: the step truncates them all, also where it terminates; then two more."""
    states = {name: value.copy() for name, value in lockstep.now.items()}
    states["clock.t"][:] = cap - 1
    states["clock.seed"][:] = seeds(context.rng, ROWS)
    states["clock.episode"][:] = context.rng.integers(0, 2**32 - 8, ROWS)
    now = lockstep.enter(states)
    actions = Actions(context.package, context.rng, ROWS)
    for _ in range(3):
        ended, now = lockstep.step(actions.next(now))
        _tally(context, ended, ROWS)


def _together(context: Context, resets: str, fused: bool, setting: str) -> None:
    """Equal rows with equal actions end together."""
    rows = 5
    seed = np.repeat(seeds(context.rng, 1), rows)
    lockstep = Lockstep(
        context, context.env(rows, seed, resets=resets), np.arange(rows), setting + ", equal rows", fused
    )
    actions = Actions(context.package, context.rng, 1)
    now = lockstep.reset(seed)
    cap = context.package.environment.max_episode_steps or 200
    for _ in range(2 * min(cap, 200)):
        alone = {name: value[:1] for name, value in now.items()}
        ended, now = lockstep.step(np.repeat(actions.next(alone), rows, axis=0))
        _tally(context, ended, rows)


def _tally(context: Context, ended: Record, rows: int) -> None:
    count = int((ended["terminated"] | ended["truncated"]).sum())
    kind = "0 rows" if count == 0 else "1 row" if count == 1 else "all rows" if count == rows else "some rows"
    context.count(f"steps with {kind} ending")
