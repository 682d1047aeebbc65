"""Comparison by dtype, shape and raw bits, and values that a cast would change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes

from simulacrum import bits

NAN, OTHER_NAN = (np.array([word], np.uint32).view(np.float32) for word in (0x7FC00000, 0x7FC00001))
DTYPES = st.sampled_from([np.bool_, np.uint8, np.int32, np.int64, np.float32, np.float64])
ARRAYS = arrays(DTYPES, array_shapes(min_dims=0))
INTEGERS = arrays(scalar_dtypes().filter(lambda dtype: dtype.kind in "iu"), 3)


@given(ARRAYS)
def test_an_array_is_the_same_as_its_copy(array):
    assert bits.same(array, array.copy())
    assert bits.raw(array).shape == array.shape
    assert bits.raw(array).tobytes() == array.tobytes()


@given(ARRAYS.filter(lambda array: array.size), st.data())
def test_one_flipped_bit_is_a_difference(array, data):
    changed = np.array(array, order="C")
    words = changed.reshape(-1).view(np.uint8)
    words[data.draw(st.integers(0, len(words) - 1))] ^= 1
    if array.dtype != np.bool_:
        assert not bits.same(array, changed)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.float32([0.0]), np.float32([-0.0])),
        (NAN, OTHER_NAN),
        (np.float32([1.0]), np.float64([1.0])),
        (np.int32([1]), np.uint32([1])),
        (np.int32([1]), np.int32(1)),
        (np.int32([[1, 2]]), np.int32([1, 2])),
    ],
)
def test_what_prints_alike_is_told_apart(one, other):
    assert not bits.same(np.asarray(one), np.asarray(other))


def test_a_nan_is_the_same_as_the_nan_with_its_bits():
    assert bits.same(NAN, NAN.copy())


def test_rows_are_compared_one_by_one():
    one = np.float32([[0, 1], [2, np.nan], [3, 4]])
    other = np.float32([[0, 1], [2, np.nan], [3, 5]])
    assert bits.same_rows(one, other).tolist() == [True, True, False]
    assert bits.same_rows(one[:, 0], np.float32([-0.0, 2, 3])).tolist() == [False, True, True]
    assert bits.same_rows(one.T, other.T).tolist() == [True, False]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 0)])
def test_no_rows_are_compared_to_nothing(shape):
    assert bits.same_rows(np.zeros(shape), np.zeros(shape)).shape == (0,)


def test_rows_without_items_are_the_same():
    assert bits.same_rows(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [True, True]


# ---------------------------------------------------------------------- exactly


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.int64([1, -1]), np.int32),
        (np.int64([0, 255]), np.uint8),
        (np.uint64([2**63 - 1]), np.int64),
        (np.float64([0.5, -0.0, np.inf, np.nan]), np.float32),
        (np.float32([0.1]), np.float64),
        ([True, False], np.bool_),
        ([1, 2], np.int64),
        (3, np.int8),
    ],
)
def test_a_cast_that_changes_no_value_is_made(value, dtype):
    cast = bits.exactly(value, np.dtype(dtype))
    assert cast.dtype == dtype
    assert np.array_equal(cast, value, equal_nan=np.dtype(dtype).kind == "f")
    assert np.array_equal(np.signbit(cast), np.signbit(value)) if cast.dtype.kind == "f" else True


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.float64([0.1]), np.float32),
        (np.float64([1e300]), np.float32),
        (np.int64([2**31]), np.int32),
        (np.int8([-1]), np.uint8),
        (np.int64([-1]), np.uint64),
        (np.uint64([2**63]), np.int64),
        (np.uint64([2**64 - 1]), np.int64),
        (np.int64([1]), np.float32),
        (np.float32([1.0]), np.int32),
        ([True], np.int32),
        ([1], np.bool_),
        ([1.0], np.bool_),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_cast_that_changes_a_value_is_refused(value, dtype):
    with pytest.raises(ValueError, match="expected"):
        bits.exactly(value, np.dtype(dtype))


@given(INTEGERS, st.sampled_from([np.int8, np.uint32, np.int64]))
def test_integers_are_cast_or_refused_by_their_values(array, dtype):
    limits = np.iinfo(dtype)
    if all(limits.min <= int(value) <= limits.max for value in array):
        assert [int(value) for value in bits.exactly(array, np.dtype(dtype))] == [int(value) for value in array]
    else:
        with pytest.raises(ValueError, match="expected"):
            bits.exactly(array, np.dtype(dtype))


# ---------------------------------------------------------------------- for people


def test_values_are_shown_whole():
    assert bits.shown(np.float32(0.1)) == "0.1"
    assert bits.shown(np.float32([1, 2])) == "[1., 2.]"
    assert bits.shown(np.array(True)) == "True"
    assert bits.shown(np.float32(0.0), with_bits=True) == "0. (bits 00000000, float32)"
    assert bits.shown(np.array([1, -1], np.int16), with_bits=True) == "[ 1, -1] (bits 0001 ffff, int16)"


def test_bits_are_shown_where_two_values_print_alike():
    assert bits.pair_shown(1, 2) == ("1", "2")
    assert bits.pair_shown(NAN, OTHER_NAN) == (
        "[nan] (bits 7fc00000, float32)",
        "[nan] (bits 7fc00001, float32)",
    )
    one, other = bits.pair_shown(np.float32(1), np.float64(1))
    assert one != other


# ---------------------------------------------------------------------- digests


def digest(*parts):
    total = bits.Digest()
    for part in parts:
        total.update(part)
    return total.hexdigest()


def test_a_digest_takes_names_in_their_order():
    one, other = np.arange(2), np.arange(3)
    assert digest({"a": one, "b": other}) == digest({"b": other, "a": one})


def test_a_digest_tells_names_dtypes_shapes_bits_and_order_apart():
    array = np.float32([0.0, 1.0])
    digests = [
        digest({"a": array}),
        digest({"b": array}),
        digest({"a": array.astype(np.float64)}),
        digest({"a": array.view(np.int32)}),
        digest({"a": array[None]}),
        digest({"a": -array}),
        digest({"a": array}, {"a": array}),
        digest({"a": np.float32([1.0, 0.0])}),
        digest({"a": np.array(0.0, np.float32)}),
        digest({"a": np.array([0.0], np.float32)}),
        digest(),
    ]
    assert len(set(digests)) == len(digests)


def test_a_digest_does_not_see_how_memory_is_laid_out():
    array = np.arange(6).reshape(2, 3)
    assert digest({"a": array}) == digest({"a": np.asfortranarray(array)})
