"""What the battery knows of board."""

from typing import Any

import numpy as np

from . import LEVELS, STAKE, TOOLS


def levels_in_bounds(state: Any) -> Any:
    return (state.board < LEVELS).all(axis=(-2, -1))


def score_in_stakes(state: Any) -> Any:
    return state.score % STAKE == 0


def order_is_a_permutation(state: Any) -> Any:
    return (np.sort(state.order, axis=-1) == np.arange(TOOLS)).all(axis=-1)


INVARIANTS = [levels_in_bounds, score_in_stakes, order_is_a_permutation]


def spark(state: Any) -> Any:
    return state.code % 16 == 0


TERMINATIONS = [spark]
POLICIES: list[Any] = []
