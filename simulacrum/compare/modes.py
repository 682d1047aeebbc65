"""What a batched environment does when an episode ends, found out by watching it, whatever it declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .leaves import Leaves, exactly_alike, leaves, row_of
from .views import DISABLED, NEXT_STEP, SAME_STEP, finals_of, view_of

if TYPE_CHECKING:
    from .pair import Pair

ROWS, STEPS, ENDS, SHORT = 8, 300, 12, 5


@dataclass(frozen=True)
class Behaviour:
    """What was seen at ``ends`` ends of episodes.

    ``finals`` of them came with a terminal observation in the infos. Of the ``followed`` next steps, ``quiet`` gave
    reward 0 and no flag, and ``heeded`` depended on their action (where two like environments can be compared).
    """

    declared: str | None
    mode: str | None
    ends: int = 0
    finals: int = 0
    followed: int = 0
    quiet: int = 0
    heeded: int = 0
    raised: str = ""

    @property
    def evidence(self) -> str:
        """In words."""
        if not self.ends:
            return f"no episode ended in {STEPS} random steps of {ROWS} rows"
        return (
            f"at {self.ends} ends of episodes, {self.finals} terminal observations in the infos; of {self.followed} "
            f"next steps, {self.quiet} gave reward 0 and no flag, {self.heeded} depended on the action"
            + (f"; the step after raised {self.raised}" if self.raised else "")
        )


def detected(pair: Pair) -> Behaviour:
    """Play two like candidates, whose actions differ only in steps after the end of a row's episode."""
    view = view_of(pair.candidate.candidate(1, 0), 1)
    declared = view.declared
    view.close()
    if not pair.vector:
        return Behaviour(declared, declared)
    found = _watched(pair, declared, None)
    if not found.ends and pair.candidate.limits:
        found = _watched(pair, declared, SHORT)
    return found


def _watched(pair: Pair, declared: str | None, limit: int | None) -> Behaviour:
    seen = dict.fromkeys(("ends", "finals", "followed", "quiet", "heeded"), 0)
    raised = ""
    twins = [view_of(pair.candidate.candidate(ROWS, 3, limit), ROWS) for _ in range(2)]
    try:
        for twin in twins:
            pair.begin(twin, 3)
        actions = pair.actions(np.random.default_rng(3), STEPS, ROWS)
        others = pair.actions(np.random.default_rng(4), STEPS, ROWS)
        ended, alike = np.zeros(ROWS, bool), pair.seeding != "none"
        for step in range(STEPS):
            second = actions[step].copy()
            second[ended] = others[step][ended]
            try:
                given = [_row_values(twin, action) for twin, action in zip(twins, (actions[step], second), strict=True)]
            except Exception as error:
                raised = type(error).__name__
                break
            changed = ended & (actions[step] != second).reshape(ROWS, -1).any(1)
            _count(seen, given, ended, changed if alike else np.zeros(ROWS, bool))
            ended = given[0]["terminated"].astype(bool) | given[0]["truncated"].astype(bool)
            seen["ends"] += int(ended.sum())
            seen["finals"] += sum(1 for row in given[0]["finals"] if ended[row])
            # once a row's action was heeded, the twins are two environments, and no longer compared
            alike = alike and _rows_alike(given, np.arange(ROWS))
            if seen["followed"] >= ENDS:
                break
    finally:
        for twin in twins:
            twin.close()
    return Behaviour(declared, _mode(declared, seen, raised), **seen, raised=raised)


def _count(seen: dict[str, int], given: list[dict[str, Any]], ended: np.ndarray, changed: np.ndarray) -> None:
    for row in np.flatnonzero(ended):
        seen["followed"] += 1
        one = given[0]
        seen["quiet"] += bool(one["reward"][row] == 0 and not one["terminated"][row] and not one["truncated"][row])
        seen["heeded"] += bool(changed[row] and not _rows_alike(given, np.array([row])))


def _mode(declared: str | None, seen: dict[str, int], raised: str) -> str | None:
    if not seen["ends"]:
        return declared
    if seen["finals"]:
        return SAME_STEP
    if raised or (declared == DISABLED and seen["heeded"]):
        return DISABLED
    if seen["quiet"] == seen["followed"] and not seen["heeded"]:
        return NEXT_STEP
    return SAME_STEP


def _row_values(view: Any, action: np.ndarray) -> dict[str, Any]:
    given = view.raw_step(action)
    table: dict[str, Any] = {name: np.array(given[name]) for name in ("reward", "terminated", "truncated")}
    return table | {"observation": leaves(given["observation"]), "finals": finals_of(given["infos"], view.num_envs)}


def _rows_alike(given: list[dict[str, Any]], rows: np.ndarray) -> bool:
    return all(exactly_alike(*(_row(one, row) for one in given)) for row in rows)


def _row(one: dict[str, Any], row: int) -> Leaves:
    return row_of(one["observation"], row) | {name: one[name][row : row + 1] for name in ("reward", "terminated")}
