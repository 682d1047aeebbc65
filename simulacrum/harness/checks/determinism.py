"""The same seed gives the same bits: again, and in another process; and seeds give the streams of the contract."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

import numpy as np

from ... import rng
from ..context import Context
from ..lockstep import References
from ..sources import EDGE_SEEDS, Actions, seeds
from ..traces import digest, reference_digest
from ..worker import Worker

STEPS = 100
SIZES = (7, 4096)


def check(context: Context) -> None:
    """Digests of traces against each other, while another process makes its own."""
    seed = int(context.rng.integers(0, 2**62))
    with ExitStack() as stack:
        worker = None
        if context.profile.processes:
            worker = Worker(context.package, seed, STEPS, SIZES, {}, os.getcwd())
            stack.callback(worker.stop)
        first = {str(rows): _digest(context, rows, seed) for rows in SIZES}
        for rows in SIZES:
            context.require(_digest(context, rows, seed) == first[str(rows)], f"N = {rows}: other bits when run again")
            context.count("traces compared")
        context.progress(0.4)
        _seeding(context, seed)
        _references(context)
        context.progress(0.6)
        if worker is not None:
            _other_process(context, worker.result(), seed, first)


def _digest(context: Context, rows: int, seed: int) -> str:
    return digest(context.package, context.env(rows, seed, device="cpu"), STEPS)


def _seeding(context: Context, seed: int) -> None:
    """``set_seed``, the constructor and ``first_instance`` give the instance seeds of the contract, all distinct."""
    rows = 16
    for number in (seed, seed + 1, *EDGE_SEEDS):
        expected = [rng.instance_seed(number, instance) for instance in range(rows)]
        made, late = context.env(rows, number), context.env(rows, None)
        late.set_seed(1)
        late.set_seed(number)
        split = [context.env(rows // 2, number, first_instance=first) for first in (0, rows // 2)]
        for when in ("before a reset", "after it", "in the second episode", "in the third", "in the fourth"):
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


def _other_process(context: Context, found: dict[str, Any], seed: int, first: dict[str, str]) -> None:
    """Another process gives the same digests."""
    expected = {**first, "reference.py": reference_digest(context.package, seed, STEPS)}
    others = {**found["digests"], "reference.py": found["reference"]}
    context.require(others == expected, f"another process gave other bits: {others}, here {expected}")
    context.count("traces compared", len(expected))
