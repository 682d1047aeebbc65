"""A case is what replays a divergence: as JSON it keeps every bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from simulacrum import bits
from simulacrum.harness.case import Case
from simulacrum.harness.values import decoded, encoded, nested

DTYPES = [np.dtype(name) for name in ("bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64")]
ODD_NAN = np.array([0x7FC00123, 0xFFC00001], np.uint32).view(np.float32)


def through_json(values: Any) -> Any:
    return json.loads(json.dumps(values, allow_nan=False))


@given(st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3))))
def test_arrays_keep_their_bits_as_json(values: np.ndarray) -> None:
    assert bits.same(decoded(through_json(encoded(values))), values)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_that_json_lacks_are_texts(dtype: str) -> None:
    values = np.array([-0.0, np.inf, -np.inf, 0.1], dtype)
    assert nested(values) == [-0.0, "inf", "-inf", float(np.dtype(dtype).type(0.1))]
    assert bits.same(decoded(through_json(encoded(values))), values)


def test_a_nan_keeps_its_bits() -> None:
    assert nested(ODD_NAN) == ["nan:7fc00123", "nan:ffc00001"]
    assert bits.same(decoded(through_json(encoded(ODD_NAN))), ODD_NAN)


def test_an_empty_array_keeps_its_shape() -> None:
    values = np.zeros((0, 3, 2), np.int32)
    assert bits.same(decoded(through_json(encoded(values))), values)


def test_a_case_keeps_its_bits_as_json() -> None:
    starts = {
        "state.energy": np.array([-0.0, 0.1], np.float32),
        "clock.seed": np.array([0, 2**64 - 1], np.uint64),
        "clock.episode": np.array([0, 2**32 - 1]),
        "clock.t": np.array([3, 4]),
    }
    case = Case(
        starts=starts,
        actions=np.array([[1, 0]]),
        resets=2,
        masks=((0, np.array([True, False])),),
        watched=np.array([1]),
        fused=False,
        form="TransformedEnv",
        options={"resets": "masked", "compile": True},
        constants={"L": 3},
        laws=True,
    )
    again = Case.from_json(through_json(case.as_json()))
    for name, value in starts.items():
        assert bits.same(again.starts[name], value)
    assert bits.same(again.actions, case.actions)
    assert bits.same(again.masks[0][1], case.masks[0][1])
    assert bits.same(again.watched, case.watched)
    for name in ("resets", "fused", "form", "options", "constants", "laws", "seeds", "rows", "steps"):
        assert getattr(again, name) == getattr(case, name)


def test_seeds_are_integers_in_json() -> None:
    case = Case(seeds=np.array([2**64 - 1], np.uint64))
    assert case.as_json()["seeds"]["values"] == [2**64 - 1]
    assert bits.same(Case.from_json(through_json(case.as_json())).seeds, case.seeds)


def test_a_case_of_little_is_simple_to_make() -> None:
    record = {"state.x": np.array([3]), "clock.seed": np.array([1], np.uint64), "reward": np.array([1.0])}
    case = Case(starts=record, actions=np.array([[1]]))
    assert (case.rows, case.steps, case.watched_rows.tolist()) == (1, 1, [0])
    assert set(case.starts) == {"state.x", "clock.seed"}  # a reward is no part of a start
    assert Case(starts=record).steps == 0


@pytest.mark.parametrize("start", [{}, {"starts": {}, "seeds": np.array([1], np.uint64)}])
def test_a_case_has_one_start(start: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either from injected states"):
        Case(**start)
