"""The numbers of a package's rules as tensors: made once, in stated dtypes, on the environment's device."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Constants:
    """The part of ``FastEnv`` that makes constants, and keeps them."""

    _constants: dict[Any, Tensor]
    _tables: dict[Any, Tensor]
    _packed: dict[torch.dtype, Tensor]
    _places: dict[Any, int]
    device: Any

    def float32(self, value: float | Sequence[Any]) -> Tensor:
        """A constant, or nested lists of them, as a float32 tensor [] or [...] on the environment's device.

        Exact, independent of the default dtype, and division by it is a true division on every device.
        """
        return self.constant(value, torch.float32)

    def float64(self, value: float | Sequence[Any]) -> Tensor:
        """The same in float64, [] or [...]."""
        return self.constant(value, torch.float64)

    def int32(self, value: int | Sequence[Any]) -> Tensor:
        """The same in int32, [] or [...]."""
        return self.constant(value, torch.int32)

    def constant(self, value: Any, dtype: torch.dtype) -> Tensor:
        """The same in any dtype, from arrays too: [] or [...]. Constants are made once; never write to one."""
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, (list, tuple)) and not torch.compiler.is_compiling():
            return self._table(value, dtype)
        return self._constant(value, dtype)

    def _table(self, value: Sequence[Any], dtype: torch.dtype) -> Tensor:
        """A constant of many numbers, found by their bytes: of hundreds, the text would take longer than a step."""
        try:
            key = (marshal.dumps(value, 2), dtype)  # type: ignore[arg-type]
        except ValueError:  # of other things than Python's numbers
            return self._constant(value, dtype)
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = self._constant(value, dtype)
        return found

    def _constant(self, value: Any, dtype: torch.dtype) -> Tensor:
        key = (repr(value), dtype)
        if torch.compiler.is_compiling() and key in self._places:
            return self._packed[dtype][self._places[key]]  # a number in the code would turn divisions into products
        found = self._constants.get(key)
        if found is None:
            found = torch.tensor(value, dtype=dtype, device=self.device)
            if not torch.compiler.is_compiling():
                self._constants[key] = found
        return found
