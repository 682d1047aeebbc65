"""Refuses an action that is no element of its space, and says which row."""

from __future__ import annotations

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from ..errors import ActionError
from ..spec.spaces import Space
from .specs import torch_dtype


class ActionChecker:
    """Checks ``[N, *space.shape]`` actions: shape, dtype and device always, values where asked for."""

    def __init__(self, space: Space, device: torch.device) -> None:
        self.space, self.device = space, device
        self.dtype = torch_dtype(space.dtype)
        self.low, self.high = self._bounds()

    def _bounds(self) -> tuple[Tensor, Tensor]:
        space = self.space
        low: np.ndarray | int
        high: np.ndarray | int
        if isinstance(space, spaces.Box):
            low, high = space.low, space.high
        elif isinstance(space, spaces.Discrete):
            low, high = int(space.start), int(space.start + space.n - 1)
        elif isinstance(space, spaces.MultiDiscrete):
            low, high = space.start, space.start + space.nvec - 1
        else:
            low, high = 0, 1
        return tuple(torch.as_tensor(bound).to(self.dtype).to(self.device) for bound in (low, high))  # type: ignore[return-value]

    def check_form(self, action: Tensor | None, batch_size: torch.Size) -> Tensor:
        """``action`` if it is a tensor of the right shape, dtype and device; else :class:`ActionError`."""
        if action is None:
            raise ActionError("action: the TensorDict has no 'action' (write one, or call env.rand_action)")
        shape = (*batch_size, *(self.space.shape or ()))
        if action.shape != shape or action.dtype != self.dtype or action.device.type != self.device.type:
            raise ActionError(
                f"action: expected shape {tuple(shape)}, {self.dtype} on {self.device}, "
                f"got shape {tuple(action.shape)}, {action.dtype} on {action.device}"
            )
        return action

    def check_values(self, action: Tensor) -> None:
        """Raise :class:`ActionError` that names the first row of ``[N, ...]`` outside the space. NaN is outside."""
        inside = (action >= self.low) & (action <= self.high)
        if bool(inside.all()):
            return
        row = int((~inside.reshape(inside.shape[0], -1).all(-1)).nonzero()[0, 0])
        raise ActionError(f"action: expected elements of {self.space}, got {action[row].tolist()} in row {row}")
