"""board: lamps on a board, and draws of every kind; for the tests of the kernel form."""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

import simulacrum

SIDE = 9
LEVELS = 4
TOOLS = 3
SPOTS = 2
CAP = 20
OPEN_P = 0.75
FILL_WEIGHTS = [4.0, 2.0, 0.0, 1.0]
KIND_WEIGHTS = [1.0, 2.0, 0.0, 0.5]
STAKE = 8589934593


class Slots(IntEnum):
    FILL = 0  # reset, index = cell
    ORDER = 1  # reset
    WARM = 2  # reset, two of them
    MARK = 3  # reset
    SPOT = 4  # step, two of them
    OPEN = 5  # step, index = tool
    KIND = 6  # step
    JITTER = 7  # step
    GLOW = 8  # step
    CODE = 9  # step
    KEY = 10  # step
    TURN = 11  # step


ENVIRONMENT = simulacrum.Environment(
    id="tests/board-v0",
    action_space=MultiDiscrete([SIDE, SIDE, TOOLS]),
    observation_space=Dict(
        {
            "image": Box(0, 255, (SIDE, SIDE, 2), np.uint8),
            "tool": Discrete(TOOLS),
            "heat": Box(0.0, 1.0, (2,), np.float64),
        }
    ),
    max_episode_steps=CAP,
    slots=Slots,
    reset_slots={Slots.FILL, Slots.ORDER, Slots.WARM, Slots.MARK},
    reward_dtype=np.float64,
)
