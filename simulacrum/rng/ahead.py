"""``Ahead``: the words of N rows' next step and next episodes, kept and drawn again where they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from .operators import native_module
from .tensor import Range, flat

MOST = 32  # words of a reset: more would take too much memory

Call = tuple[Callable[..., None], tuple[Any, ...]]


class Ahead:
    """Words in place, native: those of a step for all rows, those of a reset for the rows that ended in the last one.

    Attributes:
        words: int32 [2, C + 1 + D, N], as :func:`simulacrum.rng.operators.both_words` gives them.
        ended: uint8 [N], to be set to 1 where an episode ended, else to 0.
        stale: whether the words of a reset are to be drawn anew for all rows.
    """

    def __init__(self, module: ModuleType, clock: Any, step: Sequence[Range], reset: Sequence[Range]) -> None:
        rows = len(clock.t)
        ranges = flat(reset)
        second = [first + i for first, count in reset for i in range(count)]
        before, after = sum(count for _, count in step), 1 + len(second)
        with torch.inference_mode(False):
            self.words = torch.empty((2, before + after, rows), dtype=torch.int32)
            self.ended = torch.zeros(rows, dtype=torch.uint8)
            self._second = torch.tensor(second, dtype=torch.int64).to(torch.uint32)
        self.stale = True
        self._clock = clock  # which holds the memory of the addresses
        x0, half, line = self.words.data_ptr(), self.words[0].nbytes, 4 * rows * before
        seeds, episodes = clock.seed.data_ptr(), clock.episode.data_ptr()
        keys = clock.k0.data_ptr(), clock.k1.data_ptr(), clock.t.data_ptr()
        self._step: Call = module.words, (*keys, flat(step), rows, x0, x0 + half)
        out = x0 + line, x0 + half + line
        self._all: Call = module.begin, (seeds, episodes, 1, ranges, rows, *out)
        listed = self.ended.data_ptr(), seeds, episodes, 1, self._second.data_ptr(), len(second), rows
        self._ended: Call = module.begin_ended, (*listed, *out)

    @classmethod
    def of(cls, clock: Any, step: Sequence[Range], reset: Sequence[Range]) -> Ahead | None:
        """For the memory of seeds, episodes, ``t`` (int64 [N]) and keys (int32 [N]), each contiguous: attributes of
        ``clock``. None where it lies on a device, without a native helper, and where a reset draws many words."""
        module = native_module() if clock.t.device.type == "cpu" else None
        if module is None or sum(count for _, count in reset) > MOST:
            return None
        return cls(module, clock, step, reset)

    def draw(self) -> tuple[Tensor, Tensor]:
        """(words, ended), the words as the clock is now."""
        for function, arguments in (self._step, self._all if self.stale else self._ended):
            function(*arguments)
        self.stale = False
        return self.words, self.ended
