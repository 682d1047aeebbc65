"""Makes a case small: fewest steps, then fewest rows, that still show a difference of the same subject."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .case import Case, Difference

if TYPE_CHECKING:
    from .pair import Pair

SECONDS = 4.0  # for one finding
SEEDS = 32  # tried at each length
LENGTHS = (*range(1, 9), 10, 12, 16, 24, 32)
Probe = Callable[["Pair", Case], list[Difference]]


def shrink(
    pair: Pair, probe: Probe, case: Case, found: Difference, least: int = 1, seconds: float = SECONDS
) -> tuple[Case, Difference]:
    """The smallest case found within some seconds, and what it shows; ``least`` rows at least."""
    search = _Search(pair, probe, case, found, time.monotonic() + seconds)
    search.cut()
    search.take(search.fewer_rows(least))
    search.take(search.other_seeds(least))
    search.cut()
    search.take(search.last_steps_off())
    return search.case, search.found


class _Search:
    def __init__(self, pair: Pair, probe: Probe, case: Case, found: Difference, deadline: float) -> None:
        self.pair, self.probe, self.case, self.found, self.deadline = pair, probe, case, found, deadline

    def take(self, candidates: Iterator[Case]) -> None:
        """Keep the first of ever smaller cases, again and again, that shows the subject."""
        for candidate in candidates:
            if time.monotonic() > self.deadline:
                return
            self.keep(candidate)

    def keep(self, candidate: Case) -> bool:
        """Keep a case if it shows the subject."""
        shown = next((each for each in self.probe(self.pair, candidate) if each.subject == self.found.subject), None)
        if shown is None:
            return False
        self.case, self.found = candidate, shown
        self.cut()
        return True

    def cut(self) -> None:
        """Without the steps after the one that showed it, if it is shown without them."""
        step = self.found.step
        if step is None or step >= self.case.steps:
            return
        shorter = self.case.cut(step)
        shown = next((each for each in self.probe(self.pair, shorter) if each.subject == self.found.subject), None)
        if shown is not None:
            self.case, self.found = shorter, shown

    def fewer_rows(self, least: int) -> Iterator[Case]:
        """The row alone; then ever more of the first rows, until they are all."""
        row, rows, actions = self.found.row, self.case.rows, self.case.actions
        begun = self.case
        if row is not None and least == 1 and rows > 1:
            yield replace(begun, rows=1, seed=begun.seed + row, actions=actions[:, [row]])
        size = least
        while self.case.rows == rows and size < rows:
            yield replace(begun, rows=size, actions=begun.actions[:, :size])
            size = size + 1 if size < 4 else size * 2

    def other_seeds(self, least: int) -> Iterator[Case]:
        """Other seeds and actions, ever longer while shorter than what was found so far, with as many rows or fewer."""
        for steps in LENGTHS:
            for rows in dict.fromkeys((least, self.case.rows)):
                for seed in range(SEEDS):
                    if steps >= self.case.steps or rows > self.case.rows:
                        break
                    actions = self.pair.actions(np.random.default_rng(seed), steps, rows)
                    yield replace(self.case, rows=rows, seed=seed, actions=actions)

    def last_steps_off(self) -> Iterator[Case]:
        """Half the steps, and one less, for differences that name no step."""
        while self.found.step is None and self.case.steps > 1:
            before = self.case.steps
            yield self.case.cut(before // 2)
            if self.case.steps == before:
                yield self.case.cut(before - 1)
            if self.case.steps == before:
                return
