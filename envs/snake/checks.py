"""What the battery knows of snake beside the two implementations: each function takes a whole batch as arrays,
[N, SNAKES] for the snakes' fields, [N, HEIGHT, WIDTH] for the board and [N, SNAKES, LONGEST] for the moves. The states
may be illegal ones, so that numbers are clipped before they choose an element."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy

from . import CORPSES, FOODS, HEIGHT, LONGEST, N_COLOURS, SNAKES, VISION, WIDTH

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

EMPTY, FOOD, CORPSE, WALL, FIRST_COLOUR = range(5)
UP, DOWN, LEFT, RIGHT = range(4)
STEPS = np.array([-WIDTH, +WIDTH, -1, +1])  # from a cell to the one beside it, by direction
COLOURS = FIRST_COLOUR + np.arange(SNAKES) % N_COLOURS
INSIDE = np.zeros((HEIGHT, WIDTH), np.bool_)
INSIDE[VISION:-VISION, VISION:-VISION] = True


def walls_stand(state: Any) -> Rows:
    return ((state.board == WALL) == ~INSIDE).all(axis=(1, 2))


def snakes_on_board(state: Any) -> Rows:
    rows = len(state.board)
    fits = np.ones(rows, np.bool_)
    painted = np.zeros((rows, HEIGHT * WIDTH), state.board.dtype)
    for segment, there, cell in _bodies(state):
        known = INSIDE.reshape(-1)[np.clip(cell, 0, HEIGHT * WIDTH - 1)] & (cell >= 0) & (cell < HEIGHT * WIDTH)
        last = there & (state.length == segment + 1)
        fits &= ((known | ~there) & ((state.tail == cell) | ~last)).all(axis=1)
        row, snake = np.nonzero(there & known)
        painted[row, cell[row, snake]] = COLOURS[snake]
    once = (painted > 0).sum(axis=1) == state.length.sum(axis=1)  # a cell in two bodies is painted once
    coloured = np.where(state.board >= FIRST_COLOUR, state.board, EMPTY).reshape(rows, -1)
    return fits & once & (coloured == painted).all(axis=1)


def _bodies(state: Any) -> Iterator[tuple[int, Rows, Ints]]:
    """(k, which snakes have a segment k: [N, SNAKES], its cell: [N, SNAKES]) from the heads on."""
    cell = state.head.astype(np.int64)
    for segment in range(min(int(state.length.max(initial=0)), LONGEST)):
        yield segment, state.length > segment, cell
        element = ((state.newest - segment) % LONGEST)[..., None]
        turn = np.take_along_axis(state.turns, element, axis=-1)[..., 0]
        cell = cell - STEPS[np.clip(turn, UP, RIGHT)]


def rings_clean(state: Any) -> Rows:
    age = (state.newest[..., None] - np.arange(LONGEST)) % LONGEST
    in_body = age < state.length[..., None] - 1
    clean = ((state.turns == 0) | in_body).all(axis=2)
    nowhere = (state.head == -1) & (state.tail == -1) & (state.newest == 0)
    return (clean & ((state.length > 0) | nowhere)).all(axis=1)


def food_bounded(state: Any) -> Rows:
    return (state.board == FOOD).sum(axis=(1, 2)) <= FOODS


def corpses_as_declared(state: Any) -> Rows:
    none = (state.board != CORPSE).all(axis=(1, 2))
    return none | ((CORPSES == 1) & (state.t > 0))


def starts_short(state: Any) -> Rows:
    return (state.t > 0) | ((state.length <= 1) & (state.newest == 0)).all(axis=1)


INVARIANTS = [walls_stand, snakes_on_board, rings_clean, food_bounded, corpses_as_declared, starts_short]

TERMINATIONS: list[Any] = []


# Spec, "Scripted policies"


def always_right(state: Any, observation: Any) -> int:
    return RIGHT


# The window's cells as (row, column) from the head, the nearest first, ties in reading order.
WINDOW_CELLS = np.indices((2 * VISION + 1, 2 * VISION + 1)).reshape(2, -1).T - VISION
WINDOW_CELLS = WINDOW_CELLS[np.abs(WINDOW_CELLS).sum(axis=1).argsort(kind="stable")]
WINDOW_STEPS = WINDOW_CELLS @ [WIDTH, 1]  # the same, as steps from the head's cell
DY, DX = WINDOW_CELLS.T
NEARER = np.stack([DY < 0, DY > 0, DX < 0, DX > 0], axis=1)  # which directions bring each of them nearer
OTHERWISE = [RIGHT, UP, LEFT, DOWN]


def to_food(state: Any, observation: Any) -> Ints:
    """Toward the nearest food in sight; with none, or none to be neared, on to the first cell that is no danger."""
    waits = state.length == 0
    head = np.where(waits, VISION * WIDTH + VISION, state.head)
    board = state.board.reshape(len(head), -1)
    seen = board[np.arange(len(head))[:, None, None], head[..., None] + WINDOW_STEPS]
    beside = board[np.arange(len(head))[:, None, None], head[..., None] + STEPS]
    safe = (beside < WALL) & ~waits[..., None]
    food = (seen == FOOD) & ~waits[..., None]
    nearing = safe & NEARER[food.argmax(axis=2)] & food.any(axis=2)[..., None]
    safe_in_turn = safe[..., OTHERWISE]
    otherwise = np.where(safe_in_turn.any(axis=2), np.array(OTHERWISE)[safe_in_turn.argmax(axis=2)], UP)
    return np.where(nearing.any(axis=2), nearing.argmax(axis=2), otherwise)


RETURN_RANGE = (-120.0, 12.0)  # spec, "Scripted policies": every snake dies, or eats, in every step

POLICIES = [
    ScriptedPolicy(
        "always_right",
        always_right,
        expected_return=-61.027324,
        standard_deviation=9.400507,
        return_range=RETURN_RANGE,
        estimated_from=1_000_000,
    ),
    ScriptedPolicy(
        "to_food",
        to_food,
        expected_return=-6.850605,
        standard_deviation=5.04237,
        return_range=RETURN_RANGE,
        estimated_from=1_000_000,
    ),
]


# Boards from scratch, for the battery to inject


def legal_states(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Legal states of every kind, none of them played: the spec's fields by name, [rows, ...], without ``t``.

    They are states of any t >= 1. Among them are snakes that wait, snakes about to meet, snakes whose head touches
    their own last segment, snakes of LONGEST segments, bodies across the ring's end, and boards from empty ones to
    those without a free cell, where so many snakes and so much food can fill one.
    """
    makers = [_scattered, _meeting, _curled, _packed]
    boards = []
    for maker in rng.integers(len(makers), size=rows):
        board = _Board(rng)
        makers[maker](board)
        board.fill()
        boards.append(board.fields())
    return {name: np.stack([fields[name] for fields in boards]) for name in boards[0]}


