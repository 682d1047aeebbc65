"""minigrid_empty: MiniGrid-Empty of the package minigrid, its rules unmodified.

Goal: reach the green square in the opposite corner of an empty room, in as few steps as possible.
Observation: image, uint8[7, 7, 3], the cells before the agent as (object, colour, state); direction, where the agent
looks; mission, which of the missions it has (there is one).
Actions: 0 turn left, 1 turn right, 2 forward; 3 pick up, 4 drop, 5 toggle and 6 done do nothing here.
Termination: the episode ends when the agent steps onto the goal; after MAX_STEPS steps it is truncated.
"""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

import simulacrum

SIZE = 8
MAX_STEPS = 256
RANDOM_START = 0
TRIES = 128
REACH = 3


class Slots(IntEnum):
    START = 0  # reset, index = place in the sequence of the original's calls


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/minigrid_empty-v0",
    action_space=Discrete(7),  # 0 left, 1 right, 2 forward, 3 pick up, 4 drop, 5 toggle, 6 done
    observation_space=Dict(
        {
            "image": Box(0, 255, (2 * REACH + 1, 2 * REACH + 1, 3), np.uint8),
            "direction": Discrete(4),
            "mission": Discrete(1),  # the original's text, as an index
        }
    ),
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.START},
    reward_dtype=np.float64,
)
