"""Batch independence: a row's episodes depend on its own seed and actions, not on the rows beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..case import Case, Difference
from ..leaves import exactly_alike, row_of
from ..pair import Pair
from ..run import Run
from ..views import Moment

SIZES = (3, 8, 64)


def check(run: Run) -> None:
    """The first rows of batches of several sizes, with one seed and the same actions each; then other actions in the
    other rows."""
    steps = 40 if run.quick else 150
    for number, rows in enumerate(SIZES):
        run.probe(run.case("sizes", rows, steps, 90 + number), least=2)
        run.probe(run.case("neighbours", rows, steps, 95 + number), least=2)
        run.progress((number + 1) / len(SIZES))


def _sizes(pair: Pair, case: Case) -> list[Difference]:
    """A batch, and smaller ones with its first rows."""
    whole = pair.played(case.rows, case.seed, case.actions, case.limit)
    for size in sorted({1, 2, case.rows // 2, case.rows - 1} - {0, case.rows}):
        part = pair.played(size, case.seed, case.actions[:, :size], case.limit)
        labels = f"of {case.rows}", f"of {size}"
        found = _first(whole, part, range(size), f"in a batch of {case.rows} and in one of {size}", labels)
        if found is not None:
            return [replace(found, subject=f"{found.subject} and num_envs")]
    return []


def _neighbours(pair: Pair, case: Case) -> list[Difference]:
    """A batch twice, with other actions in its odd rows: the even ones stay as they are."""
    others = pair.actions(np.random.default_rng(case.seed), case.steps, case.rows)
    changed = case.actions.copy()
    changed[:, 1::2] = others[:, 1::2]
    one, other = (pair.played(case.rows, case.seed, actions, case.limit) for actions in (case.actions, changed))
    found = _first(one, other, range(0, case.rows, 2), "with other actions in the odd rows", ("actions", "others"))
    return [] if found is None else [replace(found, subject=f"{found.subject} and neighbours")]


def _first(one: list[Moment], other: list[Moment], rows: range, how: str, labels: tuple[str, str]) -> Difference | None:
    """The first difference of some rows of two runs."""
    for step, (mine, yours) in enumerate(zip(one, other, strict=True)):
        for row in rows:
            first, second = _row(mine, row), _row(yours, row)
            if not exactly_alike(first, second):
                name = next(name for name in {**first, **second} if not _same(first, second, name))
                what = f"row {row} differs in {name} {how}"
                later = "later episodes" if mine.began[row] else "transitions"
                subject = later if step else "first episodes"
                return Difference(subject, what, row, step, str(first.get(name)), str(second.get(name)), labels)
    return None


def _row(moment: Moment, row: int) -> dict[str, np.ndarray]:
    table = {f"observation {name}": value for name, value in row_of(moment.observation, row).items()}
    for name in ("reward", "terminated", "truncated"):
        if (value := getattr(moment, name)) is not None:
            table[name] = value[row : row + 1]
    for name, value in moment.final.get(row, {}).items():
        table[f"terminal observation {name}"] = value
    return table


def _same(first: dict[str, np.ndarray], second: dict[str, np.ndarray], name: str) -> bool:
    return name in first and name in second and exactly_alike({"": first[name]}, {"": second[name]})


PROBES = {"sizes": _sizes, "neighbours": _neighbours}
