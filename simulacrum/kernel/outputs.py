"""``Outputs``: the tensors that a kernel's steps are shown in, new for every step, a few steps made at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..fast.specs import torch_dtype
from .layout import Part

BYTES = 1 << 20  # made at a time at most, if that is more than one step's
STEPS = 16
FLAGS = ("done", "terminated", "truncated")


class Shown(NamedTuple):
    """Where one step goes. ``ended`` and ``now`` are the tensors by key, the others their addresses for the loop."""

    ended: dict[Any, Any]
    now: dict[Any, Any]
    outcome: tuple[int, int, int, int]  # reward, terminated, truncated, done
    ended_seen: tuple[int, ...]
    now_seen: tuple[int, ...]


class Outputs:
    """Makes :class:`Shown` for environments of one batch size.

    Tensors that are made one by one cost more than a small batch's step. So a few steps' worth of each is made at once
    and cut: no memory is handed out twice, and a tensor that is kept keeps at most ``BYTES`` of its own kind alive.
    """

    def __init__(self, seen: list[Part], reward: torch.dtype, batch_size: torch.Size) -> None:
        self.seen, self.reward, self.batch_size = seen, reward, batch_size
        rows = batch_size.numel()
        self._reward_bytes = rows * reward.itemsize
        self._seen_bytes = [rows * part.count * part.dtype.itemsize for part in seen]
        self._flag_bytes = rows
        step = 2 * sum(self._seen_bytes) + self._reward_bytes + 2 * len(FLAGS) * self._flag_bytes
        self._steps = max(1, min(STEPS, BYTES // step))
        self._ready: list[Shown] = []
        self._inference = False

    @property
    def step_bytes(self) -> int:
        """The bytes of one step's outputs."""
        return 2 * sum(self._seen_bytes) + self._reward_bytes + 2 * len(FLAGS) * self._flag_bytes

    def take(self) -> Shown:
        """The tensors of one step, nobody's before."""
        if not self._ready or self._inference is not torch.is_inference_mode_enabled():
            self._make()
        return self._ready.pop()

    def _make(self) -> None:
        self._inference = torch.is_inference_mode_enabled()
        steps, size = self._steps, self.batch_size
        seen = [
            torch.empty((2 * steps, *size, *part.shape), dtype=torch_dtype(part.dtype), device="cpu") for part in self.seen
        ]
        reward = torch.empty((steps, *size, 1), dtype=self.reward, device="cpu")
        flags = torch.zeros((2 * len(FLAGS) * steps, *size, 1), dtype=torch.bool, device="cpu")
        views = [one.unbind(0) for one in seen]
        rewards, marks = reward.unbind(0), flags.unbind(0)
        starts, reward_start, flag_start = [one.data_ptr() for one in seen], reward.data_ptr(), flags.data_ptr()
        for step in range(steps):
            first = 2 * len(FLAGS) * step
            ended = self._named([one[2 * step] for one in views], marks[first : first + 3])
            now = self._named([one[2 * step + 1] for one in views], marks[first + 3 : first + 6])
            ended["reward"] = rewards[step]
            done, terminated, truncated = (flag_start + (first + i) * self._flag_bytes for i in range(3))
            outcome = (reward_start + step * self._reward_bytes, terminated, truncated, done)
            at = [[start + (2 * step + i) * size for start, size in zip(starts, self._seen_bytes, strict=True)] for i in (0, 1)]
            self._ready.append(Shown(ended, now, outcome, tuple(at[0]), tuple(at[1])))

    def _named(self, seen: list[Tensor], flags: tuple[Tensor, ...]) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for part, tensor in zip(self.seen, seen, strict=True):
            if isinstance(part.key, tuple):
                values.setdefault(part.key[0], {})[part.key[1]] = tensor
            else:
                values[part.key] = tensor
        values.update(zip(FLAGS, flags, strict=True))
        return values
