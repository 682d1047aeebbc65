"""Expected returns of the scripted policies of toywalk and forager, from the rules in their spec.md alone.

Nothing is imported but NumPy: neither implementation, nor the framework. Every number in the specs' `policy`
and `small world` tables is printed by

    python docs/derive_returns.py

toywalk's two policies and forager's always_north are exact: finite Markov chains whose two first moments of the
undiscounted return are summed in float64. forager's greedy_nearest is an estimate over simulated episodes. In forager's
small worlds both policies are exact: every layout is played with every sequence of slips.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# toywalk's constants
L = 5
WALK_MAX_STEPS = 60
WALK_SLIP_P = 0.1
START_RANGE = 2
GOAL_REWARD = 10.0
STEP_REWARD = -1.0

# forager's constants
GRID = 8
N_BERRIES = 6
GAINS = np.array([0.1, 0.15, 0.3], np.float32)
SLIP_P = 0.15
START_ENERGY = np.float32(1.0)
STEP_COST = np.float32(0.02)
REWARD_SCALE = np.float32(10.0)
REWARD_COST = np.float32(0.1)
MAX_STEPS = 80
MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])

# a chain state's columns packed into one integer: x and y below 2**3, the next two below 2**7, 32 bits of energy
KEY_LOW = np.array([0, 0, 0, 0, np.iinfo(np.int32).min])
KEY_PLACES = np.array([1 << 49, 1 << 46, 1 << 39, 1 << 32, 1])

EPISODES = 2_000_000
SEED = 20_240_601
CHUNK = 100_000


@dataclass
class Figures:
    """What is said of a policy: the first two moments' summary and how each cause's probability stands."""

    mean: float
    deviation: float
    notes: dict[str, float] = field(default_factory=dict)


def deviation(first: float, second: float) -> float:
    return float(np.sqrt(max(second - first * first, 0.0)))


# toywalk: backward recursion over (position, t)


def walk(
    direction: int,
    end: int = L,
    start_range: int = START_RANGE,
    max_steps: int = WALK_MAX_STEPS,
    against: float = WALK_SLIP_P,
) -> Figures:
    """Moves in a direction, each the other way with probability ``against``; one half is what random actions give."""
    cells = np.arange(-end, end + 1)
    first, second, goal_probability = np.zeros((3, len(cells)))
    for _ in range(max_steps):
        moments = [walk_outcome(cells, step, first, second, goal_probability) for step in (direction, -direction)]
        (first, second, goal_probability) = (
            (1.0 - against) * straight + against * slipped for straight, slipped in zip(*moments, strict=True)
        )
    start = np.abs(cells) <= start_range
    mean = float(first[start].mean())
    return Figures(mean, deviation(mean, float(second[start].mean())), {"goal": float(goal_probability[start].mean())})


def walk_outcome(
    cells: Ints, step: int, first: Floats, second: Floats, goal_probability: Floats
) -> tuple[Floats, Floats, Floats]:
    """Moments of the return from each cell, given that the move is `step` and the moments after it."""
    moved = np.clip(cells + step, cells[0], cells[-1])
    goal = moved == cells[-1]
    reward = np.where(goal, GOAL_REWARD, STEP_REWARD)
    later_first, later_second, later_goal = (
        np.where(goal, ending, after[moved - cells[0]])
        for ending, after in ((0.0, first), (0.0, second), (1.0, goal_probability))
    )
    return reward + later_first, reward * reward + 2.0 * reward * later_first + later_second, later_goal


# forager, always_north: forward enumeration


@dataclass
class Mass:
    """Probability and moments of the return so far, one row a distinct chain state."""

    keys: Ints  # columns: x, y, cells looked at, berries left, bits of the float32 energy
    weights: Floats  # columns: probability, its first and its second moment of the return so far

    def merged(self) -> "Mass":
        """One row a state, rows of equal keys added up; sorting packed keys is far faster than sorting rows."""
        columns = self.keys - KEY_LOW
        _, rows, inverse = np.unique(columns @ KEY_PLACES, return_index=True, return_inverse=True)
        sums = [np.bincount(inverse, column, len(rows)) for column in self.weights.T]
        return Mass(self.keys[rows], np.stack(sums, axis=-1).astype(np.float64))

    def joined(self, other: "Mass") -> "Mass":
        return Mass(np.concatenate([self.keys, other.keys]), np.concatenate([self.weights, other.weights]))

    def select(self, rows: NDArray[np.bool_]) -> "Mass":
        return Mass(self.keys[rows], self.weights[rows])


def gained_distribution(berries: int) -> list[tuple[np.float32, float]]:
    """The float32 sum of `berries` gains in berry order, over all ordered sequences of kinds."""
    counts: Counter[np.float32] = Counter()
    for sequence in itertools.product(GAINS, repeat=berries):
        gained = np.float32(0.0)
        for gain in sequence:
            gained = gained + gain
        counts[gained] += 1
    return [(gained, count / len(GAINS) ** berries) for gained, count in counts.items()]


def binomial(n: Ints, k: int, p: Floats) -> Floats:
    """P(k of n), zero where k > n."""
    choose = np.ones(len(n))
    for i in range(k):
        choose = choose * (n - i) / (i + 1)
    return choose * p**k * (1.0 - p) ** np.maximum(n - k, 0)


def collected(mass: Mass, new_cell: NDArray[np.bool_]) -> Mass:
    """Transitions 3 to 5: what lies on the cell, the energy after it and the reward. A cell seen before is empty."""
    parts = []
    chance = 1.0 / (GRID * GRID - mass.keys[:, 2])
    for berries in range(N_BERRIES + 1):
        probability = np.where(new_cell, binomial(mass.keys[:, 3], berries, chance), float(berries == 0))
        rows = probability > 0.0
        for gained, share in gained_distribution(berries):
            parts.append(after_gain(mass.select(rows), new_cell[rows], berries, gained, probability[rows] * share))
    return Mass(np.concatenate([p.keys for p in parts]), np.concatenate([p.weights for p in parts])).merged()


def after_gain(mass: Mass, new_cell: NDArray[np.bool_], berries: int, gained: np.float32, probability: Floats) -> Mass:
    keys = mass.keys.copy()
    keys[:, 2] += new_cell
    keys[:, 3] -= berries
    energy = (energies(mass) - STEP_COST) + gained
    keys[:, 4] = energy.view(np.int32)
    reward = float(REWARD_SCALE * gained - REWARD_COST)
    chance, first, second = mass.weights.T * probability
    weights = np.stack([chance, first + reward * chance, second + 2.0 * reward * first + reward**2 * chance], axis=-1)
    return Mass(keys, weights)


def energies(mass: Mass) -> NDArray[np.float32]:
    return mass.keys[:, 4].astype(np.int32).view(np.float32)


def north_step(mass: Mass, first_step: bool) -> Mass:
    """One step of north, or of east where it slips. Only the first step can find berries on a cell it did not enter:
    afterwards a clamped agent stays on a cell that was looked at."""
    branches = []
    for probability, column in ((1.0 - SLIP_P, 1), (SLIP_P, 0)):
        keys = mass.keys.copy()
        keys[:, column] = np.minimum(keys[:, column] + 1, GRID - 1)
        moved = keys[:, column] != mass.keys[:, column]
        branches.append(collected(Mass(keys, mass.weights * probability), moved | first_step))
    return branches[0].joined(branches[1]).merged()


def always_north() -> Figures:
    cells = np.array([(x, y, 0, N_BERRIES, START_ENERGY.view(np.int32)) for x in range(GRID) for y in range(GRID)])
    mass = Mass(cells.astype(np.int64), np.tile([1.0 / len(cells), 0.0, 0.0], (len(cells), 1)))
    moments, causes = np.zeros(3), Counter[str]()
    for t in range(MAX_STEPS):
        mass = north_step(mass, first_step=t == 0)
        cleared, exhausted = mass.keys[:, 3] == 0, energies(mass) <= 0.0
        causes["cleared"] += mass.weights[cleared, 0].sum()
        causes["exhausted"] += mass.weights[exhausted, 0].sum()
        moments += mass.weights[cleared | exhausted].sum(axis=0)
        mass = mass.select(~(cleared | exhausted))
    moments += mass.weights.sum(axis=0)
    causes["truncated alone"] = mass.weights[:, 0].sum()
    assert abs(moments[0] - 1.0) < 1e-12, "the probabilities of all episodes sum to one"
    return Figures(float(moments[1]), deviation(moments[1], moments[2]), dict(causes))


# forager, any policy: simulation


@dataclass(frozen=True)
class World:
    """The constants that forager's small worlds replace."""

    grid: int = GRID
    berries: int = N_BERRIES
    kinds: int = len(GAINS)
    start_energy: np.float32 = START_ENERGY
    max_steps: int = MAX_STEPS


