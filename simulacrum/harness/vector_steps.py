"""The vector adapter against a trace: each row told as its own steps, in whatever order the autoreset mode has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from .. import bits
from ..spec import Package
from ..vector import FastVectorEnv
from .case import Case
from .context import Context
from .finding import Finding
from .records import OUTCOME, Record, columns, observation_names, observation_record
from .traces import actions_at

Steps = list[tuple[Record, Record]]


def compare_vector(context: Context, env: FastVectorEnv, expected: Steps) -> None:
    """Step the adapter with the trace's actions, row by row, and compare what it shows with the trace.

    ``expected`` is a trace of the same seeds: ({}, first), then (ended, now) for each step. In NEXT_STEP mode a row
    that ended takes one step more, which shows its first observation; so each row keeps its own place in the trace.
    """
    package, mode = context.package, env.autoreset_mode
    ended, now = columns(step[0] for step in expected[1:]), columns(step[1] for step in expected[:-1])
    actions = actions_at(package, now)
    steps, rows = actions.shape[:2]
    names, every = list(observation_names(package)), np.arange(rows)
    place, waiting = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    seen = observation_record(package, env.reset()[0])
    _equal(context, mode, {name: now[name][0] for name in names}, seen, now, place)
    for _ in range(steps - 1):
        seen_now, reward, terminated, truncated, infos = env.step(actions[place, every])
        shown = observation_record(package, seen_now)
        done = terminated | truncated
        outcome = [name for name in OUTCOME if name in ended]
        want = {name: ended[name][place, every] for name in (*names, *outcome)}
        if mode == AutoresetMode.SAME_STEP and done.any():
            _equal(context, mode, {name: now[name][place + 1, every] for name in names}, shown, now, place)
            shown = {name: _replaced(shown[name], done, value) for name, value in _final(package, infos, done).items()}
        if mode == AutoresetMode.NEXT_STEP:
            first = {name: now[name][place, every] for name in names}
            blank = {name: np.zeros_like(want[name]) for name in outcome}
            want = {name: _replaced(want[name], waiting, {**first, **blank}[name][waiting]) for name in want}
        if package.environment.agents is not None:
            reward, shown["died"] = infos["rewards"], infos["died"]
        shown |= {"reward": reward.astype(want["reward"].dtype), "terminated": terminated, "truncated": truncated}
        _equal(context, mode, want, shown, now, place)
        place += ~waiting
        waiting = done if mode == AutoresetMode.NEXT_STEP else waiting
        if mode == AutoresetMode.DISABLED and done.any():
            seen = observation_record(package, env.reset(options={"reset_mask": done})[0])
            _equal(context, mode, {name: now[name][place, every] for name in names}, seen, now, place)


def compare_seeds(context: Context, mode: AutoresetMode) -> None:
    """Resets of the adapter with an int, a list, None and (where autoresets are off) a mask, against references."""
    rows, package = 5, context.package
    env = FastVectorEnv(context.env(rows, 1), autoreset_mode=mode)
    references = [package.reference() for _ in range(rows)]
    start = int(context.rng.integers(0, 2**63))
    listed = [None if number % 2 else start + 7 * number for number in range(rows)]
    for seed in (start, None, listed, start + 1):
        own = [seed + row for row in range(rows)] if isinstance(seed, int) else seed or [None] * rows
        seen = [reference.reset(seed=one)[0] for reference, one in zip(references, own, strict=True)]
        _same_first(context, mode, f"reset(seed={seed})", seen, env.reset(seed=seed)[0])
    if mode == AutoresetMode.DISABLED:
        for mask, seed in (
            (np.arange(rows) == 2, None),
            (np.arange(rows) % 2 == 0, None),
            (np.arange(rows) < 3, start),
        ):
            for row in np.flatnonzero(mask):
                seen[row] = references[row].reset(seed=None if seed is None else seed + int(row))[0]
            shown = env.reset(seed=seed, options={"reset_mask": mask})[0]
            _same_first(context, mode, f"reset(seed={seed}) with a reset_mask", seen, shown)


def _same_first(context: Context, mode: AutoresetMode, call: str, seen: list[Any], shown: Any) -> None:
    wanted = _stacked(context.package, seen)
    for name, value in observation_record(context.package, shown).items():
        if not bits.same(wanted[name], value):
            context.fail(f"VectorEnv, {mode.value}: {call} begins other episodes than the references: {name}")
    context.count("vector resets compared", len(seen))


def _stacked(package: Package, seen: list[Any]) -> Record:
    """Observations of rows, stacked part by part."""
    listed = [observation_record(package, one) for one in seen]
    return {name: np.stack([one[name] for one in listed]) for name in observation_names(package)}


def _final(package: Package, infos: dict[str, Any], done: np.ndarray) -> Record:
    """The terminal observations of the rows that ended."""
    return _stacked(package, list(infos["final_obs"][done]))


def _replaced(values: np.ndarray, mask: np.ndarray, new: np.ndarray) -> np.ndarray:
    values = np.array(values)
    values[mask] = new
    return values


def _equal(context: Context, mode: AutoresetMode, want: Record, shown: Record, now: Record, place: np.ndarray) -> None:
    for name, value in want.items():
        found = shown[name]
        if found.dtype != value.dtype or found.shape != value.shape:
            context.fail(
                f"VectorEnv, {mode.value}: {name}: expected {value.dtype} {value.shape}, "
                f"got {found.dtype} {found.shape}"
            )
        equal = bits.same_rows(value, found)
        if not equal.all():
            row = int(np.argmin(equal))
            seed, episode, t = (int(now[f"clock.{part}"][place[row], row]) for part in ("seed", "episode", "t"))
            texts = bits.pair_shown(value[row], found[row])
            context.fail(
                Finding(
                    context.name,
                    f"the vector adapter shows {texts[1]}, bare steps {texts[0]}",
                    f"VectorEnv, {mode.value}",
                    row,
                    seed,
                    episode,
                    t,
                    name,
                ),
                _cases(context, mode, now, place, row),
            )


def _cases(context: Context, mode: AutoresetMode, now: Record, place: np.ndarray, row: int) -> list[Case]:
    """The row's step, then its last two, by the reference and by the adapter.

    A NEXT_STEP adapter makes its steps as one without autoresets, and more in the step after an end.
    """
    form = "VectorEnv SameStep" if mode is AutoresetMode.SAME_STEP else "VectorEnv Disabled"
    cases, last = [], int(place[row])
    for first in (last, max(last - 1, 0)):
        starts = {name: value[first, [row]] for name, value in now.items()}
        actions = actions_at(context.package, {name: value[first : last + 1, [row]] for name, value in now.items()})
        cases.append(Case(starts=starts, actions=actions, form=form, options=context.case_options))
    return cases
