"""Cases are run on both sides, and the earliest difference is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edited import ENVS, SEEN, changed, method

from simulacrum.harness.case import FORMS, Case
from simulacrum.harness.playback import (
    AFTER_MASK,
    AFTER_RESET,
    AFTER_STEP,
    FIRST,
    NEXT_FIRST,
    Replay,
    replay,
    run,
)
from simulacrum.spec import Package

SEEDS = np.array([3, 2**64 - 1, 9], np.uint64)
ACTIONS = np.random.default_rng(0).integers(0, 2, (70, 3))


def at(position: int, t: int = 5, rows: int = 1) -> dict[str, np.ndarray]:
    """A state of toywalk in some rows."""
    return {
        "state.position": np.full(rows, position, np.int32),
        "clock.seed": np.full(rows, 7, np.uint64),
        "clock.episode": np.full(rows, 2),
        "clock.t": np.full(rows, t),
    }


RIGHT = np.array([[1]])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("start", ["seeds", "states"])
def test_the_examples_agree_in_every_form(form: str, fused: bool, start: str) -> None:
    package = Package.read(ENVS / "forager")
    case = Case(seeds=SEEDS, actions=ACTIONS, resets=1, form=form, fused=fused)
    if start == "states":
        shown = replay(package, case).moments[40]
        case = replace(case, seeds=None, starts=shown.reference, resets=0)
    assert run(package, case) is None


def test_the_examples_agree_where_the_state_is_not_shown() -> None:
    package = Package.read(ENVS / "toywalk")
    for masks in ((), ((4, np.array([True, False, True])), (70, np.array([False, False, False])))):
        case = Case(seeds=SEEDS, actions=ACTIONS, masks=masks, options={"expose_state": False, "resets": "masked"})
        assert run(package, case) is None
    assert run(package, Case(starts=at(4), actions=RIGHT, options={"expose_state": False})) is None


def test_moments_tell_what_was_shown_and_drawn() -> None:
    shown = replay(Package.read(ENVS / "toywalk"), Case(starts=at(4), actions=RIGHT), draws=True)
    assert [(one.step, one.when) for one in shown.moments] == [(0, FIRST), (1, AFTER_STEP), (1, NEXT_FIRST)]
    first, ended, now = shown.moments
    assert first.draws == {"reference": [], "fast": []}
    assert first.reference["state.position"].tolist() == [4]
    for side in ("reference", "fast"):
        (slip, begun) = ended.draws[side]
        assert (slip[0], slip[1].slot, slip[1].kind, slip[1].arguments) == (0, 1, "bernoulli", {"p": 0.1})
        assert (begun[1].slot, begun[1].kind) == (0, "randint")
        assert not slip[1].outcome
    assert ended.reference["terminated"].tolist() == [True]
    assert now.fast["clock.episode"].tolist() == [3]


def test_a_divergence_says_where(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "GOAL_REWARD)", "GOAL_REWARD - 1)")
    rows = {name: np.concatenate([at(0)[name], at(4)[name]]) for name in at(0)}
    found = run(package, Case(starts=rows, actions=np.array([[0, 0], [1, 1], [0, 1], [0, 1]])))
    assert found is not None
    assert (found.step, found.when, found.row, found.field, found.kind) == (3, AFTER_STEP, 1, "reward", "values")
    assert found.texts() == ("10.", "9.")


def test_the_state_is_told_before_what_follows_from_it(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "state.position + step, -L, L)", "state.position + step, -L, L - 1)")
    found = run(package, Case(starts=at(4), actions=RIGHT))
    assert found is not None
    assert found.field == "state.position"


@pytest.mark.parametrize(
    ("body", "case", "when"),
    [
        ("    def _begin_all(self):\n        one = super()._begin_all()\n        return one._replace(t=one.t + 1)",
         Case(starts=at(2), resets=1), AFTER_RESET),
        ("    def _renew(self, carry, seen, mask):\n        return super()._renew(carry, seen, ~mask)",
         Case(starts=at(2, rows=2), masks=((0, np.array([True, False])),)), AFTER_MASK),
        ("    def _renew(self, carry, seen, mask):\n        return super()._renew(carry, seen, ~mask)",
         Case(starts=at(4), actions=RIGHT), NEXT_FIRST),
    ],
)  # fmt: skip
def test_resets_are_compared(tmp_path: Path, body: str, case: Case, when: str) -> None:
    found = run(changed(tmp_path / "package", *method(body)), case)
    assert found is not None
    assert found.when == when
    assert run(Package.read(ENVS / "toywalk"), case) is None


def test_one_reference_watches_one_row(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", f"return {SEEN}", f"out = {SEEN}\n        out[5:6] = 7\n        return out")
    for watched, differs in (([4], False), ([5], True), ([2, 5], True)):
        found = run(package, Case(starts=at(0, rows=7), watched=np.array(watched)))
        assert (found is not None) == differs
        assert found is None or found.row == 5


@pytest.mark.parametrize(("file", "away"), [("reference.py", "position != L"), ("fast.py", "(position != L).any()")])
def test_a_side_that_raises_is_a_divergence(tmp_path: Path, file: str, away: str) -> None:
    old = "at_goal = position == L"
    package = changed(tmp_path / "package", old, f"1 // int({away})\n        {old}", file=file)
    found = run(package, Case(starts=at(4), actions=RIGHT))
    assert found is not None
    assert (found.kind, found.step, found.when) == ("raised", 1, AFTER_STEP)
    assert found.error.startswith(f"{file} raised ZeroDivisionError")


def test_a_buffer_that_is_written_again_is_a_divergence(tmp_path: Path) -> None:
    body = (
        "    def _result(self, carry, outcome):\n"
        "        self.__dict__.setdefault('kept', torch.zeros_like(outcome.reward)).copy_(outcome.reward)\n"
        "        return super()._result(carry, outcome._replace(reward=self.__dict__['kept']))"
    )
    package = changed(tmp_path / "package", *method(body))
    found = run(package, Case(starts=at(3), actions=np.array([[1], [1]])))
    assert found is not None
    assert (found.kind, found.field, found.step) == ("written", "reward", 2)


def test_a_law_that_does_not_hold_is_a_divergence_though_both_sides_agree(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "(state.position >= -L)", "(state.position > -L)", file="checks.py")
    case = Case(starts=at(-4), actions=np.array([[0]]), laws=True)
    found = run(package, case)
    assert found is not None
    assert (found.kind, found.error) == ("law", "both sides: the invariant 'in_bounds' does not hold")
    assert run(package, replace(case, laws=False)) is None


def test_a_case_of_a_smaller_world_runs_there() -> None:
    package = Package.read(ENVS / "toywalk")
    shown = replay(package, Case(starts=at(1), actions=RIGHT, constants={"L": 2}))
    assert shown.divergence is None
    assert shown.moments[1].reference["terminated"].tolist() == [True]


def test_a_long_replay_keeps_few_whole_batches() -> None:
    shown: Replay = replay(Package.read(ENVS / "toywalk"), Case(seeds=SEEDS, actions=ACTIONS))
    kept = [moment.batch is not None for moment in shown.moments]
    assert sum(kept) == 4
    assert all(kept[-4:])
