"""minigrid_door_key, the fast side: N worlds at once, written from spec.md.

What is seen but for the key follows from the columns and the rows of the world that the view holds, and from the lock.
They are of few kinds, so that all views are made once, as a table; the key is added where it is seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, MAX_STEPS, REACH, SIZE, TRIES, Slots

ACROSS, DOWNWARD = (1, 0, -1, 0), (0, 1, 0, -1)  # a step in a direction: right, down, left, up
TURNS = (-1, 1, 0, 0, 0, 0, 0)  # quarter turns to the right, by action
FORWARD, PICK_UP, DROP, TOGGLE = range(2, 6)  # actions
OPEN, CLOSED, LOCKED = range(3)
# Spec, "Observation": what a cell shows; the door by its lock
UNSEEN, EMPTY, WALL, KEY, GOAL = (0, 0, 0), (1, 0, 0), (2, 5, 0), (5, 4, 0), (8, 1, 0)
DOOR = [(4, 4, lock) for lock in (OPEN, CLOSED, LOCKED)]
CORNER = SIZE - 2  # column and row of the goal
BOUNDS = {*range(2, SIZE - 2), 4, SIZE - 3, SIZE}  # how many outcomes a number of PLACE can have
VIEW = 2 * REACH + 1  # cells of a side of the view
CELLS = VIEW * VIEW
PLAIN, OUTER, BETWEEN, OF_DOOR, OF_GOAL = range(5)  # lines of the world: columns by what stands in them, and rows


def all_views() -> tuple[Tensor, ...]:
    """What is seen but for the key: uint8 [views, bytes of a view]; int64 [views], a bit for each cell that is seen.

    The number of a view is the sum of two parts, at (direction, x, wall) and at (direction, y, door), and the lock: two
    further tables, int64 [4 * SIZE * SIZE].
    """
    place, marked, k = np.ogrid[:SIZE, :SIZE, :VIEW]
    place, marked = np.clip(place, 1, CORNER), np.clip(marked, 1, SIZE - 3)  # no state holds others
    ahead, aside = VIEW - 1 - k, k - REACH  # spec, observation 1: of a row of the view, and of a column
    views, by_column, by_row, count = [], [], [], 0
    for across, down in zip(ACROSS, DOWNWARD, strict=True):
        columns, column = distinct(place + across * ahead - down * aside, marked, BETWEEN)
        rows, row = distinct(place + down * ahead + across * aside, marked, OF_DOOR)
        columns, rows = columns[:, None, None], rows[:, None]  # [column, row, lock, k]
        if across != 0:  # a column of the world is a row of the view
            views.append(painted(columns[..., None, :], rows[..., None]))
        else:
            views.append(painted(columns[..., None], rows[..., None, :]))
        number = count + np.arange(views[-1][..., 0].size).reshape(views[-1].shape[:-1])
        by_column.append(number[column, 0, OPEN])
        by_row.append(number[0, row, OPEN] - count)
        count += number.size
    image = np.concatenate([one.reshape(-1, 3 * CELLS) for one in views])
    seen = ((image[:, 0::3] != UNSEEN[0]).astype(np.int64) << np.arange(1, CELLS + 1)).sum(-1, dtype=np.int64)
    return torch.from_numpy(image), torch.from_numpy(seen), joined(by_column), joined(by_row)


def distinct(lines: NDArray[Any], marked: NDArray[Any], mark: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The kinds of lines that a view can show, each sequence once: [n, VIEW]; and which one it is, [SIZE * SIZE], by
    the agent's place and that of the line that is ``marked``."""
    kinds = np.where(lines == marked, mark, np.where(lines == CORNER, OF_GOAL, PLAIN))
    kinds = np.where((lines < 1) | (lines > CORNER), OUTER, kinds)
    sequences, number = np.unique(kinds.reshape(-1, VIEW), axis=0, return_inverse=True)
    return sequences, number.reshape(-1)


