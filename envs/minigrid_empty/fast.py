"""minigrid_empty, the fast side: N rooms at once, written from spec.md."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, MAX_STEPS, RANDOM_START, REACH, SIZE, TRIES, Slots

ACROSS, DOWN = (1, 0, -1, 0), (0, 1, 0, -1)  # a step in a direction: right, down, left, up
TURNS = (-1, 1, 0, 0, 0, 0, 0)  # quarter turns to the right, by action
FORWARD = 2  # action
# Spec, "Observation": what a cell shows
EMPTY, WALL, GOAL = (1, 0, 0), (2, 5, 0), (8, 1, 0)
CORNER = SIZE - 2  # column and row of the goal
VIEW = 2 * REACH + 1  # cells of a side of the view


def views() -> Tensor:
    """What is seen of each place in each direction (spec, "Observation"): uint8 [4 * SIZE * SIZE, bytes of a view]."""
    direction, x, y, i, j = np.ogrid[:4, :SIZE, :SIZE, :VIEW, :VIEW]
    across, down = np.array(ACROSS)[direction], np.array(DOWN)[direction]
    before, beside = VIEW - 1 - j, i - REACH  # spec, observation 1: steps ahead and to the right, (-down, across)
    column, row = x + across * before - down * beside, y + down * before + across * beside
    wall = (column < 1) | (column > CORNER) | (row < 1) | (row > CORNER)
    own = (before == 0) & (beside == 0)  # spec, observation 6: what it carries
    goal = (column == CORNER) & (row == CORNER) & ~own
    image = np.array([EMPTY, GOAL, WALL], np.uint8)[np.where(wall, 2, np.where(goal, 1, 0))]
    return torch.from_numpy(image.reshape(4 * SIZE * SIZE, -1))


VIEWS = views()


@simulacrum.tensor_state
class State:
    x: Tensor  # [N] int8: column of the agent
    y: Tensor  # [N] int8: row of the agent
    direction: Tensor  # [N] int8: where it looks
    t: Tensor  # [N] int32: step counter, kept by the base class


class MinigridEmptyFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        if not RANDOM_START:  # spec, reset 2
            corner = torch.ones(draw.rows, dtype=torch.int8, device=self.device)
            return State(x=corner, y=corner, direction=torch.zeros_like(corner))
        tries = draw.randint(Slots.START, SIZE, shape=(2 * TRIES + 1,))  # spec, reset 3
        x, y = tries[:, 0:-1:2], tries[:, 1::2]
        inside = (x >= 1) & (x <= CORNER) & (y >= 1) & (y <= CORNER)
        free = inside & ~((x == CORNER) & (y == CORNER))
        first = free.to(torch.uint8).argmax(-1, keepdim=True)
        turns = draw.randint(Slots.START, 4, shape=(2 * TRIES + 1,))  # the same numbers, of which the next one counts
        return State(
            x=x.gather(-1, first).squeeze(-1).to(torch.int8),
            y=y.gather(-1, first).squeeze(-1).to(torch.int8),
            direction=turns.gather(-1, 2 * first + 2).squeeze(-1).to(torch.int8),
        )

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        direction = state.direction.to(torch.int64)
        forward = action == FORWARD
        x = state.x + self.int8(ACROSS).index_select(0, direction) * forward
        y = state.y + self.int8(DOWN).index_select(0, direction) * forward
        x, y = torch.clamp(x, 1, CORNER), torch.clamp(y, 1, CORNER)  # spec, transition 3: a wall stops the agent
        # Spec, transition 4: it steps onto the goal, on which it did not stand
        moved = (x != state.x) | (y != state.y)
        reached = moved & (x == CORNER) & (y == CORNER)
        share = (state.t + 1).to(torch.float64) / self.float64(MAX_STEPS)
        reward = torch.where(reached, self.float64(1.0) - self.float64(0.9) * share, self.float64(0.0))
        turned = (state.direction + self.int8(TURNS).index_select(0, action)) & 3  # spec, transition 1 and 2
        return State(x=x, y=y, direction=turned), reward, reached

    def observation(self, state: State) -> dict[str, Tensor]:
        direction = state.direction.to(torch.int64)
        place = (direction * SIZE + state.x) * SIZE + state.y
        return {
            "image": VIEWS.to(self.device).index_select(0, place).view(-1, VIEW, VIEW, 3),
            "direction": direction,
            "mission": torch.zeros_like(direction),
        }

    def int8(self, values: tuple[int, ...]) -> Tensor:
        return self.constant(values, torch.int8)


class MinigridEmptyKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
