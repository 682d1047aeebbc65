"""The spaces that both sides must take, one of each kind and the odd ones, and some that they must refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

INF = np.inf
LEAVES: list[spaces.Space[Any]] = [
    spaces.Discrete(4),
    spaces.Discrete(4, start=-2),
    spaces.Discrete(4, dtype=np.int32),
    spaces.MultiDiscrete([3, 4]),
    spaces.MultiDiscrete([3, 3]),
    spaces.MultiDiscrete([3, 4], dtype=np.int32),
    spaces.MultiDiscrete([3, 4], start=[1, -2]),
    spaces.MultiDiscrete([[3, 4], [2, 5]]),
    spaces.MultiBinary(3),
    spaces.MultiBinary([2, 3]),
    spaces.Box(-1.0, 2.0, (2,), np.float32),
    spaces.Box(-1.0, 9.0, (2, 1), np.float64),
    spaces.Box(-1.0, 2.0, (), np.float32),
    spaces.Box(-5, 5, (), np.int64),
    spaces.Box(-3, 5, (2,), np.int32),
    spaces.Box(-128, 127, (2,), np.int8),
    spaces.Box(-300, 300, (2,), np.int16),
    spaces.Box(0, 255, (2, 2), np.uint8),
    spaces.Box(-(2**31) + 9, 2**31 - 9, (2,), np.int32),
    spaces.Box(np.zeros(2, np.bool_), np.ones(2, np.bool_), dtype=np.bool_),
    spaces.Box(-INF, INF, (2,), np.float32),
    spaces.Box(np.array([-1, -INF, -1, -INF], np.float32), np.array([INF, INF, 2, 2], np.float32)),
]
ACTIONS = LEAVES
OBSERVATIONS = [
    *LEAVES,
    spaces.Dict({f"part {number}": space for number, space in enumerate(LEAVES)}),
    spaces.Dict({"observation": spaces.Discrete(3)}),
    spaces.Tuple(LEAVES),
    spaces.Tuple([spaces.Discrete(3, start=1)]),
]
NESTED = [  # an observation may have them, but neither an action nor a part of an observation
    spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]),
    spaces.Dict({"one": spaces.Discrete(2)}),
]
REFUSED = [
    spaces.Text(5),
    spaces.Sequence(spaces.Discrete(2)),
    spaces.Graph(spaces.Box(-1.0, 1.0, (2,), np.float32), None),
    spaces.OneOf([spaces.Discrete(2), spaces.Discrete(3)]),
    spaces.Box(0, 9, (2,), np.uint16),
    spaces.Box(0, 9, (2,), np.uint64),
    spaces.Box(0.0, 1.0, (2,), np.float16),
    spaces.Discrete(3, dtype=np.uint32),
]


def identify(value: Any) -> str:
    """A space on one line, as the name of a test."""
    return " ".join(str(value).split())[:60]
