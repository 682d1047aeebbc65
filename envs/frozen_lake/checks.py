"""What the battery knows of frozen_lake beside the two implementations: each function takes a batch as arrays [N]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy

from . import FROZEN_REWARD, GOAL, GOAL_REWARD, HEIGHT, HOLE_REWARD, HOLES, MAX_STEPS, START, WIDTH

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

LEFT, DOWN, RIGHT, UP = range(4)


def within_reach(state: Any) -> Rows:
    (row, column), (first_row, first_column) = divmod(state.cell, WIDTH), divmod(START, WIDTH)
    return np.abs(row - first_row) + np.abs(column - first_column) <= state.t


INVARIANTS = [within_reach]


def hole(state: Any) -> Rows:
    return np.isin(state.cell, HOLES)


def goal(state: Any) -> Rows:
    return state.cell == GOAL


TERMINATIONS = [hole, goal]


def always_right(state: Any, observation: Any) -> int:
    return RIGHT


def always_up(state: Any, observation: Any) -> int:
    return UP


def down_then_right(state: Any, observation: Any) -> Ints:
    return np.where(state.cell // WIDTH < HEIGHT - 1, DOWN, RIGHT)


def careful(state: Any, observation: Any) -> Ints:
    beside = np.stack([_beside(state.cell, direction) for direction in range(4)])
    sides = np.stack([np.roll(beside, 1, axis=0), beside, np.roll(beside, -1, axis=0)])
    holes = np.isin(sides, HOLES).sum(axis=0)
    onward = (sides // WIDTH + sides % WIDTH).sum(axis=0)
    return np.argmin(holes * 1000 - onward, axis=0)


def _beside(cell: Any, direction: int) -> Any:
    row, column = cell // WIDTH, cell % WIDTH
    row = np.clip(row + (direction == DOWN) - (direction == UP), 0, HEIGHT - 1)
    return row * WIDTH + np.clip(column + (direction == RIGHT) - (direction == LEFT), 0, WIDTH - 1)


def legal_states(rng: np.random.Generator, rows: int) -> dict[str, Ints]:
    """Any cells, those of the holes and the goal among them."""
    return {"cell": rng.integers(0, HEIGHT * WIDTH, rows)}


LEAST = min(FROZEN_REWARD, 0.0) * MAX_STEPS + min(HOLE_REWARD, 0.0)
MOST = max(FROZEN_REWARD, 0.0) * MAX_STEPS + max(GOAL_REWARD, HOLE_REWARD, 0.0)

POLICIES = [
    ScriptedPolicy(
        "always_right",
        always_right,
        expected_return=0.031502,
        standard_deviation=0.174670,
        return_range=(LEAST, MOST),
    ),
    ScriptedPolicy(
        "always_up",
        always_up,
        expected_return=0.0,
        standard_deviation=0.0,
        return_range=(0.0, 0.0),
    ),
    ScriptedPolicy(
        "down_then_right",
        down_then_right,
        expected_return=0.062169,
        standard_deviation=0.241463,
        return_range=(LEAST, MOST),
    ),
    ScriptedPolicy(
        "careful",
        careful,
        expected_return=0.446599,
        standard_deviation=0.497140,
        return_range=(LEAST, MOST),
    ),
]

MIN_SPEEDUP = 20.0

EXCUSES = {
    "coverage FrozenLakeEnv.reset: self.render() is executed": "the original is made without a render mode",
    "coverage FrozenLakeEnv.step: self.render() is executed": "the original is made without a render mode",
}
