"""Values as JSON holds them, and back: integers beyond 2**53 as strings, since most readers hold numbers as float64."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..spec.package import Package
from .records import TrajectoryError

EXACT = 1 << 53
BIG = re.compile(r"-?[1-9][0-9]{15,}")
SUSPICIOUS = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{20}")  # in the text of numbers that may be too large
DEEPEST = 64  # lists and dicts in each other
TOO_DEEP = "it is nested too deeply"


def plain(value: Any) -> Any:
    """Arrays, NumPy scalars and containers as JSON values."""
    kind = value.__class__
    if kind is int:
        return value if -EXACT <= value <= EXACT else str(value)
    if kind is float or kind is bool or kind is str or value is None:
        return value
    if isinstance(value, np.ndarray):
        return value.tolist() if _exact(value) else plain(value.tolist())
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
    """The value of some JSON in UTF-8. Raises ValueError, also for NaN, infinities, numbers that neither float64 nor 64
    bits hold, and what is nested deeper than ``DEEPEST``."""
    text = text if isinstance(text, str) else text.decode()
    hooks: dict[str, Any] = {"parse_float": _finite, "parse_int": _word} if SUSPICIOUS.search(text) else {}
    try:
        value = json.loads(text, parse_constant=_no_number, **hooks)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(value)
    return value


def big(value: Any) -> Any:
    """The integer that a string stands for; anything else as it is."""
    if isinstance(value, str) and len(value) <= 21 and BIG.fullmatch(value) and abs(int(value)) > EXACT:
        return int(value)
    return value


def as_arrays(package: Package, state: dict[str, Any]) -> SimpleNamespace:
    """A state of a file as renderers take it: the spec's fields as attributes, each in its dtype and shape.

    Raises :class:`TrajectoryError` as :func:`stacked`.
    """
    rows = stacked(package, [state])
    return SimpleNamespace(**{name: values[0] for name, values in vars(rows).items()})


def stacked(package: Package, states: Sequence[dict[str, Any]]) -> SimpleNamespace:
    """N states of a file as ``checks.py`` takes them: the spec's fields as attributes, arrays [N, ...] in their dtypes.

    Raises :class:`TrajectoryError` for what a field cannot hold, which a package's schema may let pass.
    """
    made = {}
    for name, field in package.spec.fields.items():
        try:
            with np.errstate(over="ignore"):
                made[name] = np.array([state[name] for state in states], field.dtype).reshape(len(states), *field.shape)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise TrajectoryError(f"state field {name}: expected {field.dtype} {list(field.shape)}: {error}") from None
    return SimpleNamespace(**made)


def _exact(values: np.ndarray) -> bool:
    """Whether no element is an integer beyond 2**53."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return True
    return bool(values.min() >= -EXACT and values.max() <= EXACT)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{_head(text)} is beyond float64")
    return value


def _word(text: str) -> int:
    if len(text) > 20 or not -(1 << 63) <= int(text) < 1 << 64:
        raise ValueError(f"{_head(text)} is no integer of 64 bits")
    return int(text)


def _head(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}... ({len(text)} characters)"


def _check_depth(value: Any) -> None:
    """Raise ValueError for lists and dicts that are nested too deeply: what goes through them does so by recursion."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ValueError(TOO_DEEP)
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [part for parts in inside for part in parts if part.__class__ is list or part.__class__ is dict]


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _unfit(value: Any, place: str = "") -> str:
    """The JSON pointer of the first NaN or infinity, with it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place or '/'}: {value}"
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for name, part in parts if (found := _unfit(part, f"{place}/{name}"))), "")
