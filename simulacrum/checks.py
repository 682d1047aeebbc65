"""What a package's ``checks.py`` declares with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ScriptedPolicy:
    """A policy without randomness, and what it earns.

    Args:
        name: as in the spec's policy table.
        policy: ``policy(state, observation)``; the state has the spec's fields as NumPy arrays [N, ...], the
            observation is an array [N, ...] or a dict of these. Returns one action for all rows, or N of them.
        expected_return: the mean undiscounted return of an episode, exact, or a mean over ``estimated_from`` episodes.
        standard_deviation: the return's.
        return_range: the least and the greatest return that an episode can have.
        estimated_from: the number of episodes behind an estimate; None where the figures are exact.
    """

    name: str
    policy: Callable[[Any, Any], Any]
    expected_return: float
    standard_deviation: float
    return_range: tuple[float, float]
    estimated_from: int | None = None
