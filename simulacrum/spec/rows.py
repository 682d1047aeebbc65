"""The rows of ``spec.md``'s tables as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Field:
    """A state field: its dtype, the shape of one instance, and its bounds (inclusive)."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Slot:
    """A random decision: its number, phase (``reset`` or ``step``), how often it is drawn, and its distribution.

    ``at_most``: it may be drawn less often, down to never.
    """

    name: str
    number: int
    phase: str
    count: int
    distribution: str
    arguments: tuple[Any, ...]
    at_most: bool = False


@dataclass(frozen=True)
class Example:
    """A worked transition: values by name, as arrays of their field's dtype; with many agents, ``reward`` and ``died``
    have one element an agent."""

    name: str
    state: Mapping[str, np.ndarray]
    action: Any
    draws: Mapping[str, Any]
    next_state: Mapping[str, np.ndarray]
    reward: Any
    terminated: bool
    truncated: bool
    observation: Any
    died: np.ndarray | None = None


@dataclass(frozen=True)
class ResetExample:
    """A worked first state."""

    name: str
    draws: Mapping[str, Any]
    state: Mapping[str, np.ndarray]
    observation: Any


@dataclass(frozen=True)
class Policy:
    """A row of the policy table."""

    name: str
    expected_return: float
    standard_deviation: float


@dataclass(frozen=True)
class SmallWorld:
    """A world that is small enough to be compared wholly: which constants it replaces (none: the environment as it
    is), and the exact (mean, standard deviation) of the return of some scripted policies in it."""

    name: str
    constants: Mapping[str, Any]
    returns: Mapping[str, tuple[float, float]]
