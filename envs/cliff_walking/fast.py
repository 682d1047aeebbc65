"""cliff_walking, the fast side: N walks at once, written from spec.md."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import CLIFF_REWARD, ENVIRONMENT, GOAL, HEIGHT, SLIP_SUMS, SLIPPERY, START, STEP_REWARD, WIDTH, Slots

# The cell beside each cell, in each direction (up, right, down, left), the directions innermost: spec, transition 2
ROW, COLUMN = np.divmod(np.arange(HEIGHT * WIDTH), WIDTH)
UP, DOWN = np.maximum(ROW - 1, 0) * WIDTH + COLUMN, np.minimum(ROW + 1, HEIGHT - 1) * WIDTH + COLUMN
RIGHT, LEFT = ROW * WIDTH + np.minimum(COLUMN + 1, WIDTH - 1), ROW * WIDTH + np.maximum(COLUMN - 1, 0)
BESIDE = np.stack([UP, RIGHT, DOWN, LEFT], -1).ravel().tolist()


@simulacrum.tensor_state
class State:
    cell: Tensor  # [N] int64: 0..HEIGHT * WIDTH - 1, counted row by row from the top left
    t: Tensor  # [N] int32: step counter, kept by the base class


class CliffWalkingFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        number = draw.uniform(Slots.FIRST_CELL, dtype="float64")
        return State(cell=torch.full_like(number, START, dtype=torch.int64))  # spec, reset 1: whatever is drawn

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        direction, number = action, draw.uniform(Slots.SLIP, dtype="float64")
        if SLIPPERY:  # spec, transition 1: how many of the sums are at most the number
            direction = (action - 1 + sum(number >= self.float64(end) for end in SLIP_SUMS)) & 3
        beside = self.constant(BESIDE, torch.int64)[state.cell * 4 + direction]  # spec, transition 2
        falls = (beside > START) & (beside < GOAL)  # spec, transition 3
        cell = torch.where(falls, self.constant(START, torch.int64), beside)
        reward = torch.where(falls, self.float32(CLIFF_REWARD), self.float32(STEP_REWARD))  # spec, transition 4
        return State(cell=cell), reward, cell == GOAL  # spec, transition 5

    def observation(self, state: State) -> Tensor:
        return state.cell


class CliffWalkingKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
