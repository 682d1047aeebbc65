"""The readable side of toywalk: the rules of spec.md in plain Python, for one instance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import ENVIRONMENT, GOAL_REWARD, MAX_STEPS, SLIP_P, START_RANGE, STEP_REWARD, L, Slots

# Divisors of the observation. A division of two np.float32 scalars is one true float32 division.
L_FLOAT = np.float32(L)
MAX_STEPS_FLOAT = np.float32(MAX_STEPS)


@dataclass
class State:
    position: int  # cell on the line, -L..L; the goal is +L
    t: int = 0  # step counter, kept by the base class


class ToywalkReference(simulacrum.ReferenceEnv[State]):
    """A walk on a line with slippery ground.

    Goal: reach the right end of the line, cell +L, in as few steps as possible.
    Observation: float32[2], the position divided by L and the step counter divided by MAX_STEPS.
    Actions: 0 moves left, 1 moves right; with probability SLIP_P the move is reversed.
    Termination: the episode ends on the goal; after MAX_STEPS steps it is truncated.
    """

    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        # spec, reset 1; reset 2 (t = 0) is the base class's
        return State(position=draw.randint(Slots.INIT_POSITION, 2 * START_RANGE + 1) - START_RANGE)

    def transition(self, state: State, action: int, draw: Draw) -> tuple[State, float, bool]:
        # spec, transition 1: the action gives a step, which a slip reverses
        step = 1 if action == 1 else -1
        if draw.bernoulli(Slots.SLIP, SLIP_P):
            step = -step

        # spec, transition 2: move, and clamp to the line
        position = state.position + step
        if position < -L:
            position = -L
        if position > L:
            position = L

        # spec, transitions 3 and 4: the reward, and the end of the episode on the goal
        at_goal = position == L
        reward = GOAL_REWARD if at_goal else STEP_REWARD

        # spec, transition 5 (the clock and the step cap) is the base class's
        return State(position=position), reward, at_goal

    def observation(self, state: State) -> np.ndarray:
        # spec, "Actions, observation, reward"
        return np.array(
            [
                np.float32(state.position) / L_FLOAT,
                np.float32(state.t) / MAX_STEPS_FLOAT,
            ],
            np.float32,
        )
