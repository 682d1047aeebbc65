"""What a divergence looks like, in one sentence: gathers the evidence of which :mod:`.patterns` tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..reference import state_of
from ..rng.recorded import Made
from ..spec import Package
from .case import Case
from .patterns import Evidence, told
from .playback import AFTER_MASK, AFTER_STEP, FORMS, NEXT_FIRST, Replay
from .records import Record, observation_record, plain, snapshot, take


def hint(package: Package, case: Case, shown: Replay, shrunk: bool = True) -> str:
    """The sentence of the first pattern that is recognised; empty where none is. ``shrunk``: whether ``case`` has the
    fewest rows."""
    if shown.divergence is None:
        return ""
    seen = evidence(case.world(package), case, shown)
    text = told(seen if shrunk else replace(seen, rows=1))
    return text.replace(FORMS["tensor"], FORMS["kernel"]) if case.kernel else text


def evidence(package: Package, case: Case, shown: Replay) -> Evidence:
    """What the moments around a divergence tell of its row."""
    found = shown.divergence
    assert found is not None
    place = int(np.argmax(case.watched_rows == found.row))
    before = shown.before - (2 if found.when == NEXT_FIRST else 1)
    known: dict[str, Any] = {"constants": package.spec.constants, "rows": case.rows}
    if before >= 0:
        known["before"] = take(shown.moments[before].reference, [place])
    if found.kind != "raised":
        at = shown.moments[shown.before]
        known |= {"reference": take(at.reference, [place]), "fast": take(at.fast, [place])}
        drawn = shown.moments[shown.before - (found.when == NEXT_FIRST)].draws  # a step's call makes both moments
        phase = "step" if found.when == AFTER_STEP else "reset"
        known["draws"] = {
            side: {
                at: outcome
                for at, outcome in outcomes(package, made, found.row).items()
                if at[0] not in package.spec.slots or package.spec.slots[at[0]].phase == phase
            }
            for side, made in drawn.items()
        }
        known["shifted"] = _shifted(package, known["reference"])
        if found.when == NEXT_FIRST:
            ended = take(shown.moments[shown.before - 1].reference, [place])
            known["masked"] = bool(ended["terminated"][0] | ended["truncated"][0])
            known["before"] = ended
        elif found.when == AFTER_MASK:
            masks = [mask for step, mask in case.masks if step == found.step]
            known["masked"] = bool(masks[-1][found.row])
        if len(shown.moments) > shown.before + 1:
            known["later_reference"] = take(shown.moments[shown.before + 1].reference, [place])
    return Evidence(found, **known)


def outcomes(package: Package, made: list[tuple[int, Made]], row: int) -> dict[tuple[str, int], Any]:
    """The outcomes of a row's draws by (slot's name, index), an array's by each of its indices."""
    names = {slot.number: slot.name for slot in package.spec.slots.values()}
    found = {}
    for at, draw in made:
        if at == row:
            name = names.get(draw.slot, f"slot {draw.slot}")
            whole = draw.kind == "permutation" or not np.shape(draw.outcome)
            for number, outcome in enumerate([draw.outcome] if whole else np.ravel(draw.outcome)):
                found[name, draw.first + number] = plain(outcome)
    return found


def _shifted(package: Package, reference: Record) -> dict[int, Record]:
    """The reference's observation of the same state, with another ``t``."""
    seen = {}
    for shift in (-1, 1):
        try:
            env = package.reference()
            env.set_state(snapshot(package, reference, 0))
            state = state_of(env)
            state.t += shift
            value = observation_record(package, env.observation(state))
        except Exception:  # no such counter: the observation may index with it
            continue
        seen[shift] = {name: np.asarray(part)[None] for name, part in value.items()}
    return seen
