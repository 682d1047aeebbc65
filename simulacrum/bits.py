"""Comparison by dtype, shape and raw bits: -0.0 is not 0.0, and a NaN equals the NaN with the same bits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np


def raw(values: np.ndarray) -> np.ndarray:
    """The bits of an array as unsigned integers of the same shape."""
    values = np.ascontiguousarray(values).reshape(values.shape)
    return values.view(f"u{values.dtype.itemsize}")


def same_rows(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which rows of two arrays [N, ...] have the same bits: bool [N]. Both must have one dtype and shape."""
    return (raw(one) == raw(other)).all(axis=tuple(range(1, one.ndim)))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal in dtype, shape and bits."""
    return one.dtype == other.dtype and one.shape == other.shape and bool((raw(one) == raw(other)).all())


def exactly(values: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """``values`` as an array of ``dtype``; raises ValueError when that would change a value (0.1 in float32, say)."""
    array = np.asarray(values)
    if array.dtype == dtype:
        return array
    if (array.dtype.kind in "iu" and dtype.kind == "f") or (array.dtype.kind == "b") != (dtype.kind == "b"):
        raise ValueError(f"expected {dtype}, got {array.dtype}")
    if array.dtype.kind == "f" and dtype.kind != "f":
        raise ValueError(f"expected {dtype}, got {array.dtype}")
    cast = array.astype(dtype)
    if not np.array_equal(cast, array, equal_nan=array.dtype.kind == "f"):
        raise ValueError(f"expected values of {dtype}, got {array.dtype} with more digits or a wider range")
    return cast


def shown(value: Any, with_bits: bool = False) -> str:
    """A value for people, with its bits in hexadecimal when asked (where two values print alike)."""
    array = np.asarray(value)
    text = np.array2string(array, floatmode="unique", separator=", ", threshold=64)
    if not with_bits:
        return text
    words = " ".join(f"{int(word):0{array.dtype.itemsize * 2}x}" for word in raw(np.atleast_1d(array)).ravel()[:64])
    return f"{text} (bits {words}, {array.dtype})"


def pair_shown(one: Any, other: Any) -> tuple[str, str]:
    """Two values for people; with dtype and bits where they would print alike."""
    texts = shown(one), shown(other)
    return texts if texts[0] != texts[1] else (shown(one, True), shown(other, True))


class Digest:
    """A running SHA-256 over named arrays: dtype, shape and bits."""

    def __init__(self) -> None:
        self._total = hashlib.sha256()

    def update(self, values: Mapping[Any, np.ndarray]) -> None:
        """Add arrays by name, in the order of their names."""
        for name in sorted(values, key=str):
            array = np.asarray(values[name])
            self._total.update(f"{name}\0{array.dtype}\0{array.shape}\0".encode())
            self._total.update(array.tobytes())

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._total.hexdigest()
