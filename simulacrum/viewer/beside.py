"""``Beside``: two trajectories of one package, in step.

An episode stands beside the one of the same seed and number, where both files have any such; within it the states with
the same step counter stand beside each other. Episodes that only one file has are left out then, but for those with
which it goes on when the other has ended. Where no episode is in both files, they stand beside each other in their
order, each from its first state on. Where one has ended, the other goes on beside its last state.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from itertools import accumulate

from ..errors import SimulacrumError
from ..render.text import printable
from ..spec import Package
from ..trajectory import Step
from ..trajectory.values import as_arrays
from .differences import of_parts
from .moments import Moment
from .pairs import paired, spans
from .shots import Panel, Shot
from .tape import Tape

SIDES = (0, 1)
LISTED = 3  # sides that stopped


class Beside:
    """The shots of two tapes, which were read to their ends.

    Args:
        package: of both.
        tapes: of the two files, each with at least one episode.
        names: of the two, for people.
        agent: whose reward is told, where there are many.

    Attributes:
        left_out: in words, what is not shown; empty where all is.
        stopped: in words, where a side stops before the other without an end of the episode; empty where none does.
    """

    whole = True
    error: SimulacrumError | None = None

    def __init__(
        self, package: Package, tapes: tuple[Tape, Tape], names: tuple[str, str], agent: int | None = None
    ) -> None:
        self._package, self._tapes, self._agent = package, tapes, agent
        self._names = tuple(printable(name, lines=False) for name in names)
        self._pairs, left = paired(spans(tapes[0]), spans(tapes[1]))
        self.left_out = ", ".join(f"{count} of {name}" for count, name in zip(left, self._names, strict=True) if count)
        *self.starts, self._count = accumulate((pair.length for pair in self._pairs), initial=0)
        self._stops = {pair: stop for pair in range(len(self._pairs)) if (stop := self._stop(pair))}
        self.stopped = _listed([f"{words} ({self._title(pair)})" for pair, (_, words) in self._stops.items()])
        self._looked = [0] * len(self._pairs)  # how many shots of each pair were compared
        self._found: dict[
            int, tuple[int, str]
        ] = {}  # the first difference of a pair: at which shot of it, and in words

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Shot:
        """A shot; the difference that it tells is the first one of its episodes. Raises IndexError for others."""
        if not 0 <= number < self._count:
            raise IndexError(f"shot {number}: there are {self._count}")
        pair = bisect.bisect_right(self.starts, number) - 1
        index = number - self.starts[pair]
        while self._looked[pair] <= index and pair not in self._found:
            self._look(pair)
        first, words = self._found.get(pair, (self._count, ""))
        panels = self._panel(pair, 0, index), self._panel(pair, 1, index)
        last, stops = self._stops.get(pair, (self._count, ""))
        title = self._title(pair) + (f"  {stops}" if index > last else "")
        if index < first:
            return Shot(panels, title)
        where = f"step {self._moment(pair, 0, first).clock}"
        return Shot(panels, title, where, words, bool(self._difference(pair, index)), index == first)

    def read(self) -> bool:
        """There are no more."""
        return False

    def first_difference(self) -> Iterator[int | None]:
        """Look for the first difference, one shot at a time: None while it is looked for, then its number."""
        for pair, each in enumerate(self._pairs):
            while self._looked[pair] < each.length and pair not in self._found:
                self._look(pair)
                yield None
            if pair in self._found:
                yield self.starts[pair] + self._found[pair][0]
                return

    def _look(self, pair: int) -> None:
        """Compare the next shot of a pair."""
        index = self._looked[pair]
        self._looked[pair] += 1
        if found := self._difference(pair, index):
            self._found[pair] = index, found

    def _difference(self, pair: int, index: int) -> str:
        """The difference of a shot's two moments, in words; empty where there is none, or a side has none."""
        if any(self._pairs[pair].place(side, index)[1] for side in SIDES):
            return ""
        one, other = (self._moment(pair, side, index).part for side in SIDES)
        return str(of_parts(self._package, one, other) or "")

    def _stop(self, pair: int) -> tuple[int, str] | None:
        """Where a side stops before the other though no flag ended its episode: at which shot, and in words."""
        one = self._pairs[pair]
        for side in SIDES if one.over is None else ():
            last = one.last(side)
            if last + 1 < one.length:
                moment = self._moment(pair, side, last)
                if not (isinstance(moment.part, Step) and (moment.part.terminated or moment.part.truncated)):
                    return last, f"{self._names[side]} ended after step {moment.clock}"
        return None

    def _moment(self, pair: int, side: int, index: int) -> Moment:
        return self._tapes[side][self._pairs[pair].place(side, index)[0]]

    def _panel(self, pair: int, side: int, index: int) -> Panel:
        moment, why = self._moment(pair, side, index), self._pairs[pair].place(side, index)[1]
        lines = moment.caption(self._agent)
        if why and not (why == "ended" and ("  terminated" in lines[0] or "  truncated" in lines[0])):
            lines[0] += f"  {why}"
        return Panel(self._names[side], lines, as_arrays(self._package, moment.part.state))

    def _title(self, pair: int) -> str:
        one, other = self._pairs[pair].spans
        if self._pairs[pair].keyed:
            return f"seed {one.seed}  episode {one.episode}"
        return f"seed {one.seed} episode {one.episode}  beside  seed {other.seed} episode {other.episode}"


def _listed(texts: list[str]) -> str:
    more = len(texts) - LISTED
    return ", ".join([*texts[:LISTED], *([f"and {more} more"] if more > 0 else [])])
