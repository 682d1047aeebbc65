"""cliff_walking: Gymnasium's CliffWalking-v1, unmodified: a walk along a cliff from one corner to the other.

Goal: reach the lower right corner in as few steps as possible. A fall off the cliff leads back to the start.
Observation: the cell, 0..HEIGHT * WIDTH - 1, counted row by row from the top left.
Actions: 0 moves up, 1 right, 2 down, 3 left; on slippery ground a move may turn to either side of it.
Termination: the episode ends on the goal; there is no step cap.
"""

from enum import IntEnum
from itertools import accumulate

from gymnasium.spaces import Discrete

import simulacrum

SLIPPERY = 0
HEIGHT, WIDTH = 4, 12  # these and the rewards are the original's, which has no options for them
START = (HEIGHT - 1) * WIDTH
GOAL = HEIGHT * WIDTH - 1
SLIP_SUMS = list(accumulate([1.0 / 3.0] * 3))
STEP_REWARD, CLIFF_REWARD = -1.0, -100.0


class Slots(IntEnum):
    FIRST_CELL = 0  # reset: the start is the only one, whatever is drawn
    SLIP = 1  # step


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/cliff_walking-v1",
    action_space=Discrete(4),  # 0 up, 1 right, 2 down, 3 left
    observation_space=Discrete(HEIGHT * WIDTH),  # the cell
    max_episode_steps=None,
    slots=Slots,
    reset_slots={Slots.FIRST_CELL},
)
