"""``Memory``: the rows of a kernel, in tensors that its loop works on in place."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import StateError
from ..fast.core import Carry
from ..fast.specs import torch_dtype
from ..rng.threefry import WORD
from .layout import Layout, Part
from .source import rows_members


class Memory:
    """N rows, N rounded up to whole blocks: the state's fields, each as narrow as its bounds allow, and the clock.

    ``blocks`` uint8 [blocks, bytes] holds the structs ``Rows`` of ``rows.pxi``, in which a field ``[K]`` lies as
    ``[K, BLOCK]``; ``large`` the fields of many elements, ``[N, K]`` each. ``loop`` is the kernel's loop over them.
    """

    def __init__(self, module: ModuleType, layout: Layout, rows: int) -> None:
        block = layout.block
        blocks = -(-rows // block)
        self.rows = rows
        self.blocks = torch.zeros((blocks, block * sum(size for _, size in rows_members(layout))), dtype=torch.uint8)
        self.seed, self.episode = (torch.zeros(blocks * block, dtype=torch.int64) for _ in range(2))
        self.list = torch.zeros(blocks * block, dtype=torch.int32)
        self.large = {
            part.name: torch.zeros((blocks * block, part.count), dtype=torch_dtype(part.kept))
            for part in layout.fields
            if part.many
        }
        self.bind(module, layout)

    def bind(self, module: ModuleType, layout: Layout) -> None:
        """Make the loop: a part of the constructor, and what unpickling leaves to do."""
        self.layout = layout
        held = [self.blocks, self.seed, self.episode, self.list, *self.large.values()]
        addresses = tuple(tensor.data_ptr() for tensor in held)
        self.loop = module.Loop(self.rows, self.blocks.shape[1], addresses)

    def views(self) -> dict[str, np.ndarray]:
        """The state's fields and ``t`` by name as they lie in memory, no copies, of the narrow types that are kept:
        ``[N, *shape]``, but small fields in blocks of 128 rows, which are ``[blocks, 128, *shape]``. Read-only."""
        rows, block = self.rows, self.layout.block
        found = {
            part.name: self.large[part.name][:rows].view(rows, *part.shape) for part in self.layout.fields if part.many
        }
        shapes = {part.name: part.shape for part in self.layout.fields if not part.many} | {"t": ()}
        for name, shape in shapes.items():
            place = self._places()[name].transpose(1, 2)  # [blocks, block, K]
            found[name] = (
                place.view(rows, *shape) if block == 1 else place.unflatten(2, shape) if shape else place[..., 0]
            )
        arrays = {name: value.numpy() for name, value in found.items()}
        for array in arrays.values():
            array.flags.writeable = False
        return arrays

    def read(self) -> Carry:
        """The rows as the spec has them: copies, fields ``[N, ...]``, clock int64 [N], keys int32 [N]."""
        rows, places = self.rows, self._places()
        fields = {}
        for part in self.layout.fields:
            own = self.large[part.name] if part.many else _rows_first(places[part.name])
            fields[part.name] = own[:rows].to(torch_dtype(part.dtype), copy=True).reshape(rows, *part.shape)
        t, k0, k1 = (_rows_first(places[name])[:rows, 0] for name in ("t", "k0", "k1"))
        seed, episode = self.seed[:rows].clone(), self.episode[:rows].clone()
        return Carry(fields, seed, episode, t.to(torch.int64) & WORD, k0.clone(), k1.clone())

    def write(self, carry: Carry) -> None:
        """Take rows over. Raises :class:`StateError` for a value that does not fit; nothing has changed then."""
        narrow = [(part, _narrow(part, carry.fields[part.name])) for part in self.layout.fields]
        rows, places = self.rows, self._places()
        for part, value in narrow:
            if part.many:
                self.large[part.name][:rows] = value
            else:
                _put(places[part.name], value)
        for name in ("t", "k0", "k1"):
            _put(places[name], getattr(carry, name).to(torch.int32).unsqueeze(-1))
        self.seed[:rows], self.episode[:rows] = carry.seed, carry.episode

    def _places(self) -> dict[str, Tensor]:
        """Where each small field and the clock lie: views [blocks, K, BLOCK]."""
        found, start, block = {}, 0, self.layout.block
        forms = {part.name: (part.count, torch_dtype(part.kept)) for part in self.layout.fields if not part.many}
        forms |= dict.fromkeys(("t", "k0", "k1"), (1, torch.int32))
        for declared, size in rows_members(self.layout):
            name = declared.split(" ")[-1].split("[")[0]
            if name in forms:
                count, dtype = forms[name]
                own = self.blocks[:, start : start + block * size].view(dtype)
                found[name] = own.unflatten(1, (count, block))
            start += block * size
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Copies: ``torch.multiprocessing`` moves the tensors that it pickles to other memory, and the loop would not
        know."""
        kept = {name: value for name, value in self.__dict__.items() if name not in ("loop", "layout")}
        copies = {name: value.clone() if isinstance(value, Tensor) else value for name, value in kept.items()}
        return {**copies, "large": {name: value.clone() for name, value in self.large.items()}}


def _rows_first(place: Tensor) -> Tensor:
    """[blocks, K, BLOCK] as [N, K]."""
    return place.transpose(1, 2).reshape(-1, place.shape[1])


def _put(place: Tensor, values: Tensor) -> None:
    """Write [N, K] into [blocks, K, BLOCK]."""
    blocks, _, block = place.shape
    padded = values.new_zeros((blocks * block, place.shape[1]))
    padded[: len(values)] = values
    place.copy_(padded.view(blocks, block, -1).transpose(1, 2))


def _narrow(part: Part, value: Tensor) -> Tensor:
    """Values [N, ...] as [N, K] of the type that is kept."""
    kept = value.to(torch_dtype(part.kept))
    if kept.dtype != value.dtype and not bool((kept.to(value.dtype) == value).all()):
        row = int((kept.to(value.dtype) != value).reshape(len(value), -1).any(-1).nonzero()[0, 0])
        raise StateError(
            f"state field {part.name}: expected values within the bounds of the spec, which the kernel keeps as "
            f"{part.kept}, got {value[row].tolist()} in row {row}"
        )
    return kept.reshape(len(kept), part.count)
