"""A row depends on its own seed and actions alone: not on its place, its neighbours, or how many there are."""

from __future__ import annotations

import numpy as np

from ..case import Case
from ..context import Context
from ..finding import Finding
from ..lockstep import FastRows
from ..playback import AFTER_RESET, AFTER_STEP, NEXT_FIRST
from ..records import Record, difference, plain, take
from ..sources import Actions, seeds

CHUNKS = (1, 2, 7, 65, 512)  # the sizes into which the large batch is cut


def check(context: Context) -> None:
    """One large batch beside permuted, repeated, solitary and smaller ones, every row compared at every step."""
    rows, steps = context.profile.independence
    for size in sorted({7, rows}):
        _permuted(context, size, steps)
    context.progress(0.3)
    for size in sorted({2, 65, rows}):
        _repeated(context, size, steps)
    context.progress(0.6)
    _chunks(context, rows, steps)


def _start(context: Context, instance_seeds: np.ndarray) -> tuple[FastRows, Record]:
    fast = FastRows(context.package, context.env(len(instance_seeds), instance_seeds))
    return fast, fast.reset()


def _permuted(context: Context, rows: int, steps: int) -> None:
    """The rows in another order give the same rows in that order."""
    instance_seeds, order = seeds(context.rng, rows), context.rng.permutation(rows)
    fast, now = _start(context, instance_seeds)
    other, other_now = _start(context, instance_seeds[order])
    actions = Actions(context.package, context.rng, rows)
    _same(context, take(now, order), other_now, now, order, None, f"N = {rows}, permuted", AFTER_RESET)
    for _ in range(steps):
        chosen = actions.next(now)
        shown, others = fast.step(chosen), other.step(chosen[order])
        _same_step(context, shown, order, others, now, order, chosen, f"N = {rows}, permuted")
        now = shown[1]
        context.count("rows compared", rows)


def _repeated(context: Context, rows: int, steps: int) -> None:
    """One row repeated N times stays one row, and is the row that is alone."""
    seed = seeds(context.rng, 1)
    fast, now = _start(context, np.repeat(seed, rows))
    alone, alone_now = _start(context, seed)
    actions = Actions(context.package, context.rng, 1)
    every = np.zeros(rows, np.int64)
    for _ in range(steps):
        chosen = actions.next(alone_now)
        repeated = np.repeat(chosen, rows, axis=0)
        shown, alone_shown = fast.step(repeated), alone.step(chosen)
        setting = f"N = {rows}, one row repeated, beside N = 1"
        _same_step(context, alone_shown, every, shown, now, np.arange(rows), repeated, setting)
        now, alone_now = shown[1], alone_shown[1]
        context.count("rows compared", rows)


def _chunks(context: Context, rows: int, steps: int) -> None:
    """Every row of the large batch equals the same row in a smaller batch."""
    instance_seeds = seeds(context.rng, rows)
    fast, now = _start(context, instance_seeds)
    parts = []
    begin = 0
    sizes = [*CHUNKS, *[512] * (rows // 512 + 1)]
    for size in sizes:
        part = np.arange(begin, min(begin + size, rows))
        if len(part):
            parts.append((part, _start(context, instance_seeds[part])[0]))
        begin += size
    actions = Actions(context.package, context.rng, rows)
    for step in range(steps):
        chosen = actions.next(now)
        shown = fast.step(chosen)
        for part, small in parts:
            setting = f"N = {len(part)} beside N = {rows}"
            _same_step(context, shown, part, small.step(chosen[part]), now, part, chosen, setting)
        now = shown[1]
        context.count("rows compared", rows)
        if step % 16 == 0:
            context.progress(0.6 + 0.4 * step / steps)


def _same_step(
    context: Context,
    shown: tuple[Record, Record],
    picked: np.ndarray,
    others: tuple[Record, Record],
    before: Record,
    rows: np.ndarray,
    actions: np.ndarray | None,
    setting: str,
) -> None:
    """The ``picked`` rows of what a step showed, and of what is shown now, equal those of another batch."""
    for when, one, other in zip((AFTER_STEP, NEXT_FIRST), shown, others, strict=True):
        _same(context, take(one, picked), other, before, rows, actions, setting, when)


def _same(
    context: Context,
    large: Record,
    small: Record,
    before: Record,
    rows: np.ndarray,
    actions: np.ndarray | None,
    setting: str,
    when: str,
) -> None:
    found = difference(large, small)
    if found is None:
        return
    field, at, one, other = found
    row = int(rows[at])
    seed, episode, t = (int(before[f"clock.{name}"][row]) for name in ("seed", "episode", "t"))
    context.fail(
        Finding(
            context.name,
            f"a row depends on its batch, seen {when}: {one} against {other}",
            setting,
            row,
            seed,
            episode,
            t,
            field,
            action="" if actions is None else str(plain(actions[row])),
        ),
        [_case(before, actions, np.arange(len(before["clock.t"])), row), _case(before, actions, rows, at)],
    )


def _case(before: Record, actions: np.ndarray | None, rows: np.ndarray, row: int) -> Case:
    """One of the two batches beside references: at least one of them differs."""
    if actions is None:
        return Case(seeds=before["clock.seed"][rows], watched=np.array([row]))
    return Case(starts=take(before, rows), actions=actions[None, rows], watched=np.array([row]))
