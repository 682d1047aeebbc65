"""``MadeSpecs``: the TorchRL specs of a ``FastEnv``, from its spaces; those of many agents in a group."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase

from ..spec.agents import GROUP
from ..spec.environment import Environment
from ..spec.state import CLOCK
from .core import INFO
from .specs import done_spec, free_spec, leaf_spec, observation_keys


class MadeSpecs(EnvBase):
    """The part of :class:`~simulacrum.FastEnv` that declares specs."""

    environment: ClassVar[Environment]
    expose_state: bool
    _agents: int | None
    _reward_dtype: torch.dtype
    _field_forms: dict[Any, tuple[torch.dtype, tuple[int, ...]]]
    _observation_forms: dict[Any, tuple[torch.dtype, tuple[int, ...]]]

    def _make_specs(self) -> None:
        size, device = self.batch_size, self.device
        each = self._group_size("" if self._agents is None else GROUP)
        seen = {key: leaf_spec(space, each, device) for key, space in observation_keys(self._space).items()}
        action = leaf_spec(self.environment.agent_action_space, each, device)
        reward = Unbounded(shape=(*each, 1), dtype=self._reward_dtype, device=device)
        observation = Composite(shape=size, device=device)
        for key, spec in self._grouped(seen).items():
            observation[key] = spec
        for key, (dtype, shape) in self._observation_forms.items():
            if key == "action_mask" or dtype == torch.bool:
                observation[key] = Binary(shape=(*size, *shape), dtype=torch.bool, device=device)
            elif isinstance(key, tuple) and key[0] == INFO:
                observation[key] = Unbounded(shape=(*size, *shape), dtype=dtype, device=device)
        self.action_spec = action if self._agents is None else Composite(self._grouped({"action": action}), shape=size)
        self.reward_spec = reward if self._agents is None else Composite(self._grouped({"reward": reward}), shape=size)
        self.done_spec = done_spec(size, device)
        if self.expose_state:
            for keeper in (observation, self.state_spec):
                for name, (dtype, shape) in self._field_forms.items():
                    keeper["state", name] = free_spec(torch.empty((1, *shape), dtype=dtype), size, device)
                for name in CLOCK:
                    keeper["clock", name] = free_spec(torch.empty(1, dtype=torch.int64), size, device)
        self.observation_spec = observation
        self._nested = any(isinstance(key, tuple) for key in self._observation_forms)
        first = (key[0] if isinstance(key, tuple) else key for key in self._observation_forms)
        self._usual_keys = frozenset([*first, "done", "terminated", "truncated", "action", "state", "clock"])

    def _grouped(self, leaves: dict[str, Any]) -> dict[str, Any]:
        """Specs by key, under the agents' key where there are many."""
        if self._agents is None:
            return leaves
        return {GROUP: Composite(leaves, shape=self._group_size(GROUP), device=self.device)}

    def _group_size(self, name: str) -> torch.Size:
        """The batch size of a TensorDict in the environment's own: the agents have an axis more."""
        if name != GROUP or self._agents is None:
            return self.batch_size
        return torch.Size([*self.batch_size, self._agents])

    @property
    def _space(self) -> Any:
        return self.environment.agent_observation_space