SMALL_WORLDS = {
    "two berries": World(grid=2, berries=2, max_steps=3),
    "an inner cell": World(grid=3, berries=1, max_steps=5),
    "three on a cell": World(grid=2, berries=3, kinds=2, max_steps=1),
    "spent at the cap": World(grid=3, berries=1, start_energy=np.float32(0.04), max_steps=2),
    "spent before it": World(grid=2, berries=2, start_energy=np.float32(0.05), max_steps=5),
}


@dataclass
class Field:
    """A batch of episodes."""

    x: Ints
    y: Ints
    berry_x: Ints
    berry_y: Ints
    gain: NDArray[np.float32]
    live: NDArray[np.bool_]
    energy: NDArray[np.float32]


def new_field(rng: np.random.Generator, n: int) -> Field:
    x, y = rng.integers(GRID, size=(2, n))
    berry_x, berry_y, kind = (rng.integers(high, size=(n, N_BERRIES)) for high in (GRID, GRID, len(GAINS)))
    live = np.ones((n, N_BERRIES), bool)
    return Field(x, y, berry_x, berry_y, GAINS[kind], live, np.full(n, START_ENERGY))


def every_field(world: World) -> Field:
    """One episode of each first state that a small world has."""
    sizes = (world.grid,) * (2 + 2 * world.berries) + (world.kinds,) * world.berries
    x, y, *rest = np.indices(sizes).reshape(len(sizes), -1)
    berry_x, berry_y, kind = (np.stack(part, axis=-1) for part in np.split(np.array(rest), 3))
    return Field(x, y, berry_x, berry_y, GAINS[kind], np.ones(kind.shape, bool), np.full(len(x), world.start_energy))


