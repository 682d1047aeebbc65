"""The rows of ``spec.md``'s tables as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Example", "Field", "Policy", "ResetExample", "Slot", "SmallWorld"]


@dataclass(frozen=True)
class Field:
    """A state field: its dtype, the shape of one instance ([] as ``()``), and its bounds (inclusive).

    Example:
        >>> from simulacrum.spec import Package
        >>> Package.read("envs/toywalk").spec.fields["position"]
        Field(name='position', dtype=dtype('int32'), shape=(), low=-5, high=5)
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Slot:
    """A random decision: its number, phase (``reset`` or ``step``), how often it is drawn, and its distribution.

    Attributes:
        at_most: it may be drawn less often, down to never.
        dtype: of a ``uniform``.
        cuts: where a ``uniform`` is only compared with these numbers: the rules are alike from one to the next.

    Example:
        >>> from simulacrum.spec import Package
        >>> slot = Package.read("envs/toywalk").spec.slots["SLIP"]
        >>> slot.number, slot.phase, slot.distribution, slot.arguments
        (1, 'step', 'bernoulli', (0.1,))
    """

    name: str
    number: int
    phase: str
    count: int
    distribution: str
    arguments: tuple[Any, ...]
    at_most: bool = False
    dtype: str = "float32"
    cuts: tuple[float, ...] = ()

    @property
    def open_ended(self) -> bool:
        """Whether it is a ``randint()``, whose bound the rules compute from what was drawn before."""
        return self.distribution == "randint" and not self.arguments

    @property
    def options(self) -> dict[str, str]:
        """Keywords of the draw beside its arguments."""
        return {"dtype": self.dtype} if self.distribution == "uniform" else {}


@dataclass(frozen=True)
class Example:
    """A worked transition: values by name, as arrays [...] of their field's shape and dtype; with many agents,
    ``reward`` and ``died`` (bool) are [agents].

    Example:
        >>> from simulacrum.spec import Package
        >>> example = Package.read("envs/toywalk").spec.examples[8]
        >>> example.state["position"], example.action, example.reward, example.terminated
        (array(4, dtype=int32), array(1), array(10., dtype=float32), True)
    """

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
    """A worked first state: arrays [...] of their field's shape and dtype.

    Example:
        >>> from simulacrum.spec import Package
        >>> example = Package.read("envs/toywalk").spec.reset_examples[0]
        >>> example.draws, example.state["position"]
        ({'INIT_POSITION': 0}, array(-2, dtype=int32))
    """

    name: str
    draws: Mapping[str, Any]
    state: Mapping[str, np.ndarray]
    observation: Any


@dataclass(frozen=True)
class Policy:
    """A row of the policy table.

    Example:
        >>> from simulacrum.spec import Package
        >>> Package.read("envs/toywalk").spec.policies["always_right"]
        Policy(name='always_right', expected_return=4.750048, standard_deviation=2.576708)
    """

    name: str
    expected_return: float
    standard_deviation: float


@dataclass(frozen=True)
class SmallWorld:
    """A world that is small enough to be compared wholly: which constants it replaces (none: the environment as it
    is), and the exact (mean, standard deviation) of the return of some scripted policies in it.

    Example:
        >>> from simulacrum.spec import Package
        >>> Package.read("envs/toywalk").spec.small_worlds[1].constants
        {'L': 3, 'START_RANGE': 1, 'MAX_STEPS': 4}
    """

    name: str
    constants: Mapping[str, Any]
    returns: Mapping[str, tuple[float, float]]
