"""minigrid_door_key, the fast side: N worlds at once, written from spec.md."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, MAX_STEPS, REACH, SIZE, TRIES, Slots

RIGHT, DOWN, LEFT, UP = range(4)  # directions; the next one is a quarter turn to the right
TURN_LEFT, TURN_RIGHT, FORWARD, PICK_UP, DROP, TOGGLE = range(6)  # actions
OPEN, CLOSED, LOCKED = range(3)
# Spec, "Observation": what a cell shows, (object, colour); the door's third number is the lock, that of others 0
UNSEEN, EMPTY, WALL, DOOR, KEY, GOAL = (0, 0), (1, 0), (2, 5), (4, 4), (5, 4), (8, 1)
CORNER = SIZE - 2  # column and row of the goal
VIEW = 2 * REACH + 1  # cells of a side of the view
PAIRS = 2 * TRIES  # numbers


@simulacrum.tensor_state
class State:
    x: Tensor  # [N] int8: column of the agent
    y: Tensor  # [N] int8: row of the agent
    direction: Tensor  # [N] int8: where it looks
    wall: Tensor  # [N] int8: column of the wall between the rooms, and of the door
    door: Tensor  # [N] int8: row of the door
    lock: Tensor  # [N] int8: 0 open, 1 closed, 2 locked
    key_x: Tensor  # [N] int8: column of the key, 0 while it is carried
    key_y: Tensor  # [N] int8: row of the key, 0 while it is carried
    t: Tensor  # [N] int32: step counter, kept by the base class


class MinigridDoorKeyFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        wall = draw.randint(Slots.WALL, SIZE - 4) + 2  # spec, reset 2
        x, y = self.columns(draw, wall), draw.randint(Slots.PLACE, SIZE, shape=(PAIRS,))[:, 1::2]
        free = (x >= 1) & (y >= 1) & (y <= CORNER)  # spec, reset 3: the wall is no column that is drawn
        agent = first(free)
        agent_x, agent_y = chosen(x, agent), chosen(y, agent)
        turns = draw.randint(Slots.PLACE, 4, shape=(PAIRS,))[:, 0::2]  # the same numbers, of which the next ones count
        rows = draw.randint(Slots.PLACE, SIZE - 3, shape=(PAIRS,))[:, 1::2]
        after = torch.clamp(agent + 1, max=TRIES - 1)
        apart = (x != agent_x.unsqueeze(-1)) | (y != agent_y.unsqueeze(-1))
        key = first(free & apart & (self.int32(range(TRIES)) > after.unsqueeze(-1)))  # spec, reset 6
        return State(
            x=agent_x.to(torch.int8),
            y=agent_y.to(torch.int8),
            direction=chosen(turns, after).to(torch.int8),  # spec, reset 4
            wall=wall.to(torch.int8),
            door=(chosen(rows, after) + 1).to(torch.int8),  # spec, reset 5
            lock=torch.full_like(wall, LOCKED, dtype=torch.int8),
            key_x=chosen(x, key).to(torch.int8),
            key_y=chosen(y, key).to(torch.int8),
        )

    def columns(self, draw: Draw, wall: Tensor) -> Tensor:
        """The columns of all tries, 0..wall-1: int32 [N, TRIES]. How many there are differs from row to row."""
        columns = draw.randint(Slots.PLACE, 2, shape=(PAIRS,))[:, 0::2]
        for number in range(3, SIZE - 2):
            drawn = draw.randint(Slots.PLACE, number, shape=(PAIRS,))[:, 0::2]
            columns = torch.where((wall == number).unsqueeze(-1), drawn, columns)
        return columns

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        across, down = heading(state.direction)
        x, y = state.x + across, state.y + down  # the cell ahead
        on_edge = (x == 0) | (x == SIZE - 1) | (y == 0) | (y == SIZE - 1)
        on_door = (x == state.wall) & (y == state.door)
        on_wall = on_edge | ((x == state.wall) & ~on_door)
        on_key = (x == state.key_x) & (y == state.key_y)
        on_goal = (x == CORNER) & (y == CORNER)
        carries = state.key_x == 0
        nothing = ~(on_wall | on_door | on_key | on_goal)

        passes = nothing | on_goal | (on_door & (state.lock == OPEN))
        moves = (action == FORWARD) & passes  # spec, transition 3
        reached = (action == FORWARD) & on_goal  # spec, transition 4
        takes = (action == PICK_UP) & on_key  # spec, transition 5; ahead is never (0, 0), where a carried key is
        drops = (action == DROP) & nothing & carries  # spec, transition 6
        lock = torch.where(state.lock == OPEN, self.int8(CLOSED), self.int8(OPEN))
        toggles = (action == TOGGLE) & on_door & ((state.lock != LOCKED) | carries)  # spec, transition 7

        turn = (action == TURN_RIGHT).to(torch.int8) - (action == TURN_LEFT).to(torch.int8)
        share = (state.t + 1).to(torch.float64) / self.float64(MAX_STEPS)
        reward = torch.where(reached, self.float64(1.0) - self.float64(0.9) * share, self.float64(0.0))
        after = State(
            x=torch.where(moves, x, state.x),
            y=torch.where(moves, y, state.y),
            direction=(state.direction + turn) & 3,  # spec, transition 1 and 2
            wall=state.wall,
            door=state.door,
            lock=torch.where(toggles, lock, state.lock),
            key_x=torch.where(drops, x, torch.where(takes, self.int8(0), state.key_x)),
            key_y=torch.where(drops, y, torch.where(takes, self.int8(0), state.key_y)),
        )
        return after, reward, reached

    def observation(self, state: State) -> dict[str, Tensor]:
        cells = self.constant(range(VIEW), torch.int8)
        beside, before = (cells - REACH).unsqueeze(-1), VIEW - 1 - cells  # of columns and rows of the view

        def at(x: Tensor | int, y: Tensor | int) -> Tensor:
            """Where a cell of the world is in the view: bool [N, column, row]."""
            steps_before, steps_beside = seen_from(state, x, y)
            return (before == steps_before[:, None, None]) & (beside == steps_beside[:, None, None])

        door, carries = at(state.wall, state.door), (state.key_x == 0)[:, None, None]
        key, goal = at(state.key_x, state.key_y) & ~carries, at(CORNER, CORNER)
        ahead, right, left = (self.outer_wall(state, turn)[:, None, None] for turn in (0, 1, 3))
        wall_before, wall_beside = (steps[:, None, None] for steps in seen_from(state, state.wall, state.y))
        sideways = ((state.direction & 1) == 0)[:, None, None]  # it looks right or left, across the wall
        between = torch.where(sideways, before == wall_before, beside == wall_beside) & ~door
        wall = (before >= ahead) | (beside >= right) | (-beside >= left) | between
        lit = self.lit(~wall & ~(door & (state.lock != OPEN)[:, None, None]))

        own = (before == 0) & (beside == 0)  # spec, observation 7
        shown = []
        for part in range(2):
            value = self.uint8(EMPTY[part])
            for mask, thing in ((wall, WALL), (goal, GOAL), (door, DOOR), (key, KEY)):
                value = torch.where(mask, self.uint8(thing[part]), value)
            held = torch.where(carries, self.uint8(KEY[part]), self.uint8(EMPTY[part]))
            value = torch.where(own, held, value)
            shown.append(torch.where(lit, value, self.uint8(UNSEEN[part])))
        locked = torch.where(door & lit & ~own, state.lock.to(torch.uint8)[:, None, None], self.uint8(0))
        return {
            "image": torch.stack([*shown, locked], -1),
            "direction": state.direction.to(torch.int64),
            "mission": torch.zeros_like(state.direction, dtype=torch.int64),
        }

    def lit(self, clear: Tensor) -> Tensor:
        """Which cells of the view are seen, where ``clear`` ones hide nothing behind them: both bool [N, column, row].

        Spec, observation 6, a row of the view at a time, from the agent's on: of the clear cells of a row those are
        seen that lie in a run of such with one that is seen already.
        """
        runs = (~clear).cumsum(1)
        in_one = (runs.unsqueeze(1) == runs.unsqueeze(2)) & clear.unsqueeze(1) & clear.unsqueeze(2)  # two columns, row
        seen = (self.int32(range(VIEW)) == REACH).expand(clear.shape[0], VIEW)
        rows = []
        for row in reversed(range(VIEW)):
            through = (in_one[..., row] & seen.unsqueeze(-1)).any(1)
            none = torch.zeros_like(through[:, :1])
            beside = torch.cat([through[:, 1:], none], 1) | torch.cat([none, through[:, :-1]], 1)
            rows.append(seen | through | beside)
            seen = through | beside
        return torch.stack(rows[::-1], -1)

    def outer_wall(self, state: State, turn: int) -> Tensor:
        """How many steps away the outer wall is for one who has turned to the right so often: int8 [N]."""
        direction = (state.direction + turn) & 3
        to_right, down = SIZE - 1 - state.x, SIZE - 1 - state.y
        upright = torch.where(direction == DOWN, down, state.y)
        return torch.where(direction == RIGHT, to_right, torch.where(direction == LEFT, state.x, upright))

    def int8(self, value: int) -> Tensor:
        return self.constant(value, torch.int8)

    def uint8(self, value: int) -> Tensor:
        return self.constant(value, torch.uint8)


def first(mask: Tensor) -> Tensor:
    """The place of the first that is true of each row, 0 where none is: int64 [N]."""
    return mask.to(torch.uint8).argmax(-1)


def chosen(values: Tensor, place: Tensor) -> Tensor:
    """The element of each row at its place: [N]."""
    return values.gather(-1, place.unsqueeze(-1)).squeeze(-1)


def heading(direction: Tensor) -> tuple[Tensor, Tensor]:
    """A step in a direction: columns to the right, rows downward, each int8 [N]."""
    across = (direction == RIGHT).to(torch.int8) - (direction == LEFT).to(torch.int8)
    down = (direction == DOWN).to(torch.int8) - (direction == UP).to(torch.int8)
    return across, down


def seen_from(state: State, x: Tensor | int, y: Tensor | int) -> tuple[Tensor, Tensor]:
    """How many steps ahead of the agent a cell is, and how many to its right: each int8 [N]."""
    across, down = heading(state.direction)
    to_right, below = x - state.x, y - state.y
    return across * to_right + down * below, across * below - down * to_right


class MinigridDoorKeyKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
