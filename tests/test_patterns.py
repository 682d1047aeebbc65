"""Each pattern is recognised from evidence, and silent without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulacrum.harness.patterns import PATTERNS, Evidence, told, ulps
from simulacrum.harness.playback import AFTER_MASK, AFTER_STEP, NEXT_FIRST, Divergence

F = np.float32


def values(field: str, one: Any, other: Any, when: str = AFTER_STEP, **evidence: Any) -> Evidence:
    """Evidence of two values that differ."""
    return Evidence(Divergence(1, when, 0, field, one, other), **evidence)


def error(kind: str, text: str = "", field: str = "", **evidence: Any) -> Evidence:
    return Evidence(Divergence(1, AFTER_STEP, 0, field, kind=kind, error=text), **evidence)


def record(**fields: Any) -> dict[str, np.ndarray]:
    """A record of one row; ``clock_t`` stands for ``clock.t``."""
    return {name.replace("_", ".", 1) if name[:5] in ("clock", "state") else name: np.array([value])
            for name, value in fields.items()}  # fmt: skip


ENDED = record(observation=F(0.5), terminated=True, truncated=False)
CASES: dict[str, tuple[Evidence, str]] = {
    "broadcast": (
        error("raised", "fast.py raised OutputError: fast.py, reward: expected torch.float32 [N] (here N = 7), got "
              "torch.float32 [7, 7]"),
        "fast.py made [N, N] of [N]",
    ),
    "a column": (
        error("raised", "expected torch.float32 [N] (here N = 7), got torch.float32 [7, 1]"),
        "fast.py made [N, 1] of [N]",
    ),
    "aliasing": (error("written", field="reward"), "aliasing: a returned reward shares memory"),
    "the action is written": (error("written", field="action"), "fast.py writes into the action"),
    "a law": (error("law", reference=ENDED, fast=ENDED), "both sides agree on this state"),
    "float64": (values("observation", "float32 [2]", "float64 [2]"), "float64 has crept in"),
    "another dtype": (values("state.x", "int32 []", "int64 []"), "fast.py gives int64 [] where int32 [] is due"),
    "mask inverted": (
        values("state.x", 1, 2, AFTER_MASK, masked=False, before=record(clock_episode=3, clock_t=5),
               fast=record(clock_episode=4, clock_t=0)),
        "a row that was not to be reset was",
    ),
    "mask dropped": (
        values("state.x", 1, 2, NEXT_FIRST, masked=True, before=record(clock_episode=3, clock_t=5, state_x=2),
               fast=record(clock_episode=3, clock_t=5, state_x=2)),
        "a row that was to be reset was not",
    ),
    "a field is not reset": (
        values("state.x", 1, 2, NEXT_FIRST, masked=True, before=record(clock_episode=3, clock_t=5, state_x=2),
               fast=record(clock_episode=4, clock_t=0, state_x=2)),
        "a reset leaves state.x as it was before",
    ),
    "batch": (values("reward", F(1), F(2), rows=4), "alone the row agrees, in a batch of 4 rows it differs"),
    "flags swapped": (
        values("terminated", np.True_, np.False_, reference=ENDED, fast=record(terminated=False, truncated=True)),
        "terminated and truncated are exchanged",
    ),
    "terminal replaced": (
        values("observation", F(0.5), F(0.1), reference=ENDED, fast=record(observation=F(0.1)),
               later_reference=record(observation=F(0.1))),
        "the terminal observation was replaced",
    ),
    "the observation before": (
        values("observation", F(0.5), F(0.2), before=record(observation=F(0.2)), fast=record(observation=F(0.2))),
        "the observation is that from before the call",
    ),
    "clock": (values("clock.t", 3, 4), "the clock is kept by the base class"),
    "missing index": (
        values("state.berry", np.array([3, 1, 2]), np.array([3, 3, 3])),
        "the elements of state.berry are all equal",
    ),
    "another outcome": (
        values("state.x", 1, 2, draws={"reference": {("SLIP", 0): True}, "fast": {("SLIP", 0): False}}),
        "fast.py's draw of SLIP at index 0 has another outcome",
    ),
    "another slot": (
        values("state.x", 1, 2, draws={"reference": {("A", 0): 3, ("B", 0): 1}, "fast": {("A", 0): 3}}),
        "fast.py draws ['A'], the reference ['A', 'B']",
    ),
    "the counter before the step": (
        values("observation", F(0.2), F(0.1), fast=record(observation=F(0.1)),
               shifted={-1: record(observation=F(0.1)), 1: record(observation=F(0.3))}),
        "step counter before the step, t - 1",
    ),
    "the counter one ahead": (
        values("observation", F(0.2), F(0.3), fast=record(observation=F(0.3)),
               shifted={-1: record(observation=F(0.1)), 1: record(observation=F(0.3))}),
        "step counter one step ahead, t + 1",
    ),
    "the sign of a zero": (values("reward", F(0.0), F(-0.0)), "only the sign of a zero differs"),
    "one unit": (values("reward", F(0.1), np.nextafter(F(0.1), F(1))), "differ by 1 unit in the last place"),
    "three units": (values("reward", F(1), F(1) + 3 * np.spacing(F(1))), "differ by 3 units in the last place"),
    "an end too many": (values("terminated", np.False_, np.True_), "fast.py ends an episode"),
    "an end too few": (values("truncated", np.True_, np.False_), "fast.py goes on with an episode"),
    "the other sign": (values("reward", F(-1), F(1)), "reward has the other sign"),
    "off by one": (values("state.x", np.int32(3), np.int32(4)), "fast.py is off by one"),
    "off by a constant": (
        values("reward", F(5), F(2.5), constants={"COST": 2.5, "GRID": 8, "GAINS": [1.0, 2.5]}),
        "fast.py is off by -2.5, the size of COST and of GAINS;",
    ),
    "off by something": (values("reward", F(5), F(9)), "fast.py is off by 4; look at the constants"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_pattern_is_told(name: str) -> None:
    seen, sentence = CASES[name]
    text = told(seen)
    assert sentence in text
    assert text.endswith(".")
    assert "\n" not in text


def test_each_pattern_is_somebody_s_first() -> None:
    first = {next(pattern.__name__ for pattern in PATTERNS if pattern(seen)) for seen, _ in CASES.values()}
    assert first == {pattern.__name__ for pattern in PATTERNS}


@pytest.mark.parametrize(
    "seen",
    [
        values("observation", np.array([F(1), F(2)]), np.array([F(7), F(5)])),  # nothing that is known
        values("state.x", np.array([1, 1]), np.array([3, 4])),
        values("reward", F(1), F("nan")),
        error("raised", "fast.py raised ZeroDivisionError: division by zero"),
        error("law", reference=ENDED, fast={**ENDED, "observation": np.array([F(1)])}),
    ],
)
def test_what_is_not_known_is_not_told(seen: Evidence) -> None:
    assert told(seen) == ""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_in_the_last_place(dtype: Any) -> None:
    one = dtype(1.5)
    assert ulps(one, one) == 0
    assert ulps(one, np.nextafter(one, dtype(2))) == 1
    tiny = np.nextafter(dtype(0), dtype(1))
    assert ulps(np.array([one, tiny]), np.array([one, -tiny])) == 2  # through both zeros, which are one
