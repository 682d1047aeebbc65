"""Reset modes: what the candidate declares to do when an episode ends, and what it does."""

from __future__ import annotations

import numpy as np

from ..case import Case, Difference
from ..judges import FIRST, shown
from ..leaves import Leaves, exactly_alike, row_of
from ..pair import Pair
from ..run import NotApplicable, Run
from ..views import DISABLED, NEXT_STEP, SAME_STEP, Moment, TensorView, View

SHORT, STEPS = 5, 60


def check(run: Run) -> None:
    """The declared mode is the real one; its rules hold; a reset by mask resets those rows and no others."""
    pair = run.pair
    seen = pair.behaviour
    run.note(f"declares {seen.declared or 'no autoreset mode'}; behaves as {seen.mode or 'unknown'}: {seen.evidence}")
    limit = SHORT if pair.limits else None
    run.probe(run.case("declared", 8, 0, 40))
    masked = run.case("mask", 4, 12, 41)
    if pair.behaviour.mode == DISABLED or not pair.vector:
        run.probe(masked, least=2)
    else:
        for each in run.differences(masked):
            run.note(f"reset_mask, which only the mode disabled demands: {each.subject}: {each.message}")
    if seen.mode is None:
        raise NotApplicable("no episode of the candidate was seen to end")
    run.probe(run.case("ends", 8, STEPS if limit else 400, 42, limit))
    run.probe(run.case("ends", 3, 300, 43))


def _declared(pair: Pair, case: Case) -> list[Difference]:
    seen = pair.behaviour
    if not seen.ends and seen.declared is None:
        return [
            Difference("no declared mode", "metadata has no autoreset_mode", None, None, "an AutoresetMode", "none")
        ]
    if seen.declared is None:
        what = f"metadata has no autoreset_mode; {seen.evidence}"
        return [Difference("no declared mode", what, None, None, "an AutoresetMode", f"behaves as {seen.mode}")]
    if seen.ends and seen.declared != seen.mode:
        told = f"declares {seen.declared}", f"behaves as {seen.mode}"
        return [Difference("declared mode", seen.evidence, None, None, *told, ("declared", "seen"))]
    return []


def _ends(pair: Pair, case: Case) -> list[Difference]:
    """At the ends of episodes: the rules of the mode, and first observations that may be ones."""
    view = pair.view(case.rows, case.seed, case.limit)
    found: dict[str, Difference] = {}
    try:
        moment = pair.begin(view, case.seed)
        for step, action in enumerate(case.actions, 1):
            moment = view.step(action)
            for row in np.flatnonzero(moment.began).tolist():
                seen = row_of(moment.observation, row)
                if not pair.firsts.plausible(seen):
                    what = "after the end of an episode, an observation that the reference gives at no reset"
                    found.setdefault(FIRST, Difference(FIRST, what, row, step, "", shown(seen)))
            for each in _rules(view, moment, step):
                found.setdefault(each.subject, each)
    finally:
        view.close()
    return list(found.values())


def _rules(view: View, moment: Moment, step: int) -> list[Difference]:
    """What Gymnasium's modes say of a step in which rows began."""
    found: list[Difference] = []
    if moment.reward is None or moment.terminated is None or moment.truncated is None:
        return found
    if view.mode == NEXT_STEP:
        for row in np.flatnonzero(moment.began).tolist():
            reward, flags = moment.reward[row], (bool(moment.terminated[row]), bool(moment.truncated[row]))
            if reward != 0 or any(flags):
                what = "the step that begins an episode gives reward 0 and no flag"
                found.append(Difference("step that resets", what, row, step, "0.0 (False, False)", f"{reward} {flags}"))
    elif view.mode == SAME_STEP and not isinstance(view, TensorView):
        for row in np.flatnonzero(moment.ended).tolist():
            if row not in moment.final:
                what = "an episode ended and the infos have no final_obs of its row"
                found.append(Difference("final_obs", what, row, step, "infos['final_obs'][row]", "none"))
    return found


def _mask(pair: Pair, case: Case) -> list[Difference]:
    """Two like candidates play alike; then one resets some of its rows. The others go on as in the other candidate."""
    if pair.seeding == "none":
        raise NotApplicable("two candidates cannot be made alike, since no seed has an effect")
    views = [pair.view(case.rows, case.seed, case.limit) for _ in range(2)]
    mask = np.arange(case.rows) % 2 == 1
    half = case.steps // 2
    try:
        moments = [pair.begin(view, case.seed) for view in views]
        over = np.zeros(case.rows, bool)
        for action in case.actions[:half]:
            moments = [view.step(action) for view in views]
            over |= moments[0].ended
        before = moments[0]
        after = views[0].reset(mask=mask)
        found = _masked_rows(pair, mask, before, after, half)
        if found:
            return found
        for step, action in enumerate(case.actions[half:], half + 1):
            one, other = (view.step(action) for view in views)
            over |= one.ended | other.ended
            for row in np.flatnonzero(~mask & ~over).tolist():
                if not exactly_alike(row_of(one.observation, row), row_of(other.observation, row)):
                    what = f"row {row}, which was not in the mask, goes on otherwise than without the reset"
                    return [Difference("rows outside the mask", what, row, step)]
    finally:
        for view in views:
            view.close()
    return []


def _masked_rows(pair: Pair, mask: np.ndarray, before: Moment, after: Moment, step: int) -> list[Difference]:
    shapes = {name: value.shape for name, value in before.observation.items()}
    returned = {name: value.shape for name, value in after.observation.items()}
    if shapes != returned:
        what = "reset with a mask returns observations of another shape than a step"
        told = str(shapes), str(returned)
        return [Difference("shape of what a masked reset returns", what, None, step, *told, ("a step", "a reset"))]
    for row in range(len(mask)):
        one, other = row_of(before.observation, row), row_of(after.observation, row)
        if not mask[row] and not exactly_alike(one, other):
            what = f"row {row}, which was not in the mask, has another observation after the reset"
            return [Difference("rows outside the mask", what, row, step, shown(one), shown(other), ("before", "after"))]
        if mask[row] and (not pair.firsts.plausible(other) or _stayed(pair, one, other)):
            what = f"row {row}, which was in the mask, has no first observation of an episode"
            return [Difference("rows in the mask", what, row, step, "", shown(other))]
    return []


def _stayed(pair: Pair, before: Leaves, after: Leaves) -> bool:
    """Whether a row shows what it showed before, where first observations are so many that this is no chance."""
    return exactly_alike(before, after) and len(pair.firsts.seeds) > 50


PROBES = {"declared": _declared, "ends": _ends, "mask": _mask}
