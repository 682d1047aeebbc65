"""What the battery knows of courier."""

from typing import Any

import numpy as np

from . import LIMIT


def speed_in_bounds(state: Any) -> Any:
    return np.abs(state.speed) <= 2


INVARIANTS = [speed_in_bounds]


def done(state: Any) -> Any:
    return state.total >= LIMIT


def empty(state: Any) -> Any:
    return ~state.cargo.any(axis=-1)


TERMINATIONS = [done, empty]
POLICIES: list[Any] = []
