"""What the battery knows of cliff_walking beside the two implementations: each function takes a batch as arrays [N]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy

from . import GOAL, HEIGHT, START, WIDTH

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

UP, RIGHT, DOWN, LEFT = range(4)


def off_the_cliff(state: Any) -> Rows:
    return (state.cell <= START) | (state.cell >= GOAL)


def within_reach(state: Any) -> Rows:
    row, column = state.cell // WIDTH, state.cell % WIDTH
    return HEIGHT - 1 - row + column <= state.t


INVARIANTS = [off_the_cliff, within_reach]


def goal(state: Any) -> Rows:
    return state.cell == GOAL


TERMINATIONS = [goal]


def legal_states(rng: np.random.Generator, rows: int) -> dict[str, Ints]:
    """Any cells off the cliff, the goal's among them."""
    cells = rng.integers(0, START + 2, rows)
    return {"cell": np.where(cells > START, GOAL, cells)}


def along_the_top(state: Any, observation: Any) -> Ints:
    return np.where(state.cell % WIDTH == WIDTH - 1, DOWN, np.where(state.cell < WIDTH, RIGHT, UP))


def along_the_edge(state: Any, observation: Any) -> Ints:
    return np.where(state.cell % WIDTH == WIDTH - 1, DOWN, np.where(state.cell == START, UP, RIGHT))


def after_three_falls(state: Any, observation: Any) -> Ints:
    return np.where(state.t < 3, RIGHT, along_the_edge(state, observation))


def _policy(policy: Any, earned: float) -> ScriptedPolicy:
    """One that earns the same in every episode."""
    return ScriptedPolicy(policy.__name__, policy, earned, standard_deviation=0.0, return_range=(earned, earned))


POLICIES = [_policy(along_the_top, -17.0), _policy(along_the_edge, -13.0), _policy(after_three_falls, -313.0)]

MIN_SPEEDUP = 20.0

EXCUSES = {
    "coverage CliffWalkingEnv.reset: self.render() is executed": "the original is made without a render mode",
    "coverage CliffWalkingEnv.step: self.render() is executed": "the original is made without a render mode",
}
