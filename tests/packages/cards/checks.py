"""What the battery knows of cards."""

from typing import Any

import numpy as np

from simulacrum import ScriptedPolicy

from . import CARDS, TARGET


def dealt(state: Any) -> Any:
    return state.total <= CARDS * (state.t.astype(np.int64) + 1)


def hit(state: Any) -> Any:
    return state.total == TARGET


def bust(state: Any) -> Any:
    return state.total > TARGET


def careful(state: Any, observation: Any) -> Any:
    total, _, _ = observation
    return (total < TARGET - 1).astype(np.int64)


INVARIANTS = [dealt]
TERMINATIONS = [hit, bust]
POLICIES: list[ScriptedPolicy] = []