class _Board:
    """A board of snakes that wait, of which one after another is laid."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.board = np.where(INSIDE, EMPTY, WALL).astype(np.uint8).reshape(-1)
        self.cells = self.board.data
        self.head, self.tail = np.full((2, SNAKES), -1, np.int32)
        self.length, self.newest = np.zeros((2, SNAKES), np.int32)
        self.turns = np.zeros((SNAKES, LONGEST), np.uint8)
        self.waiting: list[int] = rng.permutation(SNAKES).tolist()
        self.kept: set[int] = set()  # cells that no body may enter

    def fields(self) -> dict[str, np.ndarray]:
        names = ("head", "tail", "length", "newest", "turns")
        return {"board": self.board.reshape(HEIGHT, WIDTH), **{name: getattr(self, name) for name in names}}

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))

    def one_of(self, *values: int) -> int:
        return values[self.below(len(values))]

    def reversed_or_not(self, body: list[int]) -> list[int]:
        return body[::-1] if self.one_of(0, 1) else body

    def empty(self, cell: int) -> bool:
        return self.cells[cell] == EMPTY and cell not in self.kept

    def some_length(self) -> int:
        return self.one_of(1, min(2, LONGEST), LONGEST, self.below(LONGEST) + 1)

    def lay(self, body: list[int]) -> None:
        """The next snake that waits gets a body, from head to tail, and a place in its ring."""
        a, n = self.waiting.pop(), len(body)
        self.board[body] = COLOURS[a]
        self.head[a], self.tail[a], self.length[a] = body[0], body[-1], n
        self.newest[a] = self.one_of(0, LONGEST - 1, max(n - 2, 0), self.below(LONGEST))
        moves = np.array(body[:-1]) - np.array(body[1:])
        self.turns[a, (self.newest[a] - np.arange(n - 1)) % LONGEST] = [DIRECTION_OF[move] for move in moves.tolist()]

    def crawl(self, head: int, length: int) -> list[int]:
        """A body of so many cells at most, which wanders from its head through cells that are empty."""
        body, own = [head], {head}
        for chance in self.rng.random(length - 1).tolist():
            ways = [head + step for step in DIRECTION_OF]
            ways = [cell for cell in ways if self.empty(cell) and cell not in own]
            if not ways:
                break
            head = ways[int(chance * len(ways))]
            body.append(head)
            own.add(head)
        return body

    def fill(self) -> None:
        """Food and corpses on the cells that are left: none, some, as many as there may be."""
        rest = self.rng.permutation(np.flatnonzero(self.board == EMPTY))
        most = min(FOODS, len(rest))
        foods = self.one_of(0, most, most, self.below(most + 1))
        self.board[rest[:foods]] = FOOD
        if CORPSES:
            rest = rest[foods:]
            self.board[rest[: self.one_of(0, 1, len(rest), self.below(len(rest) + 1))]] = CORPSE


DIRECTION_OF = {step: direction for direction, step in enumerate(STEPS.tolist())}


def _scattered(board: _Board) -> None:
    """Snakes of all lengths anywhere; some go on waiting, now and then all."""
    waiting = len(board.waiting)
    staying = board.one_of(0, 0, waiting, board.below(waiting + 1))
    for cell in board.rng.permutation(np.flatnonzero(board.board == EMPTY)).tolist():
        if len(board.waiting) <= staying:
            break
        if board.empty(cell):
            board.lay(board.crawl(cell, board.some_length()))


def _meeting(board: _Board) -> None:
    """Heads around one cell, so that some face each other across it; that cell is another head, or left to be fought
    for."""
    middle = int(board.rng.choice(np.flatnonzero(INSIDE)))
    heads = [middle + step for step in board.rng.permutation(STEPS).tolist() if board.empty(middle + step)]
    if board.one_of(0, 1):
        heads.insert(0, middle)
    board.kept = {middle, *heads}
    for head in heads[: board.one_of(2, len(board.waiting))]:
        if board.waiting:
            board.lay(board.crawl(head, board.some_length()))
    _scattered(board)


def _curled(board: _Board) -> None:
    """Snakes around a block of cells whose heads touch their own last segments, as far as there is room."""
    inside_height, inside_width = HEIGHT - 2 * VISION, WIDTH - 2 * VISION
    sides = LONGEST // 2 + 2  # height + width of the largest block that a snake gets around
    if min(inside_height, inside_width, sides - 2) >= 2:
        for _ in range(board.one_of(1, 2, len(board.waiting))):
            height = board.one_of(2, 2 + board.below(min(inside_height, sides - 2) - 1))
            width = board.one_of(2, 2 + board.below(min(inside_width, sides - height) - 1))
            top = VISION + board.below(inside_height - height + 1)
            left = VISION + board.below(inside_width - width + 1)
            around = board.reversed_or_not(_border(top * WIDTH + left, height, width))
            start = board.below(len(around))
            if board.waiting and all(board.empty(cell) for cell in around):
                board.lay(around[start:] + around[:start])
    _scattered(board)


def _border(corner: int, height: int, width: int) -> list[int]:
    """The cells of a block's border, clockwise from its top left one."""
    sides = [(RIGHT, width), (DOWN, height), (LEFT, width), (UP, height)]
    moves = np.repeat(STEPS[[direction for direction, _ in sides]], [size - 1 for _, size in sides])
    border: list[int] = (corner + np.cumsum(moves)).tolist()
    return border


def _packed(board: _Board) -> None:
    """Snakes one behind the other on a path through all cells, as long as they get, or with gaps between them."""
    path = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)[VISION:-VISION, VISION:-VISION]
    path = path.T if board.one_of(0, 1) else path
    path = path.copy()
    path[1::2] = path[1::2, ::-1]
    cells, tight = board.reversed_or_not(path.reshape(-1).tolist()), board.one_of(0, 1)
    while cells and board.waiting:
        n = LONGEST if tight else board.some_length()
        board.lay(board.reversed_or_not(cells[:n]))
        del cells[: n if tight else n + board.one_of(0, 0, 1)]


MIN_SPEEDUP = 5.0

EXCUSES = {
    "static reference.py: EMPTY, FOOD, CORPSE, WALL, FIRST_COLOUR = range(5)  # what a cell holds": (
        "the values of cells, as the spec's state table lists them; that a constant of the world is 5 too is chance"
    ),
}
