"""Many agents in one instance: joint spaces, whose first axis is over the agents, and one agent's part of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import SpaceError, SpecError
from .spaces import Space

GROUP = "agents"  # the TensorDict key of what agents see, do and get


def check_agents(agents: Any, action_space: Space, observation_space: Space) -> None:
    """Raise :class:`SpecError` or :class:`SpaceError` unless both spaces are those of so many agents who are alike."""
    if isinstance(agents, bool) or not isinstance(agents, int) or agents < 1:
        raise SpecError(f"agents: expected None or an int of 1 or more, got {agents!r}")
    if isinstance(observation_space, spaces.Tuple):
        raise SpaceError("observation space: expected an array or a Dict where there are many agents, got a Tuple")
    parts = {"action space": action_space, "observation space": observation_space}
    if isinstance(observation_space, spaces.Dict):
        del parts["observation space"]
        parts |= {f"observation space, key {key!r}": part for key, part in observation_space.spaces.items()}
    for where, space in parts.items():
        if not space.shape or space.shape[0] != agents:
            raise SpaceError(f"{where}: expected a first axis of {agents}, one element an agent, got {space}")
        if not all(np.array_equal(bound, np.broadcast_to(bound[:1], bound.shape)) for bound in _bounds(space)):
            raise SpaceError(f"{where}: expected agents whose spaces are alike, got {space}")


def agent_space(space: Space) -> Space:
    """One agent's part of a joint space: ``Discrete(4)`` of ``MultiDiscrete([4, 4])``, a Box without its first axis."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: agent_space(part) for key, part in space.spaces.items()})
    if isinstance(space, spaces.Box):
        return spaces.Box(space.low[0], space.high[0], space.shape[1:], space.dtype.type)
    if isinstance(space, spaces.MultiBinary):
        rest = space.shape[1:]
        return spaces.MultiBinary(rest if len(rest) > 1 else rest[0]) if rest else spaces.Discrete(2, dtype=np.int8)
    assert isinstance(space, spaces.MultiDiscrete)
    if space.nvec.ndim > 1:
        return spaces.MultiDiscrete(space.nvec[0], space.dtype.type, start=space.start[0])
    return spaces.Discrete(int(space.nvec[0]), start=int(space.start[0]), dtype=space.dtype.type)


def _bounds(space: Space) -> tuple[np.ndarray, ...]:
    if isinstance(space, spaces.Box):
        return space.low, space.high
    return (space.nvec, space.start) if isinstance(space, spaces.MultiDiscrete) else ()
