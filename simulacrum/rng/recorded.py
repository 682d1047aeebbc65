"""Draws that are noted as they are made: what ``simulacrum explain`` shows of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Made", "RecordedDraw"]

DISTRIBUTIONS = ("bits", "uniform", "randint", "bernoulli", "categorical", "permutation")


class Made(NamedTuple):
    """One draw: the slot's number, the distribution, the first index, further arguments by name, and the outcome.

    Example:
        >>> from simulacrum.rng.recorded import Made
        >>> Made(2, "randint", 0, {"n": 6}, 1).arguments
        {'n': 6}
    """

    slot: int
    kind: str
    first: int
    arguments: dict[str, Any]
    outcome: Any


class RecordedDraw:
    """Either form of ``Draw``, whose draws are told to ``note`` as they are made. The outcomes are the draw's own; what
    is read of it or set on it is the draw's as well.

    Example:
        >>> from simulacrum.rng import Draw
        >>> from simulacrum.rng.recorded import RecordedDraw
        >>> made = []
        >>> draw = RecordedDraw(Draw.at(seed=7, episode=0, t=3), made.append)
        >>> draw.randint(2, n=6)
        1
        >>> made
        [Made(slot=2, kind='randint', first=0, arguments={'n': 6}, outcome=1)]
    """

    def __init__(self, draw: Any, note: Callable[[Made], None]) -> None:
        self.__dict__.update(recorded_draw=draw, recorded_note=note)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.recorded_draw, name, value)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.recorded_draw, name)
        if name not in DISTRIBUTIONS:
            return method

        def made(*positional: Any, **named: Any) -> Any:
            outcome = method(*positional, **named)
            values = inspect.signature(method).bind(*positional, **named).arguments
            slot, first = int(values.pop("slot")), int(values.pop("index", 0))
            self.recorded_note(Made(slot, name, first, values, outcome))
            return outcome

        return made
