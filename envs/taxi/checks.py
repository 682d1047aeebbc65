"""What the battery knows of taxi beside the two implementations: each function takes a whole batch as arrays [N]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy

from . import FICKLE

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

PICK_UP, DROP_OFF = 4, 5
IN_TAXI = 4
LATE = 20  # steps until the passenger on red is fetched
SIDE = 5
PADS = np.array([(0, 0), (0, 4), (4, 0), (4, 3)])  # (row, column) of red, green, yellow, blue
WALLED = {(0, 1), (1, 1), (3, 0), (3, 2), (4, 0), (4, 2)}  # cells with a wall on their east side
STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))  # (row, column) of south, north, east, west


def starts_waiting(state: Any) -> Rows:
    return (state.t > 0) | (state.passenger < IN_TAXI)


def starts_apart(state: Any) -> Rows:
    at_the_last_start = (state.row == 0) & (state.column == 0) & (state.passenger == 0) & (state.destination == 0)
    return (state.t > 0) | (state.passenger != state.destination) | at_the_last_start


def delivered_in_time(state: Any) -> Rows:
    return (state.passenger != state.destination) | _both_red(state) | (state.t >= (4 if FICKLE else 6))


def delivered_together(state: Any) -> Rows:
    return (state.passenger != state.destination) | _both_red(state) | (_pad(state) == state.destination)


def fickle_until_moved(state: Any) -> Rows:
    return ~state.fickle_step | ((FICKLE == 1) & ((state.passenger != IN_TAXI) | (_pad(state) >= 0)))


def _both_red(state: Any) -> Rows:
    return (state.passenger == 0) & (state.destination == 0)


def _pad(state: Any) -> Ints:
    """The pad on which the taxi is; -1 for none."""
    on = (PADS[:, 0] == np.asarray(state.row)[:, None]) & (PADS[:, 1] == np.asarray(state.column)[:, None])
    return np.where(on.any(axis=1), on.argmax(axis=1), -1)


INVARIANTS = [starts_waiting, starts_apart, delivered_in_time, delivered_together, fickle_until_moved]


def delivered(state: Any) -> Rows:
    return state.passenger == state.destination


TERMINATIONS = [delivered]


# Spec, "Scripted policies"


def _goes(row: int, column: int, heading: int) -> bool:
    """Whether the edge and the walls let the taxi go."""
    down, right = STEPS[heading]
    inside = 0 <= row + down < SIDE and 0 <= column + right < SIDE
    return inside and not (right and (row, min(column, column + right)) in WALLED)


def _distances(pad: Any) -> NDArray[np.int64]:
    """Steps from each cell to a pad without rain, [SIDE, SIDE]."""
    steps: Ints = np.full((SIDE, SIDE), SIDE * SIDE)
    steps[tuple(pad)] = 0
    for _ in range(SIDE * SIDE):
        for row, column in np.ndindex(SIDE, SIDE):
            for heading, (down, right) in enumerate(STEPS):
                if _goes(row, column, heading):
                    steps[row, column] = min(steps[row, column], steps[row + down, column + right] + 1)
    return steps


def _headings() -> NDArray[np.int64]:
    """The first heading that brings the taxi nearer to a pad, [pads, SIDE, SIDE]; 0 on the pad itself."""
    headings: Ints = np.zeros((len(PADS), SIDE, SIDE), np.int64)
    for pad, distances in enumerate(map(_distances, PADS)):
        for row, column in np.ndindex(SIDE, SIDE):
            for heading, (down, right) in reversed(list(enumerate(STEPS))):
                goes = _goes(row, column, heading)
                if goes and distances[row + down, column + right] < distances[row, column]:
                    headings[pad, row, column] = heading
    return headings


HEADINGS = _headings()


def late_for_red(state: Any, observation: Any) -> Ints:
    """By the shortest way, the first of several in the actions' order; but late for those who wait on red."""
    in_taxi = state.passenger == IN_TAXI
    target = np.where(in_taxi, state.destination, state.passenger)
    heading = HEADINGS[target, state.row, state.column]
    action = np.where(_pad(state) == target, np.where(in_taxi, DROP_OFF, PICK_UP), heading)
    late = (state.passenger == 0) & (state.t < LATE)
    return np.where(late, np.where(state.row < SIDE - 1, 0, 1), action)


def hasty(state: Any, observation: Any) -> Ints:
    """Drops off, else picks up, else goes west, east, north, south: the first of these that changes something."""
    here, in_taxi = _pad(state), state.passenger == IN_TAXI
    ways = np.array([[[_goes(row, column, h) for h in range(4)] for column in range(SIDE)] for row in range(SIDE)])
    legal = ways[state.row, state.column]
    last = 3 - np.argmax(legal[:, ::-1], axis=1)
    return np.where(in_taxi & (here >= 0), DROP_OFF, np.where(here == state.passenger, PICK_UP, last))


POLICIES = [
    ScriptedPolicy(
        "late_for_red",
        late_for_red,
        expected_return=-0.732894,
        standard_deviation=10.333302,
        return_range=(-200.0, 19.0),
    ),
    ScriptedPolicy(
        "hasty",
        hasty,
        expected_return=-200.0,
        standard_deviation=0.000014,
        return_range=(-200.0, -200.0),  # but for the odd first state, once in some 10**14 episodes
    ),
]

MIN_SPEEDUP = 5.0

EXCUSES = {
    "coverage TaxiEnv.reset: self.render() is executed": "no render mode: the package draws its own pictures",
    "coverage TaxiEnv.step: self.render() is executed": "no render mode: the package draws its own pictures",
}
