"""The readable side of newenv: the rules of spec.md in plain Python, for one instance.

Written from spec.md, never from fast.py: plain ifs and loops in the order of the spec, each with the rule it follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import (
    CLIMB_REWARD,
    ENVIRONMENT,
    GUST_P,
    HOLD_REWARD,
    MAX_STEPS,
    START_RUNGS,
    TOP,
    TOP_REWARD,
    Slots,
)

# Divisors of the observation. A division of two np.float32 scalars is one true float32 division.
TOP_FLOAT = np.float32(TOP)
MAX_STEPS_FLOAT = np.float32(MAX_STEPS)


@dataclass
class State:
    height: int  # the rung on which the climber stands, 0..TOP
    t: int = 0  # step counter, kept by the base class


class NewenvReference(simulacrum.ReferenceEnv[State]):
    """A climb in the wind.

    Goal: reach the top of a ladder, rung TOP, before MAX_STEPS steps are over, with few attempts to climb.
    Observation: float32[2], the height divided by TOP and the step counter divided by MAX_STEPS.
    Actions: 0 holds on, 1 climbs; with probability GUST_P a climber is blown down a rung instead.
    Termination: the episode ends on the top; after MAX_STEPS steps it is truncated.
    """

    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        # spec, reset 1; reset 2 (t = 0) is the base class's
        return State(height=draw.randint(Slots.START, START_RUNGS))

    def transition(self, state: State, action: int, draw: Draw) -> tuple[State, float, bool]:
        # spec, transition 1: up, or down in a gust; who holds on stays. The draw is made whatever the action.
        gust = draw.bernoulli(Slots.GUST, GUST_P)
        height = state.height
        if action == 1:
            height = height + (-1 if gust else +1)

        # spec, transition 2: clamp to the ladder
        if height < 0:
            height = 0
        if height > TOP:
            height = TOP

        # spec, transition 3: the reward
        if height == TOP:
            reward = TOP_REWARD
        elif action == 1:
            reward = CLIMB_REWARD
        else:
            reward = HOLD_REWARD

        # spec, transition 4: the end of the episode; transition 5 (the clock and the step cap) is the base class's
        return State(height=height), reward, height == TOP

    def observation(self, state: State) -> np.ndarray:
        # spec, "Actions, observation, reward"
        return np.array(
            [
                np.float32(state.height) / TOP_FLOAT,
                np.float32(state.t) / MAX_STEPS_FLOAT,
            ],
            np.float32,
        )
