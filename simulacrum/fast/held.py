"""Whether tensors that were handed out are still held by anybody, so that their memory may be used again.

It is proved, not guessed: no Python reference to a tensor (``sys.getrefcount``), no reference from C++, as autograd has
when it saves a tensor (the tensor's use count), no slice, NumPy view or DLPack capsule (each raises the storage's use
count), nothing moved (``share_memory_``, ``set_``, ``.data =``), and, where it is asked for, nothing written (the
version counter). Whether this torch tells all that :func:`provable` finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from sys import getrefcount
from typing import Any, NamedTuple

import torch
from torch import Tensor

# References to a tensor in the loops of `unseen`: those of `Lent`, of one collection of the lender's, of the loop and
# of the call; to a storage: those of `Lent`, of torch, of the loop and of the call.
ALONE = 4


class Lent(NamedTuple):
    """Tensors that are handed out, and the storages that they are cut from, each with its number, address and uses."""

    tensors: tuple[Tensor, ...]
    storages: tuple[tuple[Any, int, int, int], ...]


def lend(tensors: Iterable[Tensor], bases: Iterable[Tensor]) -> Lent:
    """Note tensors before they are handed out, and what they are cut from (themselves, where they are whole).

    None of them may be held but once, by a collection of the lender's.
    """
    return Lent(tuple(tensors), tuple(_storage(base) for base in bases))


def unseen(lent: Lent, unwritten: bool = True) -> bool:
    """Whether nobody can see the tensors any more and, if ``unwritten``, torch has never written into them."""
    tensors, storages = lent
    for tensor in tensors:
        if getrefcount(tensor) != ALONE or tensor._use_count() != 1 or tensor.requires_grad:  # type: ignore[attr-defined]
            return False
        if unwritten and tensor._version:
            return False
    for storage, number, address, uses in storages:
        if getrefcount(storage) != ALONE or _count_uses(number) != uses or storage.data_ptr() != address:
            return False
    return True


def _storage(base: Tensor) -> tuple[Any, int, int, int]:
    storage = base.untyped_storage()
    return storage, storage._cdata, storage.data_ptr(), _count_uses(storage._cdata)


_count_uses: Any = getattr(torch._C, "_storage_Use_Count", None)  # of a storage by its number


@lru_cache(maxsize=1)
def provable() -> bool:
    """Whether this torch tells of every way to hold a tensor: each is tried once."""
    with torch.inference_mode(False), torch.enable_grad():
        try:
            return _let_go() and not any(_held(hold) for hold in _HOLDERS)
        except (AttributeError, RuntimeError, TypeError):
            return False


_HOLDERS: tuple[Callable[[Tensor], Any], ...] = (
    lambda tensor: tensor,
    lambda tensor: tensor[1:],
    lambda tensor: tensor.detach(),
    lambda tensor: tensor.numpy(),
    lambda tensor: torch.utils.dlpack.to_dlpack(tensor),
    lambda tensor: tensor.untyped_storage(),
    lambda tensor: tensor.numpy().data,
    lambda tensor: torch.ones(3, 1, requires_grad=True) * tensor,
    lambda tensor: tensor.requires_grad_() is None,
    lambda tensor: tensor.add_(1) is None,
    lambda tensor: tensor.share_memory_() is None,
    lambda tensor: tensor.set_(torch.zeros(3, 1).untyped_storage()) is None,
    lambda tensor: setattr(tensor, "data", torch.zeros(3, 1)),
)


def _sample() -> tuple[dict[str, Tensor], Lent]:
    base = torch.zeros(1, 3, 1)
    kept = {"sample": base.unbind(0)[0]}
    return kept, lend(kept.values(), [base])


def _let_go() -> bool:
    kept, lent = _sample()
    return unseen(lent) and bool(kept)


def _held(hold: Callable[[Tensor], Any]) -> bool:
    """Whether tensors seem to be let go while one is held, or has been changed, in one way."""
    kept, lent = _sample()
    holder = hold(kept["sample"])
    return unseen(lent) and (holder is not None or bool(kept))
