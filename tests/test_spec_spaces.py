"""Which spaces are the same. Which are supported is tested with the specs that are made of them."""

import numpy as np
import pytest
from gymnasium import spaces
from spaces_in_use import OBSERVATIONS, identify

from simulacrum.spec.spaces import same_space


@pytest.mark.parametrize("space", OBSERVATIONS, ids=identify)
def test_a_space_is_the_same_as_itself_and_no_other(space):
    assert [same_space(space, other) for other in OBSERVATIONS] == [other is space for other in OBSERVATIONS]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (spaces.Discrete(3), spaces.Discrete(4)),
        (spaces.Discrete(3), spaces.Discrete(3, start=1)),
        (spaces.Discrete(3), spaces.Discrete(3, dtype=np.int32)),
        (spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([3, 2])),
        (spaces.MultiBinary(6), spaces.MultiBinary([2, 3])),
        (spaces.Box(0, 1, (2,), np.float32), spaces.Box(0, 1, (2,), np.float64)),
        (spaces.Box(0, 1, (2,), np.float32), spaces.Box(0, 1, (2, 1), np.float32)),
        (spaces.Box(0, 1, (), np.float64), spaces.Box(0, np.nextafter(1, 2), (), np.float64)),
        (spaces.Dict({"a": spaces.Discrete(2)}), spaces.Dict({"b": spaces.Discrete(2)})),
        (spaces.Dict({"a": spaces.Discrete(2)}), spaces.Discrete(2)),
        (
            spaces.Dict({"a": spaces.Box(0, 1, (), np.float64)}),
            spaces.Dict({"a": spaces.Box(0, np.nextafter(1, 2), (), np.float64)}),
        ),
    ],
    ids=identify,
)
def test_small_differences_are_seen(one, other):
    assert not same_space(one, other)
    assert not same_space(other, one)


def test_equal_spaces_are_the_same():
    assert same_space(spaces.Box(0, 1, (2,), np.float32), spaces.Box(np.zeros(2, np.float32), np.ones(2, np.float32)))
    assert same_space(spaces.Dict({"a": spaces.Discrete(2)}), spaces.Dict({"a": spaces.Discrete(2)}))
