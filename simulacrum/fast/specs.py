"""Gymnasium spaces as TorchRL specs: TorchRL's own converter (categorical encoding), its losses mended.

The converter drops a ``start``, knows no multi-axis ``MultiBinary`` or ``MultiDiscrete``, and gives a scalar ``Box`` an
axis. Those become ``Binary`` or ``Bounded`` specs with the space's exact bounds, shape and dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torchrl.data import Binary, Bounded, Composite, Unbounded
from torchrl.envs.libs.gym import _gym_to_torchrl_spec_transform

from ..spec.spaces import Space

TORCH_DTYPES = {
    name: getattr(torch, name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")
}


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of a NumPy dtype."""
    result: torch.dtype = TORCH_DTYPES[str(np.dtype(dtype))]
    return result


def leaf_spec(space: Space, batch_size: torch.Size, device: torch.device) -> Any:
    """The spec of a space that is no Dict, for a batch: shape ``[*batch_size, *space.shape]``."""
    assert space.shape is not None
    return _single(space).to(device).expand(*batch_size, *space.shape)


def _single(space: Space) -> Any:
    if isinstance(space, spaces.Discrete) and space.start != 0:
        return _bounded(space, space.start, space.start + space.n - 1)
    if isinstance(space, spaces.MultiDiscrete) and (space.nvec.ndim != 1 or np.any(space.start != 0)):
        return _bounded(space, space.start, space.start + space.nvec - 1)
    if isinstance(space, spaces.MultiBinary) and len(space.shape) != 1:
        return Binary(n=space.shape[-1] if space.shape else 1, shape=space.shape, dtype=torch_dtype(space.dtype))
    if isinstance(space, spaces.Box) and space.shape == ():
        if np.isinf(space.low) and np.isinf(space.high):
            return Unbounded(shape=(), dtype=torch_dtype(space.dtype))
        return _bounded(space, space.low, space.high)
    return _gym_to_torchrl_spec_transform(space, categorical_action_encoding=True)


def _bounded(space: Space, low: Any, high: Any) -> Any:
    dtype = torch_dtype(space.dtype)
    bounds = (torch.as_tensor(np.asarray(bound)).to(dtype) for bound in (low, high))
    return Bounded(*bounds, shape=space.shape, dtype=dtype)


def observation_keys(space: Space) -> dict[str, Space]:
    """The observation's TensorDict keys: a Dict's own, or ``observation``."""
    return dict(space.spaces) if isinstance(space, spaces.Dict) else {"observation": space}


def done_spec(batch_size: torch.Size, device: torch.device) -> Composite:
    """``done``, ``terminated`` and ``truncated``, each ``[*batch_size, 1]`` bool."""
    flags = {
        name: Binary(n=1, shape=(*batch_size, 1), dtype=torch.bool) for name in ("done", "terminated", "truncated")
    }
    return Composite(flags, shape=batch_size, device=device)


def free_spec(tensor: torch.Tensor, batch_size: torch.Size, device: torch.device) -> Any:
    """An unbounded spec of the dtype and item shape of a tensor ``[N, ...]``."""
    return Unbounded(shape=(*batch_size, *tensor.shape[1:]), dtype=tensor.dtype, device=device)
