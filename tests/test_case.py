"""A case is what replays a divergence: as JSON it keeps every bit."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from simulacrum import bits
from simulacrum.harness.case import Case
from simulacrum.harness.case_parts import MOST_RESETS, PARTS
from simulacrum.harness.values import decoded, encoded, from_lists, nested

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


# ---------------------------------------------------------------------- what no check writes


def array(dtype: str, shape: Any, values: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "values": values}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "null, or an object with dtype"),
        ({"dtype": "int32", "shape": [1]}, "null, or an object with dtype"),
        (array("object", [1], [0]), "dtype: expected one of"),
        (array("i4,i4", [1], [0]), "dtype: expected one of"),
        (array("int64", [-1], [0]), "shape: expected a list of sizes"),
        (array("int64", 1, [0]), "shape: expected a list of sizes"),
        (array("int64", [10**9, 1], [[0]]), r"values: expected the shape \[1000000000, 1\], got \[1, 1\]"),
        (array("int64", [2], [[1], [2]]), "values: expected the shape"),
        (array("float32", [1], ["nan:7f800000"]), "the bits of a NaN"),  # an infinity's
        (array("float32", [1], ["nan:zz"]), "the bits of a NaN"),
        (array("float32", [1], ["abc"]), "numbers of float32"),
    ],
)
def test_arrays_that_were_never_written(content: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decoded(content)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (0.5, "int64"), (1.0, "int64"), (True, "int64"), ("1", "int64"), (None, "int64"), ({"a": 1}, "int64"),
        (-1, "uint64"), (2**64, "uint64"), (10**30, "int64"), (128, "int8"), ([1, [2]], "int32"),
        ([[1], [1, 2]], "int32"), (1, "bool"), (True, "float32"), (None, "float32"), (1e300, "float32"),
        (10**400, "float64"),
    ],
)  # fmt: skip
def test_no_value_is_bent_to_fit(values: Any, dtype: str) -> None:
    with pytest.raises(ValueError, match=r"^expected (values|numbers) of "):
        from_lists(values, np.dtype(dtype))


def test_lists_keep_their_shape() -> None:
    assert bits.same(from_lists(7, np.dtype(np.int8)), np.array(7, np.int8))
    assert bits.same(from_lists([[1, -0.0]], np.dtype(np.float32)), np.array([[1, -0.0]], np.float32))


def saved(**parts: Any) -> dict[str, Any]:
    """A case of one step of two rows as JSON, with some parts replaced."""
    starts = {"state.x": np.array([3, 4]), "clock.seed": np.array([1, 2], np.uint64)}
    starts |= {"clock.episode": np.array([0, 0]), "clock.t": np.array([5, 6])}
    return {**through_json(Case(starts=starts, actions=np.array([[1, 0]])).as_json()), **parts}


def clocked(**changes: Any) -> dict[str, Any]:
    """The starts of that case, with some arrays replaced; None takes one away."""
    starts = {**saved()["starts"], **{name.replace("_", ".", 1): value for name, value in changes.items()}}
    return {name: value for name, value in starts.items() if value is not None}


MASK = array("bool", [2], [True, False])
BAD_PARTS = [
    *(("resets", value) for value in (None, 1.5, "x", -1, True, 10**9, MOST_RESETS + 1)),
    *(("form", value) for value in (None, [], "x", "VectorEnv", "VectorEnv Foo")),
    *((name, value) for name in ("options", "constants") for value in (None, [], 3, "x")),
    *(("options", value) for value in ({"foo": 3}, {"batch_size": [3]}, {"device": 3}, {"resets": "x"})),
    *(("options", value) for value in ({"compile": {"backend": "os:system"}}, {"expose_state": "no"})),
    *((name, value) for name in ("fused", "laws") for value in (None, 1, "yes")),
    *(("watched", array("int64", [len(rows)], rows)) for rows in ([], [2], [-1], [0, 0])),
    ("watched", array("float64", [1], [0.0])),
    ("watched", array("int64", [1, 1], [[0]])),
    ("starts", []),
    *(("starts", clocked(**{name: None})) for name in ("clock_seed", "clock_episode", "clock_t")),
    ("starts", clocked(reward=array("int64", [2], [1, 1]))),
    ("starts", clocked(clock_seed=None, clock_other=array("uint64", [2], [1, 1]))),
    ("starts", clocked(clock_seed=array("int64", [2], [1, 1]))),
    ("starts", clocked(clock_seed=array("uint64", [2], [-1, 1]))),
    ("starts", clocked(clock_seed=array("uint64", [], 1))),
    ("starts", clocked(clock_t=array("int64", [2], [-1, 0]))),
    ("starts", clocked(clock_t=array("int64", [2, 1], [[1], [0]]))),
    ("starts", clocked(clock_episode=array("int64", [2], [2**32, 0]))),
    ("starts", clocked(state_x=array("int64", [1], [1]))),
    ("starts", {name: array(value["dtype"], [0], []) for name, value in clocked().items()}),
    ("actions", array("int64", [1], [1])),
    ("actions", array("int64", [1, 3], [[1, 1, 1]])),
    ("masks", None),
    ("masks", [[0]]),
    ("masks", [["0", MASK]]),
    ("masks", [[2, MASK]]),
    ("masks", [[0, array("bool", [1], [True])]]),
    ("masks", [[0, array("int64", [2], [1, 1])]]),
]


@pytest.mark.parametrize(("name", "value"), BAD_PARTS, ids=lambda value: str(value)[:40])
def test_a_part_of_another_form_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^case\.{name}: .*expected .*got "):
        Case.from_json(saved(**{name: value}))


@pytest.mark.parametrize(
    "value", [array("int64", [2], [1, 1]), array("uint64", [2, 1], [[1], [1]]), array("uint64", [0], [])]
)
def test_seeds_of_another_form_are_named(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^case\.seeds: expected uint64 \[rows\]"):
        Case.from_json(saved(starts=None, seeds=value))


def test_a_case_has_all_its_parts_and_no_others() -> None:
    assert list(PARTS) == [part.name for part in dataclasses.fields(Case)]
    for content in (None, [], {}, {**saved(), "more": 1}):
        with pytest.raises(ValueError, match=r"^case: expected an object with"):
            Case.from_json(content)
    with pytest.raises(ValueError, match=r"^case: expected either starts or seeds"):
        Case.from_json(saved(starts=None))
