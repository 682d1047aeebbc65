"""What the battery knows of minigrid_empty beside the two implementations: each function takes a whole batch as arrays
[N]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy, Symmetry

from . import RANDOM_START, SIZE

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

CORNER = SIZE - 2  # column and row of the goal
LEFT, RIGHT, FORWARD = range(3)  # actions


def in_room(state: Any) -> Rows:
    return (state.x >= 1) & (state.x <= CORNER) & (state.y >= 1) & (state.y <= CORNER)


def starts_in_corner(state: Any) -> Rows:
    at_start = (state.x == 1) & (state.y == 1) & (state.direction == 0)
    on_goal = (state.x == CORNER) & (state.y == CORNER)
    return (state.t > 0) | (~on_goal if RANDOM_START else at_start)


def within_reach(state: Any) -> Rows:
    """Each step to the right or downward is a step; so is each quarter turn, of which a way down has one at least."""
    x, y, direction = (np.asarray(field, np.int64) for field in (state.x, state.y, state.direction))
    last = np.minimum(direction, 4 - direction)  # turns from looking right
    turns = np.where((y > 1) & (direction != 1), np.maximum(1 + np.abs(direction - 1) % 3, last), last)
    return (x - 1 + y - 1 + turns <= state.t) | bool(RANDOM_START)


INVARIANTS = [in_room, starts_in_corner, within_reach]


def goal(state: Any) -> Rows:
    return (state.x == CORNER) & (state.y == CORNER)


TERMINATIONS = [goal]


def legal_states(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """States [rows] anywhere in the room, most of them near the goal, which a random walk hardly reaches."""
    away = np.minimum(rng.geometric(0.4, (2, rows)) - 1, SIZE - 3)
    states = {"x": CORNER - away[0], "y": CORNER - away[1], "direction": rng.integers(0, 4, rows)}
    return {name: values.astype(np.int8) for name, values in states.items()}


# Spec, "Symmetries". Columns and rows change places: right becomes down, left becomes up, and a turn the other turn.


def flipped(state: Any) -> dict[str, Ints]:
    return {"x": state.y, "y": state.x, "direction": state.direction ^ 1}


def other_turn(actions: Ints) -> Ints:
    return np.where(actions <= RIGHT, 1 - actions, actions)


def as_it_is(state: Any) -> dict[str, Ints]:
    return {}


def other_idle_action(actions: Ints) -> Ints:
    return np.where(actions > FORWARD, 9 - actions, actions)


SYMMETRIES = [Symmetry("flipped", flipped, other_turn), Symmetry("idle_actions", as_it_is, other_idle_action)]


def along_the_walls(state: Any, observation: Any) -> Ints:
    """Spec, "Scripted policies": to the right until the wall, one turn to the right, then down."""
    return np.where((state.x == CORNER) & (state.direction == 0), RIGHT, FORWARD)


def turns_left(state: Any, observation: Any) -> int:
    return LEFT


POLICIES = [
    ScriptedPolicy(
        "along_the_walls",
        along_the_walls,
        expected_return=0.961328125,
        standard_deviation=0.0,
        return_range=(0.961328125, 0.961328125),
    ),
    ScriptedPolicy("turns_left", turns_left, expected_return=0.0, standard_deviation=0.0, return_range=(0.0, 0.0)),
]

MIN_SPEEDUP = 50.0

NUMBER = "8 is the original's number for a goal"
NOTHING = "nothing in the room can be carried"
EXCUSES = {
    "static fast.py: EMPTY, WALL, GOAL = (1, 0, 0), (2, 5, 0), (8, 1, 0)": NUMBER,
    "static kernel.pyx: image[0], image[1] = 8, 1": NUMBER,
    "constant TRIES": "it is how many numbers a form draws at once, enough for every random start",
    "coverage EmptyEnv._gen_grid: self.place_agent() is executed": "of a random start, in the configuration random-5x5",
    "coverage MiniGridEnv.reset: self.render() is executed": "the original is made without a render mode",
    "coverage MiniGridEnv.step: self.render() is executed": "the original is made without a render mode",
    "coverage MiniGridEnv.step: terminated = True is executed #2": "there is no lava",
    "coverage MiniGridEnv.step: if self.carrying is None: is executed": NOTHING,
    "coverage MiniGridEnv.step: self.carrying = fwd_cell is executed": NOTHING,
    "coverage MiniGridEnv.step: self.carrying.cur_pos = np.array([-1, -1]) is executed": NOTHING,
    "coverage MiniGridEnv.step: self.grid.set(fwd_pos[0], fwd_pos[1], None) is executed": NOTHING,
    "coverage MiniGridEnv.step: self.grid.set(fwd_pos[0], fwd_pos[1], self.carrying) is executed": NOTHING,
    "coverage MiniGridEnv.step: self.carrying.cur_pos = fwd_pos is executed": NOTHING,
    "coverage MiniGridEnv.step: self.carrying = None is executed": NOTHING,
    'coverage MiniGridEnv.step: raise ValueError(f"Unknown action: {action}") is executed': "every action is known",
    "coverage MiniGridEnv.gen_obs_grid: vis_mask = grid.process_vis( is executed": "walls hide nothing here",
    "coverage MiniGridEnv.gen_obs_grid: grid.set(*agent_pos, self.carrying) is executed": NOTHING,
    'coverage MiniGridEnv.get_view_exts: assert False, "invalid agent direction" is executed': "four directions",
}
