"""The ``State`` dataclasses of both sides: how they are found, and how the reference's fields are read and written."""

from __future__ import annotations

import copy
import dataclasses
import operator
import typing
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import SpecError, StateError

CLOCK = ("seed", "episode", "t")
_SCALARS: dict[Any, Callable[[Any], Any]] = {int: operator.index, bool: bool, float: float}
_NUMPY = (np.float32, np.float64, np.int64, np.int32, np.bool_)
SUPPORTED = "int, bool, float, np.float32, np.float64, np.ndarray, or a list or tuple of the scalars"


def state_class(cls: type, base: type) -> type[Any] | None:
    """The ``State`` in ``class X(base[State])``; None where the parameter is still open."""
    for parent in getattr(cls, "__orig_bases__", ()):
        origin = typing.get_origin(parent)
        if isinstance(origin, type) and issubclass(origin, base):
            argument = typing.get_args(parent)[0]
            return argument if isinstance(argument, type) else None
    return None


def field_names(state: type[Any]) -> tuple[str, ...]:
    """The fields of a ``State`` but ``t``, which belongs to the clock. Raises :class:`SpecError` for no dataclass."""
    if not dataclasses.is_dataclass(state):
        raise SpecError(f"{state.__qualname__}: expected a dataclass with the spec's state fields")
    names = tuple(field.name for field in dataclasses.fields(state))
    if "t" not in names:
        raise SpecError(f"{state.__qualname__}: expected a last field t, the step counter that the base class keeps")
    return tuple(name for name in names if name != "t")


def converters(state: type[Any]) -> dict[str, Callable[[Any], Any]]:
    """For each field but ``t``, what makes an array or a number into the type that the field is annotated with."""
    hints = typing.get_type_hints(state)
    return {name: _converter(f"{state.__qualname__}.{name}", hints[name]) for name in field_names(state)}


def read(state: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """A reference state's fields, copied."""
    return {name: copy.deepcopy(getattr(state, name)) for name in names}


def build(state: type[Any], values: Mapping[str, Any], convert: Mapping[str, Callable[[Any], Any]]) -> Any:
    """A reference state from arrays or numbers by field. Raises :class:`StateError` for missing or unknown fields."""
    if values.keys() != convert.keys():
        missing, unknown = set(convert) - set(values), set(values) - set(convert)
        raise StateError(
            f"state: expected the fields {sorted(convert)}; missing {sorted(missing)}, unknown {sorted(unknown)}"
        )
    fields = {}
    for name, function in convert.items():
        try:
            fields[name] = function(values[name])
        except (TypeError, ValueError) as error:
            raise StateError(f"state field {name}: cannot take {values[name]!r}: {error}") from error
    return state(**fields)


def clock_values(clock: Mapping[str, Any]) -> tuple[int, int, int]:
    """(seed, episode, t) of a clock given as numbers or one-element arrays. Raises :class:`StateError` if one lacks."""
    missing = [name for name in CLOCK if name not in clock]
    if missing:
        raise StateError(f"clock: expected {CLOCK}, missing {missing}")
    seed, episode, t = (clock[name] for name in CLOCK)
    if seed.__class__ is episode.__class__ is t.__class__ is int and seed >= 0:
        return seed, episode, t  # as it is on the battery's hot path
    try:
        seed, episode, t = (operator.index(np.asarray(clock[name]).item()) for name in CLOCK)
    except (TypeError, ValueError) as error:
        raise StateError(f"clock: expected integers, got { {name: clock[name] for name in CLOCK} }: {error}") from error
    return seed + (1 << 64) if -(1 << 63) <= seed < 0 else seed, episode, t


def _single(value: Any) -> Any:
    """The number in a scalar, or in an array or tensor of shape ()."""
    array = np.asarray(value)
    if array.ndim:
        raise ValueError(f"expected one number, got the shape {list(array.shape)}")
    return array[()]


def _converter(where: str, hint: Any) -> Callable[[Any], Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is np.ndarray or origin is np.ndarray:
        return lambda value: np.asarray(value).copy()
    if hint in _SCALARS or hint in _NUMPY:
        scalar = _SCALARS.get(hint, hint)
        return lambda value: value if value.__class__ is hint else scalar(_single(value))
    if origin in (list, tuple) and len(set(arguments) - {Ellipsis}) == 1:
        element, container = _converter(where, arguments[0]), origin
        return lambda value: container([element(part) for part in value])
    raise SpecError(f"{where}: expected {SUPPORTED}, got the annotation {hint!r}")
