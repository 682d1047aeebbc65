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


NOT_SAMPLED = ("guided_search", "coverage", "small_worlds", "constants")  # guided, or exhaustive: no rate follows


def evidence(check: str, outcome: str, counts: Mapping[str, int]) -> dict[str, Any] | None:
    """``{"unit", "agreed", "bound"}``: how many independent samples agreed, and the 95 % bound on the rate of those
    that differ (3 / n, the rule of three: Hanley and Lippman-Hand, JAMA 249, 1983). None for a check that did not
    pass, or that takes no such samples.

    Transitions within one episode are not independent, so rollouts count by episodes.
    """
    if outcome != "passed" or check in NOT_SAMPLED:
        return None
    for unit, name in (("transitions", INDEPENDENT), ("episodes", EPISODES)):
        if counts.get(name):
            return {"unit": unit, "agreed": counts[name], "bound": 3.0 / counts[name]}
    return None


def words(found: Mapping[str, Any] | None) -> str:
    """The same for people; empty for None."""
    if not found:
        return ""
    unit = "independent transitions" if found["unit"] == "transitions" else "episodes"
    return f"{found['agreed']:,} {unit} agreed; below {found['bound']:.1e} of such {found['unit']} differ (95 %)"
