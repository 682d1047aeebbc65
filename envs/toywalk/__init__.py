"""toywalk: a walk on a line with slippery ground.

Goal: reach the right end of the line, cell +L, in as few steps as possible.
Observation: float32[2], the position divided by L and the step counter divided by MAX_STEPS.
Actions: 0 moves left, 1 moves right; with probability SLIP_P the move is reversed.
Termination: the episode ends on the goal; after MAX_STEPS steps it is truncated.
"""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Discrete

import simulacrum

L = 5
MAX_STEPS = 60
SLIP_P = 0.1
START_RANGE = 2
GOAL_REWARD = 10.0
STEP_REWARD = -1.0


class Slots(IntEnum):
    INIT_POSITION = 0  # reset
    SLIP = 1  # step


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/toywalk-v0",
    action_space=Discrete(2),  # 0 left, 1 right
    observation_space=Box(-1.0, 1.0, (2,), np.float32),  # position / L, t / MAX_STEPS
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.INIT_POSITION},
)
