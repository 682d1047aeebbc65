"""Determinism: the same seed and actions give the same bits, in this process and in another."""

from __future__ import annotations

import pickle
import warnings
from multiprocessing import get_context
from typing import Any

from ...bits import Digest
from ..case import Case, Difference
from ..leaves import exactly_alike
from ..pair import Pair
from ..run import Run

PATIENCE = 300.0  # seconds for another process


def check(run: Run) -> None:
    """Two candidates with one seed; then one more in a process of its own."""
    sizes = {1: 200, 8: 100, 64: 40} if not run.quick else {3: 60}
    for number, (rows, steps) in enumerate(sizes.items()):
        run.probe(run.case("twins", rows, steps, 20 + number))
        run.progress(number / 4)
    if run.pair.candidate.factory is not None and not _pickles(run.pair.candidate.factory):
        run.note("another process was not tried: the factory does not pickle")
        return
    run.probe(run.case("process", 8, 60, 29))


def _twins(pair: Pair, case: Case) -> list[Difference]:
    one, other = (pair.played(case.rows, case.seed, case.actions, case.limit) for _ in range(2))
    for step, (mine, yours) in enumerate(zip(one, other, strict=True)):
        first, second = mine.numbers(), yours.numbers()
        if not exactly_alike(first, second):
            name = next(name for name in {**first, **second} if not exactly_alike(*_only(first, second, name)))
            what = f"two candidates with one seed and the same actions differ in {name}"
            told = str(first.get(name)), str(second.get(name))
            return [Difference("two in one process", what, None, step, *told, ("one", "other"))]
    return []


def _only(one: Any, other: Any, name: str) -> tuple[Any, Any]:
    return tuple({name: table[name]} if name in table else {} for table in (one, other))  # type: ignore[return-value]


def _process(pair: Pair, case: Case) -> list[Difference]:
    here = digest(Pair(pair.reference, pair.candidate, pair.state, pair.mode), pair.seeding, case)
    context = get_context("spawn")
    with context.Pool(1, warnings.simplefilter, ("ignore",)) as pool:
        bare = Pair(pair.reference, pair.candidate, pair.state, pair.mode)
        there = pool.apply_async(digest, (bare, pair.seeding, case)).get(PATIENCE)
    if here == there:
        return []
    what = "the same seed and actions give other bits in another process (digests of all that was returned)"
    return [Difference("another process", what, None, None, here[:16], there[:16], ("here", "there"))]


def digest(pair: Pair, seeding: str, case: Case) -> str:
    """Of all that a candidate returns."""
    pair.__dict__["seeding"] = seeding
    total = Digest()
    for moment in pair.played(case.rows, case.seed, case.actions, case.limit):
        total.update(moment.numbers())
    return total.hexdigest()


def _pickles(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


PROBES = {"twins": _twins, "process": _process}
