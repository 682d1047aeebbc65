"""``Outputs``: the tensors that a kernel's steps are shown in. A set that nobody holds any more is used again.

Making nine tensors costs more than the step of a thousand rows. So a set that was handed out is handed out again, once
it is proved that nothing else can see it: no Python reference to a tensor (``sys.getrefcount``), no reference from C++,
as autograd has when it saves a tensor (the tensor's use count), no slice, NumPy view or DLPack capsule (each raises the
storage's use count), nothing moved (``share_memory_``, ``set_``, ``.data =``) and nothing written since (the version
counter). Whether this torch tells all that :func:`provable` finds out; where it does not, every step has new tensors.
"""

from __future__ import annotations

from functools import lru_cache
from sys import getrefcount
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..fast.specs import torch_dtype
from .layout import Part

KEPT = 4  # sets that may be used again: two are in the caller's hands while a third is written
ALONE = 4  # references in the loops of `unseen`: the set's, the loop's, the call's, and that of the set's dictionaries
# (to a tensor) or of torch (to a storage)
FLAGS = ("done", "terminated", "truncated")


class Shown(NamedTuple):
    """Where one step goes: ``ended`` and ``now`` are tensors by key, the others addresses for the loop."""

    ended: dict[Any, Any]
    now: dict[Any, Any]
    outcome: tuple[int, int, int, int]  # reward, terminated, truncated, done
    ended_seen: tuple[int, ...]
    now_seen: tuple[int, ...]
    unset: int  # the flags of ``now``, which are to be False
    tensors: tuple[Tensor, ...]  # all of them
    bases: tuple[tuple[Tensor, Any, int, int], ...]  # what they are cut from: tensor, storage, its address, its uses


class Outputs:
    """The sets of one environment."""

    def __init__(self, seen: list[Part], reward: torch.dtype, batch_size: torch.Size) -> None:
        self.seen, self.reward, self.batch_size = seen, reward, batch_size
        self._kept: list[Shown] = []
        self._next = 0

    @property
    def step_bytes(self) -> int:
        """The bytes of one step's outputs."""
        seen = sum(part.count * part.dtype.itemsize for part in self.seen)
        return self.batch_size.numel() * (2 * seen + self.reward.itemsize + 2 * len(FLAGS))

    def take(self) -> Shown:
        """A set that nobody else can see."""
        if torch.is_inference_mode_enabled() or not provable():
            return self._made()
        place = self._next
        self._next = (place + 1) % KEPT
        if place == len(self._kept):
            self._kept.append(self._made())
        elif not unseen(self._kept[place]):
            self._kept[place] = self._made()
        return self._kept[place]

    def _made(self) -> Shown:
        size = self.batch_size
        shapes = [((2, *size, *part.shape), torch_dtype(part.dtype)) for part in self.seen]
        shapes += [((1, *size, 1), self.reward), ((2 * len(FLAGS), *size, 1), torch.bool)]
        bases = [torch.empty(shape, dtype=dtype, device="cpu") for shape, dtype in shapes]
        views = [base.unbind(0) for base in bases]
        *seen, (reward,), flags = views
        ended, now = (self._named([pair[i] for pair in seen], flags[3 * i : 3 * i + 3]) for i in (0, 1))
        done, terminated, truncated = (flag.data_ptr() for flag in flags[:3])
        ended_seen, now_seen = (tuple(pair[i].data_ptr() for pair in seen) for i in (0, 1))
        return Shown(
            {**ended, "reward": reward},
            now,
            (reward.data_ptr(), terminated, truncated, done),
            ended_seen,
            now_seen,
            flags[3].data_ptr(),
            tuple(view for group in views for view in group),
            tuple((base, *_storage(base)) for base in bases),
        )

    def _named(self, seen: list[Tensor], flags: tuple[Tensor, ...]) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for part, tensor in zip(self.seen, seen, strict=True):
            if isinstance(part.key, tuple):
                values.setdefault(part.key[0], {})[part.key[1]] = tensor
            else:
                values[part.key] = tensor
        values.update(zip(FLAGS, flags, strict=True))
        return values


def unseen(shown: Shown) -> bool:
    """Whether nobody can see a set that was handed out, and nobody has changed it."""
    for tensor in shown.tensors:
        if getrefcount(tensor) != ALONE or _references(tensor) != 1 or tensor.requires_grad:
            return False
    for base, storage, address, uses in shown.bases:
        if getrefcount(storage) != ALONE or _uses(storage) != uses or base.data_ptr() != address or base._version:
            return False
    return True


def _storage(base: Tensor) -> tuple[Any, int, int]:
    """A tensor's storage, its address, and how many tensors share it."""
    storage = base.untyped_storage()
    return storage, base.data_ptr(), _uses(storage)


def _references(tensor: Tensor) -> int:
    return int(tensor._use_count())  # type: ignore[attr-defined]


def _uses(storage: Any) -> int:
    return int(torch._C._storage_Use_Count(storage._cdata))  # type: ignore[attr-defined]


@lru_cache(maxsize=1)
def provable() -> bool:
    """Whether this torch tells of every way to hold a tensor; each is tried once."""
    try:
        return all(not unseen(shown) for shown, _ in map(_held, _HOLDERS)) and unseen(_set())
    except (AttributeError, RuntimeError, TypeError):
        return False


_HOLDERS = (
    lambda view: view,
    lambda view: view[1:],
    lambda view: view.detach(),
    lambda view: view.numpy(),
    lambda view: torch.utils.dlpack.to_dlpack(view),
    lambda view: view.untyped_storage(),
    lambda view: memoryview(view.numpy()),
    lambda view: torch.ones(3, 1, requires_grad=True) * view,
    lambda view: view.requires_grad_() is None,
    lambda view: view.add_(1) is None,
    lambda view: view.share_memory_() is None,
    lambda view: view.set_(torch.zeros(3, 1)) is None,
    lambda view: setattr(view, "data", torch.zeros(3, 1)),
)


def _set() -> Shown:
    return Outputs([], torch.float32, torch.Size([3]))._made()


def _held(hold: Any) -> tuple[Shown, Any]:
    """A set, one of whose tensors is held or changed in one way."""
    shown = _set()
    return shown, hold(shown.ended["reward"])
