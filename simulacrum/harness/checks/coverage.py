"""Every decision of ``reference.py``, both ways, and every end of an episode, among the compared transitions."""

from __future__ import annotations

from ..case import Case
from ..context import Context
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
    search = Search(context)
    excused: dict[int, str] = {}
    try:
        _look(context, search)
        _judge(context, search, excused)
    finally:  # also of a check that a difference ends
        context.facts.update(search.decisions.facts(search.taken.tolist(), excused))


def _look(context: Context, search: Search) -> None:
    """Look until all is seen, or the profile's patience is over."""
    rounds, rows, _ = context.profile.search
    _resets(context, search)
    search.replay()
    for number in range(PATIENCE * rounds):
        if number >= rounds // 4 and not search.missed() and not _rare(context):
            break
        search.round(rows)
        context.progress((number + 1) / (PATIENCE * rounds))


def _judge(context: Context, search: Search, excused: dict[int, str]) -> None:
    """A finding for whatever was not seen and is not excused; the reasons of what is go to ``excused``."""
    excuses = Excuses(context, "coverage ")
    outcomes = search.decisions.outcomes
    for number in search.missed():
        outcome = outcomes[number]
        if excuses.accepts(outcome.key):
            excused[number] = excuses.reasons[excuses.name(outcome.key)]
        else:
            context.problem(
                f"{outcome.file}:{outcome.line}: {outcome.key}: never so in {context.counts['transitions']} compared "
                f"transitions: drop it if it cannot be, or {excuses.offer(outcome.key)}"
            )
    for name, times in _rare(context).items():
        if not excuses.accepts(name):
            context.problem(
                f"{name} was seen {times} times in {context.counts['transitions']} compared transitions, expected at "
                f"least {context.profile.ends}; {excuses.offer(name)}"
            )
    excuses.finish()
    context.count("decisions taken", len(outcomes) - len(search.missed()))
    context.count("decisions", len(outcomes))


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
