"""The readable side of forager: the rules of spec.md in plain Python, for one instance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import (
    ENVIRONMENT,
    GAINS,
    GRID,
    MAX_STEPS,
    N_BERRIES,
    N_KINDS,
    REWARD_COST,
    REWARD_SCALE,
    SLIP_P,
    START_ENERGY,
    STEP_COST,
    Slots,
)

DIRECTIONS = [(0, +1), (+1, 0), (0, -1), (-1, 0)]  # (dx, dy) of north, east, south, west

# The float constants, rounded to float32 before anything is computed (spec, "State"). Arithmetic on np.float32 scalars
# rounds to float32 after each operation; nothing is computed in float64.
ZERO = np.float32(0.0)
GAINS_FLOAT = [np.float32(gain) for gain in GAINS]
START_ENERGY_FLOAT = np.float32(START_ENERGY)
STEP_COST_FLOAT = np.float32(STEP_COST)
REWARD_SCALE_FLOAT = np.float32(REWARD_SCALE)
REWARD_COST_FLOAT = np.float32(REWARD_COST)
# Divisors of the observation
LAST_CELL_FLOAT = np.float32(GRID - 1)
N_BERRIES_FLOAT = np.float32(N_BERRIES)
MAX_STEPS_FLOAT = np.float32(MAX_STEPS)


@dataclass
class State:
    x: int  # column of the agent, 0..GRID-1, growing to the east
    y: int  # row of the agent, 0..GRID-1, growing to the north
    energy: np.float32  # energy left
    berry_x: list[int]  # column of each berry
    berry_y: list[int]  # row of each berry
    berry_kind: list[int]  # kind of each berry, 0..N_KINDS-1
    berry_live: list[bool]  # True until the berry is collected
    t: int = 0  # step counter, kept by the base class


class ForagerReference(simulacrum.ReferenceEnv[State]):
    """A hungry agent gathers berries on a slippery grid.

    Goal: collect all the berries before the energy is spent; better berries give more energy and more reward.
    Observation: float32[5], the agent's x and y divided by GRID - 1, its energy, the live berries divided by
    N_BERRIES, and the step counter divided by MAX_STEPS. Where the berries lie is not observed.
    Actions: 0 north, 1 east, 2 south, 3 west; with probability SLIP_P the move is rotated clockwise.
    Termination: the episode ends when no berry is left or the energy is spent; after MAX_STEPS steps it is truncated.
    """

    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        berries = range(N_BERRIES)
        return State(
            # spec, reset 1
            x=draw.randint(Slots.AGENT_X, GRID),
            y=draw.randint(Slots.AGENT_Y, GRID),
            # spec, reset 2: the index of a draw is the berry
            berry_x=[draw.randint(Slots.BERRY_X, GRID, index=i) for i in berries],
            berry_y=[draw.randint(Slots.BERRY_Y, GRID, index=i) for i in berries],
            berry_kind=[draw.randint(Slots.BERRY_KIND, N_KINDS, index=i) for i in berries],
            # spec, reset 3: every berry is live, one on the agent's cell too; t = 0 is the base class's
            berry_live=[True for _ in berries],
            energy=START_ENERGY_FLOAT,
        )

    def transition(self, state: State, action: int, draw: Draw) -> tuple[State, np.float32, bool]:
        # spec, transition 1: the direction, which a slip rotates clockwise
        dx, dy = DIRECTIONS[action]
        if draw.bernoulli(Slots.SLIP, SLIP_P):
            dx, dy = dy, -dx

        # spec, transition 2: move, and clamp to the field
        x = min(max(state.x + dx, 0), GRID - 1)
        y = min(max(state.y + dy, 0), GRID - 1)

        # spec, transition 3: collect the live berries on the new cell, adding up their gains in order of their index
        berry_live = state.berry_live.copy()
        gained = ZERO
        for i in range(N_BERRIES):
            if berry_live[i] and state.berry_x[i] == x and state.berry_y[i] == y:
                berry_live[i] = False
                gained = gained + GAINS_FLOAT[state.berry_kind[i]]

        # spec, transition 4
        energy = (state.energy - STEP_COST_FLOAT) + gained

        # spec, transition 5: the product is rounded before the cost is subtracted
        reward = REWARD_SCALE_FLOAT * gained - REWARD_COST_FLOAT

        # spec, transition 6
        cleared = not any(berry_live)
        exhausted = bool(energy <= ZERO)

        # spec, transition 7 (the clock and the step cap) is the base class's
        next_state = State(
            x=x,
            y=y,
            energy=energy,
            berry_x=state.berry_x.copy(),
            berry_y=state.berry_y.copy(),
            berry_kind=state.berry_kind.copy(),
            berry_live=berry_live,
        )
        return next_state, reward, cleared or exhausted

    def observation(self, state: State) -> np.ndarray:
        # spec, "Actions, observation, reward"
        return np.array(
            [
                np.float32(state.x) / LAST_CELL_FLOAT,
                np.float32(state.y) / LAST_CELL_FLOAT,
                state.energy,
                np.float32(state.berry_live.count(True)) / N_BERRIES_FLOAT,
                np.float32(state.t) / MAX_STEPS_FLOAT,
            ],
            np.float32,
        )
