"""Transitions, one by one: lockstep with references, terminal observations, flags, the reference's table ``P``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from ..case import Case, Difference
from ..judges import FIRST, JUDGES, LATER, TERMINAL, Judge, Stated, Table
from ..pair import Pair
from ..run import NotApplicable, Run
from ..statistics import ALARM, chi_square_tail

PLAYED = (FIRST, LATER, "reward", "state")
FLAGS = ("terminated", "truncated", "truncated where terminated too")
SIZES = {1: 800, 3: 600, 8: 400, 64: 150}
ROUNDED = "the state was read from an observation with fewer digits than the reference keeps, so that bits say nothing"
SHORT = 6  # a time limit that random play reaches


def lockstep(run: Run) -> None:
    """Every transition beside a reference, bit by bit, where one can be brought into the row's state."""
    name, why = main_judge(run.pair)
    if name is None:
        raise NotApplicable(why)
    run.note(JUDGES[name].how)
    for case, found, judge in survey(run, name):
        run.result.counts.update(judge.counts)
        if _rounded(judge):
            told = ", ".join(f"{number} {what}" for what, number in judge.counts.items())
            raise NotApplicable(f"{ROUNDED}; measured: {told}; {_apart(judge)}")
        run.record(case, found, PLAYED)
        if judge.apart:
            run.note(f"{case.rows} rows, {case.steps} steps, {_apart(judge)}")


def _rounded(judge: Judge) -> bool:
    """Whether references were brought into states that had lost digits."""
    return isinstance(judge, Stated) and judge.rounded


def _apart(judge: Judge) -> str:
    """By how many ulps values lay apart at most."""
    return ", ".join(f"{subject}: at most {number:,} ulps apart" for subject, number in judge.apart.items())


def terminal_observations(run: Run) -> None:
    """The terminal observation is told, and is the reference's."""
    names = _judges(run.pair)
    if not names:
        raise NotApplicable(f"what they should be is not known: {main_judge(run.pair)[1]}")
    for name in names:
        for case, found, judge in survey(run, name):
            if _rounded(judge):
                raise NotApplicable(ROUNDED)
            run.result.counts["terminal observations"] += judge.counts["episodes"]
            run.record(case, found, (TERMINAL,))


def flags(run: Run) -> None:
    """terminated and truncated, each for itself, at goals, at the time limit, and at both at once."""
    pair = run.pair
    names = _judges(pair)
    if pair.limit is not None or pair.limits:
        names.append("clock")
    else:
        run.note("the reference has no time limit in its spec, and none can be put on both")
    if not names:
        raise NotApplicable(f"what they should be is not known: {main_judge(pair)[1]}")
    for name in names:
        for case, found, judge in sorted(survey(run, name), key=_shortest_limit):
            if _rounded(judge):
                run.note(f"not judged by {name}: {ROUNDED}")
                continue
            run.result.counts[f"transitions judged by {name}"] += judge.counts["transitions"]
            run.result.counts["ends at the time limit"] += judge.counts["ends at the time limit"]
            run.record(case, found, FLAGS)


def _shortest_limit(one: tuple[Case, list[Difference], Judge]) -> int:
    """Where a short time limit shows it, a finding has few steps."""
    return one[0].limit or 1 << 30


def transition_table(run: Run) -> None:
    """Every transition is one of the reference's ``P``, and they come as often as it says."""
    if run.pair.table is None:
        raise NotApplicable("the reference publishes no transition table P over Discrete observations")
    for case, found, judge in survey(run, "table"):
        run.result.counts["transitions"] += judge.counts["transitions"]
        run.record(case, found, PLAYED)
    rows, steps = (128, 150) if run.quick else (256, 400)
    case = run.case("frequencies", rows, 0, 69, length=steps)
    run.note(
        f"frequencies: one chi-square test over all (state, action), which is wrong once in {1 / ALARM:,.0f} times"
    )
    run.probe(case, least=rows)


def main_judge(pair: Pair) -> tuple[str | None, str]:
    """The judge that brings a reference beside each row; or None, and why there is none."""
    if pair.links is not None and not pair.draws:
        return "stated", ""
    if pair.comparable:
        return "seeded", ""
    if pair.determined:
        return "found", ""
    if pair.links is not None:
        return None, (
            "the reference draws random numbers in its steps, so that a state alone determines no step, and a row with "
            "a seed does not play what the reference plays with it"
        )
    why = "a row with a seed does not play what the reference plays with it, "
    if pair.draws:
        return None, why + "and the reference draws random numbers in its steps"
    return None, why + (
        "and its first observation does not tell the state; name an attribute that does with --state ATTRIBUTE=SOURCE"
    )