def painted(column: NDArray[Any], row: NDArray[Any]) -> NDArray[Any]:
    """The views of columns and rows of these kinds, [..., i, j]: uint8 [columns, rows, locks, bytes of a view]."""
    lock = np.arange(LOCKED + 1)[:, None, None]
    door = (column == BETWEEN) & (row == OF_DOOR)
    wall = (column == OUTER) | (row == OUTER) | ((column == BETWEEN) & ~door)
    goal = (column == OF_GOAL) & (row == OF_GOAL)
    shown = np.where(door, 3 + lock, np.where(goal, 2, np.where(wall, 1, 0)))
    seen = lit(~wall & ~(door & (lock != OPEN)))
    shown[..., REACH, VIEW - 1] = 0  # spec, observation 7: what it carries is added
    things = np.array([EMPTY, WALL, GOAL, *DOOR], np.uint8)
    image = np.where(seen[..., None], things[shown], np.array(UNSEEN, np.uint8))
    return image.reshape(*shown.shape[:3], -1)


def lit(clear: NDArray[Any]) -> NDArray[Any]:
    """Which cells of views are seen, where ``clear`` ones hide nothing behind them: both bool [..., i, j].

    Spec, observation 6, a row of the view at a time, from the agent's on.
    """
    seen = np.zeros_like(clear)
    seen[..., REACH, VIEW - 1] = True
    for j in reversed(range(VIEW)):
        for _ in range(VIEW):
            seen[..., j] |= next_to(seen[..., j] & clear[..., j])
        if j > 0:
            through = seen[..., j] & clear[..., j]
            seen[..., j - 1] = through | next_to(through)
    return seen


def next_to(cells: NDArray[Any]) -> NDArray[Any]:
    """The cells of a row that are left or right of some: both bool [..., i]."""
    left, right = np.zeros_like(cells), np.zeros_like(cells)
    left[..., :-1], right[..., 1:] = cells[..., 1:], cells[..., :-1]
    return left | right


def all_keys() -> tuple[Tensor, ...]:
    """What the key adds to a view by the cell where it is seen: uint8 [1 + CELLS, bytes of a view].

    Cells are numbered from 1 on, column by column of the view; 0 is none. The number of a cell is the sum of two parts,
    at (direction, x, key_x) and at (direction, y, key_y), more than CELLS beyond the view: two further tables, int64
    [4 * SIZE * SIZE].
    """
    place, key = np.ogrid[:SIZE, :SIZE]
    steps, own = key - place, REACH * VIEW + VIEW - 1  # spec, observation 7: it is there while it is carried
    by_column, by_row = [], []
    for across, down in zip(ACROSS, DOWNWARD, strict=True):
        j, i = VIEW - 1 - (across + down) * steps, REACH + (across - down) * steps  # spec, observation 1
        j, i = (np.where((line >= 0) & (line < VIEW), line * cells, CELLS) for line, cells in ((j, 1), (i, VIEW)))
        column, row = (j, i) if across != 0 else (i, j)
        by_column.append(1 + np.where(key == 0, own, column))
        by_row.append(np.where(key == 0, 0, row))
    added = np.zeros((1 + CELLS, CELLS, 3), np.uint8)
    for cell in range(CELLS):
        added[1 + cell, cell] = np.subtract(KEY, EMPTY)  # it lies where nothing else is
    return torch.from_numpy(added.reshape(1 + CELLS, -1)), joined(by_column), joined(by_row)


def joined(parts: list[NDArray[Any]]) -> Tensor:
    """Parts by direction, [SIZE, SIZE] each, as one table: int64 [4 * SIZE * SIZE]."""
    return torch.from_numpy(np.stack(parts).astype(np.int64).reshape(-1))


