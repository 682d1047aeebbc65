"""The draws of a kernel against those of tensors, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from simulacrum import native
from simulacrum.kernel import build
from simulacrum.kernel.layout import BLOCK
from simulacrum.rng.tensor import Draw, episode_keys

pytestmark = pytest.mark.skipif(not native.enabled(), reason="kernels need a C compiler")
EDGES = [0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]
INDEXES = [0, 1, 255, 2**24 - 25]
SLOTS = [0, 1, 7, 127, 128, 239]
LONGEST = 24  # of permutations
SOURCE = """
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

cdef enum:
    BLOCK = {block}

cdef int _SLOT_PHASES[240]

include "block.pxi"
include "draws.pxi"

cdef Draw taken(size_t k0, size_t k1, size_t t):
    cdef Draw draw
    draw.k0, draw.k1, draw.t = <uint32_t*>k0, <uint32_t*>k1, <uint32_t*>t
    draw.rows, draw.phase, draw.wrong = BLOCK, 0, 0
    return draw

def bits32(size_t k0, size_t k1, size_t t, int slot, int index, uint32_t[::1] out):
    cdef Draw draw = taken(k0, k1, t)
    draw_bits32(&draw, slot, index, &out[0])

def few(size_t k0, size_t k1, size_t t, int slot, int index, uint32_t[::1] out, int rows):
    cdef Draw draw = taken(k0, k1, t)
    draw.rows = rows
    draw_bits32(&draw, slot, index, &out[0])

def bits64(size_t k0, size_t k1, size_t t, int slot, int index, uint64_t[::1] out):
    cdef Draw draw = taken(k0, k1, t)
    draw_bits64(&draw, slot, index, &out[0])

def uniform32(size_t k0, size_t k1, size_t t, int slot, int index, float[::1] out):
    cdef Draw draw = taken(k0, k1, t)
    draw_uniform32(&draw, slot, index, &out[0])

def uniform64(size_t k0, size_t k1, size_t t, int slot, int index, double[::1] out):
    cdef Draw draw = taken(k0, k1, t)
    draw_uniform64(&draw, slot, index, &out[0])

def randint(size_t k0, size_t k1, size_t t, int slot, int index, int32_t[::1] out, uint32_t n):
    cdef Draw draw = taken(k0, k1, t)
    draw_randint(&draw, slot, index, n, &out[0])

def bernoulli(size_t k0, size_t k1, size_t t, int slot, int index, uint8_t[::1] out, double p):
    cdef Draw draw = taken(k0, k1, t)
    draw_bernoulli(&draw, slot, index, p, &out[0])

def categorical(size_t k0, size_t k1, size_t t, int slot, int index, int32_t[::1] out, double[::1] weights):
    cdef Draw draw = taken(k0, k1, t)
    draw_categorical(&draw, slot, index, &weights[0], len(weights), &out[0])

def permutation(size_t k0, size_t k1, size_t t, int slot, int index, int32_t[::1] out, int n):
    cdef uint64_t keys[{longest} * BLOCK]
    cdef Draw draw = taken(k0, k1, t)
    draw_permutation(&draw, slot, index, n, keys, &out[0])

def wrong(int slot, int phase):
    cdef uint32_t none[BLOCK]
    cdef uint32_t out[BLOCK]
    cdef Draw draw = taken(<size_t>none, <size_t>none, <size_t>none)
    for i in range(BLOCK):
        none[i] = 0
    draw.phase = phase
    draw_bits32(&draw, slot, 0, out)
    return draw.wrong
