"""Resets in every way: by the end of an episode, by mask in mid-episode, twice over, whole, and at the step cap."""

from __future__ import annotations

import numpy as np

from ... import bits
from ..context import Context
from ..lockstep import FastRows, Lockstep
from ..records import OUTCOME, Record, concatenated
from ..sources import Actions, seeds
from ..states import POOL_ROWS

ROWS, FEW = 33, 3  # few: where most steps end an episode, one alone ends among few rows only
POOL_STEPS = 400  # of a rollout that looks for ends of episodes, at most
FORMS = (("rows", True), ("rows", False), ("masked", True), ("masked", False))


def check(context: Context) -> None:
    """Terminal and first observations, survivors and clocks of all rows against references, in every form of reset."""
    cap = context.package.environment.max_episode_steps
    steps = (2 if context.profile.name == "quick" else 5) * min(cap or 100, 100)
    ends = _ends(context)
    for number, (resets, fused) in enumerate(FORMS):
        setting = f"N = {ROWS}, resets by {resets}, {'step_and_maybe_reset' if fused else 'step, then reset'}"
        env = context.env(ROWS, seeds(context.rng, ROWS), resets=resets)
        lockstep = Lockstep(context, env, np.arange(ROWS), setting, fused)
        resets_of_all_kinds(context, lockstep, steps)
        few = context.env(FEW, seeds(context.rng, FEW), resets=resets)
        _masks(context, Lockstep(context, few, np.arange(FEW), f"{setting}, of {FEW} rows", fused), steps // 4)
        _together(context, resets, fused, setting)
        _some_end(context, lockstep, ends)
        partial_steps(context, resets, setting)
        partial_states(context, resets, setting)
        context.progress((number + 1) / len(FORMS))
    for count in ("steps with 0 rows ending", "steps with 1 row ending", "steps with some rows ending"):
        context.met(count, "an end of episodes")
    context.met("steps with all rows ending", "an end of episodes")


def resets_of_all_kinds(context: Context, lockstep: Lockstep, steps: int) -> None:
    """Resets by mask and whole ones between so many steps, after a seed, and at the step cap."""
    cap = context.package.environment.max_episode_steps
    _masks(context, lockstep, steps)
    _after_a_seed(context, lockstep)
    if cap is not None:
        _at_the_cap(context, lockstep, cap)


def _masks(context: Context, lockstep: Lockstep, steps: int) -> None:
    """Partial resets of none, one, some and all rows between steps, and whole resets."""
    rng, rows = context.rng, lockstep.size
    actions = Actions(context.package, rng, rows)
    instance_seeds = seeds(rng, rows)
    now = lockstep.reset(instance_seeds)
    for step in range(steps):
        way = rng.integers(0, 24)
        if way < 5:
            share = (0.0, 1.0 / rows, 0.3, 1.0, 0.05)[way]
            mask = rng.random(rows) < share
            mask[rng.integers(0, rows)] |= way == 1
            now = lockstep.reset(mask=mask)
            context.count("partial resets")
            if rng.random() < 0.3:
                now = lockstep.reset(mask=mask)  # twice over: the next episode but one
        elif way == 5 and step % 7 == 0:
            now = lockstep.reset()
            context.count("whole resets")
        elif way == 6 and step % 7 == 0:
            now = lockstep.reset(seeds(rng, rows))
            context.count("whole resets")
        ended, now = lockstep.step(actions.next(now))
        _tally(context, ended, rows)


def _after_a_seed(context: Context, lockstep: Lockstep) -> None:
    """``set_seed`` waits for a whole reset: until then resets by mask, of all rows too, go on with the streams."""
    rows = lockstep.size
    actions = Actions(context.package, context.rng, rows)
    lockstep.fast.env.set_seed(int(context.rng.integers(0, 2**62)))
    for share in (0.3, 1.0, 0.3):
        now = lockstep.reset(mask=context.rng.random(rows) < share)
        ended, now = lockstep.step(actions.next(now))
        _tally(context, ended, rows)
        context.count("partial resets")
    lockstep.reset(seeds(context.rng, rows))


def _at_the_cap(context: Context, lockstep: Lockstep, cap: int) -> None:
    """All rows one step before the cap: the step truncates them all, also where it terminates; then two more.

    Then half of them, and all but one, are reset there by mask, twice over: the step truncates the others, and begins
    theirs.
    """
    rows = lockstep.size
    actions = Actions(context.package, context.rng, rows)
    for staying in (rows, rows // 2, 1):
        states = {name: value.copy() for name, value in lockstep.now.items()}
        states["clock.t"][:] = cap - 1
        states["clock.seed"][:] = seeds(context.rng, rows)
        states["clock.episode"][:] = context.rng.integers(0, 2**32 - 8, rows)
        now, mask = lockstep.enter(states), context.rng.permutation(rows) >= staying
        for _ in range(2 if mask.any() else 0):
            now = lockstep.reset(mask=mask)
        for _ in range(3):
            ended, now = lockstep.step(actions.next(now))
            _tally(context, ended, rows)


def _ends(context: Context) -> tuple[Record, np.ndarray]:
    """States and clocks, and actions [rows, ...], from which a step ends an episode, of a rollout of the fast side."""
    fast = FastRows(context.package, context.env(POOL_ROWS, seeds(context.rng, POOL_ROWS)))
    actions, now = Actions(context.package, context.rng, POOL_ROWS), fast.reset()
    kept: list[Record] = []
    chosen: list[np.ndarray] = []
    for _ in range(POOL_STEPS):
        before, acted = now, actions.next(now)
        ended, now = fast.step(acted)
        rows = np.flatnonzero(ended["terminated"] | ended["truncated"])
        kept.append({name: before[name][rows] for name in before if name.startswith(("state.", "clock."))})
        chosen.append(acted[rows])
        if sum(map(len, chosen)) >= POOL_ROWS:
            break
    return concatenated(kept), np.concatenate(chosen)


def _some_end(context: Context, lockstep: Lockstep, ends: tuple[Record, np.ndarray]) -> None:
    """One row, some rows, all rows enter a state from which their step ends the episode, whatever the others do."""
    states, chosen = ends
    rows, rng = lockstep.size, context.rng
    actions = Actions(context.package, rng, rows)
    for count in (1, rows // 2, rows) if len(chosen) else ():
        there, which = rng.permutation(rows)[:count], rng.integers(0, len(chosen), count)
        entered = {name: lockstep.now[name].copy() for name in states}
        for name, value in states.items():
            entered[name][there] = value[which]
        now = lockstep.enter(entered)
        acted = actions.next(now)
        acted[there] = chosen[which]
        for _ in range(2):
            ended, now = lockstep.step(acted)
            _tally(context, ended, rows)
            acted = actions.next(now)


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


def partial_steps(context: Context, resets: str, setting: str, rows: int = ROWS) -> None:
    """TorchRL's ``_step`` mask: rows inside step as if all did, rows outside stay, without reward or flags."""
    instance_seeds = seeds(context.rng, rows)
    env, whole = (FastRows(context.package, context.env(rows, instance_seeds, resets=resets)) for _ in range(2))
    actions = Actions(context.package, context.rng, rows)
    now = whole.reset()
    for _ in range(12):
        mask, chosen, before = context.rng.random(rows) < 0.5, actions.next(now), now
        env.enter(before)
        shown = env.step_some(chosen, mask)
        ended, now = whole.step(chosen)
        none = {name: np.zeros_like(ended[name]) for name in OUTCOME if name in ended}
        stay = {**none, **before}
        _where(context, f"{setting}: after a step of some rows (_step)", mask, ended, stay, shown)


def partial_states(context: Context, resets: str, setting: str, rows: int = ROWS) -> None:
    """``reset(set_state=True)`` with a ``_reset`` mask: rows inside enter the state, rows outside stay as they were."""
    env, other = (
        FastRows(context.package, context.env(rows, seeds(context.rng, rows), resets=resets)) for _ in range(2)
    )
    actions = Actions(context.package, context.rng, rows)
    now, then = env.reset(), other.reset()
    for _ in range(8):
        _, now = env.step(actions.next(now))
        _, then = other.step(actions.next(then))
    mask = context.rng.random(rows) < 0.5
    env.enter(then, mask)
    kept = {name: now[name] for name in now if name.startswith(("state.", "clock."))}
    _where(context, f"{setting}: after a state was injected into some rows", mask, then, kept, env.kept())
    context.count("states injected", int(mask.sum()))


def _where(context: Context, when: str, mask: np.ndarray, inside: Record, outside: Record, shown: Record) -> None:
    """End the check unless ``shown`` is ``inside`` in the rows of the mask and ``outside`` in the others."""
    for name, value in outside.items():
        wanted = np.where(mask.reshape(-1, *(1,) * (value.ndim - 1)), inside[name], value)
        same = bits.same_rows(wanted, shown[name])
        context.require(bool(same.all()), f"{when}, {name} is wrong in row {int(np.argmin(same))}")
    context.count("partial calls")


def _tally(context: Context, ended: Record, rows: int) -> None:
    count = int((ended["terminated"] | ended["truncated"]).sum())
    kind = "0 rows" if count == 0 else "1 row" if count == 1 else "all rows" if count == rows else "some rows"
    context.count(f"steps with {kind} ending")
