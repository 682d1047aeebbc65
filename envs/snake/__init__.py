"""snake: many snakes on one board, which eat, grow, and die of walls and of each other.

Goal: of each snake, to eat as much food and as many corpses as it can, and to run into nothing.
Observation: uint8[SNAKES, WINDOW, WINDOW], of each snake the cells around its head: 0 empty, 1 food, 2 corpse, 3 wall,
from 4 on the colour of a snake.
Actions: of each snake 0 up, 1 down, 2 left, 3 right; one that turns back into its own neck goes straight on instead.
Termination: none, the board goes on without the dead, who begin anew; after MAX_STEPS steps it is truncated.
"""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete

import simulacrum

HEIGHT = 6
WIDTH = 7
VISION = 1
SNAKES = 3
FOODS = 12
LONGEST = 5
CORPSES = 1
ATTEMPTS = 2
N_COLOURS = 2
REWARD_FOOD = 0.1
REWARD_CORPSE = 0.1
REWARD_DEATH = -1.0
MAX_STEPS = 40
INSIDE_HEIGHT = HEIGHT - 2 * VISION
INSIDE_WIDTH = WIDTH - 2 * VISION
INSIDE = INSIDE_HEIGHT * INSIDE_WIDTH
WINDOW = 2 * VISION + 1


class Slots(IntEnum):
    START = 0  # reset, index = snake * ATTEMPTS + attempt
    FOOD = 1  # reset, index = item * ATTEMPTS + attempt
    RESTART = 2  # step, index = snake * ATTEMPTS + attempt
    REGROW = 3  # step, index = snake * ATTEMPTS + attempt


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/snake-v0",
    agents=SNAKES,
    action_space=MultiDiscrete([4] * SNAKES),  # 0 up, 1 down, 2 left, 3 right
    observation_space=Box(0, 3 + N_COLOURS, (SNAKES, WINDOW, WINDOW), np.uint8),
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.START, Slots.FOOD},
)
