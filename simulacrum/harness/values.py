"""Arrays as JSON with every bit kept."""

from __future__ import annotations

import math
import re
import reprlib
import textwrap
from typing import Any

import numpy as np

from .. import bits

SPECIAL = {"inf": np.inf, "-inf": -np.inf}
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
LEAVES: dict[str, set[type]] = {"b": {bool}, "f": {int, float, str}}  # of nested lists by kind of dtype; else ints


def encoded(values: np.ndarray | None) -> dict[str, Any] | None:
    """An array as ``dtype``, ``shape`` and ``values`` (nested lists).

    Integers of every width are JSON integers. Floats are numbers that read back as the same float (-0.0 too);
    infinities are the texts ``inf`` and ``-inf``, a NaN is ``nan:`` and its bits in hexadecimal.
    """
    if values is None:
        return None
    return {"dtype": str(values.dtype), "shape": list(values.shape), "values": nested(values)}


def nested(values: np.ndarray) -> Any:
    """The nested lists of :func:`encoded`."""
    values = np.asarray(values)
    return _texts(values) if values.dtype.kind == "f" and not np.isfinite(values).all() else values.tolist()


def decoded(content: Any) -> np.ndarray | None:
    """The array that :func:`encoded` was given. Raises ValueError for what it never gives."""
    if content is None:
        return None
    if not isinstance(content, dict) or content.keys() != {"dtype", "shape", "values"}:
        raise expected("null, or an object with dtype, shape and values", content)
    dtype, shape = content["dtype"], content["shape"]
    if dtype not in DTYPES:
        raise ValueError(f"dtype: {expected(f'one of {DTYPES}', dtype)}")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"shape: {expected('a list of sizes', shape)}")
    values = from_lists(content["values"], np.dtype(dtype))
    if values.size != math.prod(shape) or (values.size and values.shape != tuple(shape)):
        raise ValueError(f"values: expected the shape {shape}, got {list(values.shape)}")
    return values.reshape(shape)


def from_lists(values: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Nested lists, or one value, as an array of this dtype. Raises ValueError where that would lose: a float or a bool
    for an integer, a number out of range, a text that is no special float, lists of unequal lengths."""
    array = np.array(values, object)
    leaves = array.ravel().tolist()
    allowed: set[type] = LEAVES.get(dtype.kind, {int})
    odd = [leaf for leaf in leaves if type(leaf) not in allowed]
    if odd:
        raise expected(f"values of {dtype}", odd[0])
    if dtype.kind == "f":
        return np.array([_float(leaf, dtype) for leaf in leaves], dtype).reshape(array.shape)
    if dtype.kind in "iu" and leaves:
        limits = np.iinfo(dtype)
        odd = [leaf for leaf in (min(leaves), max(leaves)) if not limits.min <= leaf <= limits.max]
        if odd:
            raise expected(f"values of {dtype} ({limits.min} .. {limits.max})", odd[0])
    return np.array(leaves, dtype).reshape(array.shape)


def expected(what: str, value: Any) -> ValueError:
    """The error that says what was expected, and what came, cut short."""
    return ValueError(f"expected {what}, got {textwrap.shorten(reprlib.repr(value), 100, placeholder=' ...')}")


def _texts(values: np.ndarray) -> Any:
    """Nested lists in which the values that JSON lacks are texts."""
    if not values.shape:
        number = float(values)
        if np.isnan(number):
            return f"nan:{int(bits.raw(values)):0{values.dtype.itemsize * 2}x}"
        return str(number) if np.isinf(number) else number
    return [_texts(value) for value in np.asarray(values)[:, ...]]


def _float(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, str) and re.fullmatch(f"nan:[0-9a-f]{{{dtype.itemsize * 2}}}", value):
        number = np.array(int(value[4:], 16), f"u{dtype.itemsize}").view(dtype)[()]
        if np.isnan(number):
            return number
    if isinstance(value, str) and value not in SPECIAL:
        raise expected(f"numbers of {dtype}, 'inf', '-inf', or 'nan:' and the bits of a NaN", value)
    try:
        plain = float(SPECIAL.get(value, value))
    except OverflowError:
        raise expected(f"values of {dtype}", value) from None
    with np.errstate(over="ignore"):
        number = dtype.type(plain)
    if np.isinf(number) and not math.isinf(plain):
        raise expected(f"values of {dtype}", value)
    return number
