"""frozen_lake: Gymnasium's FrozenLake-v1, unmodified: a walk over slippery ice from the start to the goal.

Goal: reach the goal's cell without falling into a hole.
Observation: the cell, 0..HEIGHT * WIDTH - 1, counted row by row from the top left.
Actions: 0 moves left, 1 down, 2 right, 3 up; on slippery ice a move may turn to either side of it.
Termination: the episode ends in a hole and on the goal; after MAX_STEPS steps it is truncated.
"""

from enum import IntEnum
from itertools import accumulate

from gymnasium.spaces import Discrete

import simulacrum

HEIGHT = 4
WIDTH = 4
START = 0
GOAL = 15
HOLES = [5, 7, 11, 12]
SLIPPERY = 1
SUCCESS_RATE = 0.3333333333333333
FAIL_RATE = (1.0 - SUCCESS_RATE) / 2.0
SLIP_SUMS = list(accumulate([FAIL_RATE, SUCCESS_RATE, FAIL_RATE]))
GOAL_REWARD = 1.0
HOLE_REWARD = 0.0
FROZEN_REWARD = 0.0
MAX_STEPS = 100


class Slots(IntEnum):
    FIRST_CELL = 0  # reset: the start is the only one, whatever is drawn
    SLIP = 1  # step


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/frozen_lake-v1",
    action_space=Discrete(4),  # 0 left, 1 down, 2 right, 3 up
    observation_space=Discrete(HEIGHT * WIDTH),  # the cell
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.FIRST_CELL},
)
