"""Refuses an action that is no element of its space, and says which row."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor

from ..errors import ActionError
from ..spec.spaces import Space
from .specs import torch_dtype


class ActionChecker:
    """Checks ``[N, *space.shape]`` actions: shape, dtype and device always, values where asked for."""

    def __init__(self, space: Space, device: torch.device) -> None:
        self.space, self.device = space, device
        self.dtype = torch_dtype(space.dtype)
        self.item_shape = torch.Size(space.shape or ())
        self.low, self.high = self._bounds()
        self.scalar_bounds = None
        if self.low.ndim == self.high.ndim == 0 and self.dtype != torch.bool:
            self.scalar_bounds = self.low.item(), self.high.item()

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
            raise ActionError(
                "action: the TensorDict has no 'action', or of many agents no ('agents', 'action') (write one, or call "
                "env.rand_action)"
            )
        shape = batch_size + self.item_shape
        if action.shape != shape or action.dtype != self.dtype or action.device.type != self.device.type:
            raise ActionError(
                f"action: expected shape {tuple(shape)}, {self.dtype} on {self.device}, "
                f"got shape {tuple(action.shape)}, {action.dtype} on {action.device}"
            )
        return action

    def check_values(self, action: Tensor) -> None:
        """Raise :class:`ActionError` that names the first row of ``[N, ...]`` outside the space. NaN is outside."""
        if self.scalar_bounds is not None:
            least, most = torch.aminmax(action)  # NaN where there is one, which no comparison lets pass
            if self.scalar_bounds[0] <= least.item() and most.item() <= self.scalar_bounds[1]:
                return
        inside = (action >= self.low) & (action <= self.high)
        if bool(inside.all()):
            return
        row = int((~inside.reshape(inside.shape[0], -1).all(-1)).nonzero()[0, 0])
        raise ActionError(f"action: expected elements of {self.space}, got {action[row].tolist()} in row {row}")


class ArrayActions(ActionChecker):
    """The actions of N rows as they come from NumPy code: arrays or lists ``[N, *space.shape]``.

    Taken is what loses nothing: the space's dtype, dtypes that cast to it safely, and integers of any width that hold
    values of an integer space. A list's numbers have no dtype: they become the space's, but never floats integers.

    Attributes:
        neutral: the element of the space that is nearest to zero, or a scalar that broadcasts to it.
    """

    def __init__(self, space: Space, num_envs: int) -> None:
        super().__init__(space, torch.device("cpu"))
        self.shape = (num_envs, *(space.shape or ()))
        self.numpy_dtype: np.dtype[Any] = np.dtype(space.dtype)
        zero = np.zeros((), self.numpy_dtype)
        self.neutral = np.minimum(np.maximum(zero, self.low.numpy()), self.high.numpy())

    def convert(self, actions: Any, ignored: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """``actions`` as a new array of the space's dtype; rows that are ``ignored`` (bool [N]) need not fit it.

        Raises :class:`ActionError` for another shape, or a dtype that would lose.
        """
        dtype = self.numpy_dtype
        try:
            array = np.asarray(actions)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ActionError(f"actions: expected {dtype} of shape {self.shape}, got no array: {error}") from error
        if array.shape != self.shape:
            raise ActionError(f"actions: expected shape {self.shape}, got {array.shape}")
        if array.dtype != dtype and not np.can_cast(array.dtype, dtype):
            listed = not hasattr(actions, "dtype")
            if dtype.kind in "iu" and array.dtype.kind in "iu":
                self._check_width(array, ignored)
            elif not (listed and dtype.kind == "f" and array.dtype.kind in "iuf"):
                raise ActionError(
                    f"actions: expected {dtype} for {self.space}, got {array.dtype}; "
                    f"if that loses nothing, pass actions.astype(numpy.{dtype})"
                )
        return np.array(array, dtype, order="C")

    def _check_width(self, array: NDArray[Any], ignored: NDArray[np.bool_] | None) -> None:
        """Raise :class:`ActionError` for integers that the space's dtype cannot hold."""
        limits = np.iinfo(self.numpy_dtype)
        outside = ((array < limits.min) | (array > limits.max)).reshape(array.shape[0], -1).any(-1)
        if ignored is not None:
            outside &= ~ignored
        if outside.any():
            row = int(outside.argmax())
            raise ActionError(f"action: expected elements of {self.space}, got {array[row].tolist()} in row {row}")
