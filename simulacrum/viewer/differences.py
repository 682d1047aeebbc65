"""The first difference of two moments, or of two JSON values, in words: where it is, and both values."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from .. import bits
from ..spec import Package
from ..trajectory import First, Step
from ..trajectory.values import as_arrays

OUTCOME = ("reward", "terminated", "truncated", "died")


class Difference(NamedTuple):
    """Where two differ first, and both values there."""

    place: str
    one: Any
    other: Any

    def __str__(self) -> str:
        if _is_number(self.one) and _is_number(self.other):
            one, other = bits.pair_shown(self.one, self.other)
        else:
            one, other = repr(self.one), repr(self.other)
        return f"{self.place}: {one} beside {other}"


def of_parts(package: Package, one: First | Step, other: First | Step) -> Difference | None:
    """The first difference of what led to two states, of the states by field in the spec's order, and of the outcome.

    Fields are compared in their dtypes, by their bits: -0.0 is not 0.0.
    """
    both_steps = isinstance(one, Step) and isinstance(other, Step)
    if both_steps and (found := located("action", one.action, other.action)):  # type: ignore[union-attr]
        return found
    states = as_arrays(package, one.state), as_arrays(package, other.state)
    for name in package.spec.fields:
        left, right = (np.asarray(getattr(state, name)) for state in states)
        if not bits.same(left, right):
            return _in_arrays(name, left, right)
    if both_steps:
        for name in OUTCOME:
            left, right = getattr(one, name), getattr(other, name)
            if name == "reward":
                left, right = np.asarray(left, np.float64).tolist(), np.asarray(right, np.float64).tolist()
            if found := located(name, left, right):
                return found
    return None


def located(place: str, one: Any, other: Any) -> Difference | None:
    """The first difference of two JSON values: numbers by their bits, an integer being unlike a float."""
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return Difference(f"the length of {place}", len(one), len(other))
        pairs = ((f"{place}[{index}]", *pair) for index, pair in enumerate(zip(one, other, strict=True)))
        return next((found for pair in pairs if (found := located(*pair))), None)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((found for key in one if (found := located(f"{place}.{key}", one[key], other[key]))), None)
    return None if _same(one, other) else Difference(place, one, other)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return type(one) is type(other) and bool(one == other)


def _in_arrays(name: str, one: np.ndarray, other: np.ndarray) -> Difference:
    where = np.argwhere(bits.raw(np.atleast_1d(one)) != bits.raw(np.atleast_1d(other)))[0].tolist()
    if not one.shape:
        return Difference(name, one[()], other[()])
    return Difference(f"{name}[{', '.join(map(str, where))}]", one[tuple(where)], other[tuple(where)])


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.generic)) and (not isinstance(value, int) or abs(value) < 1 << 63)
