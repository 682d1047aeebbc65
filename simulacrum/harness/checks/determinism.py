"""The same seed gives the same bits: again, in another process, under other threads and settings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from ... import rng
from ..context import Context
from ..lockstep import References
from ..sources import EDGE_SEEDS, Actions, seeds
from ..surroundings import default_dtype, generator_states, seeded_generators, threads
from ..traces import digest

STEPS = 100
SIZES = (7, 4096)


def check(context: Context) -> None:
    """Digests of traces against each other; and that no global generator is read or written."""
    seed = int(context.rng.integers(0, 2**63))
    first = {rows: _digest(context, rows, seed) for rows in SIZES}
    for what, setting in _settings().items():
        for rows in SIZES:
            with setting():
                context.require(_digest(context, rows, seed) == first[rows], f"N = {rows}: other bits {what}")
            context.count("traces compared")
    context.progress(0.4)
    _seeding(context, seed)
    _references(context)
    _generators_untouched(context, seed)
    context.progress(0.6)
    if context.profile.processes:
        _other_process(context, seed, first)


def _digest(context: Context, rows: int, seed: int) -> str:
    return digest(context.package, context.env(rows, seed), STEPS)


def _settings() -> dict[str, Callable[[], AbstractContextManager[Any]]]:
    """Surroundings that must change nothing, by name."""
    return {
        "when run again": nullcontext,
        "with two threads": lambda: threads(2),
        "with float64 as the default dtype": lambda: default_dtype(torch.float64),
        "after the global generators were seeded": lambda: seeded_generators(1),
    }


def _seeding(context: Context, seed: int) -> None:
    """``set_seed``, the constructor and ``first_instance`` give the instance seeds of the contract, all distinct."""
    rows = 16
    for number in (seed, seed + 1, *EDGE_SEEDS):
        expected = [rng.instance_seed(number, instance) for instance in range(rows)]
        made, late = context.env(rows, number), context.env(rows, None)
        late.set_seed(1)
        late.set_seed(number)
        split = [context.env(rows // 2, number, first_instance=first) for first in (0, rows // 2)]
        for when in ("before a reset", "after it"):
            found = {
                "the constructor": _seeds(made),
                "set_seed": _seeds(late),
                "first_instance": _seeds(split[0]) + _seeds(split[1]),
            }
            for what, values in found.items():
                message = f"seed {number}, {what}, {when}: expected the instance seeds {expected[:2]} ..."
                context.require(values == expected, f"{message}, got {values[:2]} ...")
            for env in (made, late, *split):
                env.reset()
        context.require(len(set(expected)) == rows, f"seed {number}: instances share a stream")
    env = context.env(rows, seed)
    env.reset()
    env.set_seed(seed + 1)
    before = _seeds(env)
    env.reset()
    after = _seeds(env)
    context.require(before == _seeds(context.env(rows, seed)), "set_seed took effect before the next full reset")
    context.require(after == _seeds(context.env(rows, seed + 1)), "set_seed had no effect at the next full reset")
    context.require(not set(before) & set(after), "neighbouring seeds share a stream")


def _seeds(env: object) -> list[int]:
    return [int(value) & 0xFFFFFFFFFFFFFFFF for value in env.instance_seeds]  # type: ignore[attr-defined]


def _references(context: Context) -> None:
    """References with the same seeds give the same records, made anew or seeded again."""
    rows = 5
    instance_seeds = seeds(context.rng, rows)
    state = context.rng.bit_generator.state
    first, other = References(context.package, rows), References(context.package, rows)
    for round_number in range(2):
        for references in (first, other):
            context.rng.bit_generator.state = state
            actions = Actions(context.package, context.rng, rows)
            now = references.reset(instance_seeds)
            records = [now]
            for _ in range(STEPS):
                ended, now = references.step(actions.next(now))
                records += [ended, now]
            if references is first and round_number == 0:
                expected = records
            same = all(
                np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f")
                for one, two in zip(expected, records, strict=True)
                for name in one
            )
            context.require(same, "reference.py gave other values for the same seeds and actions")


def _generators_untouched(context: Context, seed: int) -> None:
    """Neither side draws from a global generator."""
    action = context.package.environment.action_space.sample()
    for side in ("fast.py", "reference.py"):
        before = generator_states()
        if side == "fast.py":
            _digest(context, 7, seed)
        else:
            env = context.package.reference()
            env.reset(seed=seed)
            for _ in range(STEPS):
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
        for library, state in generator_states().items():
            context.require(state == before[library], f"{side} draws from the global generator of {library}")


def _other_process(context: Context, seed: int, first: dict[int, str]) -> None:
    """Another process, with another hash seed and thread count, gives the same digests."""
    environ = {**os.environ, "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-m", "simulacrum.harness.worker", str(context.package.path), str(seed), str(STEPS)]
    done = subprocess.run([*command, *map(str, SIZES)], env=environ, capture_output=True, text=True, cwd=os.sep)
    context.require(done.returncode == 0, f"another process could not run the environment:\n{done.stderr[-2000:]}")
    found = dict(zip(SIZES, done.stdout.split()[-len(SIZES) :], strict=True))
    context.require(found == first, f"another process gave other bits: {found}, here {first}")
    context.count("traces compared", len(SIZES))
