"""The readable side of snake: the rules of spec.md in plain Python, for one board."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import (
    ATTEMPTS,
    CORPSES,
    ENVIRONMENT,
    FOODS,
    HEIGHT,
    INSIDE,
    INSIDE_WIDTH,
    LONGEST,
    N_COLOURS,
    REWARD_CORPSE,
    REWARD_DEATH,
    REWARD_FOOD,
    SNAKES,
    VISION,
    WIDTH,
    Slots,
)

EMPTY, FOOD, CORPSE, WALL, FIRST_COLOUR = range(5)  # what a cell holds
NONE = -1  # no cell
STEPS = [-WIDTH, +WIDTH, -1, +1]  # from a cell to the one beside it: up, down, left, right
OPPOSITE = [1, 0, 3, 2]
COLOURS = [FIRST_COLOUR + a % N_COLOURS for a in range(SNAKES)]
CORPSE_OF = [CORPSE if CORPSES else EMPTY, EMPTY]  # what segment k leaves, by k % 2

# From a head to the cells of its window, in reading order.
AROUND = np.arange(-VISION, VISION + 1)
OFFSETS = WIDTH * AROUND[:, None] + AROUND


@dataclass
class State:
    board: np.ndarray  # uint8 [HEIGHT, WIDTH]: 0 empty, 1 food, 2 corpse, 3 wall, from 4 on the colour of a snake
    head: np.ndarray  # int32 [SNAKES]: cell of each snake's head; -1 while it waits
    tail: np.ndarray  # int32 [SNAKES]: cell of each snake's last segment; -1 while it waits
    length: np.ndarray  # int32 [SNAKES]: segments of each snake; 0 while it waits
    newest: np.ndarray  # int32 [SNAKES]: where in its ring each snake's latest move stands
    turns: np.ndarray  # uint8 [SNAKES, LONGEST]: each snake's ring of moves: the body, from head to tail
    t: int = 0  # step counter, kept by the base class


class Game:
    """The board and its snakes while rules are applied to them: the fields of a state, but lists of ints for the
    snakes' numbers, and a view of the board by cell. Elements of NumPy arrays are slow, those of lists are not."""

    def __init__(self, state: State, draw: Draw) -> None:
        self.draw = draw
        self.board, self.turns = state.board.copy(), state.turns.copy()  # the state that came in stays as it was
        self.cells = self.board.reshape(-1).data
        self.rings = self.turns.data
        self.head: list[int] = state.head.tolist()
        self.tail: list[int] = state.tail.tolist()
        self.length: list[int] = state.length.tolist()
        self.newest: list[int] = state.newest.tolist()

    def state(self) -> State:
        return State(
            board=self.board,
            head=np.array(self.head, np.int32),
            tail=np.array(self.tail, np.int32),
            length=np.array(self.length, np.int32),
            newest=np.array(self.newest, np.int32),
            turns=self.turns,
        )

    def free_cell(self, slot: Slots, item: int) -> int:
        """Spec, "Finding a free cell": the cell, or NONE."""
        # 1: draw it
        for attempt in range(ATTEMPTS):
            i = self.draw.randint(slot, INSIDE, index=item * ATTEMPTS + attempt)
            if self.cells[inside_cell(i)] in (EMPTY, CORPSE):
                return inside_cell(i)
        # 2: search for it, from the one after the last attempt's on
        for following in range(i + 1, i + 1 + INSIDE):
            cell = inside_cell(following % INSIDE)
            if self.cells[cell] in (EMPTY, CORPSE):
                return cell
        # 3: there is none
        return NONE

    def put(self, a: int, cell: int) -> None:
        """Spec, reset 2: snake ``a`` begins on a free cell, or waits where there is none."""
        self.head[a] = self.tail[a] = cell
        self.length[a] = 0 if cell == NONE else 1
        self.newest[a] = 0
        self.turns[a] = 0
        if cell != NONE:
            self.cells[cell] = COLOURS[a]

    def add_food(self, cell: int) -> None:
        if cell != NONE:
            self.cells[cell] = FOOD

    def move(self, a: int, action: int) -> tuple[float, bool]:
        """Spec, transition 2 to 8, for a snake that does not wait: its reward, and whether it died."""
        cells, rings = self.cells, self.rings
        head, length, newest = self.head[a], self.length[a], self.newest[a]

        # spec, transition 2
        direction = action
        if length > 1 and direction == OPPOSITE[rings[a, newest]]:
            direction = rings[a, newest]

        # spec, transition 3
        target = head + STEPS[direction]
        held = cells[target]

        # spec, transition 4
        if held >= WALL:
            self.remove(a)
            self.put(a, self.free_cell(Slots.RESTART, a))
            return REWARD_DEATH, True

        # spec, transition 5
        self.newest[a] = newest = (newest + 1) % LONGEST
        rings[a, newest] = direction
        self.head[a] = target
        cells[target] = COLOURS[a]

        # spec, transition 6: with the move just made, the ring holds one move a segment
        if held != EMPTY and length < LONGEST:
            self.length[a] = length + 1
        else:
            oldest = (newest - (length - 1)) % LONGEST
            tail = self.tail[a]
            cells[tail] = EMPTY
            self.tail[a] = tail + STEPS[rings[a, oldest]]
            rings[a, oldest] = 0

        # spec, transition 7 and 8
        if held == FOOD:
            self.add_food(self.free_cell(Slots.REGROW, a))
            return REWARD_FOOD, False
        return (REWARD_CORPSE if held == CORPSE else 0.0), False

    def remove(self, a: int) -> None:
        """Spec, transition 4: the body of snake ``a`` leaves the board, from the head on."""
        cell = self.head[a]
        for k in range(self.length[a]):
            self.cells[cell] = CORPSE_OF[k % 2]
            cell -= STEPS[self.rings[a, (self.newest[a] - k) % LONGEST]]  # behind the tail this leads nowhere


