"""Aliasing: what was returned is not written again, actions are not changed, and writing in either changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ... import bits
from ..case import Case, Difference
from ..leaves import exactly_alike
from ..pair import Pair
from ..run import Run
from ..views import VectorView


def check(run: Run) -> None:
    """Outputs held and read again later; actions read again; outputs overwritten, beside one where they are not."""
    for number, rows in enumerate((1, 8, 64)):
        run.probe(run.case("held", rows, 30, 100 + number))
    run.probe(run.case("actions_kept", 4, 12, 105))
    if run.pair.seeding != "none":
        run.probe(run.case("overwritten", 4, 12, 106))


def _held(pair: Pair, case: Case) -> list[Difference]:
    """All that the calls returned, compared with what it was."""
    view = pair.view(case.rows, case.seed, case.limit)
    kept: list[tuple[int, str, Any, np.ndarray]] = []
    try:
        kept += [(0, *one) for one in _arrays(pair.begin(view, case.seed).given)]
        for step, action in enumerate(case.actions, 1):
            kept += [(step, *one) for one in _arrays(view.step(action).given)]
            changed = next((one for one in kept if not bits.same(np.asarray(one[2]), one[3])), None)
            if changed is not None:
                at, name, value, was = changed
                what = f"{name}, returned by {'reset' if at == 0 else f'step {at}'}, was written by step {step}"
                told = str(was), str(np.asarray(value))
                return [Difference(f"{name} written later", what, None, step, *told, ("it was", "it is"))]
    finally:
        view.close()
    return []


def _actions_kept(pair: Pair, case: Case) -> list[Difference]:
    view = pair.view(case.rows, case.seed, case.limit)
    try:
        pair.begin(view, case.seed)
        if not isinstance(view, VectorView):
            return []
        for step, action in enumerate(case.actions, 1):
            given = action.astype(view._dtype) if isinstance(view._dtype, np.dtype) else action.copy()
            before = given.copy()
            view.step(given)  # of the dtype that it passes on, so that it passes this very array
            if not np.array_equal(before, given):
                what = "the array of actions was changed by step"
                return [Difference("actions written", what, None, step, str(before), str(given), ("before", "after"))]
    finally:
        view.close()
    return []


def _overwritten(pair: Pair, case: Case) -> list[Difference]:
    """Two like candidates; all that the one returned is overwritten, and the actions after the step."""
    views = [pair.view(case.rows, case.seed, case.limit) for _ in range(2)]
    try:
        moments = [pair.begin(view, case.seed) for view in views]
        _spoil(moments[0].given)
        for step, action in enumerate(case.actions, 1):
            mine = action.copy()
            one, other = views[0].step(mine), views[1].step(action.copy())
            mine[...] = mine.ravel()[0]
            if not exactly_alike(one.numbers(), other.numbers()):
                what = "after what it returned was overwritten, a candidate plays otherwise than one where it was not"
                return [Difference("returned arrays are its state", what, None, step)]
            _spoil(one.given)
    finally:
        for view in views:
            view.close()
    return []


def _spoil(given: Mapping[str, Any]) -> None:
    """Overwrite all arrays that can be."""
    for name, value in _arrays_themselves(given):
        if isinstance(value, np.ndarray) and value.flags.writeable and name != "infos":
            value[...] = 0 if value.dtype == bool else np.asarray(3, value.dtype)


def _arrays(given: Mapping[str, Any]) -> Iterator[tuple[str, Any, np.ndarray]]:
    """(name, the array as returned, a copy of it as it is now)."""
    for name, value in _arrays_themselves(given):
        yield name, value, np.asarray(value).copy()


def _arrays_themselves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _arrays_themselves(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from _arrays_themselves(part, f"{name}.{number}")
    elif isinstance(value, np.ndarray) and value.dtype == object:
        for part in value:
            yield from _arrays_themselves(part, name)
    elif hasattr(value, "__array__") and hasattr(value, "shape") and not np.isscalar(value):
        yield name, value


PROBES = {"held": _held, "actions_kept": _actions_kept, "overwritten": _overwritten}
