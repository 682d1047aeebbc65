"""Medians of what is done by turns: the one way in which simulacrum times anything.

A machine's speed drifts, and other programs come and go. So whatever is compared runs by turns, round after round, in
one process, and a ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Clock = Callable[[], float]
Progress = Callable[[float], None]

ROUNDS = 9
WARM_STEPS, WARM_SECONDS = 400, 2.0  # until either is over: caches, and the graphs of every kind of reset


class Side(NamedTuple):
    """Something to time.

    Attributes:
        run: does a number of steps, and nothing else.
        rows: how much one step makes: N for a batch of N instances, 1 for the reference, bytes for a copy.
        warm: how many steps warm it up, unless :data:`WARM_SECONDS` are over first.
    """

    run: Callable[[int], object]
    rows: int
    warm: int = WARM_STEPS


@dataclass
class Timing:
    """What the rounds of one side took.

    Attributes:
        rows: how much one step makes.
        steps: the steps of a round.
        seconds: what each round took.
    """

    rows: int
    steps: int
    seconds: list[float] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Rows a second, of each round."""
        return [self.rows * self.steps / seconds for seconds in self.seconds]

    @property
    def rate(self) -> float:
        """Rows a second: the rounds' median."""
        return statistics.median(self.rates)

    @property
    def nanoseconds(self) -> float:
        """Nanoseconds a row: the rounds' median."""
        return 1e9 / self.rate

    @property
    def spread(self) -> float:
        """How far the slowest and the fastest round lie apart, as a share of the median rate."""
        return (max(self.rates) - min(self.rates)) / self.rate

    def over(self, other: Timing) -> float:
        """How many times the other side's rate this one has: the median of the rounds' ratios."""
        return statistics.median(mine / its for mine, its in zip(self.rates, other.rates, strict=True))


def by_turns(
    sides: Mapping[str, Side],
    seconds: float,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    clock: Clock = time.perf_counter,
) -> dict[str, Timing]:
    """Time sides by turns.

    Args:
        sides: by name; each is warmed up first (and compiles what it compiles).
        seconds: about how long each side runs in a round; one step at least.
        rounds: how often each side has its turn.
        progress: is told how much is done, 0 to 1.
        clock: seconds that only grow.

    Returns:
        The timing of each side, by name.
    """
    timings = {}
    for number, (name, side) in enumerate(sides.items(), 1):
        timings[name] = Timing(side.rows, warm(side, seconds, clock))
        _tell(progress, number / len(sides) / 2)
    for number in range(1, rounds + 1):
        for name, side in sides.items():
            timing = timings[name]
            start = clock()
            side.run(timing.steps)
            timing.seconds.append(clock() - start)
        _tell(progress, (1 + number / rounds) / 2)
    return timings


def warm(side: Side, seconds: float, clock: Clock = time.perf_counter) -> int:
    """Run a side until it is warm, and return how many of its steps take ``seconds``; one at least."""
    side.run(1)  # apart, for it may compile
    begun, done, steps, took = clock(), 1, 1, 0.0
    while (done < side.warm and clock() - begun < WARM_SECONDS) or took <= 0:
        start = clock()
        side.run(steps)
        took = clock() - start
        done += steps
        last, steps = steps, min(2 * steps, 64)
    return max(1, round(last * seconds / took))


def _tell(progress: Progress | None, share: float) -> None:
    if progress is not None:
        progress(share)
