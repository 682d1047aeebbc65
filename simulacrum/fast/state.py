"""``tensor_state``: the decorator of the fast side's ``State``."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TypeVar

from typing_extensions import dataclass_transform

T = TypeVar("T")


@dataclass_transform()
def tensor_state(cls: type[T]) -> type[T]:
    """Make a class of annotated tensors ([N, ...] each, the spec's state fields) a dataclass.

    ``t`` may be left out when a state is made: the base class sets it. Each field says its shape and dtype in a
    comment, as ``# [N] int64``. The example is a whole fast side.

    Example:
        >>> import torch, simulacrum
        >>> from gymnasium.spaces import Discrete
        >>> @simulacrum.tensor_state
        ... class State:
        ...     left: torch.Tensor  # [N] int64: steps to go
        ...     t: torch.Tensor  # [N] int32: step counter, kept by the base class
        >>> class Countdown(simulacrum.FastEnv[State]):
        ...     environment = simulacrum.Environment(
        ...         "me/countdown-v0", Discrete(2), Discrete(4), max_episode_steps=9
        ...     )
        ...     def initial(self, draw):
        ...         return State(left=torch.full((draw.rows,), 3))
        ...     def transition(self, state, action, draw):
        ...         left = state.left - action
        ...         return State(left=left), self.float32(-1.0).expand(len(left)), left == 0
        ...     def observation(self, state):
        ...         return state.left
        >>> env = Countdown(batch_size=[2])
        >>> td = env.step(env.reset().set("action", torch.tensor([0, 1])))
        >>> td["next", "observation"].tolist()
        [3, 2]
    """
    if "t" in inspect.get_annotations(cls) and not hasattr(cls, "t"):
        cls.t = None  # type: ignore[attr-defined]
    return dataclasses.dataclass(eq=False)(cls)
