"""Known answers for every layer of ``simulacrum.rng``, as literals, in each of its forms.

The blocks are Random123's published vectors. All other literals were computed with JAX's ``threefry_2x32`` and exact
integer arithmetic from the contract (docs/randomness.md), not with simulacrum.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from simulacrum import native, rng
from simulacrum.rng import operators, tensor
from simulacrum.rng.arguments import categorical_thresholds

SEED, EPISODE, T, SLOT = 42, 3, 17, 5

BLOCKS = [  # key, counter, output
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]

SEED_KEYS = [
    (0, (0, 0)),
    (1, (0, 1)),
    (1 << 32, (1, 0)),
    (0x0123456789ABCDEF, (0x01234567, 0x89ABCDEF)),
    (2**64 - 1, (0xFFFFFFFF, 0xFFFFFFFF)),
]

EPISODE_KEYS = [  # seed, episode, key
    (0, 0, (0x36A1FF40, 0x8C9B3AFB)),
    (0, 1, (0x03806301, 0xD4B84486)),
    (1, 0, (0x4AC2A26E, 0x61B04F77)),
    (42, 3, (0x22C00345, 0x690FA643)),
    (0x0123456789ABCDEF, 7, (0xC184885B, 0x7EC950D1)),
    (2**64 - 1, 2**32 - 1, (0x174C1D12, 0xEF5164A2)),
]

INSTANCE_SEEDS = [  # seed, instance, the instance's seed
    (0, 0, 0xE0F842DBFFFFD832),
    (0, 1, 0xA958976A66DEB826),
    (1, 0, 0xCFFA1DDE34F2BD4B),
    (0x0123456789ABCDEF, 7, 0x060F0FB9E977773D),
    (2**64 - 1, 2**32 - 1, 0x9679DFBD9A7EF899),
]

WORDS = [  # slot, index, (x0, x1) at (SEED, EPISODE, T)
    (5, 0, (0xCC33A20B, 0x88052E0B)),
    (5, 1, (0x940D29FC, 0x6398BAF9)),
    (5, 2, (0x0621F807, 0xB51DB5A2)),
    (5, 3, (0x3AF7AC52, 0x2513CA9F)),
    (5, 4, (0xDCD50F0D, 0xD05C7EF4)),
    (239, 2**24 - 1, (0x0B222D54, 0x06D05FF7)),
]

RANDINTS = [  # n, the elements 0..3
    (1, [0, 0, 0, 0]),
    (2, [1, 1, 0, 0]),
    (6, [4, 3, 0, 1]),
    (1000, [797, 578, 23, 230]),
    (2**31 - 1, [1712967940, 1241945341, 51444739, 494655016]),
    (2**31, [1712967941, 1241945342, 51444739, 494655017]),
]

BERNOULLIS = [  # p, the elements 0..4
    (0.0, [False, False, False, False, False]),
    (2.0**-32, [False, False, False, False, False]),
    (0.25, [False, False, True, True, False]),
    (0.5, [False, False, True, True, False]),
    (0.75, [False, True, True, True, False]),
    (1.0, [True, True, True, True, True]),
]

CATEGORICALS = [  # weights, the elements 0..3
    ((1.0,), [0, 0, 0, 0]),
    ((0.0, 1.0, 0.0, 3.0, 0.0), [3, 3, 1, 1]),
    ((0.1, 0.2, 0.3, 0.4), [3, 2, 0, 1]),
]

THRESHOLDS = [
    ((1.0,), (2**32,)),
    ((0.0, 1.0, 0.0, 3.0, 0.0), (0, 2**30, 2**30, 2**32, 2**32)),
    ((0.1, 0.2, 0.3, 0.4), (429496729, 1288490188, 2576980377, 2**32)),
]

PERMUTATIONS = [  # n, index, the permutation
    (1, 0, [0]),
    (2, 0, [1, 0]),
    (5, 0, [2, 3, 1, 0, 4]),
    (8, 0, [2, 3, 1, 0, 5, 4, 7, 6]),
    (5, 100, [0, 3, 2, 1, 4]),
]


def int32(*words: int) -> torch.Tensor:
    return torch.from_numpy(np.array(words, np.uint32).view(np.int32))


def u64(*values: int) -> torch.Tensor:
    return torch.from_numpy(np.array(values, np.uint64).view(np.int64))


def words(lanes: torch.Tensor) -> list[int]:
    return [int(word) & 0xFFFFFFFF for word in lanes.flatten()]


@pytest.fixture(params=["native", "lanes"])
def batched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batched form with the native block function, and with the one made of tensor operations."""
    if request.param == "lanes":
        monkeypatch.setattr(operators, "native_module", lambda: None)
    elif not native.enabled():
        pytest.skip("no C compiler, or SIMULACRUM_NATIVE=0")


