"""Copies of TensorDicts with every bit."""

from __future__ import annotations

import torch
from tensordict import TensorDictBase


def duplicate(data: TensorDictBase) -> TensorDictBase:
    """A TensorDict of new tensors with the same bits.

    ``TensorDict.clone()`` of tensordict 0.14 adds 0 where there is a device, which makes 0.0 of -0.0.
    """
    copy: TensorDictBase = data.apply(torch.clone, filter_empty=False)
    return copy
