"""Draws with given outcomes, in place of either form of ``Draw``: for worked examples and enumerated worlds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import DrawError
from .arguments import Shape, bit_width, float_dtype, items

__all__ = ["FixedDraw", "FixedRows"]

Convert = Callable[[Any, str], Any]


def plain(value: Any, dtype: str) -> Any:
    """An outcome as the scalar or the array that a plain draw gives."""
    if isinstance(value, (list, np.ndarray)):
        return np.array(value, dtype)
    return np.dtype(dtype).type(value) if dtype.startswith("float") else value


def tensor(values: Any, dtype: str) -> Any:
    """Outcomes [N, ...] as the tensor that a batched draw gives: 64 bits are the int64 of the same bits."""
    import torch  # here: the plain form works without

    array = np.array(values, dtype)
    return torch.from_numpy(array.view(np.int64) if dtype == "uint64" else array)


class FixedDraw:
    """Gives stated outcomes by slot. ``asked`` tells which draws were made: (slot, distribution, index, arguments).

    Args:
        outcomes: by slot number: one value, or a list by index.
        convert: makes an outcome (a number, or an array of the draw's shape) and the name of its dtype into what a
            draw gives; by default what the plain form gives.

    The methods are those of :class:`simulacrum.rng.Draw`, and so are shapes ``[*shape]`` and dtypes. Raises
    :class:`~simulacrum.errors.DrawError` for a draw of which no outcome is stated, and that or
    :class:`~simulacrum.errors.DrawTypeError` for an argument that is none.

    Example:
        >>> from simulacrum.rng.fixed import FixedDraw
        >>> draw = FixedDraw({0: 4, 1: [True, False]})
        >>> draw.randint(0, n=6), draw.bernoulli(1, 0.5, shape=(2,)).tolist()
        (4, [True, False])
        >>> draw.asked
        [(0, 'randint', 1, (6,)), (1, 'bernoulli', 2, (0.5,))]
    """

    def __init__(self, outcomes: Mapping[int, Any], convert: Convert = plain) -> None:
        self.outcomes = dict(outcomes)
        self.convert = convert
        self.asked: list[tuple[int, str, int, tuple[Any, ...]]] = []

    @property
    def rows(self) -> int:
        """N, the number of rows that the draws are for."""
        return 1

    def bits(self, slot: int, width: int = 32, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome: a scalar, or int64 or uint64 ``[*shape]``."""
        return self._outcome(slot, "bits", (width,), index, shape, "uint64" if bit_width(width) == 64 else "int64")

    def uniform(self, slot: int, *, index: int = 0, shape: Shape = None, dtype: Any = "float32") -> Any:
        """The stated outcome: a scalar, or float32 or float64 ``[*shape]``."""
        return self._outcome(slot, "uniform", (), index, shape, float_dtype(dtype))

    def randint(self, slot: int, n: int, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome: a scalar, or int32 ``[*shape]``."""
        return self._outcome(slot, "randint", (n,), index, shape)

    def bernoulli(self, slot: int, p: float, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome: a scalar, or bool ``[*shape]``."""
        return self._outcome(slot, "bernoulli", (p,), index, shape, "bool")

    def categorical(self, slot: int, weights: Any, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome: a scalar, or int32 ``[*shape]``."""
        return self._outcome(slot, "categorical", (list(weights),), index, shape)

    def permutation(self, slot: int, n: int, *, index: int = 0) -> Any:
        """The stated outcome: int32 [n]."""
        return self._outcome(slot, "permutation", (n,), index, (n,))

    def _outcome(
        self, slot: int, kind: str, arguments: tuple[Any, ...], index: int, shape: Shape, dtype: str = "int32"
    ) -> Any:
        if int(slot) not in self.outcomes:
            raise DrawError(f"slot {slot!r} is drawn, but no outcome is stated for it")
        sizes, count = items(shape)
        self.asked.append((int(slot), kind, index + count, arguments))
        first = 0 if kind == "permutation" else index  # whose outcome is one list, wherever its indices begin
        return self._stated(slot, first, count, shape is None, sizes, dtype)

    def _stated(self, slot: int, index: int, count: int, single: bool, sizes: tuple[int, ...], dtype: str) -> Any:
        stated = self.outcomes[int(slot)]
        listed = stated if isinstance(stated, list) else [stated]
        _expect(slot, index + count, len(listed))
        if single:
            return self.convert(listed[index], dtype)
        return self.convert(np.array(listed[index : index + count], dtype).reshape(sizes), dtype)


class FixedRows(FixedDraw):
    """The same for N rows at once, each with outcomes of its own: tensors ``[N, *shape]`` of the real draws' dtypes.

    Args:
        outcomes: by slot number: an array [N], or [N, K] by index.
        rows: N.
        convert: makes an array ``[N, *shape]`` and the name of its dtype into what a draw gives; by default a tensor on
            the CPU.

    Raises :class:`~simulacrum.errors.DrawError` as :class:`FixedDraw`.

    Example:
        >>> import numpy as np
        >>> from simulacrum.rng.fixed import FixedRows
        >>> FixedRows({0: np.array([4, 2])}, rows=2).randint(0, n=6)
        tensor([4, 2], dtype=torch.int32)
    """

    def __init__(self, outcomes: Mapping[int, np.ndarray], rows: int, convert: Convert = tensor) -> None:
        super().__init__({slot: np.asarray(values).reshape(rows, -1) for slot, values in outcomes.items()}, convert)
        self._rows = rows

    @property
    def rows(self) -> int:
        """N, the number of rows that the draws are for."""
        return self._rows

    def _stated(self, slot: int, index: int, count: int, single: bool, sizes: tuple[int, ...], dtype: str) -> Any:
        stated = self.outcomes[int(slot)]
        _expect(slot, index + count, stated.shape[1])
        return self.convert(stated[:, index : index + count].reshape(self._rows, *sizes), dtype)


def _expect(slot: int, wanted: int, stated: int) -> None:
    if wanted > stated:
        raise DrawError(f"slot {slot!r}: index {wanted - 1} is drawn, {stated} outcomes are stated")
