"""minigrid_door_key: MiniGrid-DoorKey of the package minigrid, its rules unmodified.

Goal: take the key, open the locked door in the wall between the two rooms, and reach the green square behind it.
Observation: image, uint8[7, 7, 3], the cells before the agent that it can see, as (object, colour, state); direction,
where the agent looks; mission, which of the missions it has (there is one).
Actions: 0 turn left, 1 turn right, 2 forward, 3 pick up, 4 drop, 5 toggle (the door); 6 done does nothing.
Termination: the episode ends when the agent steps onto the goal; after MAX_STEPS steps it is truncated.
"""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

import simulacrum

SIZE = 8
MAX_STEPS = 640
TRIES = 128
REACH = 3


class Slots(IntEnum):
    WALL = 0  # reset
    PLACE = 1  # reset, index = place in the sequence of the original's further calls


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/minigrid_door_key-v0",
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
    reset_slots={Slots.WALL, Slots.PLACE},
    reward_dtype=np.float64,
)
