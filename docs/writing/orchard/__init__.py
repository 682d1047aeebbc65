"""orchard: fruit that ripens, and falls.

Goal: fill the basket with ripe fruit before too much has fallen, and before MAX_STEPS steps are over.
Observation: float32[TREES + 2], each tree's ripeness divided by RIPE, the basket's fill and the step counter.
Actions: 0 rests, k picks tree k - 1.
Termination: the episode ends when the basket is full or FALL_LIMIT fruits have fallen; after MAX_STEPS it is truncated.
"""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Discrete

import simulacrum

TREES = 3
RIPE = 3
YIELDS = [-0.125, 0.25, 0.5, 1.0]
GROW_P = 0.375
FALL_COST = 0.25
BASKET = 4
FALL_LIMIT = 3
MAX_STEPS = 20


class Slots(IntEnum):
    START = 0  # reset, index = tree
    GROWTH = 1  # step, index = tree


ENVIRONMENT = simulacrum.Environment(
    id="grove/orchard-v0",
    action_space=Discrete(TREES + 1),  # 0 rest, k picks tree k - 1
    observation_space=Box(0.0, 1.0, (TREES + 2,), np.float32),  # ripeness / RIPE, basket / BASKET, t / MAX_STEPS
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.START},
)
