"""Comparison by dtype, shape and raw bits: -0.0 is not 0.0, and a NaN equals the NaN with the same bits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["Digest", "exactly", "pair_shown", "raw", "same", "same_rows", "shown"]


def raw(values: np.ndarray) -> np.ndarray:
    """The bits of an array [...] of any dtype as unsigned integers (uint8 to uint64) of the same shape.

    Example:
        >>> import numpy as np
        >>> from simulacrum.bits import raw
        >>> [hex(word) for word in raw(np.array([1.0, -0.0], np.float32))]
        ['0x3f800000', '0x80000000']
    """
    values = np.ascontiguousarray(values).reshape(values.shape)
    return values.view(f"u{values.dtype.itemsize}")


def same_rows(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which rows of two arrays [N, ...] have the same bits: bool [N]. Both must have one dtype and shape.

    Example:
        >>> import numpy as np
        >>> from simulacrum.bits import same_rows
        >>> same_rows(np.array([0.0, np.nan]), np.array([-0.0, np.nan])).tolist()
        [False, True]
    """
    return (raw(one) == raw(other)).all(axis=tuple(range(1, one.ndim)))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays [...] are equal in dtype, shape and bits.

    Example:
        >>> import numpy as np
        >>> from simulacrum.bits import same
        >>> same(np.zeros(3, np.float32), np.zeros(3, np.float64))
        False
    """
    return one.dtype == other.dtype and one.shape == other.shape and bool((raw(one) == raw(other)).all())


def exactly(values: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """``values`` as an array [...] of ``dtype``; raises ValueError where that would change one (0.1 in float32, say).

    Example:
        >>> import numpy as np
        >>> from simulacrum.bits import exactly
        >>> exactly([1, 2], np.dtype("int32"))
        array([1, 2], dtype=int32)
        >>> exactly(0.1, np.dtype("float32"))
        Traceback (most recent call last):
            ...
        ValueError: expected values of float32, got float64 with more digits or a wider range
    """
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
    """A value for people, with its bits in hexadecimal when asked (where two values print alike).

    Example:
        >>> import numpy as np
        >>> from simulacrum.bits import shown
        >>> shown(np.float32(0.1), with_bits=True)
        '0.1 (bits 3dcccccd, float32)'
    """
    array = np.asarray(value)
    text = np.array2string(array, floatmode="unique", separator=", ", threshold=64)
    if not with_bits:
        return text
    words = " ".join(f"{int(word):0{array.dtype.itemsize * 2}x}" for word in raw(np.atleast_1d(array)).ravel()[:64])
    return f"{text} (bits {words}, {array.dtype})"


def pair_shown(one: Any, other: Any) -> tuple[str, str]:
    """Two values for people; with dtype and bits where they would print alike.

    Example:
        >>> import numpy as np
        >>> from simulacrum.bits import pair_shown
        >>> pair_shown(np.float32(1), np.float64(1))
        ('1. (bits 3f800000, float32)', '1. (bits 3ff0000000000000, float64)')
    """
    texts = shown(one), shown(other)
    return texts if texts[0] != texts[1] else (shown(one, True), shown(other, True))


class Digest:
    """A running SHA-256 over named arrays: dtype, shape and bits.

    Example:
        >>> import numpy as np
        >>> from simulacrum.bits import Digest
        >>> one, other = Digest(), Digest()
        >>> one.update({"reward": np.zeros(3, np.float32)})
        >>> other.update({"reward": -np.zeros(3, np.float32)})
        >>> one.hexdigest() == other.hexdigest()
        False
    """

    def __init__(self) -> None:
        self._total = hashlib.sha256()

    def update(self, values: Mapping[Any, np.ndarray]) -> None:
        """Add arrays [...] of any dtype by name, in the order of their names."""
        for name in sorted(values, key=str):
            array = np.asarray(values[name])
            self._total.update(f"{name}\0{array.dtype}\0{array.shape}\0".encode())
            self._total.update(array.tobytes())

    def hexdigest(self) -> str:
        """The digest so far: 64 hexadecimal digits."""
        return self._total.hexdigest()
