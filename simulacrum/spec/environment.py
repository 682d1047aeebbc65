"""``Environment``: what a package declares about itself, in its ``__init__.py``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from ..errors import SpecError
from ..rng import Phase
from .agents import agent_space, check_agents
from .spaces import Space, check_action_space, check_observation_space

ID_PATTERN = re.compile(r"(?:(?P<namespace>[\w-]+)/)?(?P<name>[\w.-]+?)-v(?P<version>\d+)")


class NoSlots(IntEnum):
    """The slots of an environment that never draws."""


@dataclass(frozen=True)
class Environment:
    """An environment's ID, spaces, step cap and slots.

    Args:
        id: ``<namespace>/<name>-v<k>``.
        action_space: Discrete, MultiDiscrete, MultiBinary or Box.
        observation_space: Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or a Tuple of these.
        max_episode_steps: the step cap, at which the base classes truncate; None for no cap.
        slots: the IntEnum of random decisions, values 0..239.
        reset_slots: the members that are drawn at a reset; the others are drawn at a step.
        reward_dtype: float32 (the default) or float64.
        agents: how many agents share an instance; None for one agent. The first axis of both spaces is then over the
            agents, whose spaces are alike: ``MultiDiscrete([4] * agents)`` for a ``Discrete(4)`` each.

    Raises:
        SpaceError: a space that is not supported.
        SpecError: anything else that is out of place.

    Example:
        >>> import numpy as np
        >>> from gymnasium.spaces import Box, Discrete
        >>> from simulacrum import Environment
        >>> walk = Environment("me/walk-v0", Discrete(2), Box(-1.0, 1.0, (2,), np.float32), max_episode_steps=60)
        >>> walk.reward_dtype, walk.agents
        (dtype('float32'), None)
    """

    id: str
    action_space: Space
    observation_space: Space
    max_episode_steps: int | None
    slots: type[IntEnum] = NoSlots
    reset_slots: Set[IntEnum] = frozenset()
    reward_dtype: Any = np.float32
    agents: int | None = None
    reset_phase: Phase = field(init=False, repr=False, compare=False)
    step_phase: Phase = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not ID_PATTERN.fullmatch(self.id):
            raise SpecError(f"id: expected <namespace>/<name>-v<k>, got {self.id!r}")
        check_action_space(self.action_space)
        check_observation_space(self.observation_space)
        cap = self.max_episode_steps
        if cap is not None and (not isinstance(cap, int) or not 1 <= cap < 1 << 32):
            raise SpecError(f"max_episode_steps: expected None or an int in 1..2**32-1, got {cap!r}")
        if not set(self.reset_slots) <= set(self.slots):
            raise SpecError(f"reset_slots: expected members of {self.slots.__name__}, got {set(self.reset_slots)}")
        dtype = np.dtype(self.reward_dtype)
        if dtype not in (np.float32, np.float64):
            raise SpecError(f"reward_dtype: expected float32 or float64, got {dtype}")
        object.__setattr__(self, "reward_dtype", dtype)
        if self.agents is not None:
            check_agents(self.agents, self.action_space, self.observation_space)
        object.__setattr__(self, "reset_phase", Phase("reset", self.reset_slots))
        object.__setattr__(self, "step_phase", Phase("step", set(self.slots) - set(self.reset_slots)))

    @property
    def agent_action_space(self) -> Space:
        """One agent's action space; the whole one where there is one agent."""
        return self.action_space if self.agents is None else agent_space(self.action_space)

    @property
    def agent_observation_space(self) -> Space:
        """One agent's observation space; the whole one where there is one agent."""
        return self.observation_space if self.agents is None else agent_space(self.observation_space)

    def __deepcopy__(self, memo: dict[int, Any]) -> Environment:
        return self  # frozen, and shared by every instance


def has_body(namespace: Mapping[str, Any]) -> bool:
    """Whether a class comes with its body. cloudpickle makes an empty one first, and fills it in afterwards."""
    return "__qualname__" in namespace or "environment" in namespace


def check_environment(cls: type) -> None:
    """Raise :class:`SpecError` unless a class that is no base declares an ``environment``."""
    if not isinstance(getattr(cls, "environment", None), Environment):
        raise SpecError(
            f"{cls.__name__}.environment: expected a simulacrum.Environment (see the package's __init__.py)"
        )
