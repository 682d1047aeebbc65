"""cards: a total that is to reach a target; for the tests of observations that are tuples."""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Discrete, Tuple

import simulacrum

TARGET = 6
CARDS = 3
CAP = 5
LUCK_P = 0.5


class Slots(IntEnum):
    FIRST = 0  # reset
    LUCK = 1  # reset
    CARD = 2  # step


ENVIRONMENT = simulacrum.Environment(
    id="tests/cards-v0",
    action_space=Discrete(2),  # 0 wait, 1 take a card
    observation_space=Tuple(
        (
            Discrete(TARGET + CARDS - 1, start=1),  # the total
            Box(0.0, 2.0, (2,), np.float32),  # total / TARGET, t / CAP
            Discrete(2),  # whether the target pays double
        )
    ),
    max_episode_steps=CAP,
    slots=Slots,
    reset_slots={Slots.FIRST, Slots.LUCK},
)
