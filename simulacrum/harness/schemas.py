"""What a package's ``schema.json`` takes and refuses, found by trying."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import numpy as np

from ..spec import Package
from .laws import bounds
from .records import plain

Broken = Iterator[tuple[str, Any]]
PLACES = 64  # of an array that are tried
FAR = 1e6  # stands for a bound that is none


def validator(package: Package, name: str) -> Any:
    """A validator of the schema's definition ``$defs/<name>``."""
    schema = json.loads(package.files["schema.json"])
    return jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{name}"})


def broken(value: Any, name: str = "") -> Broken:
    """(What is wrong, the whole with it) for each part of some JSON: the part missing, or of another type. Of a list
    the first element is broken."""
    others: list[Any] = [None, 5 if isinstance(value, str) else "text"]
    if isinstance(value, bool):
        others.append(1)
    elif isinstance(value, int):
        others.append(0.5)
    for other in others:
        yield f"{name or 'the whole'} is {json.dumps(other)}", other
    if isinstance(value, dict):
        for key, part in value.items():
            place = f"{name}.{key}".lstrip(".")
            yield f"{place} is missing", {one: kept for one, kept in value.items() if one != key}
            for what, other in broken(part, place):
                yield what, {**value, key: other}
    elif isinstance(value, list) and value:
        for what, other in broken(value[0], f"{name}.0".lstrip(".")):
            yield what, [other, *value[1:]]


def actions(space: Any) -> list[Any]:
    """The least and the greatest element of an action space as JSON; of floats those beside the bounds, which may be
    rounded otherwise in the schema."""
    return [plain(end) for end in _inside(space)]


def no_actions(space: Any) -> Broken:
    """(What is wrong, something that is no element): of another type, of another length, beyond a bound."""
    ends = _inside(space)
    least = plain(ends[0])
    yield from broken(least, "action")
    if isinstance(least, list):
        yield "it has an element less", least[:-1]
        yield "it has an element more", [*least, least[-1]]
    for inside, outside in zip(ends, _outside(space), strict=True):
        for place in _places(inside.shape):
            if np.isfinite(outside[place]):
                wrong = inside.astype(outside.dtype)
                wrong[place] = outside[place]
                yield f"{plain(wrong)} is beyond a bound", plain(wrong)


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The places of an array; of a large one the first, the last and some between."""
    size = int(np.prod(shape))
    chosen = np.unique(np.linspace(0, size - 1, min(size, PLACES)).astype(np.int64))
    return [tuple(int(part) for part in np.unravel_index(number, shape)) for number in chosen.tolist()]


def _inside(space: Any) -> list[np.ndarray]:
    low, high = (np.broadcast_to(bound, space.shape or ()) for bound in bounds(space))
    if low.dtype.kind != "f":
        return [low, high]
    return [np.clip(np.nextafter(one, other), -FAR, FAR) for one, other in ((low, high), (high, low))]


def _outside(space: Any) -> list[np.ndarray]:
    low, high = (np.broadcast_to(bound, space.shape or ()) for bound in bounds(space))
    if low.dtype.kind != "f":
        return [np.asarray(low.astype(np.int64) - 1), np.asarray(high.astype(np.int64) + 1)]
    return [np.nextafter(one, np.asarray(end, one.dtype)) for one, end in ((low, -np.inf), (high, np.inf))]
