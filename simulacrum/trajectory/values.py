"""Values as JSON holds them, and back: integers beyond 2**53 as strings, since most readers hold numbers as float64."""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..spec.package import Package
from .records import TrajectoryError

EXACT = 1 << 53
BIG = re.compile(r"-?[1-9][0-9]{15,}")


def plain(value: Any) -> Any:
    """Arrays, NumPy scalars and containers as JSON values."""
    kind = value.__class__
    if kind is int:
        return value if -EXACT <= value <= EXACT else str(value)
    if kind is float or kind is bool or kind is str or value is None:
        return value
    if isinstance(value, np.ndarray):
        small = value.dtype.kind not in "iu" or value.dtype.itemsize < 8
        return value.tolist() if small else plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    raise TrajectoryError(f"a trajectory holds numbers, texts, lists and dicts, got {value!r}")


def dumps(value: Any) -> str:
    """JSON of one line. Raises :class:`TrajectoryError` for NaN and infinities, naming the place."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise TrajectoryError(f"JSON has no number for what is at {_unfit(value)}") from None


def loads(text: str | bytes) -> Any:
    """The value of some JSON. Raises ValueError, also for NaN, infinities and what is nested too deeply."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def big(value: Any) -> Any:
    """The integer that a string stands for; anything else as it is."""
    if isinstance(value, str) and len(value) <= 21 and BIG.fullmatch(value) and abs(int(value)) > EXACT:
        return int(value)
    return value


def as_arrays(package: Package, state: dict[str, Any]) -> SimpleNamespace:
    """A state of a file as renderers take it: the spec's fields as attributes, each in its dtype and shape."""
    fields = package.spec.fields
    return SimpleNamespace(**{name: np.array(state[name], fields[name].dtype)[()] for name in fields})


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _unfit(value: Any, place: str = "") -> str:
    """The JSON pointer of the first NaN or infinity, with it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place or '/'}: {value}"
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for name, part in parts if (found := _unfit(part, f"{place}/{name}"))), "")
