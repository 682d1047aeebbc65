"""minigrid_empty, the fast side: N rooms at once, written from spec.md."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, MAX_STEPS, RANDOM_START, REACH, SIZE, TRIES, Slots

RIGHT, DOWN, LEFT, UP = range(4)  # directions; the next one is a quarter turn to the right
TURN_LEFT, TURN_RIGHT, FORWARD = range(3)  # actions
# Spec, "Observation": what a cell shows, (object, colour); the third number is 0 for all of them
EMPTY, WALL, GOAL = (1, 0), (2, 5), (8, 1)
CORNER = SIZE - 2  # column and row of the goal
VIEW = 2 * REACH + 1  # cells of a side of the view


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
        across, down = heading(state.direction)
        forward = action == FORWARD
        x = torch.clamp(state.x + across * forward, 1, CORNER)  # spec, transition 3: a wall stops the agent
        y = torch.clamp(state.y + down * forward, 1, CORNER)
        # Spec, transition 4: it steps onto the goal, on which it did not stand
        moved = (x != state.x) | (y != state.y)
        reached = moved & (x == CORNER) & (y == CORNER)
        turn = (action == TURN_RIGHT).to(torch.int8) - (action == TURN_LEFT).to(torch.int8)
        share = (state.t + 1).to(torch.float64) / self.float64(MAX_STEPS)
        reward = torch.where(reached, self.float64(1.0) - self.float64(0.9) * share, self.float64(0.0))
        return State(x=x, y=y, direction=(state.direction + turn) & 3), reward, reached  # spec, transition 1 and 2

    def observation(self, state: State) -> dict[str, Tensor]:
        cells = self.constant(range(VIEW), torch.int8)
        beside, before = (cells - REACH).unsqueeze(-1), VIEW - 1 - cells  # of columns and rows of the view
        ahead, right, left = (self.wall(state, turn)[:, None, None] for turn in (0, 1, 3))
        wall = (before >= ahead) | (beside >= right) | (-beside >= left)  # [N, column, row]
        across, down = heading(state.direction)
        goal_across, goal_down = CORNER - state.x, CORNER - state.y
        goal_before = across * goal_across + down * goal_down
        goal_beside = across * goal_down - down * goal_across
        goal = (before == goal_before[:, None, None]) & (beside == goal_beside[:, None, None])
        goal = goal & ((before != 0) | (beside != 0))  # spec, observation 4: its own cell shows what it carries
        shown = [
            torch.where(wall, self.uint8(on_wall), torch.where(goal, self.uint8(on_goal), self.uint8(on_empty)))
            for on_wall, on_goal, on_empty in zip(WALL, GOAL, EMPTY, strict=True)
        ]
        return {
            "image": torch.stack([*shown, torch.zeros_like(shown[0])], -1),
            "direction": state.direction.to(torch.int64),
            "mission": torch.zeros_like(state.direction, dtype=torch.int64),
        }

    def wall(self, state: State, turn: int) -> Tensor:
        """How many steps away the wall is for one who has turned to the right so often: int8 [N]."""
        direction = (state.direction + turn) & 3
        to_right, down = SIZE - 1 - state.x, SIZE - 1 - state.y
        upright = torch.where(direction == DOWN, down, state.y)
        return torch.where(direction == RIGHT, to_right, torch.where(direction == LEFT, state.x, upright))

    def uint8(self, value: int) -> Tensor:
        return self.constant(value, torch.uint8)


def heading(direction: Tensor) -> tuple[Tensor, Tensor]:
    """A step in a direction: columns to the right, rows downward, each int8 [N]."""
    across = (direction == RIGHT).to(torch.int8) - (direction == LEFT).to(torch.int8)
    down = (direction == DOWN).to(torch.int8) - (direction == UP).to(torch.int8)
    return across, down


class MinigridEmptyKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
