"""The stream of words that environments consume, as raw little-endian 32-bit words on stdout, without end.

The words come in the order in which an environment draws them: instance by instance (each with the seed that
``set_seed`` gives it), episode by episode; in an episode first the reset's slots at t = 0, then the step's slots at
t = 0, 1 ... 49; in a slot index by index. So the counters are those of real use: small, regular, mostly alike from one
word to the next. A 32-bit draw contributes its word x0, a 64-bit draw x0 and x1.

    python docs/dieharder/stream.py [SEED] | dieharder -a -g 200
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import torch

from simulacrum.rng import Phase
from simulacrum.rng.tensor import Draw, episode_keys, instance_seeds

RESET_SLOTS = ((0, 32, 2), (1, 32, 6), (2, 64, 1))  # slot, width, number of items
STEP_SLOTS = ((16, 32, 1), (17, 32, 4), (18, 64, 1))
RESET = Phase("reset", [slot for slot, _, _ in RESET_SLOTS])
STEP = Phase("step", [slot for slot, _, _ in STEP_SLOTS])

STEPS = 50  # of an episode
EPISODES = 20  # of an instance
INSTANCES = 64  # of a chunk: only how many rows are computed at once, the stream does not depend on it

Slots = tuple[tuple[int, int, int], ...]


def consumed(draw: Draw, slots: Slots) -> np.ndarray:
    """The words that a phase consumes, uint32 [N, words]: slot by slot, index by index."""
    columns = []
    for slot, width, count in slots:
        values = draw.bits(slot, width, shape=(count,)).numpy().view(np.uint64)
        if width == 64:
            values = np.stack([values >> 32, values & 0xFFFFFFFF], -1).reshape(len(values), -1)
        columns.append(values.astype("<u4"))
    return np.concatenate(columns, 1)


def chunk(seed: int, first_instance: int) -> np.ndarray:
    """All episodes of ``INSTANCES`` instances: uint32 [INSTANCES * EPISODES, words of an episode]."""
    seeds = instance_seeds(seed, torch.arange(first_instance, first_instance + INSTANCES))
    rows = INSTANCES * EPISODES
    k0, k1 = episode_keys(seeds.repeat_interleave(EPISODES), torch.arange(EPISODES).repeat(INSTANCES))
    reset = consumed(Draw(k0, k1, torch.zeros(rows, dtype=torch.int64), RESET), RESET_SLOTS)
    steps = Draw(k0.repeat_interleave(STEPS), k1.repeat_interleave(STEPS), torch.arange(STEPS).repeat(rows), STEP)
    return np.concatenate([reset, consumed(steps, STEP_SLOTS).reshape(rows, -1)], 1)


def chunks(seed: int) -> Iterator[np.ndarray]:
    """The stream of a seed, chunk by chunk, over all 2**32 instances."""
    for first_instance in range(0, 1 << 32, INSTANCES):
        yield chunk(seed, first_instance)


def main() -> None:
    torch.set_num_threads(1)
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    try:
        for words in chunks(seed):
            sys.stdout.buffer.write(words.tobytes())
    except BrokenPipeError:  # the reader has enough
        sys.stderr.close()


if __name__ == "__main__":
    main()