"""


@pytest.fixture(scope="module")
def drawn() -> ModuleType:
    """The functions of draws.pxi, each as a function of the addresses of keys and step counters."""
    text = SOURCE.format(block=BLOCK, longest=LONGEST).encode()
    includes = {"draws.pxi": (build.FOLDER / "draws.pxi").read_bytes(), "block.pxi": build.BLOCK_SOURCE.read_bytes()}
    return native.load(native.Source(Path("draws_of_kernels.pyx"), text, includes))


class Both:
    """A block of rows: random seeds, episodes and step counters, edges among them."""

    def __init__(self, module: ModuleType, seed: int) -> None:
        some = np.random.default_rng(seed)
        seeds = some.integers(-(2**63), 2**63, BLOCK, np.int64)
        seeds[:4] = 0, -1, 2**63 - 1, -(2**63)
        episodes, t = (some.integers(0, 2**32, BLOCK, np.int64) for _ in range(2))
        episodes[: len(EDGES)], t[-len(EDGES) :] = EDGES, EDGES
        rows = [torch.from_numpy(one) for one in (seeds, episodes, t)]
        k0, k1 = episode_keys(*rows[:2])
        self.module, self.tensor = module, Draw.at(*rows)
        self.held = [k0.contiguous(), k1.contiguous(), rows[2].to(torch.int32)]

    def compare(self, name: str, out: str, expected: Callable[..., Tensor], *arguments: Any, length: int = 1) -> Tensor:
        """Each slot and index: the kernel's elements beside the tensors' ([N] or [N, length])."""
        for slot in SLOTS:
            for index in INDEXES:
                got = np.full(length * BLOCK, 77, out)
                place = [tensor.data_ptr() for tensor in self.held]
                getattr(self.module, name)(*place, slot, index, got, *arguments)
                tensor = expected(slot, index)
                lanes = tensor.reshape(BLOCK, length).t().contiguous().numpy()
                assert got.tobytes() == lanes.astype(out).tobytes(), (slot, index)
        return tensor


@pytest.fixture(scope="module", params=range(3))
def both(drawn: ModuleType, request: pytest.FixtureRequest) -> Both:
    return Both(drawn, request.param)


def test_rows_that_are_not_drawn_for_change_no_other_and_have_words_of_zeros(drawn: ModuleType) -> None:
    both = Both(drawn, 1)
    whole, part = (np.zeros(BLOCK, np.uint32) for _ in range(2))
    place = [tensor.data_ptr() for tensor in both.held]
    drawn.bits32(*place, 3, 4, whole)
    drawn.few(*place, 3, 4, part, 48)
    assert part[:48].tobytes() == whole[:48].tobytes()
    assert not part[48:].any()
    assert whole[48:].any()


def test_bits(both: Both) -> None:
    both.compare("bits32", "uint32", lambda slot, index: both.tensor.bits(slot, 32, index=index))
    both.compare("bits64", "uint64", lambda slot, index: both.tensor.bits(slot, 64, index=index))


@pytest.mark.parametrize("width", [32, 64])
def test_uniform(both: Both, width: int) -> None:
    dtype = f"float{width}"
    both.compare(f"uniform{width}", dtype, lambda slot, index: both.tensor.uniform(slot, index=index, dtype=dtype))


@pytest.mark.parametrize("n", [1, 2, 3, 81, 2**24 + 1, 2**31 - 1, 2**31])
def test_randint(both: Both, n: int) -> None:
    both.compare("randint", "int32", lambda slot, index: both.tensor.randint(slot, n, index=index), n)


@pytest.mark.parametrize("p", [0.0, 2.0**-32, 2.0**-31, 0.1, 0.5, 1 - 2.0**-32, 1 - 2.0**-33, 1 - 2.0**-53, 1.0])
def test_bernoulli(both: Both, p: float) -> None:
    last = both.compare("bernoulli", "uint8", lambda slot, index: both.tensor.bernoulli(slot, p, index=index), p)
    if p in (0.0, 1.0):
        assert bool((last == bool(p)).all())


WEIGHTS = [
    [1.0],
    [0.0, 1.0],
    [1.0, 0.0],
    [0.0, 0.0, 3.0, 0.0, 0.0],
    [0.1, 0.2, 0.3, 0.4],
    [1e-300, 1.0, 1e300],
    [5e-324, 5e-324],
    [0.1] * 10,
    [float(k % 5) for k in range(40)],
    [2.0**-33, 1.0],
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_categorical(both: Both, weights: list[float]) -> None:
    last = both.compare(
        "categorical",
        "int32",
        lambda slot, index: both.tensor.categorical(slot, weights, index=index),
        np.array(weights),
    )
    assert all(weights[int(k)] > 0 for k in last)


@pytest.mark.parametrize("n", [1, 2, 7, LONGEST])
def test_permutation(both: Both, n: int) -> None:
    both.compare("permutation", "int32", lambda slot, index: both.tensor.permutation(slot, n, index=index), n, length=n)


def test_a_draw_in_the_other_phase_is_told(drawn: ModuleType) -> None:
    assert drawn.wrong(5, 0) == 0
    assert drawn.wrong(5, 1) == 6
