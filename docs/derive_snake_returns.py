"""Expected returns of snake's scripted policies, from the rules in envs/snake/spec.md alone.

Nothing is imported but NumPy: neither implementation, nor the framework. The figures in the spec's `policy` table are
printed by

    python docs/derive_snake_returns.py

Both are estimates over simulated episodes of the whole board: the sum of all snakes' rewards. Boards are simulated in
batches, snake after snake; a body is the list of its cells from head to tail, moved on cell by cell.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# snake's constants
HEIGHT = 6
WIDTH = 7
VISION = 1
SNAKES = 3
FOODS = 12
LONGEST = 5
CORPSES = 1
ATTEMPTS = 2
N_COLOURS = 2
REWARD_FOOD = 0.1
REWARD_CORPSE = 0.1
REWARD_DEATH = -1.0
MAX_STEPS = 40

EMPTY, FOOD, CORPSE, WALL = range(4)
ROWS, COLUMNS = HEIGHT - 2 * VISION, WIDTH - 2 * VISION
INSIDE = np.array([(row + VISION) * WIDTH + column + VISION for row in range(ROWS) for column in range(COLUMNS)])
MOVES = np.array([-WIDTH, WIDTH, -1, 1])  # up, down, left, right
NOWHERE = -1

EPISODES = 1_000_000
SEED = 20_261_130
CHUNK = 50_000


class Boards:
    """A batch: cells [n, HEIGHT * WIDTH], bodies [n, SNAKES, LONGEST] from head to tail, NOWHERE behind the tail."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.rng, self.all = rng, np.arange(n)
        self.cells = np.full((n, HEIGHT * WIDTH), WALL)
        self.cells[:, INSIDE] = EMPTY
        self.body = np.full((n, SNAKES, LONGEST), NOWHERE)
        for snake in range(SNAKES):
            self.place(snake, self.all)
        for _ in range(FOODS):
            self.add_food(self.all)

    def free_cells(self, rows: Ints) -> Ints:
        """A free cell of each of some boards, or NOWHERE: ATTEMPTS draws, then the next free one in reading order."""
        free = np.isin(self.cells[rows][:, INSIDE], (EMPTY, CORPSE))
        found = np.full(len(rows), NOWHERE)
        for _ in range(ATTEMPTS):
            drawn = self.rng.integers(len(INSIDE), size=len(rows))
            hit = (found == NOWHERE) & free[np.arange(len(rows)), drawn]
            found[hit] = drawn[hit]
        following = (drawn[:, None] + 1 + np.arange(len(INSIDE))) % len(INSIDE)
        free_following = np.take_along_axis(free, following, axis=1)
        first = following[np.arange(len(rows)), free_following.argmax(axis=1)]
        found = np.where((found == NOWHERE) & free_following.any(axis=1), first, found)
        return np.where(found == NOWHERE, NOWHERE, INSIDE[found])

    def place(self, snake: int, rows: Ints) -> None:
        """Reset 2: where there is no free cell, the snake waits, with no body."""
        cell = self.free_cells(rows)
        self.body[rows, snake] = NOWHERE
        self.body[rows, snake, 0] = cell
        there = cell != NOWHERE
        self.cells[rows[there], cell[there]] = colour(snake)

    def add_food(self, rows: Ints) -> None:
        cell = self.free_cells(rows)
        there = cell != NOWHERE
        self.cells[rows[there], cell[there]] = FOOD

    def step(self, actions: Ints) -> NDArray[np.float64]:
        """One step of all snakes; the sum of their rewards on each board."""
        return np.sum([self.turn(snake, actions[:, snake]) for snake in range(SNAKES)], axis=0)

    def turn(self, snake: int, action: Ints) -> NDArray[np.float64]:
        """Transitions 1 to 8 of one snake on every board; its reward."""
        head, neck = self.body[:, snake, 0], self.body[:, snake, 1] if LONGEST > 1 else np.full(len(self.all), NOWHERE)
        waits = head == NOWHERE
        back = (neck != NOWHERE) & (head + MOVES[action] == neck)
        target = np.where(back, 2 * head - neck, head + MOVES[action])
        held = np.where(waits, WALL, self.cells[self.all, np.where(waits, 0, target)])
        dies, eats = ~waits & (held >= WALL), (held == FOOD) | (held == CORPSE)
        self.remove(snake, self.all[dies])
        self.advance(snake, self.all[~waits & ~dies], target, eats)
        self.place(snake, self.all[waits | dies])
        self.add_food(self.all[held == FOOD])
        return np.select([dies, held == FOOD, held == CORPSE], [REWARD_DEATH, REWARD_FOOD, REWARD_CORPSE], 0.0)

    def remove(self, snake: int, rows: Ints) -> None:
        for k in range(LONGEST):
            cell = self.body[rows, snake, k]
            there = cell != NOWHERE
            self.cells[rows[there], cell[there]] = CORPSE if CORPSES and k % 2 == 0 else EMPTY

    def advance(self, snake: int, rows: Ints, target: Ints, eats: Bools) -> None:
        """The head moves on; the last segment is left behind, where the snake did not eat or has no room to grow."""
        body = self.body[rows, snake]
        length = (body != NOWHERE).sum(axis=1)
        leaves = ~eats[rows] | (length == LONGEST)
        last = body[np.arange(len(rows)), length - 1]
        self.cells[rows[leaves], last[leaves]] = EMPTY
        self.cells[rows, target[rows]] = colour(snake)
        moved = np.concatenate([target[rows][:, None], body], axis=1)
        moved[np.flatnonzero(leaves), length[leaves]] = NOWHERE
        self.body[rows, snake] = moved[:, :LONGEST]


