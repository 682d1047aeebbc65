"""Runs a :class:`~.case.Case`: references beside fast rows, moment by moment, up to the earliest difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from .. import bits
from ..rng.recorded import Made
from ..spec import Package
from .case import Case
from .draws import Drawn, note_draws
from .laws import broken
from .records import FormError, Record, difference, take
from .sides import FastRows, Held, References, VectorRows, transformed

FIRST, AFTER_STEP, NEXT_FIRST = "in the first state", "after a step", "in the first state after an end"
AFTER_RESET, AFTER_MASK = "after a reset", "after a reset of some rows"
BATCHES = 4  # of how many moments the whole batch is kept
FORMS = {"tensor": "fast.py", "kernel": "kernel.pyx"}  # the file of each form of the fast side


class Divergence(NamedTuple):
    """The earliest difference of both sides.

    Attributes:
        step: how many transitions had been made: 0 for a first state.
        when: at which moment it was seen.
        row: in which row of the batch.
        field: what differs or was written; empty for an exception.
        reference, fast: both values, as texts where dtypes, shapes or names differ.
        kind: ``values`` that differ, an array that was ``written`` again, ``raised`` by a side, or a ``law`` that
            does not hold.
        error: what was raised, written or does not hold, in words.
    """

    step: int
    when: str
    row: int
    field: str
    reference: Any = ""
    fast: Any = ""
    kind: str = "values"
    error: str = ""

    def texts(self) -> tuple[str, str]:
        """Both values for people, with dtype and bits where they print alike."""
        if isinstance(self.reference, str):
            return self.reference, str(self.fast)
        return bits.pair_shown(self.reference, self.fast)

    def as_json(self) -> dict[str, Any]:
        """For JSON, the values as texts."""
        reference, fast = self.texts()
        return {**self._asdict(), "reference": reference, "fast": fast}


class Moment(NamedTuple):
    """What both sides showed of the watched rows.

    Attributes:
        step: how many transitions had been made.
        when: after what.
        reference, fast: both records, [watched rows, ...].
        batch: what the fast side showed of all its rows; a :class:`Replay` keeps it of its last moments only.
        draws: by side, the (row, draw) that were made since the moment before.
        written: a field that was written again after it had been returned, or ``action``.
    """

    step: int
    when: str
    reference: Record
    fast: Record
    batch: Record | None
    draws: dict[str, list[tuple[int, Made]]]
    written: str | None = None


class SideError(Exception):
    """One side raised: which, what, and at which moment."""

    def __init__(self, side: str, error: BaseException, step: int, when: str) -> None:
        super().__init__(f"{side} raised {type(error).__name__}: {error}")
        self.side, self.error, self.step, self.when = side, error, step, when


@dataclass(frozen=True, eq=False)
class Replay:
    """A case as it was run.

    Attributes:
        moments: what was shown, up to the divergence and the moment after it, where there is one.
        divergence: the earliest difference.
        before: how many of the moments came before it.
    """

    moments: list[Moment]
    divergence: Divergence | None
    before: int


def run(package: Package, case: Case) -> Divergence | None:
    """Step both sides beside each other; the earliest difference, None where there is none."""
    return replay(package, case).divergence


def replay(package: Package, case: Case, draws: bool = False) -> Replay:
    """Run a case and keep what both sides showed; with ``draws`` what they drew as well (not of a compiled graph)."""
    package = case.world(package)
    moments: list[Moment] = []
    found: Divergence | None = None
    before = 0
    try:
        for moment in play(package, case, draws):
            moments.append(moment)
            if len(moments) > BATCHES:
                moments[-1 - BATCHES] = moments[-1 - BATCHES]._replace(batch=None)
            if found is not None:  # one moment more than is needed, for what it tells of the difference
                break
            found = _difference(package, case, moment)
            before += found is None
    except SideError as error:
        if found is None:
            row, name = (error.error.row, error.error.field) if isinstance(error.error, FormError) else (0, "")
            found = Divergence(
                error.step, error.when, int(case.watched_rows[row or 0]), name, kind="raised", error=str(error)
            )
    return Replay(moments, found, before)


def play(package: Package, case: Case, draws: bool = False) -> Iterator[Moment]:
    """What both sides show of the watched rows, moment by moment. Raises :class:`SideError`."""
    watched, held, at = case.watched_rows, Held(), (0, FIRST)
    sides = sides_of(case)
    made: Drawn = {"reference": [], "fast": []}

    def ask(side: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (Exception, SystemExit) as error:
            raise SideError(sides[side], error, *at) from error

    def moment(reference: Record, fast: Record, written: str | None = None) -> Moment:
        noted = {side: list(listed) for side, listed in made.items()}
        for listed in made.values():
            listed.clear()
        held.hold(fast)
        return Moment(*at, reference, take(fast, watched), fast, noted, written)

    fast: FastRows = ask("fast", fast_side, package, case)
    references = References(package, len(watched))
    if draws:
        note_draws(references, fast, watched, made)
    if case.starts is None:
        assert case.seeds is not None
        yield moment(ask("reference", references.reset, case.seeds[watched]), ask("fast", fast.reset, case.seeds))
    else:
        starts = take(case.starts, watched)
        shown = ask("reference", references.enter, starts), ask("fast", fast.enter, case.starts)
        made["fast"].clear()  # of the episode that the fast side had begun before it entered the states
        yield moment(*shown)
    for _ in range(case.resets):
        at = (0, AFTER_RESET)
        yield moment(ask("reference", references.reset), ask("fast", fast.reset))
    for step in range(case.steps + 1):
        for _, mask in (one for one in case.masks if one[0] == step):
            at = (step, AFTER_MASK)
            shown = ask("reference", references.reset, None, mask[watched]), ask("fast", fast.reset, None, mask)
            yield moment(*shown)
        if step == case.steps:
            return
        assert case.actions is not None
        at, action = (step + 1, AFTER_STEP), case.actions[step]
        ended_reference, now_reference = ask("reference", references.step, action[watched])
        ended, now = ask("fast", fast.step, action)
        written = "action" if fast.wrote(action) else held.written()
        yield moment(ended_reference, ended, written)
        at = (step + 1, NEXT_FIRST)
        yield moment(now_reference, now)


def sides_of(case: Case) -> dict[str, str]:
    """The file of each side."""
    return {"reference": "reference.py", "fast": FORMS["kernel" if case.kernel else "tensor"]}


def fast_side(package: Package, case: Case) -> FastRows:
    """The fast side of a case, not yet begun."""
    seed = 0 if case.seeds is None else torch.from_numpy(case.seeds.view(np.int64).copy())
    options = {name: value for name, value in case.options.items() if name != "kernel"}
    made = package.forms["kernel"] if case.kernel else package.fast
    env = made(batch_size=[case.rows], seed=seed, **{"expose_state": True, **options})
    if case.form.startswith("VectorEnv"):
        return VectorRows(package, env, case.form.split()[1])
    return FastRows(package, transformed(env) if case.form == "TransformedEnv" else env, case.fused)


def _difference(package: Package, case: Case, moment: Moment) -> Divergence | None:
    step, when, reference, fast = moment.step, moment.when, moment.reference, moment.fast
    watched = case.watched_rows
    if moment.written is not None:
        what = "the step writes into its action"
        if moment.written != "action":
            what = f"{moment.written}: a returned tensor was written again by a later step"
        return Divergence(step, when, int(watched[0]), moment.written, kind="written", error=what)
    found = difference({name: reference[name] for name in reference if name in fast or case.shows_state}, fast)
    if found is not None:
        name, row, one, other = found
        return Divergence(step, when, int(watched[row]), name, one, other)
    return _law(package, case, moment) if case.laws else None


def _law(package: Package, case: Case, moment: Moment) -> Divergence | None:
    """The first law that a side's states break."""
    found = {name: broken(package, getattr(moment, side)) for side, name in sides_of(case).items()}
    where, first = next(((name, law) for name, law in found.items() if law is not None), ("", None))
    if first is None:
        return None
    where = "both sides" if len(set(found.values())) == 1 else where
    row = int(case.watched_rows[first[0]])
    return Divergence(moment.step, moment.when, row, "", kind="law", error=f"{where}: {first[1]}")