@pytest.fixture(params=["plain", "native", "lanes"])
def draw(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """``draw("bits", SLOT, 32, shape=(3,))``: a draw at (SEED, EPISODE, T) in one of the three forms, as NumPy."""
    if request.param == "plain":
        plain = rng.Draw.at(SEED, EPISODE, T)
        return lambda name, *args, **options: np.asarray(getattr(plain, name)(*args, **options))
    if request.param == "lanes":
        monkeypatch.setattr(operators, "native_module", lambda: None)
    elif not native.enabled():
        pytest.skip("no C compiler, or SIMULACRUM_NATIVE=0")
    rows = tensor.Draw.at(u64(0, SEED), torch.tensor([0, EPISODE]), torch.tensor([0, T]))
    return lambda name, *args, **options: getattr(rows, name)(*args, **options)[1].numpy()


def test_native_form_is_there_where_it_can_be() -> None:
    assert native.enabled() == (operators.native_module() is not None)


@pytest.mark.parametrize(("key", "counter", "output"), BLOCKS)
def test_block_plain(key: tuple[int, int], counter: tuple[int, int], output: tuple[int, int]) -> None:
    assert rng.threefry2x32(*key, *counter) == output


@pytest.mark.parametrize("function", [operators.threefry_lanes, tensor.threefry2x32])
@pytest.mark.parametrize(("key", "counter", "output"), BLOCKS)
def test_block_lanes(function: Any, key: tuple[int, int], counter: tuple[int, int], output: tuple[int, int]) -> None:
    x0, x1 = function(int32(key[0]), int32(key[1]), torch.tensor([counter[0]]), counter[1], 1)
    assert x0.dtype == x1.dtype == torch.int32
    assert (words(x0), words(x1)) == ([output[0]], [output[1]])


@pytest.mark.skipif(not native.enabled(), reason="no C compiler, or SIMULACRUM_NATIVE=0")
@pytest.mark.parametrize(("key", "counter", "output"), BLOCKS)
def test_block_native(key: tuple[int, int], counter: tuple[int, int], output: tuple[int, int]) -> None:
    module = native.load(operators.NATIVE_SOURCE)
    k0, k1, c0 = int32(key[0]), int32(key[1]), torch.tensor([counter[0]])
    x = torch.zeros(2, dtype=torch.int32)
    module.words(k0.data_ptr(), k1.data_ptr(), c0.data_ptr(), [counter[1], 1], 1, x.data_ptr(), x.data_ptr() + 4)
    assert words(x) == list(output)


@pytest.mark.parametrize(("seed", "key"), SEED_KEYS)
def test_seed_key(seed: int, key: tuple[int, int]) -> None:
    assert rng.seed_key(seed) == key
    k0, k1 = tensor.seed_keys(u64(seed))
    assert (words(k0), words(k1)) == ([key[0]], [key[1]])
    assert tensor.seed_bits(seed) == int(u64(seed))


@pytest.mark.usefixtures("batched")
@pytest.mark.parametrize(("seed", "episode", "key"), EPISODE_KEYS)
def test_episode_key(seed: int, episode: int, key: tuple[int, int]) -> None:
    assert rng.episode_key(seed, episode) == key
    k0, k1 = tensor.episode_keys(u64(seed), torch.tensor([episode]))
    assert k0.dtype == k1.dtype == torch.int32
    assert (words(k0), words(k1)) == ([key[0]], [key[1]])


@pytest.mark.usefixtures("batched")
@pytest.mark.parametrize(("seed", "instance", "expected"), INSTANCE_SEEDS)
def test_instance_seed(seed: int, instance: int, expected: int) -> None:
    assert rng.instance_seed(seed, instance) == expected
    seeds = tensor.instance_seeds(seed, torch.tensor([instance]))
    assert seeds.dtype == torch.int64
    assert seeds.tolist() == u64(expected).tolist()


@pytest.mark.parametrize(("slot", "index", "output"), WORDS)
def test_bits(draw: Callable[..., Any], slot: int, index: int, output: tuple[int, int]) -> None:
    x0, x1 = output
    assert int(draw("bits", slot, index=index)) == x0
    assert int(draw("bits", slot, 32, index=index)) == x0
    assert int(draw("bits", slot, 64, index=index)) & (1 << 64) - 1 == x0 << 32 | x1


def test_uniform(draw: Callable[..., Any]) -> None:
    float32 = [0.7976628541946411, 0.5783258080482483, 0.023955821990966797]
    float64 = [0.7976628568794878, 0.578325866812153, 0.023955823785505315]
    assert draw("uniform", SLOT, shape=(3,)).tolist() == float32
    assert draw("uniform", SLOT, shape=(3,), dtype="float64").tolist() == float64


@pytest.mark.parametrize(("n", "expected"), RANDINTS)
def test_randint(draw: Callable[..., Any], n: int, expected: list[int]) -> None:
    assert draw("randint", SLOT, n, shape=(4,)).tolist() == expected


@pytest.mark.parametrize(("p", "expected"), BERNOULLIS)
def test_bernoulli(draw: Callable[..., Any], p: float, expected: list[bool]) -> None:
    assert draw("bernoulli", SLOT, p, shape=(5,)).tolist() == expected


@pytest.mark.parametrize(("weights", "expected"), CATEGORICALS)
def test_categorical(draw: Callable[..., Any], weights: tuple[float, ...], expected: list[int]) -> None:
    assert draw("categorical", SLOT, weights, shape=(4,)).tolist() == expected


@pytest.mark.parametrize(("weights", "expected"), THRESHOLDS)
def test_categorical_thresholds(weights: tuple[float, ...], expected: tuple[int, ...]) -> None:
    assert categorical_thresholds(weights) == expected


@pytest.mark.parametrize(("n", "index", "expected"), PERMUTATIONS)
def test_permutation(draw: Callable[..., Any], n: int, index: int, expected: list[int]) -> None:
    assert draw("permutation", SLOT, n, index=index).tolist() == expected


def test_plain_form_does_without_torch() -> None:
    code = "import sys, simulacrum.rng as rng; rng.Draw.at(0, 0, 0).bits(0); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
