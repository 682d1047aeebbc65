"""What a package declares about itself."""

import copy
import pickle
from enum import IntEnum

import numpy as np
import pytest
from environments import COUNTDOWN, Slots
from gymnasium import spaces

from simulacrum import Environment
from simulacrum.errors import DrawError, SpecError

GOOD = {"id": "tests/good-v0", "action_space": spaces.Discrete(2), "observation_space": spaces.Discrete(3)}


def environment(**changes):
    return Environment(**{**GOOD, "max_episode_steps": 5, **changes})


def test_what_is_left_out_has_a_default():
    declared = environment()
    assert declared.reward_dtype == np.float32
    assert len(declared.slots) == 0
    assert not declared.reset_slots


@pytest.mark.parametrize("name", ["a/b-v0", "a_b-c/d_e.f-v12", "plain-v1"])
def test_ids_that_gymnasium_takes_are_taken(name):
    assert environment(id=name).id == name


@pytest.mark.parametrize("name", ["", "a/b", "a/b-v", "a/b-vx", "a b/c-v0", "a.b/c-v0", "a/b/c-v0", "a/b-v0 ", "-v0"])
def test_other_ids_are_refused(name):
    with pytest.raises(SpecError, match="id: expected <namespace>/<name>-v<k>"):
        environment(id=name)


@pytest.mark.parametrize("cap", [None, 1, 2**32 - 1])
def test_step_caps(cap):
    assert environment(max_episode_steps=cap).max_episode_steps == cap


@pytest.mark.parametrize("cap", [0, -1, 2**32, 5.0, "5"])
def test_other_step_caps_are_refused(cap):
    with pytest.raises(SpecError, match="max_episode_steps: expected None or an int"):
        environment(max_episode_steps=cap)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "float64", np.dtype("float32")])
def test_reward_dtypes(dtype):
    assert environment(reward_dtype=dtype).reward_dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.float16, bool])
def test_other_reward_dtypes_are_refused(dtype):
    with pytest.raises(SpecError, match="reward_dtype: expected float32 or float64"):
        environment(reward_dtype=dtype)


def test_slots_are_drawn_in_their_phase():
    declared = environment(slots=Slots, reset_slots={Slots.LEFT})
    assert declared.reset_phase.counter(Slots.LEFT, 0) == 0
    assert declared.step_phase.counter(Slots.PAUSE, 1) == (1 << 24) + 1
    with pytest.raises(DrawError, match="cannot be drawn in the step phase"):
        declared.step_phase.counter(Slots.LEFT, 0)
    with pytest.raises(DrawError, match="cannot be drawn in the reset phase"):
        declared.reset_phase.counter(Slots.PAUSE, 0)
    with pytest.raises(DrawError):
        environment().reset_phase.counter(0, 0)


def test_reset_slots_that_are_no_slots_are_refused():
    class Others(IntEnum):
        THIRD = 2

    with pytest.raises(SpecError, match="reset_slots: expected members of Slots"):
        environment(slots=Slots, reset_slots={Others.THIRD})


@pytest.mark.parametrize("number", [-1, 240])
def test_slots_out_of_range_are_refused(number):
    with pytest.raises(DrawError, match=r"slot: expected 0\.\.239"):
        environment(slots=IntEnum("Far", {"AWAY": number}))


def test_a_declaration_does_not_change_and_is_shared():
    declared = environment()
    with pytest.raises(AttributeError):
        declared.max_episode_steps = 6
    assert copy.deepcopy(declared) is declared
    other = pickle.loads(pickle.dumps(COUNTDOWN))
    assert other == COUNTDOWN
    assert other.step_phase.counter(Slots.PAUSE, 0) == 1 << 24
