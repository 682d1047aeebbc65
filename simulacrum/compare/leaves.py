"""Observations and spaces as flat tables of arrays, and how two of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import bits
from ..errors import SpaceError

Leaves = dict[str, np.ndarray]
BARE = "observation"  # the name of an observation that has no parts
FLAT = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)


def leaves(value: Any, name: str = "") -> Leaves:
    """Nested mappings and tuples of arrays as copies by name (``key``, ``key.0``); a bare array is ``observation``."""
    if isinstance(value, Mapping):
        parts: Any = value.items()
    elif isinstance(value, tuple):
        parts = enumerate(value)
    else:
        return {name or BARE: np.array(value)}
    found: Leaves = {}
    for key, part in parts:
        found |= leaves(part, f"{name}.{key}" if name else str(key))
    return found


def spaces_of(space: Any, what: str, name: str = "") -> dict[str, Any]:
    """The spaces of the leaves, by the same names. Raises :class:`~simulacrum.errors.SpaceError` for other spaces than
    Box, Discrete, MultiBinary, MultiDiscrete and Dict and Tuple of them."""
    if isinstance(space, spaces.Dict):
        parts: Any = space.spaces.items()
    elif isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
    elif isinstance(space, FLAT):
        return {name or BARE: space}
    else:
        raise SpaceError(
            f"{what}: expected Box, Discrete, MultiBinary, MultiDiscrete, or a Dict or Tuple of them, got {space!r}; "
            "wrap the environment so that it has such a space"
        )
    found: dict[str, Any] = {}
    for key, part in parts:
        found |= spaces_of(part, what, f"{name}.{key}" if name else str(key))
    return found


def row_of(table: Leaves, row: int) -> Leaves:
    """One row of leaves [N, ...]."""
    return {name: np.asarray(value[row]) for name, value in table.items()}


def aligned(reference: Leaves, candidate: Leaves) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pairs of leaves. Where the two have other names or shapes but as many elements, they are paired flat, in order:
    that they are built otherwise, the check ``spaces`` says once."""
    shapes = [{name: value.shape for name, value in table.items()} for table in (reference, candidate)]
    if shapes[0] == shapes[1]:
        return {name: (reference[name], candidate[name]) for name in reference}
    return {BARE: (_flat(reference), _flat(candidate))}


def unlike(reference: Leaves, candidate: Leaves) -> tuple[str, np.ndarray, np.ndarray] | None:
    """The first leaf that differs in shape or value: (name, reference's, candidate's); None where all are alike."""
    for name, (one, other) in aligned(reference, candidate).items():
        if not alike(one, other):
            return name, one, other
    return None


def alike(reference: np.ndarray, candidate: np.ndarray) -> bool:
    """Whether two arrays have one shape and the same bits. Where the candidate has another dtype (which ``spaces`` says
    once), the reference's value is first written in it: an integer must be that integer, a float the nearest float."""
    if reference.shape != candidate.shape:
        return False
    if reference.dtype == candidate.dtype:
        return bits.same(reference, candidate)
    if candidate.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return bits.same(reference.astype(candidate.dtype), candidate)
    return bool(np.array_equal(reference, candidate))


def exactly_alike(one: Leaves, other: Leaves) -> bool:
    """Whether two tables have the same names, dtypes, shapes and bits."""
    return one.keys() == other.keys() and all(bits.same(one[name], other[name]) for name in one)


def ulps(reference: np.ndarray, candidate: np.ndarray) -> int | None:
    """By how many representable numbers two finite float arrays of one shape differ at most, in the second's dtype."""
    if reference.shape != candidate.shape or candidate.dtype.kind != "f" or not candidate.size:
        return None
    written = reference.astype(candidate.dtype)
    if not (np.isfinite(written).all() and np.isfinite(candidate).all()):
        return None
    places = [[_place(bits.raw(values).ravel(), values.dtype.itemsize)] for values in (written, candidate)]
    return max(abs(one - other) for one, other in zip(places[0][0], places[1][0], strict=True))


def _place(words: np.ndarray, size: int) -> list[int]:
    """The place of each float among all floats in order, both zeros at 0."""
    half = 1 << (8 * size - 1)
    return [int(word) if word < half else half - int(word) for word in words.tolist()]


def _flat(table: Leaves) -> np.ndarray:
    return np.concatenate([np.atleast_1d(value).ravel() for value in table.values()])
