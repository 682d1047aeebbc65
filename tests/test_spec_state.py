"""The State dataclasses of both sides. What the reference does with them is tested with it."""

import pickle
from dataclasses import dataclass, fields, make_dataclass

import numpy as np
import pytest
import torch
from environments import COUNTDOWN

from simulacrum import FastEnv, ReferenceEnv, tensor_state
from simulacrum.errors import SpecError, StateError
from simulacrum.spec.state import build, clock_values, converters, field_names, read, state_class


@dataclass
class Whole:
    count: int
    flag: bool
    ratio: float
    single: np.float32
    double: np.float64
    array: np.ndarray
    cells: list[int]
    rows: list[list[bool]]
    pair: tuple[np.float32, ...]
    t: int = 0


VALUES = {
    "count": 3,
    "flag": True,
    "ratio": 0.5,
    "single": np.float32(0.1),
    "double": np.float64(0.1),
    "array": np.arange(3),
    "cells": [1, 2],
    "rows": [[True, False], [False, True]],
    "pair": (np.float32(1), np.float32(2)),
}


def shown(values):
    """Values with their types, and those of what is in them."""
    parts = {name: [type(part) for part in np.ravel(value)] for name, value in values.items()}
    return repr([(name, type(value), value, parts[name]) for name, value in values.items()])


def test_a_state_is_found_in_the_parameter_of_its_class():
    class Side(ReferenceEnv[Whole]):
        environment = COUNTDOWN

    class Below(Side):
        pass

    assert state_class(Side, ReferenceEnv) is state_class(Below, ReferenceEnv) is Whole
    assert state_class(Side, FastEnv) is None
    assert state_class(ReferenceEnv, ReferenceEnv) is None


def test_the_fields_of_a_state_are_all_but_t():
    assert field_names(Whole) == tuple(VALUES)


@pytest.mark.parametrize("to", [lambda value: value, np.array, torch.tensor], ids=["values", "arrays", "tensors"])
def test_every_field_gets_its_type_from_values_arrays_and_tensors(to):
    given = {name: to(np.array(value) if to is torch.tensor else value) for name, value in VALUES.items()}
    state = build(Whole, given, converters(Whole))
    assert shown(read(state, field_names(Whole))) == shown(VALUES)


def test_what_is_read_is_a_copy_all_the_way_down():
    state = build(Whole, VALUES, converters(Whole))
    values = read(state, field_names(Whole))
    state.rows[0][0] = False
    state.array[0] = 9
    assert values["rows"][0][0] is True
    assert values["array"][0] == 0
    assert pickle.loads(pickle.dumps(values))["rows"] == values["rows"]


WRONG = [
    *[("count", 1.5), ("count", [1]), ("flag", [True, False])],
    *[("single", np.zeros(1)), ("cells", 3), ("rows", [[[True]]])],
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_value_that_is_none_of_its_type_is_refused(name, value):
    with pytest.raises(StateError, match=f"state field {name}: cannot take"):
        build(Whole, {**VALUES, name: value}, converters(Whole))


def test_missing_and_unknown_fields_are_named():
    with pytest.raises(StateError, match=r"missing \['flag'\], unknown \['flags', 't'\]"):
        build(Whole, {**{k: v for k, v in VALUES.items() if k != "flag"}, "flags": 1, "t": 0}, converters(Whole))


@pytest.mark.parametrize("annotation", ["str", "dict[str, int]", "tuple[int, float]", "list", "int | None"])
def test_other_annotations_are_refused(annotation):
    Odd = make_dataclass("Odd", [("value", annotation), ("t", int, 0)])
    with pytest.raises(SpecError, match=r"Odd\.value: expected int, bool, float"):
        converters(Odd)


def test_a_class_that_is_no_dataclass_or_has_no_t_is_refused():
    with pytest.raises(SpecError, match="expected a dataclass"):
        field_names(int)

    @dataclass
    class Timeless:
        count: int

    with pytest.raises(SpecError, match="expected a last field t"):
        field_names(Timeless)


SEEDS = [(5, 5), (2**64 - 1, 2**64 - 1), (-1, 2**64 - 1), (-(2**63), 2**63), (np.array([-2]), 2**64 - 2)]


@pytest.mark.parametrize(("seed", "expected"), SEEDS)
def test_a_clocks_seed_may_be_the_bits_of_an_int64(seed, expected):
    assert clock_values({"seed": seed, "episode": np.int64(2), "t": torch.tensor(3)}) == (expected, 2, 3)


# ---------------------------------------------------------------------- the fast side's


def test_a_tensor_state_is_a_dataclass_that_is_made_without_t():
    @tensor_state
    class State:
        count: torch.Tensor
        t: torch.Tensor

    state = State(count=torch.zeros(2))
    assert [field.name for field in fields(State)] == ["count", "t"]
    assert state.t is None
    assert State(torch.zeros(2), torch.ones(2)).t.sum() == 2
    assert state != State(count=torch.zeros(2))
    with pytest.raises(TypeError):
        State()
