"""Everything by which a caller may hold a returned tensor's memory without the tensor: a slice, a view, a capsule.

A form that used such memory again would change what its caller keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from tensordict import TensorDictBase
from torch import Tensor
from torch.utils.dlpack import from_dlpack, to_dlpack

from .. import bits
from ..fast import FastEnv
from ..spec.agents import GROUP

BYTE = torch.uint8
Way = Callable[[FastEnv[Any], list[Tensor]], Iterator[tuple[str, Tensor]]]


class Alias(NamedTuple):
    """How a tensor's memory is held, and how it is read in the end; of floats alone where ``floats``."""

    take: Callable[[Tensor], Any]
    read: Callable[[Any], np.ndarray]
    floats: bool = False


def _array(value: Any) -> np.ndarray:
    return np.array(value.numpy() if isinstance(value, Tensor) else value)


def _saved(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """A product whose gradient is the tensor, which autograd has saved."""
    weight = torch.ones_like(tensor, requires_grad=True)
    with torch.enable_grad():
        return weight, (weight * tensor).sum()


def _gradient(saved: tuple[Tensor, Tensor]) -> np.ndarray:
    weight, total = saved
    total.backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None
    return _array(weight.grad)


def _bytes_of(tensor: Tensor) -> slice:
    """Where a contiguous tensor lies in its storage, in which there may be others."""
    start = tensor.storage_offset() * tensor.itemsize
    return slice(start, start + tensor.nbytes)


def _part(storage: torch.UntypedStorage, own: slice) -> np.ndarray:
    return _array(torch.empty(0, dtype=BYTE).set_(storage)[own])


ALIASES: dict[str, Alias] = {
    "the tensor": Alias(lambda tensor: tensor, _array),
    "a slice": Alias(lambda tensor: tensor[len(tensor) // 2 :], _array),
    "a row": Alias(lambda tensor: tensor[-1], _array),
    "a detached tensor": Alias(Tensor.detach, _array),
    "its storage": Alias(lambda tensor: (tensor.untyped_storage(), _bytes_of(tensor)), lambda kept: _part(*kept)),
    "a NumPy view": Alias(Tensor.numpy, _array),
    "a slice of a NumPy view": Alias(lambda tensor: tensor.numpy()[::2], _array),
    "a memoryview": Alias(lambda tensor: tensor.numpy().data, _array),
    "a DLPack capsule": Alias(to_dlpack, lambda capsule: _array(from_dlpack(capsule))),
    "a graph of autograd": Alias(_saved, _gradient, floats=True),
}


def fused(env: FastEnv[Any], actions: list[Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The tensors of ``step_and_maybe_reset``, each let go when the next one is asked for."""
    td = env.reset()
    for action in actions:
        done, td = env.step_and_maybe_reset(td.set(env.action_key, action))
        yield from _leaves(done.get("next"))
        yield from _leaves(td)
        del done


def tensors(env: FastEnv[Any], actions: list[Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Those of ``plain_step_and_reset``."""
    env.plain_reset()
    for action in actions:
        outcome, seen = env.plain_step_and_reset(action)
        for key, value in {**outcome.observation, **outcome._asdict(), **seen}.items():
            if isinstance(value, Tensor):
                yield str(key), value
        del outcome, seen


WAYS: dict[str, Way] = {"step_and_maybe_reset": fused, "plain_step_and_reset": tensors}


def written(env: FastEnv[Any], way: Way, alias: Alias, actions: list[Tensor]) -> str | None:
    """The name of a returned tensor that a later step wrote, though it was held so; None where there is none.

    Every third tensor is held, by nothing else; what lies there is read when all steps are done.
    """
    held: list[tuple[str, Any, np.ndarray]] = []
    for number, (name, tensor) in enumerate(way(env, actions)):
        if number % 3 == 0 and not (alias.floats and not tensor.is_floating_point()):
            held.append((name, alias.take(tensor), alias.read(alias.take(tensor))))
        del tensor
    return next((name for name, kept, was in held if not bits.same(alias.read(kept), was)), None)


def _leaves(td: TensorDictBase) -> Iterator[tuple[str, Tensor]]:
    for key in td.keys(True, True):
        if key not in ("action", (GROUP, "action")):
            yield str(key), td.get(key)
