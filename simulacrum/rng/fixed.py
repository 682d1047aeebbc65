"""Draws with given outcomes: what the worked examples of a spec run with, in place of either form of ``Draw``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import DrawError
from .arguments import Shape, items

Convert = Callable[[Any, str], Any]


class FixedDraw:
    """Gives stated outcomes by slot. ``asked`` tells which draws were made: (slot, distribution, index, arguments).

    Args:
        outcomes: by slot number: one value, or a list by index.
        convert: makes an outcome (a number, or nested lists) and a distribution's name into what a draw gives.
    """

    def __init__(self, outcomes: Mapping[int, Any], convert: Convert) -> None:
        self.outcomes = dict(outcomes)
        self.convert = convert
        self.asked: list[tuple[int, str, int, tuple[Any, ...]]] = []

    @property
    def rows(self) -> int:
        """Examples run one row."""
        return 1

    def bits(self, slot: int, width: int = 32, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome."""
        return self._outcome(slot, "bits", (width,), index, shape)

    def uniform(self, slot: int, *, index: int = 0, shape: Shape = None, dtype: Any = "float32") -> Any:
        """The stated outcome."""
        return self._outcome(slot, "uniform", (), index, shape)

    def randint(self, slot: int, n: int, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome."""
        return self._outcome(slot, "randint", (n,), index, shape)

    def bernoulli(self, slot: int, p: float, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome."""
        return self._outcome(slot, "bernoulli", (p,), index, shape)

    def categorical(self, slot: int, weights: Any, *, index: int = 0, shape: Shape = None) -> Any:
        """The stated outcome."""
        return self._outcome(slot, "categorical", (list(weights),), index, shape)

    def permutation(self, slot: int, n: int, *, index: int = 0) -> Any:
        """The stated outcome."""
        return self._outcome(slot, "permutation", (n,), index, (n,))

    def _outcome(self, slot: int, kind: str, arguments: tuple[Any, ...], index: int, shape: Shape) -> Any:
        if int(slot) not in self.outcomes:
            raise DrawError(f"slot {slot!r} is drawn, but the example states no outcome for it")
        stated = self.outcomes[int(slot)]
        _, count = items(shape)
        self.asked.append((int(slot), kind, index + count, arguments))
        listed = stated if isinstance(stated, list) else [stated]
        if kind != "permutation" and index + count > len(listed):
            raise DrawError(
                f"slot {slot!r}: index {index + count - 1} is drawn, the example states {len(listed)} outcomes"
            )
        if shape is None:
            return self.convert(listed[index], kind)
        return self.convert(listed[index : index + count] if kind != "permutation" else listed, kind)
