"""How fast tensors of draws are made, beside Gymnasium's own vector CartPole, interleaved in one process on one core.

    python docs/draws_rate.py [N]

Prints, for calls of 1, 4, 16 and 64 elements a row, the millions of 64-bit draws a second of the native operator and of
the tensor operations that stand in for it where there is no C compiler, and the native rate as a multiple of CartPole's
steps a second (``vectorization_mode="vector_entry_point"``, 8192 environments). Medians of rounds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import torch

from simulacrum.rng import operators, tensor

YARD = 8192
ROUNDS = 15


def seconds(call: Callable[[], Any], budget: float = 0.02) -> float:
    """Seconds a call, over as many calls as fill the budget."""
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < budget:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def yardstick() -> Callable[[], Any]:
    """A step of CartPole."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=YARD, vectorization_mode="vector_entry_point")
    envs.reset(seed=0)
    actions = envs.action_space.sample()
    return lambda: envs.step(actions)


def main(rows: int) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    if operators.native_module() is None:
        sys.exit("no native draws: a C compiler is missing, or SIMULACRUM_NATIVE=0")
    step = yardstick()
    k0, k1 = tensor.episode_keys(torch.arange(rows), torch.zeros(rows, dtype=torch.int64))
    t = torch.zeros(rows, dtype=torch.int64)
    print(f"N = {rows}   elements a row, native M/s, tensor operations M/s, native / CartPole")
    for count in (1, 4, 16, 64):
        ranges = [1 << 24, count]
        forms = (operators.threefry_words, operators.lane_words)
        calls = [lambda form=form, ranges=ranges: form(k0, k1, t, ranges) for form in forms]
        rounds = [[seconds(call) for call in (*calls, step)] for _ in range(ROUNDS)]
        native, lanes, _ = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio = statistics.median([rows * count / one[0] / (YARD / one[2]) for one in rounds])
        print(f"{count:4d} {rows * count / native / 1e6:8.0f} {rows * count / lanes / 1e6:8.1f} {ratio:6.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else YARD)