def survey(run: Run, name: str) -> list[tuple[Case, list[Difference], Judge]]:
    """Batches of several sizes, judged; then short episodes, where the time limit can be set. Once for all checks."""
    if name in run.shared:
        kept: list[tuple[Case, list[Difference], Judge]] = run.shared[name]
        return kept
    sizes = SIZES
    if name == "seeded" and not run.pair.comparable_rows:
        sizes = {1: 1500}
        run.note("of one row alone: in a batch the rows do not have the seeds s + i")
    divide = 4 if run.quick else 1
    cases = [
        run.case("lockstep", rows, steps // divide, 60 + number, judge=name)
        for number, (rows, steps) in enumerate(sizes.items())
    ]
    if run.pair.limits:
        rows = 4 if 3 in sizes else 1
        limits = (1, 2, SHORT, 2 * SHORT + 1)
        cases += [run.case("lockstep", rows, 40, 70 + limit, limit=limit, judge=name) for limit in limits]
    made = []
    for number, case in enumerate(cases):
        found, judge = lockstep_of(run.pair, case, name)
        made.append((case, found, judge))
        run.progress((number + 1) / len(cases))
    run.shared[name] = made
    return made


def lockstep_of(pair: Pair, case: Case, name: str) -> tuple[list[Difference], Judge]:
    """Play a case under a judge: the first difference of each subject, and the judge, which counted."""
    view = pair.view(case.rows, case.seed, case.limit)
    judge = JUDGES[name](pair, case.rows, case.limit)
    found: dict[str, Difference] = {}
    try:
        moment = pair.begin(view, case.seed)
        for each in judge.start(view, case.seed, moment):
            found.setdefault(each.subject, each)
        for step, action in enumerate(case.actions, 1):
            judge.before(view, moment)
            moment = view.step(action)
            for each in judge.after(view, step, action, moment):
                found.setdefault(each.subject, each)
                if each.ulps:
                    judge.apart[each.subject] = max(judge.apart.get(each.subject, 0), each.ulps)
    finally:
        view.close()
    return list(found.values()), judge


def _lockstep(pair: Pair, case: Case) -> list[Difference]:
    return lockstep_of(pair, case, case.extra["judge"])[0]


def _frequencies(pair: Pair, case: Case) -> list[Difference]:
    """A chi-square test of how often each next state came after each (state, action)."""
    actions = pair.actions(np.random.default_rng(case.seed), int(case.extra["length"]), case.rows)
    _, judge = lockstep_of(pair, replace(case, actions=actions), "table")
    assert isinstance(judge, Table)
    assert pair.table is not None
    totals: Counter[tuple[int, int]] = Counter()
    for (state, action, _), number in judge.seen.items():
        totals[state, action] += number
    statistic, freedom, worst = 0.0, 0, (0.0, "", "")
    for (state, action), total in totals.items():
        chances: Counter[int] = Counter()
        for chance, following, _, _ in pair.table[state][action]:
            chances[int(following)] += chance
        if len(chances) < 2 or min(chances.values()) * total < 5:
            continue
        for following, chance in chances.items():
            number = judge.seen[state, action, following]
            part = (number - total * chance) ** 2 / (total * chance)
            statistic += part
            told = f"state {state}, action {action}: {following} with probability {chance:.4g}"
            worst = max(worst, (part, told, f"{number} of {total} times ({number / total:.4g})"))
        freedom += len(chances) - 1
    if freedom and (chance := chi_square_tail(statistic, freedom)) < ALARM:
        what = f"chi-square {statistic:.1f} with {freedom} degrees of freedom, p = {chance:.2g}; the largest part"
        return [Difference("frequencies", what, None, None, worst[1], worst[2])]
    return []


def _judges(pair: Pair) -> list[str]:
    name, _ = main_judge(pair)
    return [*([name] if name else []), *(["table"] if pair.table is not None else [])]


PROBES = {"lockstep": _lockstep, "frequencies": _frequencies}
