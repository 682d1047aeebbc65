"""The parts of a :class:`~.case.Case` as JSON may hold them: each of its form, and all of one number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..fast.env import RESETS
from .records import Record
from .values import decoded, expected

FORMS = ("bare", "TransformedEnv", "VectorEnv Disabled", "VectorEnv SameStep")
CLOCKS = {"clock.seed": np.dtype(np.uint64), "clock.episode": np.dtype(np.int64), "clock.t": np.dtype(np.int64)}
OPTIONS = {"device": str, "resets": str, "compile": bool, "expose_state": bool, "kernel": bool}  # those that checks set
MOST_RESETS = 4096
Parts = dict[str, Any]


def read_parts(content: Any) -> Parts:
    """The values of a case's attributes. Raises ValueError that names the part that is of another form."""
    if not isinstance(content, dict) or content.keys() != PARTS.keys():
        raise ValueError(f"case: {expected(f'an object with {list(PARTS)}', content)}")
    parts = {name: _named(name, read, content[name]) for name, read in PARTS.items()}
    if (parts["starts"] is None) == (parts["seeds"] is None):
        raise ValueError("case: expected either starts or seeds, and null for the other")
    for name, check in (("actions", _check_actions), ("masks", _check_masks), ("watched", _check_watched)):
        _named(name, check, parts)
    return parts


def _named(name: str, function: Callable[[Any], Any], value: Any) -> Any:
    """What a function makes of a part; its error names the part."""
    try:
        return function(value)
    except ValueError as error:
        raise ValueError(f"case.{name}: {error}") from None


# ---------------------------------------------------------------------- each part by itself


def _starts(content: Any) -> Record | None:
    """States and clocks [rows, ...] of at least one row."""
    if content is None:
        return None
    if not isinstance(content, dict) or not all(name.startswith(("state.", "clock.")) for name in content):
        raise expected("null, or an object of state.* and clock.*", content)
    clocks = [name for name in content if name.startswith("clock.")]
    if set(clocks) != CLOCKS.keys():
        raise ValueError(f"expected the clocks {list(CLOCKS)}, got {clocks}")
    record = {name: _rows(name, value) for name, value in content.items()}
    rows = len(record["clock.seed"])
    for name, value in record.items():
        if not rows or len(value) != rows:
            raise ValueError(f"{name}: expected as many rows as clock.seed has, at least one, got {len(value)}")
    for name, dtype in CLOCKS.items():
        _check_form(f"{name}: ", record[name], dtype)
        if name != "clock.seed" and not ((record[name] >= 0) & (record[name] < 2**32)).all():
            raise ValueError(f"{name}: {expected(f'values in 0..{2**32 - 1}', record[name].tolist())}")
    return record


def _rows(name: str, content: Any) -> np.ndarray:
    """An array that has rows; its error names it."""
    try:
        value = decoded(content)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if value is None or not value.ndim:
        raise ValueError(f"{name}: {expected('an array with rows', content)}")
    return value


def _check_form(name: str, value: np.ndarray, dtype: Any) -> None:
    """One value of a dtype for each of at least one row."""
    if value.dtype != dtype or value.ndim != 1 or not len(value):
        form = f"{np.dtype(dtype)} [rows] of at least one row"
        raise ValueError(f"{name}expected {form}, got {value.dtype} {list(value.shape)}")


def _seeds(content: Any) -> np.ndarray | None:
    value = decoded(content)
    if value is not None:
        _check_form("", value, np.uint64)
    return value


def _resets(content: Any) -> int:
    if type(content) is not int or not 0 <= content <= MOST_RESETS:
        raise expected(f"a whole number in 0..{MOST_RESETS}", content)
    return content


def _masks(content: Any) -> tuple[tuple[int, np.ndarray], ...]:
    pairs = content if isinstance(content, list) else [content]
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int:
            raise expected("a list of [step, mask]", content)
    return tuple((step, _rows("mask", mask)) for step, mask in pairs)


def _watched(content: Any) -> np.ndarray | None:
    value = decoded(content)
    if value is not None:
        _check_form("", value, np.int64)
    return value


def _flag(content: Any) -> bool:
    if not isinstance(content, bool):
        raise expected("true or false", content)
    return content


def _form(content: Any) -> str:
    if not isinstance(content, str) or content not in FORMS:
        raise expected(f"one of {FORMS}", content)
    return content


def _options(content: Any) -> dict[str, Any]:
    for name, value in _object(content).items():
        if name not in OPTIONS:
            raise expected(f"options of {list(OPTIONS)}", name)
        if name == "resets" and value not in RESETS:
            raise ValueError(f"{name}: {expected(f'one of {RESETS}', value)}")
        if not isinstance(value, OPTIONS[name]):
            raise ValueError(f"{name}: {expected(f'a {OPTIONS[name].__name__}', value)}")
    return _object(content)


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise expected("an object", content)
    return content


# ---------------------------------------------------------------------- the parts together


def _count(parts: Parts) -> int:
    """How many rows there are."""
    return len(parts["seeds"] if parts["starts"] is None else parts["starts"]["clock.seed"])


def _check_actions(parts: Parts) -> None:
    value, rows = parts["actions"], _count(parts)
    if value is not None and (value.ndim < 2 or value.shape[1] != rows):
        raise ValueError(f"expected the shape [steps, {rows}, ...], got {list(value.shape)}")


def _check_masks(parts: Parts) -> None:
    steps, rows = 0 if parts["actions"] is None else len(parts["actions"]), _count(parts)
    for step, mask in parts["masks"]:
        if not 0 <= step <= steps:
            raise expected(f"steps in 0..{steps}", step)
        if mask.dtype != np.bool_ or mask.shape != (rows,):
            raise ValueError(f"expected masks bool [{rows}], got {mask.dtype} {list(mask.shape)}")


def _check_watched(parts: Parts) -> None:
    value, rows = parts["watched"], _count(parts)
    if value is not None and (len(set(value.tolist())) < len(value) or value.min() < 0 or value.max() >= rows):
        raise expected(f"different rows in 0..{rows - 1}", value.tolist())


PARTS: dict[str, Callable[[Any], Any]] = {
    "starts": _starts,
    "actions": decoded,
    "seeds": _seeds,
    "resets": _resets,
    "masks": _masks,
    "watched": _watched,
    "fused": _flag,
    "form": _form,
    "options": _options,
    "constants": _object,
    "laws": _flag,
}
