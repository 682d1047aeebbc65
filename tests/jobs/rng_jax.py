"""A job of its own: ``simulacrum.rng`` is JAX's ``threefry2x32``, on a million random inputs and on all edges.

JAX is no dependency, but an extra (``pip install "simulacrum[test,jax]"``); pytest does not collect this file unless
it is named:

    pytest tests/jobs/rng_jax.py
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import jax
import jax.extend.random
import numpy as np
import pytest
import torch

from simulacrum import native, rng
from simulacrum.rng import operators, tensor

COUNT = 1_000_000
EDGES = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]

Words = np.ndarray  # uint32 [N, 4]: k0, k1, c0, c1


def jax_block(words: Words) -> Words:
    """JAX's block function: uint32 [N, 2]."""
    columns = [jax.numpy.asarray(column) for column in words.T]
    x0, x1 = jax.jit(jax.extend.random.threefry2x32_p.bind)(*columns)
    return np.stack([np.asarray(x0), np.asarray(x1)], 1)


def plain_block(words: Words) -> Words:
    return np.array([rng.threefry2x32(*row) for row in words.tolist()], np.uint32)


def tensor_block(function: Callable[..., tuple[torch.Tensor, torch.Tensor]], words: Words) -> Words:
    """A batched form; its second counter word is one for all rows, so the rows are taken in groups of it."""
    result = np.empty((len(words), 2), np.uint32)
    order = np.argsort(words[:, 3], kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(words[order, 3])) + 1):
        k0, k1 = (torch.from_numpy(words[group, i].view(np.int32)) for i in (0, 1))
        c0, c1 = torch.from_numpy(words[group, 2].astype(np.int64)), int(words[group[0], 3])
        result[group] = torch.cat(function(k0, k1, c0, c1, 1), 1).numpy().view(np.uint32)
    return result


def lanes_block(words: Words) -> Words:
    return tensor_block(operators.threefry_lanes, words)


def native_block(words: Words) -> Words:
    assert operators.native_module() is not None
    return tensor_block(tensor.threefry2x32, words)


FORMS = [
    plain_block,
    lanes_block,
    pytest.param(native_block, marks=pytest.mark.skipif(not native.enabled(), reason="no native form here")),
]


@pytest.fixture(scope="module")
def inputs() -> Words:
    """A million random inputs. The second counter word has 2**12 values, each of them random."""
    generator = np.random.Generator(np.random.PCG64(20240917))
    words = generator.integers(0, 2**32, (COUNT, 4), dtype=np.uint32)
    words[:, 3] = generator.integers(0, 2**32, 2**12, dtype=np.uint32)[words[:, 3] >> 20]
    return words


@pytest.fixture(scope="module")
def expected(inputs: Words) -> Words:
    return jax_block(inputs)


@pytest.mark.parametrize("form", FORMS)
def test_a_million_random_inputs(form: Callable[[Words], Words], inputs: Words, expected: Words) -> None:
    assert inputs.shape == (COUNT, 4)
    assert len(np.unique(expected[:, 0].astype(np.uint64) << 32 | expected[:, 1])) > COUNT - 10
    different = np.flatnonzero((form(inputs) != expected).any(1))
    assert len(different) == 0, f"{len(different)} of {COUNT} inputs differ, the first: {inputs[different[0]]}"


@pytest.mark.parametrize("form", FORMS)
def test_edges(form: Callable[[Words], Words]) -> None:
    words = np.array(list(itertools.product(EDGES, repeat=4)), np.uint32)
    assert np.array_equal(form(words), jax_block(words))


@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1, 2**32, 0x0123456789ABCDEF, 2**63 - 1])
def test_key_of_a_seed(seed: int) -> None:
    """``jax.random.key(seed)`` holds the seed's high and low word in the same order; it takes seeds below 2**63."""
    with jax.enable_x64(True):
        data = jax.random.key_data(jax.random.key(seed, impl="threefry2x32"))
    assert tuple(int(word) for word in data) == rng.seed_key(seed)


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1])
def test_key_of_a_seed_with_the_sign_bit(seed: int) -> None:
    """For the upper half JAX is given the uint64, as a NumPy scalar."""
    with jax.enable_x64(True):
        data = jax.random.key_data(jax.random.key(np.uint64(seed), impl="threefry2x32"))
    assert tuple(int(word) for word in data) == rng.seed_key(seed)
