"""What a schema must take and refuse: elements and no elements of spaces, JSON with a part broken."""

from __future__ import annotations

import json

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from simulacrum.harness.schemas import actions, broken, no_actions

SPACES = [
    Discrete(3),
    Discrete(3, start=-1),
    MultiDiscrete([2, 5]),
    MultiBinary(4),
    Box(-1.0, 0.1, (2, 2), np.float32),
    Box(-np.inf, np.inf, (2,), np.float64),
    Box(0, 255, (3,), np.uint8),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_actions_are_elements_and_no_actions_are_none(space: object) -> None:
    least, greatest = actions(space)
    for value in (least, greatest):
        assert json.loads(json.dumps(value)) == value
        assert space.contains(np.array(value, space.dtype)[()])
    low, high = (int(end) if space.dtype.kind in "iu" else float(end) for end in (np.min(least), np.max(greatest)))
    for what, value in no_actions(space):
        assert json.loads(json.dumps(value)) == value
        if "beyond" in what:
            assert np.shape(value) == (space.shape or ())
            assert np.min(value) < low or np.max(value) > high or isinstance(space, MultiDiscrete)
            assert not space.contains(np.array(value)[()])


def test_each_finite_bound_of_each_element_is_passed_once() -> None:
    counts = [sum("beyond" in what for what, _ in no_actions(space)) for space in SPACES]
    assert counts == [2, 2, 4, 8, 8, 0, 6]


def test_every_part_is_broken_in_each_way() -> None:
    whole = {"a": 1, "b": [{"c": True}, {"c": False}], "d": "x", "e": 0.25}
    wrong = dict(broken(whole))
    assert wrong["a is missing"] == {"b": whole["b"], "d": "x", "e": 0.25}
    assert wrong["a is 0.5"]["a"] == 0.5
    assert wrong["b.0.c is missing"]["b"] == [{}, {"c": False}]
    assert wrong["b.0.c is 1"]["b"] == [{"c": 1}, {"c": False}]
    assert wrong["d is 5"]["d"] == 5
    assert wrong['e is "text"']["e"] == "text"
    assert wrong["b is null"]["b"] is None
    assert wrong["the whole is null"] is None
    assert whole == {"a": 1, "b": [{"c": True}, {"c": False}], "d": "x", "e": 0.25}
