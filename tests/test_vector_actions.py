"""The actions that ``FastVectorEnv`` takes and refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from vector_worlds import LEDGE, FastState, Slots

import simulacrum
from simulacrum import FastEnv
from simulacrum.errors import ActionError
from simulacrum.vector import FastVectorEnv


class AnyAction(FastEnv[FastState]):
    """Its subclasses have the action space that a test needs."""

    environment = LEDGE

    def initial(self, draw):
        return FastState(x=draw.randint(Slots.START, 2))

    def transition(self, state, action, draw):
        total = action.reshape(len(action), -1).sum(-1).to(torch.float32)
        return FastState(x=state.x), total, total > 1e30

    def observation(self, state):
        return {
            "place": torch.zeros((len(state.x), 2)),
            "cell": state.x.to(torch.int64),
            "edges": torch.zeros((len(state.x), 2), dtype=torch.int8),
            "height": torch.zeros(len(state.x)),
        }


def taking(space: spaces.Space[Any], **options: Any) -> FastVectorEnv:
    environment = simulacrum.Environment(
        id="test/any-v0",
        action_space=space,
        observation_space=LEDGE.observation_space,
        max_episode_steps=None,
        slots=Slots,
        reset_slots={Slots.START},
    )
    env = FastVectorEnv(type("Taking", (AnyAction,), {"environment": environment})(batch_size=[2], seed=0, **options))
    env.reset(seed=0)
    return env


DISCRETE = spaces.Discrete(3, start=-1)
MULTI = spaces.MultiDiscrete([2, 5])
BINARY = spaces.MultiBinary(2)
BOX = spaces.Box(-1.0, 2.0, (2,), np.float32)
WIDE = spaces.Box(-np.inf, np.inf, (1,), np.float64)
SCALAR = spaces.Box(-1.0, 1.0, (), np.float32)
WHOLE = spaces.Box(0, 9, (1,), np.int16)

TAKEN = [
    (DISCRETE, np.array([-1, 1]), [-1, 1]),
    (DISCRETE, np.array([-1, 1], np.int8), [-1, 1]),
    (DISCRETE, np.array([0, 1], np.uint64), [0, 1]),
    (DISCRETE, np.array([-1, 1], ">i4"), [-1, 1]),
    (DISCRETE, np.array([-1, 9, 1, 9])[::2], [-1, 1]),
    (DISCRETE, [-1, 1], [-1, 1]),
    (DISCRETE, (np.int64(-1), 1), [-1, 1]),
    (DISCRETE, torch.tensor([-1, 1]), [-1, 1]),
    (MULTI, np.array([[0, 4], [1, 0]], np.int32), [4, 1]),
    (MULTI, [[0, 4], [1, 0]], [4, 1]),
    (BINARY, np.array([[1, 0], [1, 1]], np.int64), [1, 2]),
    (BINARY, np.array([[True, False], [True, True]]), [1, 2]),
    (BOX, np.array([[-1, 2], [0.5, 0.25]], np.float32), [1, 0.75]),
    (BOX, np.array([[-1, 2], [0.5, 0.25]], np.float16), [1, 0.75]),
    (BOX, np.array([[-1, 2], [0, 1]], np.int16), [1, 1]),
    (BOX, [[-1.0, 2.0], [0.5, 0.25]], [1, 0.75]),
    (BOX, [[-1, 2], [0, 1]], [1, 1]),
    (BOX, np.asfortranarray(np.array([[-1, 2], [0.5, 0.25]], np.float32)), [1, 0.75]),
    (WIDE, np.array([[1], [2]], np.float32), [1, 2]),
    (WIDE, np.array([[np.inf], [2]]), [np.inf, 2]),
    (SCALAR, np.array([0.5, 1], np.float32), [0.5, 1]),
    (WHOLE, np.array([[9], [0]]), [9, 0]),
]

REFUSED = [
    (DISCRETE, np.array([0.0, 1.0]), "expected int64 .* got float64"),
    (DISCRETE, [0.0, 1.0], "expected int64 .* got float64"),
    (DISCRETE, np.array([0, 2]), r"elements of Discrete\(3, start=-1\), got 2 in row 1"),
    (DISCRETE, [-2, 0], "got -2 in row 0"),
    (DISCRETE, np.array([0, 2**63 + 1], np.uint64), "got 9223372036854775809 in row 1"),
    (DISCRETE, [0, 2**70], "expected int64 .* got object"),
    (DISCRETE, ["0", "1"], "expected int64 .* got <U1"),
    (DISCRETE, np.array([[0], [1]]), r"expected shape \(2,\), got \(2, 1\)"),
    (DISCRETE, [0], r"expected shape \(2,\), got \(1,\)"),
    (DISCRETE, 0, r"expected shape \(2,\), got \(\)"),
    (DISCRETE, None, r"expected shape \(2,\), got \(\)"),
    (MULTI, [[0, 1], [0]], "got no array"),
    (MULTI, [[0, 4], [0, 5]], r"got \[0, 5\] in row 1"),
    (BINARY, [[0, 0], [0, 2]], r"got \[0, 2\] in row 1"),
    (BINARY, np.array([[0, 256], [0, 0]]), r"got \[0, 256\] in row 0"),
    (BOX, np.array([[0, 0], [0.5, 0.25]], np.float64), r"expected float32 .* got float64; .*astype\(numpy.float32\)"),
    (BOX, np.array([[0, 0], [1, 1]], np.int64), "expected float32 .* got int64"),
    (BOX, np.array([[0, 0], [0, np.nan]], np.float32), r"got \[0.0, nan\] in row 1"),
    (BOX, np.array([[0, 2.5], [0, 0]], np.float32), r"got \[0.0, 2.5\] in row 0"),
    (WIDE, np.array([[1], [np.nan]]), r"got \[nan\] in row 1"),
    (WHOLE, np.array([[9], [2**16]]), r"got \[65536\] in row 1"),
]


@pytest.mark.parametrize(("space", "actions", "rewards"), TAKEN)
def test_actions_that_are_taken(space: spaces.Space[Any], actions: Any, rewards: list[float]) -> None:
    np.testing.assert_array_equal(taking(space).step(actions)[1], rewards)


@pytest.mark.parametrize(("space", "actions", "message"), REFUSED)
def test_actions_that_are_refused(space: spaces.Space[Any], actions: Any, message: str) -> None:
    env = taking(space)
    before = env.fast.get_state()
    with pytest.raises(ActionError, match=message):
        env.step(actions)
    assert (env.fast.get_state() == before).all()


@pytest.mark.parametrize("space", [DISCRETE, MULTI, BINARY, BOX, WIDE, SCALAR, WHOLE])
def test_what_the_action_space_contains_is_taken(space: spaces.Space[Any]) -> None:
    env = taking(space)
    for _ in range(20):
        env.step(env.action_space.sample())


def test_one_switch_turns_checks_of_values_off() -> None:
    env = taking(DISCRETE, validate_actions=False)
    np.testing.assert_array_equal(env.step([5, -7])[1], [5, -7])
    with pytest.raises(ActionError):
        env.step([0.0, 1.0])
    with pytest.raises(ActionError):
        env.step([0])
