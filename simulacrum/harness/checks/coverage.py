"""Every decision of ``reference.py``, both ways, and every end of an episode, among the compared transitions."""

from __future__ import annotations

import re

from ..case import Case
from ..context import Context
from ..decisions import Outcome
from ..excuses import Excuses
from ..finding import Finding
from ..lockstep import FastRows
from ..records import difference, reference_record, take
from ..search import Search
from ..sources import seeds

RESETS = 1000
PATIENCE = 4  # how many times the guided search's rounds may pass until all is seen


def check(context: Context) -> None:
    """First states, the corpus, the worked examples, then a search until all is seen, as far as the profile goes."""
    search, excuses = Search(context), Excuses(context, "coverage ")
    excused: dict[int, str] = {}
    try:
        _look(context, search, excuses)
        _judge(context, search, excuses, excused)
    finally:  # also of a check that a difference ends
        context.facts.update(search.decisions.facts(search.taken.tolist(), excused))


def _look(context: Context, search: Search, excuses: Excuses) -> None:
    """Look until all is seen, or all but what is excused and the profile's rounds are over, or its patience is."""
    rounds, rows, _ = context.profile.search
    _resets(context, search)
    search.replay()
    for number in range(PATIENCE * rounds):
        if number >= rounds // 4 and not _rare(context):
            missed = [search.decisions.outcomes[one] for one in search.missed()]
            if not missed or (number >= rounds and not any(_demanded(context, excuses, one) for one in missed)):
                break
        search.round(rows)
        context.progress((number + 1) / (PATIENCE * rounds))


def _demanded(context: Context, excuses: Excuses, outcome: Outcome) -> bool:
    """Whether an outcome must be seen: where it is not excused.

    With other constants than those in the table: where the reason of its excuse names this configuration.
    """
    reason = excuses.reasons.get(excuses.name(outcome.key))
    if not context.package.is_variant:
        return reason is None
    return bool(re.search(rf"\bconfiguration {re.escape(str(context.package.config))}(?![\w-])", str(reason)))


def _judge(context: Context, search: Search, excuses: Excuses, excused: dict[int, str]) -> None:
    """A finding for whatever was not seen and is not excused; the reasons of what is go to ``excused``."""
    outcomes, variant = search.decisions.outcomes, context.package.is_variant
    for number in search.missed():
        outcome = outcomes[number]
        reason = excuses.reasons.get(excuses.name(outcome.key))
        if variant and not _demanded(context, excuses, outcome):
            excused[number] = reason or "demanded with the constants in spec.md's table"
        elif not variant and excuses.accepts(outcome.key):
            excused[number] = str(reason)
        else:
            context.problem(f"{outcome.file}:{outcome.line}: {_never(context, excuses, outcome)}")
    for name, times in _rare(context).items():
        if not excuses.accepts(name):
            context.problem(
                f"{name} was seen {times} times in {context.counts['transitions']} compared transitions, expected at "
                f"least {context.profile.ends}; {excuses.offer(name)}"
            )
    if not variant:
        excuses.finish()
    context.count("decisions taken", len(outcomes) - len(search.missed()))
    context.count("decisions", len(outcomes))


def _never(context: Context, excuses: Excuses, outcome: Outcome) -> str:
    key, times = outcome.key, context.counts["transitions"]
    if context.package.is_variant:
        told = "its excuse in checks.py says that it is in this configuration"
        return f"{key}: never so in {times} compared transitions: {told}"
    return f"{key}: never so in {times} compared transitions: drop it if it cannot be, or {excuses.offer(key)}"


def _rare(context: Context) -> dict[str, int]:
    """The declared ends of episodes that were seen less often than they must, by name."""
    spec = context.package.spec
    seen = {f"cause {cause}": context.counts[f"cause {cause}"] for cause in spec.terminations}
    if spec.declared("truncates"):
        seen["truncation"] = context.counts["truncations"]
    return {name: times for name, times in seen.items() if times < context.profile.ends}


def _resets(context: Context, search: Search) -> None:
    """First states of many seeds, by the counted reference."""
    package, chosen = context.package, seeds(context.rng, RESETS)
    env = search.decisions.reference()
    fast = FastRows(package, context.env(RESETS, chosen)).reset()
    for row, seed in enumerate(chosen):
        seen, info = env.reset(seed=int(seed))
        found = difference(reference_record(package, [env], [seen], [info]), take(fast, [row]))
        if found is not None:
            finding = Finding(context.name, "the two sides differ after a reset", f"N = {RESETS}", row, int(seed), 0, 0)
            context.fail(finding, Case(seeds=chosen[[row]]))
    search.count_decisions()
