"""A further form beside the first, in lockstep: rollouts, single transitions from anywhere, resets in every way."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..evidence import INDEPENDENT
from ..injection import Injector, OtherForm
from ..lockstep import FastRows, Lockstep
from ..sources import Actions, mixed_actions, seeds
from ..states import POOL_ROWS, States, rollout_states
from ..surroundings import threads
from .auto_reset import FORMS, partial_states, partial_steps, resets_of_all_kinds

# N -> steps of the rollouts: at and beside the sizes of blocks and of words
SIZES = {1: 200, 2: 100, 3: 100, 63: 80, 64: 80, 65: 80, 127: 60, 129: 60, 513: 60, 4096: 160}
QUICK_SIZES = {1: 60, 64: 30, 65: 40, 129: 30, 513: 30}
MANY = 65_537  # rows, more than 16 bits number, and enough for threads to share
THREADS = (1, 2)
BATCHES = (1, 7, 64, 65, 129, 4096)  # of single transitions, in turn
RESET_ROWS = ((33, 129, 1000), (65,), (129,), (33,))  # for each way of resetting


def beside(
    context: Context, first: Context, own: np.ndarray, setting: str, fused: bool = True, **options: str
) -> Lockstep:
    """A new environment of the form with these seeds (uint64 [N]) beside one of the first form."""
    rows = len(own)
    oracle = FastRows(context.package, first.env(rows, own))
    return Lockstep(context, context.env(rows, own, **options), np.arange(rows), setting, fused, oracle)


def rollouts(context: Context, first: Context) -> None:
    """Episodes under mixed actions, in batches of many sizes; in one of them with several threads."""
    quick = context.profile.name == "quick"
    for rows, steps in (QUICK_SIZES if quick else SIZES).items():
        _rollout(context, first, rows, steps)
    for count in THREADS:
        with threads(count):
            _rollout(context, first, 20_000 if quick else MANY, 2 if quick else 4, f", {count} threads")
    spec = context.package.spec
    for ends, declares in (("terminations", "terminates"), ("truncations", "truncates")):
        if spec.declared(declares):
            context.met(ends, f"{declares}: yes")


def _rollout(context: Context, first: Context, rows: int, steps: int, how: str = "") -> None:
    """From a reset; half of the steps of a large batch from states close to the step cap, where many rows end."""
    own = seeds(context.rng, rows)
    lockstep = beside(context, first, own, f"N = {rows}{how}")
    actions, cap = Actions(context.package, context.rng, rows), context.package.environment.max_episode_steps
    now = lockstep.reset(own)
    for step in range(steps):
        if cap is not None and 2 * step == steps:
            t = np.maximum(cap - context.rng.integers(1, 8, rows), 0)
            now = lockstep.enter({**now, "clock.t": np.where(context.rng.random(rows) < 0.5, t, now["clock.t"])})
        _, now = lockstep.step(actions.next(now))


def transitions(context: Context, first: Context) -> None:
    """Single transitions from generated states, in batches of several sizes."""
    package, rng = context.package, context.rng
    pool = rollout_states(package, first.env(POOL_ROWS, int(rng.integers(0, 2**62))), rng)
    states = States(package, rng, pool)
    injector = Injector(context, states.reached, oracle=OtherForm(first))
    wanted, compared = context.profile.transitions // 2, 0
    for number in range(2 * len(BATCHES) + wanted // max(BATCHES)):
        drawn = states.draw(BATCHES[number % len(BATCHES)] if number < 2 * len(BATCHES) else max(BATCHES))
        rows = len(drawn["clock.t"])
        context.require(rows > 0, "no legal state was found: the invariants leave none of the states that were tried")
        injector.compare(drawn, mixed_actions(package, rng, rows), resets=("rows", "masked")[number % 2])
        context.counts[INDEPENDENT] += rows  # under the name by which the report finds it
        compared += rows
        if compared >= wanted:
            return
    context.note(f"fewer than {wanted} transitions: the invariants leave few of the states that are tried")


def resets(context: Context, first: Context) -> None:
    """Resets by mask, whole ones, after a seed and at the step cap; steps and injections of some rows."""
    cap = context.package.environment.max_episode_steps
    quick = context.profile.name == "quick"
    steps = min(cap or 100, 30 if quick else 100)
    for sizes, (resets, fused) in zip(RESET_ROWS, FORMS, strict=True):
        for rows in sizes[:1] if quick else sizes:
            way = "step_and_maybe_reset" if fused else "step, then reset"
            setting = f"N = {rows}, resets by {resets}, {way}"
            lockstep = beside(context, first, seeds(context.rng, rows), setting, fused, resets=resets)
            resets_of_all_kinds(context, lockstep, steps)
            partial_steps(context, resets, setting, rows)
            partial_states(context, resets, setting, rows)
