"""Every fast row equals its own reference, bit by bit, for many batch sizes and over many episodes."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..lockstep import Lockstep
from ..records import observation_names
from ..sources import Actions, seeds

ROWS, NEAR = 65, 8  # how many go over the step cap, from how many steps before it at most


def sampled_rows(rng: np.random.Generator, rows: int, count: int) -> np.ndarray:
    """Which rows get a reference: all, or the first, the last, and others at random."""
    if count >= rows:
        return np.arange(rows)
    middle = rng.choice(np.arange(1, rows - 1), count - 2, replace=False)
    return np.sort(np.concatenate([[0, rows - 1], middle]))


def _further_sizes(context: Context) -> dict[int, tuple[int, int]]:
    """Further batch sizes: those of inner dimensions, for at N = K a [N] beside a [N, K] broadcasts without an error;
    32, and one at random."""
    spec, environment = context.package.spec, context.package.environment
    shapes = [field.shape for field in spec.fields.values()]
    shapes += [space.shape or () for space in observation_names(context.package).values()]
    shapes.append(environment.action_space.shape or ())
    inner = {size for shape in shapes for size in shape if size <= 256} - set(context.profile.sizes)
    inner |= {32, int(context.rng.integers(8, 300))}
    return {size: (min(size, 65), 100) for size in sorted(inner)}


def check(context: Context) -> None:
    """From the reset observation on: observations (terminal and first ones too), reward, flags, state and clock."""
    sizes = {**context.profile.sizes, **_further_sizes(context)}
    total = sum(steps * count for count, steps in sizes.values())
    for device in context.profile.devices:
        done = 0
        for rows, (count, steps) in sizes.items():
            instance_seeds = seeds(context.rng, rows)
            env = context.env(rows, instance_seeds, device=device)
            chosen = sampled_rows(context.rng, rows, count)
            lockstep = Lockstep(context, env, chosen, f"N = {rows}, {device}")
            actions = Actions(context.package, context.rng, rows)
            now = lockstep.reset(instance_seeds)
            for step in range(steps):
                _, now = lockstep.step(actions.next(now))
                if step % 64 == 0:
                    context.progress((done + step * count) / total)
            done += steps * count
    spec = context.package.spec
    if spec.declared("terminates"):
        context.met("terminations", "terminates: yes")
    if spec.declared("truncates"):
        if spec.max_episode_steps is not None and not context.counts["truncations"]:
            _past_the_cap(context, spec.max_episode_steps)
        context.met("truncations", "truncates: yes")
    context.note(
        "rows compared with a reference at each N: "
        + ", ".join(f"{rows}: {'all' if count >= rows else count}" for rows, (count, _) in sizes.items())
    )


def _past_the_cap(context: Context, cap: int) -> None:
    """Where no episode was as long as the step cap: rows go on from shortly before it, and over it."""
    instance_seeds = seeds(context.rng, ROWS)
    lockstep = Lockstep(context, context.env(ROWS, instance_seeds), np.arange(ROWS), f"N = {ROWS}, near the step cap")
    actions = Actions(context.package, context.rng, ROWS)
    now = lockstep.reset(instance_seeds)
    now = lockstep.enter({**now, "clock.t": cap - context.rng.integers(1, min(NEAR, cap), ROWS, endpoint=True)})
    for _ in range(2 * NEAR):
        _, now = lockstep.step(actions.next(now))