def colour(snake: int) -> int:
    return WALL + 1 + snake % N_COLOURS


Policy = Callable[[Boards], Ints]


def always_right(boards: Boards) -> Ints:
    return np.full((len(boards.all), SNAKES), 3)


def to_food(boards: Boards) -> Ints:
    return np.stack([steer(boards, boards.body[:, snake, 0]) for snake in range(SNAKES)], axis=1)


def steer(boards: Boards, head: Ints) -> Ints:
    """The nearest food in the window, ties in reading order; the first safe step nearer; else the first safe one."""
    waits = head == NOWHERE
    row, column = np.divmod(np.where(waits, INSIDE[0], head), WIDTH)
    nearest, dy, dx = np.full(len(head), 1_000), np.zeros_like(head), np.zeros_like(head)
    for y in range(-VISION, VISION + 1):
        for x in range(-VISION, VISION + 1):
            food = boards.cells[boards.all, (row + y) * WIDTH + column + x] == FOOD
            nearer = food & ~waits & (abs(y) + abs(x) < nearest)
            nearest, dy, dx = (
                np.where(nearer, new, old) for new, old in ((abs(y) + abs(x), nearest), (y, dy), (x, dx))
            )
    cell = row * WIDTH + column
    safe = [~waits & (boards.cells[boards.all, cell + move] < WALL) for move in MOVES]
    nearing = [dy < 0, dy > 0, dx < 0, dx > 0]  # all False where no food is in sight
    toward = [safe[direction] & nearing[direction] for direction in range(4)]
    return np.select([*toward, *(safe[direction] for direction in (3, 0, 2, 1))], [0, 1, 2, 3, 3, 0, 2, 1], 0)


def returns(policy: Policy, episodes: int = EPISODES) -> NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    chunks = []
    for _ in range(episodes // CHUNK):
        boards, total = Boards(rng, CHUNK), np.zeros(CHUNK)
        for _ in range(MAX_STEPS):
            total += boards.step(policy(boards))
        chunks.append(total)
    return np.concatenate(chunks)


def main() -> None:
    for name, policy in (("always_right", always_right), ("to_food", to_food)):
        earned = returns(policy)
        print(
            f"snake {name} ({EPISODES} episodes, NumPy seed {SEED}): mean {earned.mean():.9f}  standard deviation "
            f"{earned.std():.9f}; least {earned.min():.6g}; greatest {earned.max():.6g}; standard error of the mean "
            f"{earned.std() / np.sqrt(len(earned)):.6g}"
        )


if __name__ == "__main__":
    main()
