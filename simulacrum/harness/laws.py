"""What a package says of every state: invariants, the bounds of fields and observations, termination causes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..spec import Package
from .records import Record, observation_names, state_namespace


def laws(package: Package, record: Record, before: Record | None = None) -> Iterator[tuple[np.ndarray, str]]:
    """(in which rows it holds: bool [N], what it means where it does not) for each law of a record's states.

    Where the record is that of a step, an episode must have terminated exactly when a declared cause is there; but one
    that was there ``before`` the step, where those states are given, may stay there.
    """
    state = state_namespace(package, record)
    for invariant in package.checks.INVARIANTS:
        yield np.asarray(invariant(state)), f"the invariant {invariant.__name__!r} does not hold"
    for field in package.spec.fields.values():
        inside = _inside(getattr(state, field.name), field.low, field.high)
        yield inside, f"{field.name} is outside [{field.low}, {field.high}]"
    for name, space in observation_names(package).items():
        yield _inside(record[name], *bounds(space)), f"{name} is outside {space}"
    if "terminated" in record:
        terminated = record["terminated"]
        there = _ended(package, record)
        stays = np.zeros(len(terminated), np.bool_) if before is None else _ended(package, before)
        yield there | ~terminated, "terminated without a declared cause"
        yield ~there | terminated | stays, "a termination cause is there, but terminated is False"


def _ended(package: Package, record: Record) -> np.ndarray:
    """Whether any termination cause is there: bool [rows]."""
    there = np.zeros(len(record["clock.t"]), np.bool_)
    for one in causes(package, record).values():
        there |= one
    return there


def broken(package: Package, record: Record, before: Record | None = None) -> tuple[int, str] | None:
    """(row, message) of the first law that a record breaks; None where all hold."""
    for holds, message in laws(package, record, before):
        if not holds.all():
            return int(np.argmin(holds)), message
    return None


def causes(package: Package, record: Record) -> dict[str, np.ndarray]:
    """Which termination causes are there in the states of a record: bool [rows] by name."""
    state = state_namespace(package, record)
    return {cause.__name__: np.asarray(cause(state)) for cause in package.checks.TERMINATIONS}


def bounds(space: Any) -> tuple[Any, Any]:
    """The least and the greatest elements of a space."""
    if hasattr(space, "low"):
        return space.low, space.high
    if hasattr(space, "nvec"):
        return space.start, space.start + space.nvec - 1
    return (space.start, space.start + space.n - 1) if hasattr(space, "start") else (0, 1)


def _inside(values: np.ndarray, low: Any, high: Any) -> np.ndarray:
    return ((values >= low) & (values <= high)).reshape(len(values), -1).all(axis=1)
