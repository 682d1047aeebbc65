"""gates: a walk through gates; for the tests of the battery."""

from enum import IntEnum

from gymnasium.spaces import Discrete

import simulacrum

GATES = 3
CAP = 12
OPEN_P = 0.5


class Slots(IntEnum):
    ORDER = 0  # reset
    OPEN = 1  # step, index = gate


ENVIRONMENT = simulacrum.Environment(
    id="tests/gates-v0",
    action_space=Discrete(3),  # 0 back, 1 stay, 2 on
    observation_space=Discrete(GATES + 1),
    max_episode_steps=CAP,
    slots=Slots,
    reset_slots={Slots.ORDER},
)
