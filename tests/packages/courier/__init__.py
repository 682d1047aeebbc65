"""courier: a sledge on a road without end; for the tests of the battery."""

from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Dict

import simulacrum

PARCELS = 3
FULL = 5
WEIGHTS = [1.0, 2.0, 1.0]
LIMIT = 12
FRICTION = 0.75


class Slots(IntEnum):
    LOAD = 0  # reset, index = kind
    GUST = 1  # step
    KIND = 2  # step


ENVIRONMENT = simulacrum.Environment(
    id="tests/courier-v0",
    action_space=Box(-1.0, 1.0, (2,), np.float32),
    observation_space=Dict({"cargo": Box(0, FULL, (PARCELS,), np.int8), "road": Box(-2.0, 2.0, (2,), np.float32)}),
    max_episode_steps=None,
    slots=Slots,
    reset_slots={Slots.LOAD},
)
