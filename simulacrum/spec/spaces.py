"""Which spaces are supported, and the arrays that hold their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import SpaceError

Space = spaces.Space[Any]

BOX_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")
SUPPORTED_ACTIONS = "Discrete, MultiDiscrete, MultiBinary or Box"
SUPPORTED_OBSERVATIONS = "Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or a Tuple of these"
SUPPORTED_PARTS = "Box, Discrete, MultiDiscrete or MultiBinary (a Dict or a Tuple holds no other)"

RESERVED = (
    *("action", "reward", "done", "terminated", "truncated", "next", "_reset", "_step"),
    *("state", "clock", "action_mask", "info"),
)


def check_action_space(space: object) -> None:
    """Raise :class:`SpaceError` unless the space is one of those that an action may have."""
    supported = SUPPORTED_ACTIONS
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        supported += " (many choices are a MultiDiscrete or a Box; Dict and Tuple are for observations)"
    _check_leaf(space, "action space", supported)


def check_observation_space(space: object) -> None:
    """Raise :class:`SpaceError` unless the space is one of those that an observation may have."""
    if not isinstance(space, (spaces.Dict, spaces.Tuple)):
        _check_leaf(space, "observation space", SUPPORTED_OBSERVATIONS)
        return
    if not space.spaces:
        raise SpaceError(f"observation space: expected {SUPPORTED_OBSERVATIONS}, got an empty {type(space).__name__}")
    if isinstance(space, spaces.Tuple):
        for place, part in enumerate(space.spaces):
            _check_leaf(part, f"observation space, [{place}]", SUPPORTED_PARTS)
        return
    for key, part in space.spaces.items():
        if not isinstance(key, str):
            raise SpaceError(f"observation space: expected keys that are strings, got {key!r}")
        if key in RESERVED:
            raise SpaceError(f"observation space: the key {key!r} is TorchRL's or the framework's own; choose another")
        _check_leaf(part, f"observation space, key {key!r}", SUPPORTED_PARTS)


def _check_leaf(space: object, where: str, supported: str) -> None:
    if not isinstance(space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
        raise SpaceError(f"{where}: expected {supported}, got {space!r}")
    if str(space.dtype) not in BOX_DTYPES:
        raise SpaceError(f"{where}: expected one of the dtypes {', '.join(BOX_DTYPES)}, got {space.dtype}")


def same_space(one: Space, other: Space) -> bool:
    """Equal in kind, shape, dtype and bounds. (Gymnasium's own ``==`` rounds Box bounds.)"""
    if isinstance(one, spaces.Dict) and isinstance(other, spaces.Dict):
        return list(one) == list(other) and all(same_space(one[key], other[key]) for key in one)
    if isinstance(one, spaces.Tuple) and isinstance(other, spaces.Tuple):
        return len(one) == len(other) and all(map(same_space, one.spaces, other.spaces))
    if type(one) is not type(other) or one.shape != other.shape or one.dtype != other.dtype:
        return False
    if isinstance(one, spaces.Box) and isinstance(other, spaces.Box):
        return np.array_equal(one.low, other.low) and np.array_equal(one.high, other.high)
    return bool(one == other)
