"""frozen_lake, the fast side: N lakes at once, written from spec.md."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import (
    ENVIRONMENT,
    FROZEN_REWARD,
    GOAL,
    GOAL_REWARD,
    HEIGHT,
    HOLE_REWARD,
    HOLES,
    SLIP_SUMS,
    SLIPPERY,
    START,
    WIDTH,
    Slots,
)

# What follows of a cell and a direction (left, down, right, up), the directions innermost: spec, transitions 2 to 4
CELL = np.arange(HEIGHT * WIDTH)
ROW, COLUMN = np.divmod(CELL, WIDTH)
LEFT, RIGHT = ROW * WIDTH + np.maximum(COLUMN - 1, 0), ROW * WIDTH + np.minimum(COLUMN + 1, WIDTH - 1)
UP, DOWN = np.maximum(ROW - 1, 0) * WIDTH + COLUMN, np.minimum(ROW + 1, HEIGHT - 1) * WIDTH + COLUMN
ENDS = np.isin(CELL, [*HOLES, GOAL])
NEXT = np.where(ENDS, CELL, [LEFT, DOWN, RIGHT, UP]).T
REWARD = np.where(NEXT == GOAL, GOAL_REWARD, np.where(np.isin(NEXT, HOLES), HOLE_REWARD, FROZEN_REWARD))
REWARD[ENDS] = 0.0
CELLS_AFTER, REWARDS, ENDED = NEXT.ravel().tolist(), REWARD.ravel().tolist(), ENDS.tolist()


@simulacrum.tensor_state
class State:
    cell: Tensor  # [N] int64: 0..HEIGHT * WIDTH - 1, counted row by row from the top left
    t: Tensor  # [N] int32: step counter, kept by the base class


class FrozenLakeFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        number = draw.uniform(Slots.FIRST_CELL, dtype="float64")
        return State(cell=torch.full_like(number, START, dtype=torch.int64))  # spec, reset 1: whatever is drawn

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        direction = action
        if SLIPPERY:  # spec, transition 1: how many of the sums are not above the number; none above it is as the first
            number = draw.uniform(Slots.SLIP, dtype="float64")
            outcome = sum(number >= self.float64(end) for end in SLIP_SUMS)
            direction = (action + outcome % 3 - 1) & 3
        entry = state.cell * 4 + direction
        cell = self.constant(CELLS_AFTER, torch.int64)[entry]  # spec, transition 2
        reward = self.float32(REWARDS)[entry]  # spec, transition 3
        return State(cell=cell), reward, self.constant(ENDED, torch.bool)[cell]  # spec, transition 4

    def observation(self, state: State) -> Tensor:
        return state.cell


class FrozenLakeKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
