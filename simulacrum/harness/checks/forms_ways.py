"""A further form in every way in which it is run: wrapped, collected, copied, viewed, in another process, refusing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from ...errors import ActionError
from ...fast.copying import duplicate
from ..context import Context
from ..lockstep import FastRows
from ..records import difference
from ..sources import Actions, random_actions, seeds
from ..traces import digest, trace
from ..worker import Worker
from . import benchmark_factory_parity, purity, replay

ROWS, QUICK_ROWS, LONGEST = 512, 132, 100  # of the trace that every way follows: rows, steps
SMALL, STEPS = (7, 129), 60  # of the trace that another process makes
ROUNDS = 2  # of copies that go on


def every_way(context: Context, first: Context) -> None:
    """One trace of the first form, followed in every way of this one."""
    cap = context.package.environment.max_episode_steps or LONGEST
    rows = QUICK_ROWS if context.profile.name == "quick" else ROWS
    seed = int(context.rng.integers(0, 2**62))
    expected = list(trace(context.package, first.env(rows, seed), min(cap + 20, LONGEST)))
    benchmark_factory_parity.every_way(context, rows, seed, expected)


def memory_and_surroundings(context: Context) -> None:
    """Nothing that was taken or given is written later; views, and settings that must not matter, change nothing."""
    seed, quick = int(context.rng.integers(0, 2**62)), context.profile.name == "quick"
    for rows in (65,) if quick else (1, 65, 4096):
        purity.held_aliases(context, rows, seed, purity.some_actions(context, rows, 16))
    for part in (purity.held_memory, purity.viewed_actions, purity.viewed_states):
        for rows, steps in ((6, 24),) if quick else ((1, 12), (6, 32), (129, 8)):
            part(context, rows, seed, purity.some_actions(context, rows, steps))
    purity.other_surroundings(context, seed, 513, threads_too=False)


def copies(context: Context) -> None:
    """Pickles and deep copies begin as the original does, and go on as it does in the middle of an episode."""
    replay.unbegun(context)
    lockstep, now = replay.started(context)
    actions = Actions(context.package, context.rng, replay.ROWS)
    for _ in range(ROUNDS):
        for _ in range(context.rng.integers(1, 20)):
            _, now = lockstep.step(actions.next(now))
        now = replay.go_on(context, lockstep, now, actions)


@contextmanager
def elsewhere(context: Context, first: Context) -> Iterator[None]:
    """While the block runs, another process makes traces of the form; then they are those of the first form here."""
    if not context.profile.processes:
        yield
        return
    seed = int(context.rng.integers(0, 2**62))
    environ = {"OMP_NUM_THREADS": "2"}
    worker = Worker(context.package, seed, STEPS, SMALL, environ, os.getcwd(), context.form)
    try:
        yield
        found = worker.result()["digests"]
    finally:
        worker.stop()
    here = {str(rows): digest(context.package, first.env(rows, seed), STEPS) for rows in SMALL}
    context.require(found == here, "another process gave other bits than the tensor form here")
    context.count("traces compared", len(here))


# ---------------------------------------------------------------------- what is refused


def refused_actions(context: Context, first: Context) -> None:
    """Actions that are none are refused by both forms alike, and change nothing."""
    rows, package = 65, context.package
    own = seeds(context.rng, rows)
    sides = [FastRows(package, one.env(rows, own)) for one in (context, first)]
    actions = Actions(package, context.rng, rows)
    now = sides[1].reset()
    sides[0].reset()
    for _ in range(3):
        for what, action in _wrong_actions(package.environment.action_space, context.rng, rows):
            told = [_refusal(side, action) for side in sides]
            if told[0] != told[1]:
                context.fail(f"an action with {what}: the tensor form raises {told[1]}, the kernel form {told[0]}")
            found = difference(sides[1].kept(), sides[0].kept())
            context.require(found is None, f"an action with {what} was refused, and changed {found and found[0]}")
            context.count("actions refused")
        chosen = actions.next(now)
        shown, others = (side.step(chosen) for side in sides)
        now = others[1]
        for one, other in zip(others, shown, strict=True):
            found = difference(one, other)
            context.require(found is None, f"after refused actions, a step gives another {found and found[0]}")


def _refusal(side: FastRows, action: torch.Tensor) -> str:
    """What a side raises when it is given an action, in both ways of stepping."""
    told = []
    for step in (side.env.step_and_maybe_reset, side.env.step):
        try:
            step(duplicate(side.td).set(side.env.action_key, action))
            told.append("nothing")
        except ActionError as error:
            told.append(f"ActionError: {error}")
        except Exception as error:
            told.append(f"{type(error).__name__}: {error}")
    return "; ".join(dict.fromkeys(told))


def _wrong_actions(space: spaces.Space[Any], rng: np.random.Generator, rows: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Legal actions with one row or form that is not legal, in words."""
    legal = random_actions(space, rng, rows)
    yield "another dtype", torch.from_numpy(legal).to(torch.float16 if legal.dtype.kind in "iu" else torch.int16)
    yield "a row too few", torch.from_numpy(legal)[1:]
    low, high = _bounds(space)
    for row in (0, rows // 2, rows - 1):
        for what, value in _outside(legal.dtype, low, high):
            action = legal.copy()
            flat = action.reshape(rows, -1)
            flat[row, rng.integers(0, flat.shape[1])] = value
            yield f"{what} in row {row}", torch.from_numpy(action)


def _bounds(space: spaces.Space[Any]) -> tuple[Any, Any]:
    """The least and the greatest number in any element."""
    if isinstance(space, spaces.Box):
        return space.low.min(), space.high.max()
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, spaces.MultiDiscrete):
        return space.start.min(), (space.start + space.nvec - 1).max()
    return 0, 1


def _outside(dtype: np.dtype[Any], low: Any, high: Any) -> Iterator[tuple[str, Any]]:
    """Numbers below the least and above the greatest, where the dtype has any; NaN among floats."""
    if dtype.kind == "f":
        yield "a NaN", np.nan
        if np.isfinite(low):
            yield "a number too small", np.nextafter(dtype.type(low), dtype.type(-np.inf))
        if np.isfinite(high):
            yield "a number too great", np.nextafter(dtype.type(high), dtype.type(np.inf))
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = {"too small": (int(low) - 1, info.min), "too great": (int(high) + 1, info.max)}
        for what, (beside, farthest) in values.items():
            for value in {beside, farthest}:
                if info.min <= value <= info.max and not int(low) <= value <= int(high):
                    yield f"a number {what}", value
