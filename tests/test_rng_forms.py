"""The forms of ``simulacrum.rng`` agree: on random and on edge inputs, in every distribution, shape and dtype.

Plain Python is compared with exact arithmetic, the batched form with plain Python, the native block function with the
one made of tensor operations, and compiled draws with those that are not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simulacrum import native, rng
from simulacrum.rng import draw as plain_form
from simulacrum.rng import operators, tensor
from simulacrum.rng.arguments import categorical_thresholds

CASES = settings(deadline=None, derandomize=True, max_examples=200)

WORD_EDGES = [0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF]
SEED_EDGES = [a << 32 | b for a in WORD_EDGES for b in WORD_EDGES]
WORDS = st.sampled_from(WORD_EDGES) | st.integers(0, 2**32 - 1)
SEEDS = st.sampled_from(SEED_EDGES) | st.integers(0, 2**64 - 1)
ROWS = st.lists(st.tuples(SEEDS, WORDS, WORDS), min_size=1, max_size=4)  # seed, episode, t
SLOTS = st.sampled_from([0, 1, 127, 128, 239]) | st.integers(0, 239)
SHAPES = st.sampled_from([None, (), (1,), (5,), (2, 3), (1, 2, 2)])
INDICES = st.sampled_from([0, 1, 2**23, 2**24 - 6]) | st.integers(0, 2**24 - 6)  # six elements fit

RANDINTS = st.sampled_from([1, 2, 3, 6, 2**16 + 1, 2**30 + 1, 2**31 - 1, 2**31]) | st.integers(1, 2**31)
PROBABILITIES = st.sampled_from([0, 0.0, 2.0**-32, 0.5, 1 - 2.0**-32, 1 - 2.0**-53, 1, 1.0]) | st.floats(2.0**-32, 1)
WEIGHT = st.just(0.0) | st.sampled_from([1, 1e-300, 1e300]) | st.floats(0, 1e6)
WEIGHTS = st.lists(WEIGHT, min_size=1, max_size=8).filter(lambda weights: sum(weights) > 0)
FLOATS = st.sampled_from(["float32", "float64", np.float32, np.dtype("float64"), torch.float32, torch.float64])
CALLS = st.one_of(
    st.tuples(st.just("bits"), st.sampled_from([32, 64])),
    st.tuples(st.just("randint"), RANDINTS),
    st.tuples(st.just("bernoulli"), PROBABILITIES),
    st.tuples(st.just("categorical"), WEIGHTS),
    st.tuples(st.just("uniform"), FLOATS),
)

# what a draw returns: the plain scalar's type, the plain array's dtype, the batched dtype
TYPES: dict[Any, tuple[type, str, torch.dtype]] = {
    ("bits", 32): (int, "int64", torch.int64),
    ("bits", 64): (int, "uint64", torch.int64),
    ("uniform", "float32"): (np.float32, "float32", torch.float32),
    ("uniform", "float64"): (np.float64, "float64", torch.float64),
    "randint": (int, "int32", torch.int32),
    "bernoulli": (bool, "bool", torch.bool),
    "categorical": (int, "int32", torch.int32),
}


def int32(words: list[int]) -> torch.Tensor:
    return torch.from_numpy(np.array(words, np.uint32).view(np.int32))


def u64(values: list[int]) -> torch.Tensor:
    return torch.from_numpy(np.array(values, np.uint64).view(np.int64))


def same_words(lanes: torch.Tensor, words: list[Any]) -> bool:
    return lanes.dtype == torch.int32 and lanes.numpy().view(np.uint32).tolist() == words


def call(draw: Any, name: str, slot: int, argument: Any, **options: Any) -> Any:
    """One draw of any distribution, by its name and its one argument."""
    if name == "uniform":
        return draw.uniform(slot, dtype=argument, **options)
    return getattr(draw, name)(slot, argument, **options)


def kind(name: str, argument: Any) -> Any:
    """The key of a call in ``TYPES``."""
    if name == "uniform":
        return name, "float64" if "64" in str(argument) else "float32"
    return (name, argument) if name == "bits" else name


def batched(rows: list[tuple[int, int, int]]) -> tensor.Draw:
    seeds, episodes, t = zip(*rows, strict=True)
    return tensor.Draw.at(u64(list(seeds)), torch.tensor(episodes), torch.tensor(t))


# the block function and the keys


@CASES
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5), WORDS, st.integers(1, 4), st.integers(-5, 5))
def test_block(rows: list[tuple[int, int, int]], c1: int, count: int, high: int) -> None:
    c1 = min(c1, 2**32 - count)
    k0, k1, c0 = (list(column) for column in zip(*rows, strict=True))
    expected = [[rng.threefry2x32(*row, c1 + i) for i in range(count)] for row in rows]
    counters = torch.tensor(c0) + (high << 32)  # of the first counter word the low 32 bits count
    for function in (operators.threefry_lanes, tensor.threefry2x32):
        x0, x1 = function(int32(k0), int32(k1), counters, c1, count)
        assert same_words(x0, [[pair[0] for pair in row] for row in expected])
        assert same_words(x1, [[pair[1] for pair in row] for row in expected])


def test_native_block_is_the_lanes_block() -> None:
    """Over more rows and elements than a vector register holds, strided and empty inputs included."""
    k0, k1 = tensor.seed_keys(tensor.instance_seeds(5, torch.arange(2000)))
    c0 = torch.arange(2000) * 0x9E3779B1 & 0xFFFFFFFF
    for rows in (slice(None), slice(1, None, 3), slice(0, 0), slice(7, 8)):
        for c1, count in ((0, 1), (0xFFFFFFFF, 1), (0x7FFFFFF0, 37)):
            arguments = (k0[rows], k1[rows], c0[rows], c1, count)
            assert all(map(torch.equal, tensor.threefry2x32(*arguments), operators.threefry_lanes(*arguments)))


@pytest.mark.skipif(not native.enabled(), reason="no C compiler, or SIMULACRUM_NATIVE=0")
def test_native_form_is_what_the_operator_runs() -> None:
    module = mock.Mock()
    with mock.patch.object(operators, "native_module", return_value=module):
        tensor.threefry2x32(int32([0]), int32([0]), torch.tensor([0]), 0)
    assert module.words.call_count == 1


@CASES
@given(ROWS)
def test_keys(rows: list[tuple[int, int, int]]) -> None:
    seeds, numbers, _ = (list(column) for column in zip(*rows, strict=True))
    expected = [rng.seed_key(seed) for seed in seeds]
    for lane, column in zip(tensor.seed_keys(u64(seeds)), zip(*expected, strict=True), strict=True):
        assert same_words(lane, list(column))
    expected = [rng.episode_key(seed, number) for seed, number in zip(seeds, numbers, strict=True)]
    lanes = tensor.episode_keys(u64(seeds), torch.tensor(numbers))
    for lane, column in zip(lanes, zip(*expected, strict=True), strict=True):
        assert same_words(lane, list(column))
    derived = tensor.instance_seeds(seeds[0], torch.tensor(numbers))
    assert torch.equal(derived, u64([rng.instance_seed(seeds[0], number) for number in numbers]))


# the distributions


@CASES
@given(ROWS, SLOTS, CALLS, SHAPES, INDICES)
def test_draws(rows: list[tuple[int, int, int]], slot: int, drawn: tuple[str, Any], shape: Any, index: int) -> None:
    scalar, array, dtype = TYPES[kind(*drawn)]
    name, argument = drawn
    got = call(batched(rows), name, slot, argument, index=index, shape=shape)
    plain = [call(rng.Draw.at(*row), name, slot, argument, index=index, shape=shape) for row in rows]
    assert got.dtype == dtype
    assert got.shape == (len(rows), *(shape or ()))
    assert all(type(value) is scalar if shape is None else value.dtype == array for value in plain)
    expected = np.stack([np.array(value, array) for value in plain])
    assert np.array_equal(got.numpy(), expected.view(np.int64) if array == "uint64" else expected)


@CASES
@given(ROWS, SLOTS, CALLS, st.integers(0, 2**24 - 6))
def test_shape_is_row_major_from_index(rows: Any, slot: int, drawn: tuple[str, Any], index: int) -> None:
    for draw, axis in ((rng.Draw.at(*rows[0]), 0), (batched(rows), 1)):
        block = call(draw, drawn[0], slot, drawn[1], index=index, shape=(2, 3))
        singles = [call(draw, drawn[0], slot, drawn[1], index=index + i) for i in range(6)]
        flat = block.reshape(6) if axis == 0 else block.reshape(len(rows), 6).T
        assert all(np.array_equal(np.asarray(flat[i]), np.asarray(singles[i])) for i in range(6))


@CASES
@given(ROWS, SLOTS, st.integers(1, 40), st.integers(0, 2**24 - 40))
def test_permutation(rows: list[tuple[int, int, int]], slot: int, n: int, index: int) -> None:
    got = batched(rows).permutation(slot, n, index=index)
    plain = [rng.Draw.at(*row).permutation(slot, n, index=index) for row in rows]
    keys = [[rng.Draw.at(*row).bits(slot, 64, index=index + i) for i in range(n)] for row in rows]
    assert got.dtype == torch.int32
    assert all(value.dtype == np.int32 for value in plain)
    assert got.tolist() == [value.tolist() for value in plain]
    assert got.tolist() == [sorted(range(n), key=row.__getitem__) for row in keys]


@CASES
@given(ROWS, CALLS)
def test_native_draws_are_lanes_draws(rows: list[tuple[int, int, int]], drawn: tuple[str, Any]) -> None:
    with mock.patch.object(operators, "native_module", return_value=None):
        lanes = call(batched(rows), drawn[0], 3, drawn[1], shape=(2, 3))
    assert torch.equal(call(batched(rows), drawn[0], 3, drawn[1], shape=(2, 3)), lanes)


# the distributions on given words: edges that no seed would reach


@contextmanager
def forced(pairs: list[tuple[int, int]]) -> Iterator[None]:
    """Every block function answers these words: element i pair i, whatever the key and the counter."""

    def plain(k0: int, k1: int, c0: int, c1: int) -> tuple[int, int]:
        return pairs[c1 & 0xFFFFFF]

    def lanes(k0: Any, k1: Any, c0: Any, c1: int, count: int = 1) -> tuple[torch.Tensor, ...]:
        first = c1 & 0xFFFFFF
        columns = zip(*pairs[first : first + count], strict=True)
        return tuple(int32(list(column)).expand(k0.shape[0], -1) for column in columns)

    with mock.patch.object(plain_form, "threefry2x32", plain), mock.patch.object(tensor, "threefry2x32", lanes):
        yield


def exact(name: str, argument: Any, x0: int, x1: int) -> Any:
    """The contract of docs/randomness.md in exact arithmetic."""
    u = x0 << 32 | x1
    if name == "bits":
        return x0 if argument == 32 else u
    if name == "uniform":
        return Fraction(x0 >> 8, 2**24) if kind(name, argument)[1] == "float32" else Fraction(u >> 11, 2**53)
    if name == "randint":
        return u * argument >> 64
    if name == "bernoulli":
        return x0 < Fraction(argument) * 2**32 // 1
    return bisect_right(categorical_thresholds(tuple(argument)), x0)


@CASES
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), CALLS)
def test_draws_of_given_words(pairs: list[tuple[int, int]], drawn: tuple[str, Any]) -> None:
    check_given_words(pairs, *drawn)


@CASES
@given(CALLS, st.integers(-1, 1), WORDS)
def test_draws_at_their_thresholds(drawn: tuple[str, Any], offset: int, x1: int) -> None:
    name, argument = drawn
    thresholds = [0, 2**31, 2**32]
    if name == "bernoulli":
        thresholds.append(int(Fraction(argument) * 2**32))
    elif name == "categorical":
        thresholds.extend(categorical_thresholds(tuple(argument)))
    elif name == "randint":
        thresholds.extend(-(-(value << 32) // argument) for value in (1, argument // 2, argument - 1))
    check_given_words([(min(max(x + offset, 0), 0xFFFFFFFF), x1) for x in thresholds], name, argument)


def check_given_words(pairs: list[tuple[int, int]], name: str, argument: Any) -> None:
    expected = [exact(name, argument, *pair) for pair in pairs]
    rows = batched([(0, 0, 0), (1, 1, 1)])
    with forced(pairs):
        plain = call(rng.Draw.at(0, 0, 0), name, 3, argument, shape=(len(pairs),))
        scalars = [call(rng.Draw.at(0, 0, 0), name, 3, argument, index=i) for i in range(len(pairs))]
        got = call(rows, name, 3, argument, shape=(len(pairs),))
    assert [number(value) for value in plain] == expected
    assert [number(value) for value in scalars] == expected
    bits = got.numpy().view(np.uint64) if (name, argument) == ("bits", 64) else got.numpy()
    assert [[number(value) for value in row] for row in bits] == [expected, expected]


def number(value: Any) -> Any:
    """A scalar of any type as an exact Python number."""
    return Fraction(float(value)) if isinstance(value, (float, np.floating)) else int(value)


@CASES
@given(st.lists(st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 1]), min_size=1, max_size=64))
def test_permutation_is_unsigned_and_stable(keys: list[int]) -> None:
    """Up to 64 keys with ties: below 17, a sort that is not stable in name is so in effect."""
    rows = batched([(0, 0, 0)])
    with forced([(key >> 32, key & 0xFFFFFFFF) for key in keys]):
        plain = rng.Draw.at(0, 0, 0).permutation(3, len(keys))
        got = rows.permutation(3, len(keys))
    assert plain.tolist() == sorted(range(len(keys)), key=keys.__getitem__)
    assert got.tolist() == [plain.tolist()]


@CASES
@given(WEIGHTS)
def test_categorical_thresholds(weights: list[float]) -> None:
    thresholds = categorical_thresholds(tuple(weights))
    total = float(np.cumsum(np.array(weights, np.float64))[-1])  # NumPy's cumsum goes from left to right
    parts = np.cumsum(np.array(weights, np.float64)) / total
    assert list(thresholds) == [int(Fraction(float(part)) * 2**32) for part in parts]
    assert thresholds[-1] == 2**32
    assert list(thresholds) == sorted(thresholds)


@pytest.mark.parametrize("weights", [(0.0, 1.0, 0.0), (0.0, 0.0, 5.0, 1.0, 0.0), (1e-300, 1.0)])
def test_categorical_never_gives_a_zero_weight(weights: tuple[float, ...]) -> None:
    edges = [0, 1, 2**31, 0xFFFFFFFE, 0xFFFFFFFF]
    with forced([(x0, 0) for x0 in edges]):
        values = rng.Draw.at(0, 0, 0).categorical(3, weights, shape=(len(edges),))
    assert all(weights[value] > 0 for value in values)


# the rest


def test_draws_are_pure() -> None:
    """Drawing twice, in another order, or only some rows of the batch, changes nothing."""
    draw = batched([(s, 2, 3) for s in range(8)])
    first = draw.bits(3), draw.bits(4)
    assert torch.equal(draw.bits(4), first[1])
    assert torch.equal(draw.bits(3), first[0])
    assert torch.equal(batched([(s, 2, 3) for s in (6, 1)]).bits(3), first[0][[6, 1]])


def test_no_rows() -> None:
    empty = torch.empty(0, dtype=torch.int64)
    draw = tensor.Draw.at(empty, empty, empty)
    assert draw.uniform(3).shape == (0,)
    assert draw.permutation(3, 4).shape == (0, 4)


@pytest.mark.filterwarnings("error::UserWarning")
def test_compiled_draws() -> None:
    """One graph without breaks or warnings, and the same bits; the fake operator has the right shapes and dtypes."""
    phase = rng.Phase("step", [3, 4])

    def draws(k0: torch.Tensor, k1: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, ...]:
        draw = tensor.Draw(k0, k1, t, phase)
        words = draw.bits(3), draw.bits(3, 64, shape=(2, 3)), draw.uniform(4, shape=(3,)), draw.permutation(4, 5)
        return *words, draw.randint(3, 7), draw.bernoulli(3, 0.3), draw.categorical(3, (1.0, 0.0, 2.0), shape=(2,))

    arguments = (*tensor.episode_keys(torch.arange(8), torch.arange(8)), torch.arange(8))
    compiled = torch.compile(draws, fullgraph=True, backend="aot_eager")
    assert all(map(torch.equal, compiled(*arguments), draws(*arguments)))


def test_operator_registration() -> None:
    k0, k1 = tensor.seed_keys(torch.arange(4))
    torch.library.opcheck(torch.ops.simulacrum.threefry.default, (k0, k1, torch.arange(4), [7, 3, 1, 1]))
    torch.library.opcheck(torch.ops.simulacrum.begin.default, (torch.arange(4), torch.arange(4), 1, [7, 3]))
    both = (k0, k1, torch.arange(4), [7, 3], torch.arange(4), torch.arange(4), 1, [9, 1])
    torch.library.opcheck(torch.ops.simulacrum.both.default, both)
