"""What the battery knows of toywalk beside the two implementations: each function takes a whole batch as arrays [N]."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy, Symmetry

from . import START_RANGE, L

Rows = NDArray[np.bool_]


def in_bounds(state: Any) -> Rows:
    return (state.position >= -L) & (state.position <= L)


def starts_near_zero(state: Any) -> Rows:
    return (state.t > 0) | (np.abs(state.position) <= START_RANGE)


def within_reach(state: Any) -> Rows:
    return np.abs(state.position) <= START_RANGE + state.t


INVARIANTS = [in_bounds, starts_near_zero, within_reach]


def goal(state: Any) -> Rows:
    return state.position == L


TERMINATIONS = [goal]


def as_it_is(state: Any) -> dict[str, Any]:
    return {}


def other_action(actions: Any) -> Any:
    return 1 - actions


def other_slip(draws: Mapping[str, Any]) -> dict[str, Rows]:
    return {"SLIP": ~draws["SLIP"]}


SYMMETRIES = [Symmetry("slip_reverses", as_it_is, other_action, other_slip)]


def always_right(state: Any, observation: Any) -> int:
    return 1


def always_left(state: Any, observation: Any) -> int:
    return 0


RETURN_RANGE = (-60.0, 8.0)  # spec, "Scripted policies": the cap without the goal, and the goal in three steps

POLICIES = [
    ScriptedPolicy(
        "always_right",
        always_right,
        expected_return=4.750048,
        standard_deviation=2.576708,
        return_range=RETURN_RANGE,
    ),
    ScriptedPolicy(
        "always_left",
        always_left,
        expected_return=-59.979292,
        standard_deviation=1.178847,
        return_range=RETURN_RANGE,
    ),
]

MIN_SPEEDUP = 5.0
