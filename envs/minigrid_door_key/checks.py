"""What the battery knows of minigrid_door_key beside the two implementations: each function takes a whole batch as
arrays [N]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy

from . import SIZE

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

CORNER = SIZE - 2  # column and row of the goal
TURN_LEFT, TURN_RIGHT, FORWARD, PICK_UP, DROP, TOGGLE = range(6)  # actions
RIGHT, DOWN, LEFT, UP = range(4)  # directions
OPEN, CLOSED, LOCKED = range(3)
ACROSS, DOWNWARD = np.array([1, 0, -1, 0]), np.array([0, 1, 0, -1])  # a step in each direction


def agent_stands(state: Any) -> Rows:
    in_door = (state.y == state.door) & (state.lock == OPEN)
    return _inside(state.x, state.y) & ((state.x != state.wall) | in_door)


def key_lies(state: Any) -> Rows:
    carried = (state.key_x == 0) & (state.key_y == 0)
    on_goal = (state.key_x == CORNER) & (state.key_y == CORNER)
    on_agent = (state.key_x == state.x) & (state.key_y == state.y)
    lies = _inside(state.key_x, state.key_y) & (state.key_x != state.wall) & ~on_goal & ~on_agent
    return carried | lies


def door_fits(state: Any) -> Rows:
    return (state.wall >= 2) & (state.wall <= SIZE - 3) & (state.door >= 1) & (state.door <= SIZE - 3)


def locked_in(state: Any) -> Rows:
    return (state.lock != LOCKED) | ((state.x < state.wall) & (state.key_x < state.wall))


def takes_time(state: Any) -> Rows:
    """Spec, "Invariants": the least steps that lead to what is there."""
    x, wall = state.x.astype(np.int64), state.wall.astype(np.int64)
    least = np.where(state.key_x == 0, 1, 0)
    least = np.maximum(least, np.array([3, 4, 0])[np.clip(state.lock, OPEN, LOCKED)])
    least = np.maximum(least, np.where(x >= wall, 4 + x - wall, 0))
    return np.maximum(least, np.where(state.key_x > wall, 5, 0)) <= state.t


def _inside(x: Any, y: Any) -> Rows:
    return (x >= 1) & (x <= CORNER) & (y >= 1) & (y <= CORNER)


INVARIANTS = [agent_stands, key_lies, door_fits, locked_in, takes_time]


def goal(state: Any) -> Rows:
    return (state.x == CORNER) & (state.y == CORNER)


TERMINATIONS = [goal]


def legal_states(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """States [rows], of which most are legal: the agent anywhere, often at the door or near the goal, and the key
    carried, beside it, or anywhere."""
    wall, door = rng.integers(2, SIZE - 2, rows), rng.integers(1, SIZE - 2, rows)
    lock, direction = rng.integers(OPEN, LOCKED + 1, rows), rng.integers(0, 4, rows)
    beyond = (lock != LOCKED) & (rng.random(rows) < 0.5)
    x, y = np.where(beyond, rng.integers(wall + 1, SIZE - 1), rng.integers(1, wall)), rng.integers(1, SIZE - 1, rows)
    near_goal = beyond & (rng.random(rows) < 0.4)
    x, y = (np.where(near_goal, CORNER - rng.integers(0, 2, rows), place) for place in (x, y))
    x = np.where(beyond, np.maximum(x, wall + 1), x)
    to_goal = near_goal & (rng.random(rows) < 0.6)
    direction = np.where(to_goal, np.where(x == CORNER, DOWN, RIGHT), direction)
    at_door, in_door = ~near_goal & (rng.random(rows) < 0.4), (lock == OPEN) & (rng.random(rows) < 0.3)
    x = np.where(at_door, wall + np.where(in_door, 0, np.where(beyond, 1, -1)), x)
    y = np.where(at_door, door, y)
    faced, beside = rng.random(rows) < 0.5, rng.integers(0, 4, rows)
    side = np.where(faced, direction, beside)
    anywhere = np.where(lock == LOCKED, rng.integers(1, wall), rng.integers(1, SIZE - 1, rows))
    near, carried = rng.random(rows) < 0.5, rng.random(rows) < 0.35
    key_x = np.where(near, x + ACROSS[side], anywhere)
    key_y = np.where(near, y + DOWNWARD[side], rng.integers(1, SIZE - 1, rows))
    key_x, key_y = np.where(carried, 0, key_x), np.where(carried, 0, key_y)
    states = {"x": x, "y": y, "direction": direction, "wall": wall, "door": door, "lock": lock}
    states |= {"key_x": key_x, "key_y": key_y}
    return {name: values.astype(np.int8) for name, values in states.items()}


def fetches(state: Any, observation: Any) -> Ints:
    """Spec, "Scripted policies": to the key, to the door, and to the goal."""
    names = ("x", "y", "wall", "door", "key_x", "key_y")
    x, y, wall, door, key_x, key_y = (getattr(state, name).astype(np.int64) for name in names)
    direction = state.direction.astype(np.int64)
    ahead_x, ahead_y = x + ACROSS[direction], y + DOWNWARD[direction]
    to_key, to_door = (state.lock == LOCKED) & (key_x != 0), x < wall
    to_x = np.where(to_key, key_x, np.where(to_door, wall, CORNER))
    to_y = np.where(to_key, key_y, np.where(to_door, door, CORNER))
    rows_first = ~to_key & to_door
    along_rows = np.where(rows_first, to_y != y, to_x == x)
    want = np.where(along_rows, np.where(to_y > y, DOWN, UP), np.where(to_x > x, RIGHT, LEFT))
    there = (ahead_x == to_x) & (ahead_y == to_y)
    use = np.where(to_key & there, PICK_UP, np.where(rows_first & there & (state.lock != OPEN), TOGGLE, FORWARD))
    turn = np.where((want - direction) % 4 == 3, TURN_LEFT, TURN_RIGHT)
    return np.where(want == direction, use, turn)


def turns_left(state: Any, observation: Any) -> int:
    return TURN_LEFT


POLICIES = [
    ScriptedPolicy(
        "fetches",
        fetches,
        expected_return=0.976133,
        standard_deviation=0.004492,
        return_range=(0.9578125, 0.99015625),
    ),
    ScriptedPolicy("turns_left", turns_left, expected_return=0.0, standard_deviation=0.0, return_range=(0.0, 0.0)),
]

MIN_SPEEDUP = 20.0

RENDERS = "the original is made without a render mode"
EXCUSES = {
    "static fast.py: UNSEEN, EMPTY, WALL, KEY, GOAL = (0, 0, 0), (1, 0, 0), (2, 5, 0), (5, 4, 0), (8, 1, 0)": (
        "8 is the original's number for a goal"
    ),
    "static kernel.pyx: BYTE = 8  # bits of one": "bits of a byte",
    "static kernel.pyx: GREEN_GOAL = 8  # the original's number for a goal": "the original's number for a goal",
    "constant TRIES": "it is how many numbers a form draws at once, enough for every reset",
    "coverage MiniGridEnv.reset: self.render() is executed": RENDERS,
    "coverage MiniGridEnv.step: self.render() is executed": RENDERS,
    "coverage MiniGridEnv.step: terminated = True is executed #2": "there is no lava",
    'coverage MiniGridEnv.step: raise ValueError(f"Unknown action: {action}") is executed': "every action is known",
    "coverage MiniGridEnv.place_obj: size = (self.grid.width, self.grid.height) is executed": "a size is given",
    'coverage MiniGridEnv.place_obj: raise RecursionError("rejection sampling failed in place_obj") is executed': (
        "there is no greatest number of tries"
    ),
    "coverage MiniGridEnv.place_obj: continue is executed #3": "no function rejects places",
    "coverage Grid.encode: vis_mask = np.ones((self.width, self.height), dtype=bool) is executed": "a mask is given",
    "coverage Door.encode: raise ValueError( is executed": "a door is open, closed or locked",
    "coverage Grid.horz_wall: length = self.width - x is executed": "a length is given",
    "coverage MiniGridEnv.gen_obs_grid: vis_mask = np.ones(shape=(grid.width, grid.height), dtype=bool) is executed": (
        "walls hide what is behind them"
    ),
    'coverage MiniGridEnv.get_view_exts: assert False, "invalid agent direction" is executed': "four directions",
}