def inside_cell(i: int) -> int:
    """The cell that the outcome ``i`` of a draw stands for."""
    return (VISION + i // INSIDE_WIDTH) * WIDTH + VISION + i % INSIDE_WIDTH


def empty_board() -> State:
    """Nothing but walls; all snakes wait."""
    board = np.full((HEIGHT, WIDTH), WALL, np.uint8)
    board[VISION:-VISION, VISION:-VISION] = EMPTY
    return State(
        board=board,
        head=np.full(SNAKES, NONE, np.int32),
        tail=np.full(SNAKES, NONE, np.int32),
        length=np.zeros(SNAKES, np.int32),
        newest=np.zeros(SNAKES, np.int32),
        turns=np.zeros((SNAKES, LONGEST), np.uint8),
    )


class Snake(simulacrum.ReferenceEnv[State]):
    """Many snakes crawl over one board, one after another, and eat.

    Goal: of each snake, to eat as much food and as many corpses as it can, and to run into nothing.
    Observation: uint8[SNAKES, WINDOW, WINDOW], of each snake the cells around its head: 0 empty, 1 food, 2 corpse,
    3 wall, from 4 on the colour of a snake.
    Actions: int[SNAKES], of each snake 0 up, 1 down, 2 left, 3 right; one that turns back into its own neck goes
    straight on instead.
    Termination: none, the dead begin anew; after MAX_STEPS steps the episode is truncated.
    """

    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        # spec, reset 1; t = 0 is the base class's
        game = Game(empty_board(), draw)
        # spec, reset 2
        for a in range(SNAKES):
            game.put(a, game.free_cell(Slots.START, a))
        # spec, reset 3
        for item in range(FOODS):
            game.add_food(game.free_cell(Slots.FOOD, item))
        return game.state()

    def transition(self, state: State, action: np.ndarray, draw: Draw) -> tuple[State, np.ndarray, np.ndarray]:
        game = Game(state, draw)
        rewards = [0.0] * SNAKES
        died = [False] * SNAKES
        for a, direction in enumerate(action.tolist()):
            if game.length[a] == 0:
                # spec, transition 1
                game.put(a, game.free_cell(Slots.RESTART, a))
            else:
                rewards[a], died[a] = game.move(a, direction)
        return game.state(), np.array(rewards, np.float32), np.array(died)

    def observation(self, state: State) -> np.ndarray:
        # spec, "Actions, observation, reward"
        waits = state.length == 0
        centre = np.where(waits, inside_cell(0), state.head)
        windows: np.ndarray = state.board.reshape(-1)[centre[:, None, None] + OFFSETS]
        windows[waits] = WALL
        return windows
