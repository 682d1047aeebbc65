"""What a package's ``checks.py`` and ``faults.py`` declare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Fault", "ScriptedPolicy", "Symmetry"]


@dataclass(frozen=True)
class ScriptedPolicy:
    """A policy without randomness, and what it earns.

    Args:
        name: as in the spec's policy table.
        policy: ``policy(state, observation)``; the state has the spec's fields as NumPy arrays [N, ...] of the fields'
            dtypes, the observation is an array [N, ...] or a dict of these. Returns one action for all rows, or N of
            them.
        expected_return: the mean undiscounted return of an episode, exact, or a mean over ``estimated_from`` episodes.
        standard_deviation: the return's.
        return_range: the least and the greatest return that an episode can have.
        estimated_from: the number of episodes behind an estimate; None where the figures are exact.

    Example:
        >>> from simulacrum import ScriptedPolicy
        >>> def always_right(state, observation):
        ...     return 1
        >>> policy = ScriptedPolicy("always_right", always_right, 4.750048, 2.576708, return_range=(-60.0, 8.0))
        >>> policy.policy(None, None)
        1
    """

    name: str
    policy: Callable[[Any, Any], Any]
    expected_return: float
    standard_deviation: float
    return_range: tuple[float, float]
    estimated_from: int | None = None


@dataclass(frozen=True)
class Symmetry:
    """A map under which the rules stay the same: the turned state, action and draws give the turned next state.

    Rewards and flags must be equal, every state field of the next state must be the map of the other's.

    Args:
        name: as in the spec's symmetry table.
        state: ``state(state)``; takes the spec's fields as attributes, arrays [N, ...] of their dtypes, and returns a
            mapping of the fields that change to their turned values (the others, and ``t``, stay).
        action: ``action(actions)``: the turned actions, [N, ...].
        draws: ``draws(draws)``: takes the outcomes of the step slots by slot name, arrays [N] or [N, count], and
            returns those that change; None where all stay.

    Example:
        >>> import numpy as np
        >>> from simulacrum import Symmetry
        >>> mirrored = Symmetry("mirrored", lambda state: {"x": -state.x}, lambda actions: 1 - actions)
        >>> mirrored.action(np.array([0, 1, 1])).tolist()
        [1, 0, 0]
    """

    name: str
    state: Callable[[Any], Mapping[str, Any]]
    action: Callable[[Any], Any]
    draws: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Fault:
    """A fault to be put into a copy of a package on purpose, to see which check finds it.

    Args:
        name: what is wrong, in a few words; unique in its package.
        kind: ``shape``, ``mask and reset``, ``rules``, ``randomness``, ``numbers``, ``system``, or ``both sides`` (one
            misreading of the spec in ``reference.py`` and ``fast.py`` alike).
        changes: by file name, (old, new) texts; each old text must stand in the file exactly once.

    Example:
        >>> from simulacrum import Fault
        >>> from simulacrum.spec import Package
        >>> fault = Fault("no slips", "randomness", {"fast.py": [("Slots.SLIP, SLIP_P", "Slots.SLIP, 0.0")]})
        >>> [(old, new)] = fault.changes["fast.py"]
        >>> Package.read("envs/toywalk").files["fast.py"].decode().count(old)
        1
    """

    name: str
    kind: str
    changes: Mapping[str, Sequence[tuple[str, str]]]
