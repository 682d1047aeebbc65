"""What the battery knows of newenv beside the two implementations: each function takes a whole batch as arrays [N]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy

from . import MAX_STEPS, START_RUNGS, TOP

Rows = NDArray[np.bool_]


# spec, "Invariants": one function a row, of the same name, true where the invariant holds


def on_the_ladder(state: Any) -> Rows:
    return (state.height >= 0) & (state.height <= TOP)


def starts_low(state: Any) -> Rows:
    return (state.t > 0) | (state.height < START_RUNGS)


def within_reach(state: Any) -> Rows:
    return state.height <= START_RUNGS - 1 + state.t


INVARIANTS = [on_the_ladder, starts_low, within_reach]


# spec, "Transition": one function a termination cause, of the same name, true in a terminal state of that cause


def top(state: Any) -> Rows:
    return state.height == TOP


TERMINATIONS = [top]


# Where the spec has a table `symmetry`: SYMMETRIES = [simulacrum.Symmetry(...)], one a row, of the same name. A
# symmetry maps states, actions and the outcomes of the step slots so that the rules stay the same; what both sides
# misread alike may break it. A ladder has none.


# spec, "Scripted policies": an action for all rows, or an array of N actions


def always_climb(state: Any, observation: Any) -> int:
    return 1


def climb_in_time(state: Any, observation: Any) -> NDArray[np.int64]:
    return np.where(state.height + MAX_STEPS - state.t >= TOP, 1, 0)


RETURN_RANGE = (-0.625, 0.875)  # ten climbs that never reach the top, and three from rung 1 that do

POLICIES = [
    ScriptedPolicy(
        "always_climb",
        always_climb,
        expected_return=0.571742,
        standard_deviation=0.449461,
        return_range=RETURN_RANGE,
    ),
    ScriptedPolicy(
        "climb_in_time",
        climb_in_time,
        expected_return=0.584489,
        standard_deviation=0.416134,
        return_range=RETURN_RANGE,
    ),
]

# How many times as many steps a second the fast side must make as the reference, with a large batch
MIN_SPEEDUP = 10.0

# What the battery demands and a package rightly does not do is excused by the name that the finding tells, with a why:
# EXCUSES = {"coverage transition: height > TOP is true": "climbs end on the top"}
