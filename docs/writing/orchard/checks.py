"""What the battery knows of orchard beside the implementations: each function takes a whole batch as arrays, [N] or
[N, TREES]."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy, Symmetry

from . import BASKET, FALL_LIMIT, RIPE, TREES

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]


# spec, "Invariants": one function a row, of the same name, true where the invariant holds


def ripeness_in_bounds(state: Any) -> Rows:
    return ((state.ripeness >= 0) & (state.ripeness <= RIPE)).all(axis=-1)


def starts_unripe(state: Any) -> Rows:
    fresh = (state.ripeness < RIPE).all(axis=-1) & (state.basket == 0) & (state.fallen == 0)
    return (state.t > 0) | fresh


def one_a_day(state: Any) -> Rows:
    return (state.basket >= 0) & (state.basket <= np.minimum(state.t, BASKET))


def falls_at_once(state: Any) -> Rows:
    return (state.fallen >= 0) & (state.fallen <= FALL_LIMIT + TREES - 1)


def growth_accounted(state: Any) -> Rows:
    spent = state.ripeness.sum(axis=-1) + (RIPE + 1) * state.fallen + 2 * state.basket
    return spent <= TREES * (RIPE - 1 + state.t)


INVARIANTS = [ripeness_in_bounds, starts_unripe, one_a_day, falls_at_once, growth_accounted]


# spec, "Transition": one function a termination cause, of the same name


def full(state: Any) -> Rows:
    return state.basket >= BASKET


def ruined(state: Any) -> Rows:
    return state.fallen >= FALL_LIMIT


TERMINATIONS = [full, ruined]


# spec, "Symmetries": how each maps the fields, the actions and the outcomes of the step slots that change


def trees_rolled(state: Any) -> dict[str, Ints]:
    return {"ripeness": np.roll(state.ripeness, 1, axis=-1)}


def actions_rolled(actions: Ints) -> Ints:
    return np.where(actions == 0, 0, actions % TREES + 1)


def growth_rolled(draws: Mapping[str, Any]) -> dict[str, Rows]:
    return {"GROWTH": np.roll(draws["GROWTH"], 1, axis=-1)}


def trees_reversed(state: Any) -> dict[str, Ints]:
    return {"ripeness": state.ripeness[:, ::-1]}


def actions_reversed(actions: Ints) -> Ints:
    return np.where(actions == 0, 0, TREES + 1 - actions)


def growth_reversed(draws: Mapping[str, Any]) -> dict[str, Rows]:
    return {"GROWTH": draws["GROWTH"][:, ::-1]}


SYMMETRIES = [
    Symmetry("next_tree", trees_rolled, actions_rolled, growth_rolled),
    Symmetry("other_end", trees_reversed, actions_reversed, growth_reversed),
]


# spec, "Scripted policies": an action for all rows, or an array of N actions


def rest(state: Any, observation: Any) -> int:
    return 0


def pick_ripe(state: Any, observation: Any) -> Ints:
    ripe = state.ripeness == RIPE
    return np.where(ripe.any(axis=-1), ripe.argmax(axis=-1) + 1, 0)


POLICIES = [
    ScriptedPolicy("rest", rest, expected_return=-0.768466, standard_deviation=0.071563, return_range=(-1.25, 0.0)),
    ScriptedPolicy(
        "pick_ripe", pick_ripe, expected_return=3.936588, standard_deviation=0.171493, return_range=(-1.25, 4.0)
    ),
]

# How many times as many steps a second the fast side must make as the reference, with a large batch
MIN_SPEEDUP = 5.0
