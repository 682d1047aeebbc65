"""What the battery knows of forager beside the two implementations: each function takes a whole batch as arrays, [N]
for the agent's fields and [N, N_BERRIES] for the berries'."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy, Symmetry

from . import GAINS, GRID, N_BERRIES, N_KINDS, START_ENERGY, STEP_COST

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

ROUNDING = 1e-4  # spec, "Invariants": the tolerance of energy_accounted


def in_grid(state: Any) -> Rows:
    return (state.x >= 0) & (state.x < GRID) & (state.y >= 0) & (state.y < GRID)


def berries_in_grid(state: Any) -> Rows:
    x, y = state.berry_x, state.berry_y
    return ((x >= 0) & (x < GRID) & (y >= 0) & (y < GRID)).all(axis=-1)


def kinds_known(state: Any) -> Rows:
    return ((state.berry_kind >= 0) & (state.berry_kind < N_KINDS)).all(axis=-1)


def starts_full(state: Any) -> Rows:
    full = state.berry_live.all(axis=-1) & (state.energy == np.float32(START_ENERGY))
    return (state.t > 0) | full


def energy_in_bounds(state: Any) -> Rows:
    highest = START_ENERGY + N_BERRIES * 0.3125
    return (state.energy >= np.float32(-STEP_COST)) & (state.energy <= np.float32(highest))


def energy_accounted(state: Any) -> Rows:
    gains = np.array(GAINS)[np.clip(state.berry_kind, 0, N_KINDS - 1)]
    collected = np.where(state.berry_live, 0.0, gains).sum(axis=-1)
    return state.energy <= START_ENERGY - STEP_COST * state.t + collected + ROUNDING


def own_cell_empty(state: Any) -> Rows:
    found = state.berry_live & (_distances(state) == 0)
    return (state.t < 1) | ~found.any(axis=-1)


def collected_in_reach(state: Any) -> Rows:
    return (state.berry_live | (_distances(state) <= state.t[:, None] - 1)).all(axis=-1)


def _distances(state: Any) -> Ints:
    return np.abs(state.berry_x - state.x[:, None]) + np.abs(state.berry_y - state.y[:, None])


INVARIANTS = [
    in_grid,
    berries_in_grid,
    kinds_known,
    starts_full,
    energy_in_bounds,
    energy_accounted,
    own_cell_empty,
    collected_in_reach,
]


def cleared(state: Any) -> Rows:
    return ~state.berry_live.any(axis=-1)


def exhausted(state: Any) -> Rows:
    return state.energy <= 0


TERMINATIONS = [cleared, exhausted]


# Spec, "Symmetries". A quarter turn clockwise takes (x, y) to (y, GRID - 1 - x) and each heading to the next one; a
# slip is such a turn itself, and stays.


def turned_clockwise(state: Any) -> dict[str, Ints]:
    last = GRID - 1
    return {"x": state.y, "y": last - state.x, "berry_x": state.berry_y, "berry_y": last - state.berry_x}


def next_heading(actions: Ints) -> Ints:
    return (actions + 1) % 4


# A mirror from east to west takes the heading h to -h (modulo 4), and would turn a slip anticlockwise, as no slip does;
# but 3 - action with a slip where there was none, and none where there was one, has the heading -h in both cases.


def mirrored(state: Any) -> dict[str, Ints]:
    return {"x": GRID - 1 - state.x, "berry_x": GRID - 1 - state.berry_x}


def one_short_of_mirrored(actions: Ints) -> Ints:
    return 3 - actions


def other_slip(draws: Mapping[str, Any]) -> dict[str, Rows]:
    return {"SLIP": ~draws["SLIP"]}


SYMMETRIES = [
    Symmetry("quarter_turn", turned_clockwise, next_heading),
    Symmetry("mirror", mirrored, one_short_of_mirrored, other_slip),
]


def always_north(state: Any, observation: Any) -> int:
    return 0


def greedy_nearest(state: Any, observation: Any) -> Ints:
    """Spec, "Scripted policies": the nearest live berry, ties to the lowest index (argmin's own), x before y."""
    distances = np.where(state.berry_live, _distances(state), 2 * GRID)
    target = distances.argmin(axis=-1)[:, None]
    dx = np.take_along_axis(state.berry_x, target, axis=-1)[:, 0] - state.x
    dy = np.take_along_axis(state.berry_y, target, axis=-1)[:, 0] - state.y
    along_y = np.where(dy < 0, 2, 0)
    return np.where(dx > 0, 1, np.where(dx < 0, 3, along_y))


RETURN_RANGE = (-5.2, 18.0)  # spec, "Scripted policies": the last paragraph

POLICIES = [
    ScriptedPolicy(
        "always_north",
        always_north,
        expected_return=-4.478342,
        standard_deviation=0.876565,
        return_range=RETURN_RANGE,
    ),
    ScriptedPolicy(
        "greedy_nearest",
        greedy_nearest,
        expected_return=8.606452,
        standard_deviation=2.153896,
        return_range=RETURN_RANGE,
        estimated_from=2_000_000,
    ),
]

MIN_SPEEDUP = 5.0
