"""Gymnasium spaces as TorchRL specs: TorchRL's own converter (categorical encoding), its losses mended.

The converter drops a ``start``, knows no multi-axis ``MultiBinary`` or ``MultiDiscrete``, gives a scalar ``Box`` an
axis, and drops bounds close to the ends of an integer dtype. Those become ``Binary`` or ``Bounded`` specs with the
space's exact bounds, shape and dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torchrl.data import Binary, Bounded, BoundedContinuous, Composite, Unbounded
from torchrl.envs.libs.gym import _gym_to_torchrl_spec_transform

from ..spec.observations import parts
from ..spec.spaces import Space

TORCH_DTYPES = {
    name: getattr(torch, name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")
}


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of a NumPy dtype."""
    result: torch.dtype = TORCH_DTYPES[str(np.dtype(dtype))]
    return result


def leaf_spec(space: Space, batch_size: torch.Size, device: torch.device) -> Any:
    """The spec of a space that is no Dict or Tuple, for a batch: shape ``[*batch_size, *space.shape]``."""
    assert space.shape is not None
    return _single(space).to(device).expand(*batch_size, *space.shape)


def _single(space: Space) -> Any:
    if isinstance(space, spaces.Discrete) and space.start != 0:
        return _bounded(space, space.start, space.start + space.n - 1)
    if isinstance(space, spaces.MultiDiscrete) and (space.nvec.ndim != 1 or np.any(space.start != 0)):
        return _bounded(space, space.start, space.start + space.nvec - 1)
    if isinstance(space, spaces.MultiBinary) and len(space.shape) != 1:
        return Binary(n=space.shape[-1] if space.shape else 1, shape=space.shape, dtype=torch_dtype(space.dtype))
    if isinstance(space, spaces.Box):
        return _box(space)
    return _gym_to_torchrl_spec_transform(space, categorical_action_encoding=True)


def _box(space: spaces.Box) -> Any:
    dtype = np.dtype(space.dtype)
    limits = (-np.inf, np.inf) if dtype.kind == "f" else (0, 1) if dtype.kind == "b" else _limits(dtype)
    if np.all(space.low == limits[0]) and np.all(space.high == limits[1]):
        return Unbounded(shape=space.shape, dtype=torch_dtype(dtype))
    half = np.isinf(space.low).any() or np.isinf(space.high).any()
    return _bounded(space, space.low, space.high, HalfBounded if half else Bounded)


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _bounded(space: Space, low: Any, high: Any, kind: Any = Bounded) -> Any:
    dtype = torch_dtype(space.dtype)
    bounds = (torch.as_tensor(np.asarray(bound)).to(dtype) for bound in (low, high))
    return kind(*bounds, shape=space.shape, dtype=dtype)


class _HalfBoundedMeta(type(Bounded)):  # type: ignore[misc]
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        spec = super().__call__(*args, **kwargs)  # makes it a BoundedContinuous, whatever the class
        spec.__class__ = cls
        return spec


class HalfBounded(BoundedContinuous, metaclass=_HalfBoundedMeta):
    """A Box some of whose bounds are infinite, where TorchRL's own spec draws infinities and NaN.

    As Gymnasium does, it draws uniformly between two bounds, exponentially beside one, and normally without any.
    """

    def rand(self, shape: Any = None) -> torch.Tensor:
        """Random elements, ``[*shape, *self.shape]``."""
        low, high = self.space
        size = (*(shape or ()), *self.shape)
        share = torch.rand(size, dtype=self.dtype, device=self.device)
        beside = -torch.log1p(-share)
        free = torch.where(high.isinf(), torch.randn_like(share), high - beside)
        drawn = torch.where(low.isinf(), free, torch.where(high.isinf(), low + beside, low + share * (high - low)))
        return drawn.clamp(low, high)

    def to(self, dest: Any) -> Any:
        """The spec on another device, or of another float dtype."""
        moved = super().to(dest)
        moved.__class__ = type(self)
        return moved


def observation_keys(space: Space) -> dict[str, Space]:
    """The observation's TensorDict keys: a Dict's own, of a Tuple ``("observation", "0")`` and so on, or
    ``observation``. (TorchRL's converter stacks the parts of a Tuple, which have to be alike for that.)"""
    return {part.key: part.space for part in parts(space)}


def done_spec(batch_size: torch.Size, device: torch.device) -> Composite:
    """``done``, ``terminated`` and ``truncated``, each ``[*batch_size, 1]`` bool."""
    flags = {
        name: Binary(n=1, shape=(*batch_size, 1), dtype=torch.bool) for name in ("done", "terminated", "truncated")
    }
    return Composite(flags, shape=batch_size, device=device)


def free_spec(tensor: torch.Tensor, batch_size: torch.Size, device: torch.device) -> Any:
    """An unbounded spec of the dtype and item shape of a tensor ``[N, ...]``."""
    return Unbounded(shape=(*batch_size, *tensor.shape[1:]), dtype=tensor.dtype, device=device)
