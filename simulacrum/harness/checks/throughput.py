"""How fast both sides are: medians of interleaved rounds, and their ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from ..context import Context
from ..sources import random_actions

ROWS = 4096
ROUNDS = 7


def check(context: Context) -> None:
    """Steps per second of the reference (one instance) and of the fast side; the ratio against ``MIN_SPEEDUP``."""
    seconds = context.profile.seconds / ROUNDS
    forms = {"eager": context.env(ROWS, 1, expose_state=False)}
    if context.compiled:
        forms["compiled"] = context.env(ROWS, 1, expose_state=False, compile=True)
    sides = {"reference": _reference(context), **{name: _fast(context, env) for name, env in forms.items()}}
    steps = {name: _calibrated(run, seconds) for name, run in sides.items()}
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(ROUNDS):
        for name, run in sides.items():
            start = time.perf_counter()
            made = run(steps[name])
            rates[name].append(made / (time.perf_counter() - start))
        context.progress((number + 1) / ROUNDS)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    best = max(forms, key=lambda name: medians[name])
    ratio = statistics.median(fast / slow for fast, slow in zip(rates[best], rates["reference"], strict=True))
    context.facts.update({f"{name} steps per second": round(value) for name, value in medians.items()})
    context.facts.update(
        {"ratio": round(ratio, 1), "fastest form": best, "batch size": ROWS, "threads": torch.get_num_threads()}
    )
    wanted = getattr(context.package.checks, "MIN_SPEEDUP", None)
    if wanted is not None and ratio < wanted:
        context.problem(
            f"the fast side ({best}, N = {ROWS}) makes {ratio:.1f} times the reference's steps per second, MIN_SPEEDUP "
            f"is {wanted} ({medians[best]:,.0f} against {medians['reference']:,.0f})"
        )


def _reference(context: Context) -> Callable[[int], int]:
    env = context.package.reference()
    space = context.package.environment.action_space
    actions: list[Any] = list(random_actions(space, context.rng, 1024))
    if not space.shape:
        actions = [action.item() for action in actions]
    env.reset(seed=1)

    def run(steps: int) -> int:
        for step in range(steps):
            _, _, terminated, truncated, _ = env.step(actions[step & 1023])
            if terminated or truncated:
                env.reset()
        return steps

    return run


def _fast(context: Context, env: Any) -> Callable[[int], int]:
    space = context.package.environment.action_space
    actions = [torch.from_numpy(random_actions(space, context.rng, ROWS)).to(env.device) for _ in range(8)]
    held = {"td": env.reset()}

    def run(steps: int) -> int:
        td = held["td"]
        for step in range(steps):
            td.set("action", actions[step & 7])
            _, td = env.step_and_maybe_reset(td)
        held["td"] = td
        return steps * ROWS

    return run


def _calibrated(run: Callable[[int], int], seconds: float) -> int:
    """How many steps take about that long; warms up (and compiles) on the way."""
    cap = 100
    run(cap)
    start = time.perf_counter()
    run(cap)
    return max(20, int(cap * seconds / (time.perf_counter() - start)))
