"""Arrays as JSON with every bit kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import bits

SPECIAL = {"inf": np.inf, "-inf": -np.inf}


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


def decoded(content: Mapping[str, Any] | None) -> np.ndarray | None:
    """The array that :func:`encoded` was given."""
    if content is None:
        return None
    dtype, shape = np.dtype(content["dtype"]), tuple(content["shape"])
    if dtype.kind != "f":
        return np.array(content["values"], dtype).reshape(shape)
    flat = np.array(content["values"], object).ravel()
    return np.array([_float(value, dtype) for value in flat], dtype).reshape(shape)


def _texts(values: np.ndarray) -> Any:
    """Nested lists in which the values that JSON lacks are texts."""
    if not values.shape:
        number = float(values)
        if np.isnan(number):
            return f"nan:{int(bits.raw(values)):0{values.dtype.itemsize * 2}x}"
        return str(number) if np.isinf(number) else number
    return [_texts(value) for value in np.asarray(values)[:, ...]]


def _float(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, str) and value.startswith("nan:"):
        return np.array(int(value[4:], 16), f"u{dtype.itemsize}").view(dtype)[()]
    return dtype.type(SPECIAL.get(value, value))
