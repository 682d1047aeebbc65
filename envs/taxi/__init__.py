"""taxi: a taxi of a small city fetches a passenger and takes them where they want to go.

Gymnasium's Taxi-v4, unmodified, is the reference.

Goal: pick the passenger up at one of four pads, and drop them off at the pad that they want to go to, in few steps.
Observation: one number in 0..499, ((row * 5 + column) * 5 + passenger) * 4 + destination.
Actions: 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off; `action_mask` tells which change something.
Termination: the episode ends when the passenger gets out at their destination; after MAX_STEPS steps it is truncated.
"""

from enum import IntEnum

from gymnasium.spaces import Discrete

import simulacrum

RAINY = 1
FICKLE = 1
STRAIGHT_P = 0.8
FICKLE_P = 0.3
MAX_STEPS = 200


class Slots(IntEnum):
    START = 0  # reset
    MOOD = 1  # reset, of a fickle passenger only
    MOVE = 2  # step
    DESTINATION = 3  # step, when a fickle passenger thinks again


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/taxi-v4",
    action_space=Discrete(6),  # 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off
    observation_space=Discrete(500),
    max_episode_steps=MAX_STEPS,
    slots=Slots,
    reset_slots={Slots.START, Slots.MOOD},
)