Policy = Callable[[Field], Ints]


def greedy_nearest(state: Field) -> Ints:
    """The action toward the nearest live berry: along x first, ties to the lowest index."""
    dx, dy = state.berry_x - state.x[:, None], state.berry_y - state.y[:, None]
    distance = np.where(state.live, np.abs(dx) + np.abs(dy), 2 * GRID)
    target = np.argmin(distance, axis=1)[:, None]
    dx, dy = (np.take_along_axis(d, target, axis=1)[:, 0] for d in (dx, dy))
    along_y = np.where(dy < 0, 2, 0)
    return np.where(dx > 0, 1, np.where(dx < 0, 3, along_y))


def forage(state: Field, action: Ints, slipped: NDArray[np.bool_], world: World) -> NDArray[np.float32]:
    """Transitions 1 to 6 in place; the reward of each row."""
    dx, dy = MOVES[action].T
    dx, dy = np.where(slipped, dy, dx), np.where(slipped, -dx, dy)
    state.x, state.y = (np.clip(place, 0, world.grid - 1) for place in (state.x + dx, state.y + dy))
    found = state.live & (state.berry_x == state.x[:, None]) & (state.berry_y == state.y[:, None])
    gained = np.zeros(len(state.x), np.float32)
    for berry in range(world.berries):
        gained = gained + np.where(found[:, berry], state.gain[:, berry], np.float32(0.0))
    state.live &= ~found
    state.energy = (state.energy - STEP_COST) + gained
    return REWARD_SCALE * gained - REWARD_COST