VIEWS, SEEN, VIEW_BY_COLUMN, VIEW_BY_ROW = all_views()
KEYS, CELL_BY_COLUMN, CELL_BY_ROW = all_keys()


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
        drawn = {n: draw.randint(Slots.PLACE, n, shape=(TRIES, 2)) for n in BOUNDS}  # the same numbers by their bound
        x, y = drawn[2][..., 0], drawn[SIZE][..., 1]
        for n in range(3, SIZE - 2):
            x = torch.where((wall == n).unsqueeze(-1), drawn[n][..., 0], x)
        free = (x >= 1) & (y >= 1) & (y <= CORNER)  # spec, reset 3: the wall is no column that is drawn
        cells = x * SIZE + y
        agent = first(free)
        start = chosen(cells, agent)
        after = torch.clamp(agent + 1, max=TRIES - 1)
        later = self.int32(range(TRIES)) > after.unsqueeze(-1)
        key = chosen(cells, first(free & later & (cells != start.unsqueeze(-1))))  # spec, reset 6
        return State(
            x=(start // SIZE).to(torch.int8),
            y=(start % SIZE).to(torch.int8),
            direction=chosen(drawn[4][..., 0], after).to(torch.int8),  # spec, reset 4
            wall=wall.to(torch.int8),
            door=(chosen(drawn[SIZE - 3][..., 1], after) + 1).to(torch.int8),  # spec, reset 5
            lock=torch.full_like(wall, LOCKED, dtype=torch.int8),
            key_x=(key // SIZE).to(torch.int8),
            key_y=(key % SIZE).to(torch.int8),
        )

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        direction = state.direction.to(torch.int64)
        x = state.x + self.int8(ACROSS).index_select(0, direction)  # the cell ahead
        y = state.y + self.int8(DOWNWARD).index_select(0, direction)
        inside = (x == torch.clamp(x, 1, CORNER)) & (y == torch.clamp(y, 1, CORNER))
        between = x == state.wall
        on_door = between & (y == state.door)
        on_key = (x == state.key_x) & (y == state.key_y)
        on_goal = (x == CORNER) & (y == CORNER)
        free = inside & ~(between | on_key | on_goal)
        opened, carries = state.lock == OPEN, state.key_x == 0

        forward = action == FORWARD
        moves = forward & (free | on_goal | (on_door & opened))  # spec, transition 3
        reached = forward & on_goal  # spec, transition 4
        takes = (action == PICK_UP) & on_key  # spec, transition 5; ahead is never (0, 0), where a carried key is
        drops = (action == DROP) & free & carries  # spec, transition 6
        toggles = (action == TOGGLE) & on_door & (carries | (state.lock != LOCKED))  # spec, transition 7

        share = (state.t + 1).to(torch.float64) / self.float64(MAX_STEPS)
        reward = torch.where(reached, self.float64(1.0) - self.float64(0.9) * share, self.float64(0.0))
        after = State(
            x=torch.where(moves, x, state.x),
            y=torch.where(moves, y, state.y),
            direction=(state.direction + self.int8(TURNS).index_select(0, action)) & 3,  # spec, transition 1 and 2
            wall=state.wall,
            door=state.door,
            lock=torch.where(toggles, opened.to(torch.int8), state.lock),  # CLOSED where it was open, else OPEN
            key_x=torch.where(drops, x, torch.where(takes, self.int8(0), state.key_x)),
            key_y=torch.where(drops, y, torch.where(takes, self.int8(0), state.key_y)),
        )
        return after, reward, reached

    def observation(self, state: State) -> dict[str, Tensor]:
        direction = state.direction.to(torch.int64)
        turned = direction * SIZE
        column, row = (turned + state.x) * SIZE, (turned + state.y) * SIZE
        view = self.at(VIEW_BY_COLUMN, column + state.wall) + self.at(VIEW_BY_ROW, row + state.door) + state.lock
        cell = self.at(CELL_BY_COLUMN, column + state.key_x) + self.at(CELL_BY_ROW, row + state.key_y)
        cell = torch.clamp(cell, max=CELLS + 1)  # which is seen in no view
        cell = cell * (self.at(SEEN, view) >> cell & 1)
        return {
            "image": (self.at(VIEWS, view) + self.at(KEYS, cell)).view(-1, VIEW, VIEW, 3),
            "direction": direction,
            "mission": torch.zeros_like(direction),
        }

    def at(self, table: Tensor, place: Tensor) -> Tensor:
        """The rows of a table at int64 [N]."""
        return table.to(self.device).index_select(0, place)

    def int8(self, values: int | tuple[int, ...]) -> Tensor:
        return self.constant(values, torch.int8)


def first(mask: Tensor) -> Tensor:
    """The place of the first that is true of each row, 0 where none is: int64 [N]."""
    return mask.to(torch.uint8).argmax(-1)


def chosen(values: Tensor, place: Tensor) -> Tensor:
    """The element of each row at its place: [N]."""
    return values.gather(-1, place.unsqueeze(-1)).squeeze(-1)


class MinigridDoorKeyKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
