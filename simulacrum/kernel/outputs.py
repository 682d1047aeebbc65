"""``Outputs``: the tensors that a kernel's steps are shown in, and how they are made in little time.

Making nine tensors costs more than the step of a thousand rows. So a set that was handed out is handed out again once
it is proved that nobody can see it any more (:mod:`simulacrum.fast.held`); and where sets are held, as a collector
holds them, a few are made at once and cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..fast.held import Lent, lend, provable, unseen
from ..fast.specs import torch_dtype
from ..spec.agents import GROUP
from .layout import Layout

KEPT, KEPT_BYTES = (4, 256), 1 << 25  # sets that may be used again: as many as are found held, within these bounds
PATIENCE = 64  # times that a set may be found held before another takes its place
AT_ONCE, BYTES = 16, 1 << 20  # so many sets are made at once, of so many bytes: what one tensor of them keeps alive
FLAGS = ("done", "terminated", "truncated")


class Shown(NamedTuple):
    """Where one step goes: ``ended`` and ``now`` are tensors by key, the others addresses for the loop."""

    ended: dict[Any, Any]
    now: dict[Any, Any]
    outcome: tuple[int, int, int, int]  # reward, terminated, truncated, done
    ended_seen: tuple[int, ...]
    now_seen: tuple[int, ...]
    unset: int  # the flags of ``now``, which are to be False


class Outputs:
    """The sets of one environment.

    ``shares``: whether what a step shows may be what is seen next as well, when no row ends. So it is for few rows of
    many elements, which are not copied then; of many rows some end at every step.
    """

    def __init__(self, layout: Layout, reward: torch.dtype, batch_size: torch.Size) -> None:
        self.seen, self.reward, self.batch_size = layout.seen, reward, batch_size
        self.agents = layout.agents
        self.shares = layout.block == 1
        self._kept: list[tuple[Shown, Lent]] = []
        self._most = max(KEPT[0], min(KEPT[1], KEPT_BYTES // self.step_bytes))
        self._held = 0  # how often a set was found held
        self._next = 0
        self._ready: list[Shown] = []
        self._ready_from: list[tuple[Tensor, int]] = []  # what they are cut from, and where it lay
        self._inference = False
        self._reuses = provable()

    @property
    def step_bytes(self) -> int:
        """The bytes of one step's outputs."""
        seen = sum(part.count * part.dtype.itemsize for part in self.seen)
        return self.batch_size.numel() * (2 * seen + (self.agents or 1) * self.reward.itemsize + 2 * len(FLAGS))

    def unended(self, shown: Shown) -> dict[Any, Any]:
        """``now`` of a set where no row ended: what the step showed is what is seen, in the same tensors."""
        seen: dict[Any, Any] = {}
        for part in self.seen:
            _put(seen, part.key, shown.ended)
        return {**seen, **{name: shown.now[name] for name in FLAGS}}

    def take(self) -> Shown:
        """A set that nobody else can see."""
        if not self._reuses or torch.is_inference_mode_enabled():
            return self._fresh()
        place, kept = self._next, self._kept
        if not kept or not unseen(kept[place][1]):
            self._held += 1
            if len(kept) < self._most:
                kept.insert(place, self._lent())
            elif self._held % PATIENCE:
                return self._fresh()
            else:
                kept[place] = self._lent()
        self._next = (place + 1) % len(kept)
        return kept[place][0]

    def _fresh(self) -> Shown:
        """A set that will not be handed out again."""
        inference = torch.is_inference_mode_enabled()
        moved = any(base.data_ptr() != address for base, address in self._ready_from)  # as by share_memory_ of a part
        if not self._ready or moved or self._inference is not inference:
            self._ready, bases = self._made(max(1, min(AT_ONCE, BYTES // self.step_bytes)))
            self._ready_from = [(base, base.data_ptr()) for base in bases]
            self._inference = inference
        return self._ready.pop()

    def _lent(self) -> tuple[Shown, Lent]:
        (shown,), bases = self._made(1)
        held = [*_leaves(shown.ended), *_leaves(shown.now)]
        return shown, lend(held, bases)

    def _made(self, sets: int) -> tuple[list[Shown], list[Tensor]]:
        """Sets, and the tensors that they are cut from."""
        size, rows = self.batch_size, self.batch_size.numel()
        shapes = [((2 * sets, *size, *part.shape), torch_dtype(part.dtype)) for part in self.seen]
        each = (self.agents, 1) if self.agents is not None else (1,)
        shapes += [((sets, *size, *each), self.reward), ((2 * len(FLAGS) * sets, *size, 1), torch.bool)]
        bases = [torch.empty(shape, dtype=dtype, device="cpu") for shape, dtype in shapes]
        *seen, rewards, flags = (base.unbind(0) for base in bases)
        *seen_at, reward_at, flags_at = (base.data_ptr() for base in bases)
        bytes_of = [rows * part.count * part.dtype.itemsize for part in self.seen]
        made = []
        for number in range(sets):
            first = 2 * len(FLAGS) * number
            ended, now = (
                self._named([views[2 * number + i] for views in seen], flags[first + 3 * i : first + 3 * i + 3])
                for i in (0, 1)
            )
            ended_seen, now_seen = (
                tuple(at + (2 * number + i) * one for at, one in zip(seen_at, bytes_of, strict=True)) for i in (0, 1)
            )
            done, terminated, truncated, unset = (flags_at + (first + i) * rows for i in range(4))
            (ended if self.agents is None else ended[GROUP])["reward"] = rewards[number]
            reward = reward_at + number * rows * (self.agents or 1) * self.reward.itemsize
            outcome = (reward, terminated, truncated, done)
            made.append(Shown(ended, now, outcome, ended_seen, now_seen, unset))
        return made, bases

    def _named(self, seen: list[Tensor], flags: tuple[Tensor, ...]) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for part, tensor in zip(self.seen, seen, strict=True):
            if isinstance(part.key, tuple):
                values.setdefault(part.key[0], {})[part.key[1]] = tensor
            else:
                values[part.key] = tensor
        values.update(zip(FLAGS, flags, strict=True))
        return values


def _put(values: dict[Any, Any], key: Any, tensors: dict[Any, Any]) -> None:
    """Put the tensor under a key of one or two parts from one dictionary of dictionaries into another."""
    if isinstance(key, tuple):
        values.setdefault(key[0], {})[key[1]] = tensors[key[0]][key[1]]
    else:
        values[key] = tensors[key]


def _leaves(values: dict[Any, Any]) -> list[Tensor]:
    return [leaf for value in values.values() for leaf in (_leaves(value) if isinstance(value, dict) else [value])]
