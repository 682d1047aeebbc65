"""``Memory``: the rows of a kernel, in tensors that its loop works on in place."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from ..errors import StateError
from ..fast.core import Carry
from ..fast.specs import torch_dtype
from ..rng.threefry import WORD
from .layout import BLOCK, Layout, Part


class Memory:
    """N rows: the state's fields, each in as narrow a type as its bounds allow, and the clock.

    A field ``[K]`` lies as ``[K, N]``, so that the rows of a block are neighbours; one of many elements as ``[N, K]``.
    N is rounded up to whole blocks. ``loop`` is the kernel's loop over this memory.
    """

    def __init__(self, module: ModuleType, layout: Layout, rows: int) -> None:
        self.layout, self.rows = layout, rows
        padded = -(-rows // BLOCK) * BLOCK
        self.fields = {part.name: _zeros(part, padded) for part in layout.fields}
        self.seed, self.episode = (torch.zeros(padded, dtype=torch.int64) for _ in range(2))
        self.t, self.k0, self.k1, self.list = (torch.zeros(padded, dtype=torch.int32) for _ in range(4))
        self._bind(module)

    def _bind(self, module: ModuleType) -> None:
        held = [*self.fields.values(), self.seed, self.episode, self.t, self.k0, self.k1, self.list]
        self.loop = module.Loop(self.rows, (len(self.seed), *(tensor.data_ptr() for tensor in held)))

    def read(self) -> Carry:
        """The rows as the spec has them: copies, fields ``[N, ...]``, clock int64 [N], keys int32 [N]."""
        rows = self.rows
        fields = {part.name: _wide(part, self.fields[part.name], rows) for part in self.layout.fields}
        seed, episode = (one[:rows].clone() for one in (self.seed, self.episode))
        t = self.t[:rows].to(torch.int64) & WORD
        return Carry(fields, seed, episode, t, self.k0[:rows].clone(), self.k1[:rows].clone())

    def write(self, carry: Carry) -> None:
        """Take rows over. Raises :class:`StateError` for a value that does not fit; nothing has changed then."""
        narrow = [(part, _narrow(part, carry.fields[part.name])) for part in self.layout.fields]
        for part, value in narrow:
            own = self.fields[part.name]
            (own[:, : self.rows] if part.shape and not part.many else own[: self.rows]).copy_(value)
        for own, value in zip((self.seed, self.episode, self.t, self.k0, self.k1), carry[1:], strict=True):
            own[: self.rows].copy_(value)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("loop", "layout")}

    def restore(self, module: ModuleType, layout: Layout) -> None:
        """What unpickling leaves to do."""
        self.layout = layout
        self._bind(module)


def _zeros(part: Part, rows: int) -> Tensor:
    shape = (rows, part.count) if part.many else (part.count, rows) if part.shape else (rows,)
    return torch.zeros(shape, dtype=torch_dtype(part.kept))


def _wide(part: Part, value: Tensor, rows: int) -> Tensor:
    own = value[:, :rows].t() if part.shape and not part.many else value[:rows]
    return own.to(torch_dtype(part.dtype), copy=True, memory_format=torch.contiguous_format).reshape(rows, *part.shape)


def _narrow(part: Part, value: Tensor) -> Tensor:
    kept = value.to(torch_dtype(part.kept))
    if kept.dtype != value.dtype and not bool((kept.to(value.dtype) == value).all()):
        row = int((kept.to(value.dtype) != value).reshape(len(value), -1).any(-1).nonzero()[0, 0])
        raise StateError(
            f"state field {part.name}: expected values within the bounds of the spec, which the kernel keeps as "
            f"{part.kept}, got {value[row].tolist()} in row {row}"
        )
    if not part.shape:
        return kept
    flat = kept.reshape(len(kept), part.count)
    return flat if part.many else flat.t()