def north(state: Field) -> Ints:
    return np.zeros(len(state.x), np.int64)


def played(state: Field, policy: Policy, slips: Iterable[NDArray[np.bool_]], world: World) -> Floats:
    """The return of each row's episode, given which of its moves slip."""
    returns, alive = np.zeros(len(state.x)), np.ones(len(state.x), bool)
    for slipped in slips:
        reward = forage(state, policy(state), slipped, world)
        returns += np.where(alive, reward, 0.0)
        alive &= state.live.any(axis=1) & (state.energy > 0.0)
    return returns


def simulate_greedy(rng: np.random.Generator, n: int) -> Floats:
    state, slips = new_field(rng, n), (rng.random(n) < SLIP_P for _ in range(MAX_STEPS))
    return played(state, greedy_nearest, slips, World())


def greedy_figures() -> Figures:
    rng = np.random.default_rng(SEED)
    returns = np.concatenate([simulate_greedy(rng, CHUNK) for _ in range(EPISODES // CHUNK)])
    error = float(returns.std() / np.sqrt(len(returns)))
    return Figures(float(returns.mean()), float(returns.std()), {"standard error of the mean": error})


# forager's small worlds: every first state, every sequence of slips


def enumerated(world: World, policy: Policy) -> Figures:
    parts, chances = [], []
    for slips in itertools.product((False, True), repeat=world.max_steps):
        every = every_field(world)
        parts.append(played(every, policy, (np.full(len(every.x), slipped) for slipped in slips), world))
        chances.append(np.prod([SLIP_P if slipped else 1.0 - SLIP_P for slipped in slips]))
    returns, weights = np.array(parts), np.array(chances)
    mean = float(weights @ returns.mean(axis=1))
    return Figures(mean, float(np.sqrt(weights @ ((returns - mean) ** 2).mean(axis=1))))


def enumerated_uniform(world: World) -> Figures:
    """Of random actions: every sequence of headings is as likely, whatever the slips."""
    returns = []
    for headings in itertools.product(range(4), repeat=world.max_steps):
        every, moves = every_field(world), iter(headings)
        still = [np.zeros(len(every.x), bool)] * world.max_steps
        returns.append(played(every, lambda state: np.full(len(state.x), next(moves)), still, world))  # noqa: B023
    every_return = np.concatenate(returns)
    return Figures(float(every_return.mean()), float(every_return.std()))


def report(name: str, figures: Figures) -> None:
    notes = "".join(f"; {key} {value:.6g}" for key, value in figures.notes.items())
    print(f"{name:40} mean {figures.mean:.9f}  standard deviation {figures.deviation:.9f}{notes}")


def main() -> None:
    report("toywalk always_right", walk(1))
    report("toywalk always_left", walk(-1))
    for name, direction in (("always_right", 1), ("always_left", -1)):
        report(f"toywalk, a short walk: {name}", walk(direction, end=3, start_range=1, max_steps=4))
    report("toywalk: uniform", walk(1, against=0.5))
    report("toywalk, a short walk: uniform", walk(1, end=3, start_range=1, max_steps=4, against=0.5))
    report("forager always_north", always_north())
    report(f"forager greedy_nearest ({EPISODES} episodes, NumPy seed {SEED})", greedy_figures())
    for name, world in SMALL_WORLDS.items():
        report(f"forager, {name}: always_north", enumerated(world, north))
        report(f"forager, {name}: greedy_nearest", enumerated(world, greedy_nearest))
        report(f"forager, {name}: uniform", enumerated_uniform(world))


if __name__ == "__main__":
    main()
