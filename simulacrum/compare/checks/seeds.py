"""Seeds: a seed begins the same episode again, another one another, rows differ, and row i has the seed s + i."""

from __future__ import annotations

import numpy as np

from ... import bits
from ..case import Case, Difference
from ..judges import shown
from ..leaves import exactly_alike, row_of
from ..pair import Pair
from ..run import NotApplicable, Run

STEPS = 16


def check(run: Run) -> None:
    """Gymnasium's rules for seeds; a TorchRL environment derives its rows' seeds in its own way."""
    pair = run.pair
    run.note(f"seeded by {pair.seeding}" if pair.seeding != "none" else "no seed was seen to have an effect")
    run.probe(run.case("reset_twice", 3, STEPS, 30))
    if not pair.varies:
        raise NotApplicable("the reference's episodes do not differ from seed to seed")
    run.probe(run.case("seed_matters", 3, STEPS, 31))
    run.probe(run.case("rows_differ", 8, STEPS, 32), least=2)
    if pair.vector:
        run.probe(run.case("seed_list", 3, 1, 33), least=2)
        run.probe(run.case("row_seeds", 3, 1, 34), least=2)
    same = "plays" if pair.comparable else "does not play"
    run.note(f"one row with a seed {same} what the reference plays with it")
    if pair.comparable and pair.vector:
        run.probe(run.case("reference_seeds", 3, STEPS, 35), least=2)


def _reset_twice(pair: Pair, case: Case) -> list[Difference]:
    """``reset(seed=s)``, some steps, and both once more on the same candidate."""
    view = pair.view(case.rows, case.seed)
    try:
        runs = []
        for _ in range(2):
            moments = [view.reset(seed=case.seed), *(view.step(action) for action in case.actions)]
            runs.append([moment.numbers() for moment in moments])
    finally:
        view.close()
    for step, (one, other) in enumerate(zip(*runs, strict=True)):
        if not exactly_alike(one, other):
            name = next((name for name in one if name not in other or not bits.same(one[name], other[name])), "")
            what = f"reset(seed={case.seed}) on one candidate, twice, gives another {name or 'set of values'}"
            told = str(one.get(name)), str(other.get(name))
            return [Difference("reset(seed=s) twice", what, None, step, *told, ("first", "second"))]
    return []


def _seed_matters(pair: Pair, case: Case) -> list[Difference]:
    """Some seeds, each on a candidate of its own: not all may play alike."""
    runs = [_numbers(pair, case, case.seed + 1000 * number) for number in range(4)]
    if any(not exactly_alike(one, other) for one, other in zip(runs[0], runs[1], strict=True)):
        return []
    if all(exactly_alike(one, other) for run in runs[1:] for one, other in zip(runs[0], run, strict=True)):
        what = f"four seeds give the same {case.steps} steps, where the reference's differ"
        return [Difference("seed without effect", what)]
    return []


def _numbers(pair: Pair, case: Case, seed: int) -> list[dict[str, np.ndarray]]:
    return [moment.numbers() for moment in pair.played(case.rows, seed, case.actions, case.limit)]


def _rows_differ(pair: Pair, case: Case) -> list[Difference]:
    """The rows of one batch under the same actions: they may not all be one."""
    actions = np.repeat(case.actions[:, :1], case.rows, axis=1)
    for moment in pair.played(case.rows, case.seed, actions, case.limit):
        first = row_of(moment.observation, 0)
        if any(not exactly_alike(first, row_of(moment.observation, row)) for row in range(1, case.rows)):
            return []
    what = f"all {case.rows} rows play alike for {case.steps} steps, where the reference's episodes differ"
    return [Difference("rows alike", what)]


def _seed_list(pair: Pair, case: Case) -> list[Difference]:
    """``reset(seed=[...])``: a list gives each row its own, and is what ``s`` gives where it counts up from it."""
    view = pair.view(case.rows, case.seed)
    try:
        whole = view.reset(seed=case.seed)
        try:
            listed = view.reset(seed=[case.seed + row for row in range(case.rows)])
        except Exception as error:
            what = f"reset(seed=[...]) raised {type(error).__name__}: {str(error)[:200]}"
            return [Difference("list of seeds", what)]
    finally:
        view.close()
    for row in range(case.rows):
        one, other = row_of(whole.observation, row), row_of(listed.observation, row)
        if not exactly_alike(one, other):
            what = f"reset(seed=[{case.seed}, {case.seed} + 1, ...]) does not begin as reset(seed={case.seed})"
            return [Difference("list of seeds", what, row, 0, shown(one), shown(other), ("a seed", "a list"))]
    return []


def _row_seeds(pair: Pair, case: Case) -> list[Difference]:
    """Row i of a batch with the seed s begins as one row with the seed s + i."""
    whole = pair.played(case.rows, case.seed, case.actions[:0])[0]
    for row in range(case.rows):
        single = pair.played(1, case.seed + row, case.actions[:0, :1])[0]
        one, other = row_of(single.observation, 0), row_of(whole.observation, row)
        if not exactly_alike(one, other):
            what = f"row {row} of {case.rows} with seed {case.seed} begins not as one row with seed {case.seed + row}"
            told = shown(one), shown(other)
            return [Difference("row i has the seed s + i", what, row, 0, *told, ("one row", "in batch"))]
    return []


def _reference_seeds(pair: Pair, case: Case) -> list[Difference]:
    """Row i of a batch with the seed s plays what the reference plays with the seed s + i."""
    from .transitions import lockstep_of

    return [each for each in lockstep_of(pair, case, "seeded")[0] if each.subject == "first observation"]


PROBES = {
    "reset_twice": _reset_twice,
    "seed_matters": _seed_matters,
    "rows_differ": _rows_differ,
    "seed_list": _seed_list,
    "row_seeds": _row_seeds,
    "reference_seeds": _reference_seeds,
}
