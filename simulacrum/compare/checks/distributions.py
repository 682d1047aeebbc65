"""Distributions: episodes under random actions, sampled from both sides, whose seeds need have nothing in common."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from ..case import Case, Difference
from ..leaves import aligned, leaves, row_of
from ..pair import Pair
from ..references import plain
from ..run import Run
from ..statistics import ALARM, two_counts, two_samples

HORIZON = 60  # steps of an episode that are looked at
ENOUGH = 100  # values a side, from which on a quantity is tested
MANY = 40  # distinct values up to which a quantity is held to be one of categories
Sample = dict[str, list[Any]]


def check(run: Run) -> None:
    """First observations, the first and the last transition, length and return of episodes, first observations after an
    autoreset: each is one number or table an episode, so that the samples are independent."""
    rows = 512 if run.quick else 2048
    run.note(
        f"{rows} episodes a side, up to {HORIZON} steps each; wrong once in {1 / ALARM:,.0f} times, all tests together"
    )
    run.probe(run.case("distributions", rows, 0, 80, length=HORIZON), least=rows)


def _distributions(pair: Pair, case: Case) -> list[Difference]:
    mine, yours = _of_reference(pair, case), _of_candidate(pair, case)
    whole = _whole_numbers(pair)
    names = [name for name in mine if min(len(mine[name]), len(yours.get(name, ()))) >= ENOUGH]
    tests = [(name, *_test(mine[name], yours[name], whole)) for name in names]
    found = []
    for name, chance, told in tests:
        if chance < ALARM / len(tests):
            what = f"p = {chance:.2g} that both are samples of one distribution; they differ most in {told}"
            found.append(Difference(name, f"{what} (reference, candidate)"))
    return found


PROBES = {"distributions": _distributions}


def _test(one: list[Any], other: list[Any], whole: bool) -> tuple[float, str]:
    """By categories where there are few values, or whole numbers, or tables; else by their order."""
    if isinstance(one[0], str) or whole or len({*one, *other}) <= MANY:
        return two_counts(Counter(map(str, one)), Counter(map(str, other)))
    return two_samples(one, other)


def _of_reference(pair: Pair, case: Case) -> Sample:
    env = pair.references(1, case.limit)[0]
    sample: Sample = defaultdict(list)
    actions = _actions(pair, case, 0)
    for row in range(case.rows):
        seen = [leaves(env.reset(seed=case.seed * 100_000 + row)[0])]
        steps: list[tuple[Any, ...]] = []
        for action in actions[:, row]:
            observation, reward, terminated, truncated, _ = env.step(plain(action))
            seen.append(leaves(observation))
            steps.append((action, float(np.float32(reward)), bool(terminated), bool(truncated)))
            if terminated or truncated:
                break
        _add(pair, sample, seen, steps)
    for table in pair.firsts.samples:
        _spread(sample, "first observation after an autoreset", _numbers(pair, table))
    return sample


def _of_candidate(pair: Pair, case: Case) -> Sample:
    view = pair.view(case.rows, case.seed, case.limit)
    sample: Sample = defaultdict(list)
    actions = _actions(pair, case, 1)
    try:
        moments = [pair.begin(view, case.seed), *(view.step(action) for action in actions)]
    finally:
        view.close()
    for row in range(case.rows):
        seen: list[Any] = [row_of(moments[0].observation, row)]
        steps: list[tuple[Any, ...]] = []
        for moment, action in zip(moments[1:], actions[:, row], strict=True):
            seen.append(moment.after(row))
            assert moment.terminated is not None
            assert moment.truncated is not None
            flags = bool(moment.terminated[row]), bool(moment.truncated[row])
            steps.append((action, float(np.float32(moment.reward[row])), *flags))
            if moment.ended[row]:
                break
        _add(pair, sample, seen, steps)
        begun = next((moment for moment in moments[1:] if moment.began[row]), None)
        if begun is not None:
            _spread(sample, "first observation after an autoreset", _numbers(pair, row_of(begun.observation, row)))
    return sample


def _actions(pair: Pair, case: Case, side: int) -> np.ndarray:
    """Random actions of a side, which follow from the case's seed, so that a saved case need not hold them."""
    return pair.actions(np.random.default_rng([case.seed, side]), int(case.extra["length"]), case.rows)


def _add(pair: Pair, sample: Sample, seen: list[Any], steps: list[tuple[Any, ...]]) -> None:
    """What one episode adds."""
    numbers = [None if table is None else _numbers(pair, table) for table in seen]
    _spread(sample, "first observation", numbers[0])
    for name, place in (("first transition", 0), ("last transition", len(steps) - 1)):
        action, *outcome = steps[place]
        sample[f"{name}: reward and flags"].append(str(tuple(outcome)))
        if numbers[place + 1] is not None:
            over = "its terminal" if outcome[1] or outcome[2] else "its"
            _spread(sample, f"{name}: {over} observation", numbers[place + 1])
        if _whole_numbers(pair) and numbers[place] is not None and numbers[place + 1] is not None:
            whole = (numbers[place], np.asarray(action).tolist(), *outcome, numbers[place + 1])
            sample[f"{name}: whole"].append(str(whole))
    sample["length"].append(len(steps))
    sample["return"].append(sum(step[1] for step in steps))


def _whole_numbers(pair: Pair) -> bool:
    """Whether observations are of integers, so that a whole transition is a category."""
    return all(np.dtype(space.dtype).kind in "iub" for space in pair.spaces.values())


def _spread(sample: Sample, name: str, values: list[float] | None) -> None:
    """An observation, element by element."""
    for place, value in enumerate(values or ()):
        sample[f"{name}[{place}]"].append(value)


def _numbers(pair: Pair, table: Any) -> list[float]:
    """The elements of an observation as numbers, in float32 where they are floats, on both sides alike."""
    flat = np.concatenate([np.atleast_1d(one).ravel().astype(np.float64) for one, _ in aligned(table, table).values()])
    return flat.astype(np.float32).astype(float).tolist()
