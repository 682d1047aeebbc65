"""How sure a passed check is, in words that claim no more than was sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

INDEPENDENT = "independent transitions"  # a count: transitions whose states, actions and draws were drawn independently
EPISODES = "episodes"  # a count: ended episodes, each of its own seed and number, compared from their first state on
CAVEAT = (
    "Bounds: where n independent samples agreed, fewer than 3 / n of the samples drawn the same way differ, with 95 % "
    "confidence. That is about this distribution of states and actions, and says nothing of what it never draws."
)


NO_BOUND = {  # checks from which no rate follows, and why
    "spec_contract": "it reads, and samples nothing",
    "static_read": "it reads, and samples nothing",
    "worked_examples": "the examples were chosen by hand",
    "small_worlds": "every transition of the worlds was compared",
    "constants": "one script was compared for each value",
    "guided_search": "its inputs are guided, and no random sample",
    "coverage": "its inputs are guided, and no random sample",
    "scripted_policies": "it compares means, each with its own bound",
    "throughput": "it measures",
}
WITHIN = "it takes no independent samples"


def evidence(check: str, outcome: str, counts: Mapping[str, int]) -> dict[str, Any] | None:
    """``{"unit", "agreed", "bound"}``: how many independent samples agreed, and the 95 % bound on the rate of those
    that differ (3 / n, the rule of three: Hanley and Lippman-Hand, JAMA 249, 1983). None for a check that did not
    pass, or that takes no such samples.

    Transitions within one episode are not independent, so rollouts count by episodes.
    """
    if outcome != "passed" or check in NO_BOUND:
        return None
    for unit, name in (("transitions", INDEPENDENT), ("episodes", EPISODES)):
        if counts.get(name):
            return {"unit": unit, "agreed": counts[name], "bound": 3.0 / counts[name]}
    return None


def words(check: str, outcome: str, found: Mapping[str, Any] | None) -> str:
    """The same for people, or why no bound follows; empty for a check that did not pass."""
    if outcome != "passed":
        return ""
    if not found:
        return f"no bound follows: {NO_BOUND.get(check, WITHIN)}"
    unit = "independent transitions" if found["unit"] == "transitions" else "episodes"
    return f"{found['agreed']:,} {unit} agreed; below {found['bound']:.1e} of such {found['unit']} differ (95 %)"
