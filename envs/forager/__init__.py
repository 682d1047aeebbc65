"""forager: a hungry agent gathers berries on a slippery grid.

Goal: collect all the berries before the energy is spent; better berries give more energy and more reward.
Observation: float32[5], the agent's x and y divided by GRID - 1, its energy, the live berries divided by N_BERRIES,
and the step counter divided by MAX_STEPS. Where the berries lie is not observed.
Actions: 0 north, 1 east, 2 south, 3 west; with probability SLIP_P the move is rotated clockwise.
Termination: the episode ends when no berry is left or the energy is spent; after MAX_STEPS steps it is truncated.
"""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Discrete

import simulacrum

GRID = 8
N_BERRIES = 6
N_KINDS = 3
GAINS = [0.1, 0.15, 0.3]
SLIP_P = 0.15
START_ENERGY = 1.0
STEP_COST = 0.02
REWARD_SCALE = 10.0
REWARD_COST = 0.1
MAX_STEPS = 80


class Slots(IntEnum):
    AGENT_X = 0  # reset
    AGENT_Y = 1  # reset
    BERRY_X = 2  # reset, index = berry
    BERRY_Y = 3  # reset, index = berry
    BERRY_KIND = 4  # reset, index = berry
    SLIP = 5  # step


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/forager-v0",
    action_space=Discrete(4),  # 0 north, 1 east, 2 south, 3 west
    # x / (GRID - 1), y / (GRID - 1), energy (its bound: every gain is below 0.3125), live / N_BERRIES, t / MAX_STEPS
    observation_space=Box(
        np.array([0.0, 0.0, -STEP_COST, 0.0, 0.0], np.float32),
        np.array([1.0, 1.0, START_ENERGY + N_BERRIES * 0.3125, 1.0, 1.0], np.float32),
        (5,),
        np.float32,
    ),
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.AGENT_X, Slots.AGENT_Y, Slots.BERRY_X, Slots.BERRY_Y, Slots.BERRY_KIND},
)
