"""newenv: a climb in the wind.

Goal: reach the top of a ladder, rung TOP, before MAX_STEPS steps are over, with few attempts to climb.
Observation: float32[2], the height divided by TOP and the step counter divided by MAX_STEPS.
Actions: 0 holds on, 1 climbs; with probability GUST_P a climber is blown down a rung instead.
Termination: the episode ends on the top; after MAX_STEPS steps it is truncated.
"""

# The constants, slots and spaces of spec.md: same names, same values. Nothing here runs, and nothing is imported from
# the other files of the package.

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Discrete

import simulacrum

TOP = 4
START_RUNGS = 2
MAX_STEPS = 10
GUST_P = 0.25
TOP_REWARD = 1.0
CLIMB_REWARD = -0.0625
HOLD_REWARD = 0.0


class Slots(IntEnum):
    START = 0  # reset
    GUST = 1  # step


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/newenv-v0",
    action_space=Discrete(2),  # 0 hold on, 1 climb
    observation_space=Box(0.0, 1.0, (2,), np.float32),  # height / TOP, t / MAX_STEPS
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.START},
)
