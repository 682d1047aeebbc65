"""Which episode of two files stands beside which, and in them which state beside which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from .tape import Tape

Key = tuple[int, int, int]


class Span(NamedTuple):
    """An episode on a tape: its seed and number, its first state's step counter and place, how many states it has."""

    seed: int
    episode: int
    clock: int
    start: int
    states: int

    @property
    def last(self) -> Span:
        """Its last state alone."""
        return self._replace(start=self.start + self.states - 1, states=1)


class Pair(NamedTuple):
    """Two episodes in step.

    Attributes:
        spans: where both are.
        keyed: whether they have the same seed and number, so that their step counters are compared.
        over: the side whose file has ended before; it shows its last state.
    """

    spans: tuple[Span, Span]
    keyed: bool
    over: int | None = None

    @property
    def length(self) -> int:
        """How many shots it has."""
        return max(self._begin(side) + self.spans[side].states for side in (0, 1))

    def last(self, side: int) -> int:
        """The shot that shows a side's last state first."""
        return self._begin(side) + self.spans[side].states - 1

    def place(self, side: int, index: int) -> tuple[int, str]:
        """The number on a side's tape that a shot shows, and in words why it is not a state of this moment."""
        span, own = self.spans[side], index - self._begin(side)
        why = "ended" if own >= span.states or side == self.over else "not begun" if own < 0 else ""
        return span.start + min(max(own, 0), span.states - 1), why

    def _begin(self, side: int) -> int:
        return self.spans[side].clock - min(span.clock for span in self.spans) if self.keyed else 0


def spans(tape: Tape) -> list[Span]:
    """The episodes of a tape that was read to its end."""
    ends = [*tape.starts[1:], len(tape)]
    found = []
    for start, end in zip(tape.starts, ends, strict=True):
        first = tape[start]
        found.append(Span(first.seed, first.part.episode, first.clock, start, end - start))
    return found


def paired(one: Sequence[Span], other: Sequence[Span]) -> tuple[list[Pair], list[int]]:
    """The pairs of two files' episodes, of which each has at least one; and how many of each file are left out.

    Episodes with the same seed and number are paired, where there are any; then a file that goes on after the last
    shared one, when the other file ends with it, goes on alone, and what else only one file has is left out. Otherwise
    they are paired in their order.
    """
    first, second = _by_key(one), _by_key(other)
    sides = ((one, first), (other, second))
    shared = [key for key in first if key in second]
    if not shared:
        return [_in_order(pair, (one[-1].last, other[-1].last)) for pair in zip_longest(one, other)], [0, 0]
    pairs = [Pair((first[key], second[key]), True) for key in shared]
    rest, other_rest = (_after(side, max(keys[key].start for key in shared)) for side, keys in sides)
    if rest and other_rest:
        rest, other_rest = [], []
    pairs += [_in_order(pair, (one[-1].last, other[-1].last)) for pair in zip_longest(rest, other_rest)]
    return pairs, [len(one) - len(shared) - len(rest), len(other) - len(shared) - len(other_rest)]


def _in_order(pair: tuple[Span | None, Span | None], ends: tuple[Span, Span]) -> Pair:
    one, other = pair
    return Pair((one or ends[0], other or ends[1]), False, 0 if one is None else 1 if other is None else None)


def _by_key(side: Sequence[Span]) -> dict[Key, Span]:
    """The episodes by seed, number, and how often these two were there before (a seed may be reset to again)."""
    seen: Counter[tuple[int, int]] = Counter()
    found = {}
    for span in side:
        found[span.seed, span.episode, seen[span.seed, span.episode]] = span
        seen[span.seed, span.episode] += 1
    return found


def _after(side: Sequence[Span], start: int) -> list[Span]:
    """The episodes that begin after the last shared one, wherever in the other file that stands."""
    return [span for span in side if span.start > start]
