"""Makes a case as small as it gets: one transition, one row, the earliest divergence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..spec import Package
from .case import Case
from .playback import AFTER_MASK, AFTER_RESET, AFTER_STEP, FIRST, NEXT_FIRST, Divergence, replay, run
from .records import Record, take

SECONDS = 5.0  # after which no further case is tried


def shrink(package: Package, case: Case, seconds: float = SECONDS) -> Case | None:
    """The smallest case found that shows the same kind of divergence; None where the case shows none, or time is out.

    Tried in this order: one injected transition (or reset) of the one row alone, then of the whole batch and of ever
    fewer of its rows; the last 2, 4, 8 ... steps of the one row; its episode from the beginning; the case as it is,
    up to its divergence. What is tried runs eager and bare first, then as the case does.
    """
    search = _Search(package, case, time.monotonic() + seconds)
    return search.smallest() if search.found is not None else None


class _Search:
    """One search: the case as it was run, and what it came to."""

    def __init__(self, package: Package, case: Case, deadline: float) -> None:
        self.package, self.case, self.deadline = package, case, deadline
        self.whole = replay(package, case)
        self.found: Divergence | None = self.whole.divergence
        # which row made a side raise, or which one's memory was written, is not known
        self.of_one_row = self.found is not None and self.found.kind not in ("raised", "written")

    def smallest(self) -> Case | None:
        """The first candidate that shows the divergence; of a batch, the fewest rows."""
        for candidate in self._candidates():
            shown = self._shown(candidate)
            if shown is not None:
                return self._fewer_rows(_cut(candidate, shown), [shown.row] if self.of_one_row else [])
        return None

    def _candidates(self) -> Iterator[Case]:
        assert self.found is not None
        row, before = np.array([self.found.row]), self._before()
        if before is not None or self.found.when == FIRST:
            yield from self._ways(self._last_call(before, row))
            if self.case.rows > 1:
                yield from self._ways(self._last_call(before, np.arange(self.case.rows)))
        if self.found.when in (AFTER_STEP, NEXT_FIRST):
            yield from self._longer(row)
            if 1 < self.case.rows == len(self.case.watched_rows):
                yield from self._longer(np.arange(self.case.rows))
        yield self.case

    def _before(self) -> Record | None:
        """The states of all rows before the call that showed the divergence; None where they are not known."""
        assert self.found is not None
        if self.found.when == FIRST:
            return self.case.starts
        moments = self.whole.moments[: self.whole.before]
        moment = moments[-2 if self.found.when == NEXT_FIRST else -1]  # a step shows two moments
        if moment.batch is not None and "clock.t" in moment.batch:
            return moment.batch
        return moment.reference if len(moment.reference["clock.t"]) == self.case.rows else None

    def _last_call(self, before: Record | None, rows: np.ndarray) -> Case:
        """The call that showed the divergence, alone, of some rows."""
        assert self.found is not None
        case, step, when = self.case, self.found.step, self.found.when
        of_one = len(rows) == 1 or self.of_one_row
        watched = np.flatnonzero(np.isin(rows, self.found.row if of_one else case.watched_rows))
        single: dict[str, Any] = {"actions": None, "resets": 0, "masks": (), "watched": watched}
        if before is None:
            assert case.seeds is not None
            return replace(case, **single, seeds=case.seeds[rows])
        single |= {"seeds": None, "starts": take(before, rows)}
        if when == AFTER_RESET:
            single["resets"] = 1
        elif when == AFTER_MASK:
            mask = next(mask for number, mask in reversed(case.masks) if number == step)
            single["masks"] = ((0, mask[rows]),)
        elif step:
            assert case.actions is not None
            single["actions"] = case.actions[step - 1 : step, rows]
        return replace(case, **single)

    def _longer(self, rows: np.ndarray) -> Iterator[Case]:
        """The last 2, 4, 8 ... steps of some rows, then, of one alone, its episode from the beginning."""
        assert self.found is not None
        assert self.case.actions is not None
        places = np.flatnonzero(np.isin(self.case.watched_rows, rows))
        last = {moment.step: moment for moment in self.whole.moments}  # what each further step begins with
        step, count = self.found.step, 2
        single: dict[str, Any] = {"watched": None, "resets": 0, "masks": (), "seeds": None}
        barrier = max((number for number, _ in self.case.masks if number < step), default=0)
        while step - count >= barrier:
            starts = take(last[step - count].reference, places)
            actions = self.case.actions[step - count : step, rows]
            yield from self._ways(replace(self.case, **single, starts=starts, actions=actions))
            count *= 2
        if len(rows) > 1:
            return
        place = int(places[0])
        clocks = [last[number].reference for number in range(barrier, step)]
        seed, episode = (clocks[-1][name][place] for name in ("clock.seed", "clock.episode"))
        own = [one["clock.seed"][place] == seed and one["clock.episode"][place] == episode for one in clocks]
        first = barrier + own.index(True)
        if last[first].reference["clock.t"][place] == 0:
            starts = take(last[first].reference, [place])
            actions = self.case.actions[first:step, rows]
            begun: dict[str, Any] = {**single, "starts": {**starts, "clock.episode": starts["clock.episode"] - 1}}
            begun = {**begun, "resets": 1} if episode else {**begun, "starts": None, "seeds": starts["clock.seed"]}
            yield from self._ways(replace(self.case, **{**begun, "actions": actions}))

    def _ways(self, case: Case) -> Iterator[Case]:
        """The case eager and bare, fused and plain, then as it is."""
        eager = {name: value for name, value in case.options.items() if name in ("device", "resets", "kernel")}
        seen = set()
        for way in (
            replace(case, form="bare", options=eager),
            replace(case, form="bare", options=eager, fused=not case.fused),
            case,
        ):
            key = (way.form, way.fused, tuple(sorted(way.options.items())))
            if key not in seen:
                seen.add(key)
                yield way

    def _fewer_rows(self, case: Case, needed: list[int]) -> Case:
        """Drop ever smaller runs of rows, all but those needed, as long as the divergence stays."""
        watched = case.watched_rows if not needed else np.array(needed)
        rows, size = np.arange(case.rows), case.rows // 2
        while size:
            for start in range(0, len(rows), size):
                if time.monotonic() > self.deadline:  # of a large batch the candidates alone would take minutes
                    size = 0
                    break
                rest = np.union1d(np.delete(rows, slice(start, start + size)), needed).astype(np.int64)
                fewer = 0 < len(rest) < len(rows)
                if fewer and self._shown(_of_rows(case, rest, watched)) is not None:
                    rows = rest
                    break
            else:
                size //= 2
        return case if len(rows) == case.rows else _of_rows(case, rows, watched)

    def _shown(self, case: Case) -> Divergence | None:
        """The case's divergence, where it is of the kind that is looked for, and there was time."""
        assert self.found is not None
        if time.monotonic() > self.deadline:
            return None
        shown = run(self.package, case)
        if shown is None or shown.kind != self.found.kind:
            return None
        return None if shown.kind == "law" and shown.error != self.found.error else shown


def _cut(case: Case, shown: Divergence) -> Case:
    """A case without the steps, and the resets of some rows, after its divergence."""
    actions = None if case.actions is None or not shown.step else case.actions[: shown.step]
    return replace(case, actions=actions, masks=tuple(one for one in case.masks if one[0] <= shown.step))


def _of_rows(case: Case, rows: np.ndarray, watched: np.ndarray) -> Case:
    """A case of some of its rows; those of ``watched`` that are left have a reference, or else the first."""
    left = np.flatnonzero(np.isin(rows, watched))
    return replace(
        case,
        starts=None if case.starts is None else take(case.starts, rows),
        seeds=None if case.seeds is None else case.seeds[rows],
        actions=None if case.actions is None else case.actions[:, rows],
        masks=tuple((step, mask[rows]) for step, mask in case.masks),
        watched=left if len(left) else np.zeros(1, np.int64),
    )
