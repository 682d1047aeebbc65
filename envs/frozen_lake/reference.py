"""The readable side of frozen_lake: Gymnasium's own environment, unmodified."""

from __future__ import annotations

from dataclasses import dataclass

import simulacrum

from . import (
    ENVIRONMENT,
    FROZEN_REWARD,
    GOAL,
    GOAL_REWARD,
    HEIGHT,
    HOLE_REWARD,
    HOLES,
    SLIPPERY,
    START,
    SUCCESS_RATE,
    WIDTH,
)

TILES = {START: "S", GOAL: "G"} | dict.fromkeys(HOLES, "H")  # by cell; the others are frozen
MAP = ["".join(TILES.get(row * WIDTH + column, "F") for column in range(WIDTH)) for row in range(HEIGHT)]


@dataclass
class State:
    cell: int  # 0..HEIGHT * WIDTH - 1, counted row by row from the top left
    t: int = 0  # step counter, kept by the base class


class FrozenLakeReference(simulacrum.AdoptedEnv[State]):
    """A walk over slippery ice from the start to the goal.

    Goal: reach the goal's cell without falling into a hole.
    Observation: the cell, 0..HEIGHT * WIDTH - 1, counted row by row from the top left.
    Actions: 0 moves left, 1 down, 2 right, 3 up; on slippery ice a move may turn to either side of it.
    Termination: the episode ends in a hole and on the goal; after MAX_STEPS steps it is truncated.
    """

    environment = ENVIRONMENT
    adopts = simulacrum.Adoption(
        "FrozenLake8x8-v1" if HEIGHT * WIDTH == 64 else "FrozenLake-v1",  # alike but for the map and the step cap
        state={"cell": "s"},
        observation="s",
        options={
            "desc": MAP,
            "is_slippery": bool(SLIPPERY),
            "success_rate": SUCCESS_RATE,
            "reward_schedule": (GOAL_REWARD, HOLE_REWARD, FROZEN_REWARD),
        },
        rules=("reset", "step", "categorical_sample"),
    )
