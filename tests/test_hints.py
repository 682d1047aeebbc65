"""Faults that are put into an environment are told by their hints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edited import ENVS, SEEN, changed, method

from simulacrum.harness.case import Case
from simulacrum.harness.hints import hint
from simulacrum.harness.playback import replay
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.harness.shrink import shrink
from simulacrum.spec import Package

SEEDS = np.arange(100, 107, dtype=np.uint64)
TOYWALK, FORAGER = (
    Case(seeds=SEEDS, actions=np.random.default_rng(1).integers(0, n, (90, 7))) for n in (2, 4)
)  # long enough for ends of episodes


def told(package: Package, case: Case) -> str:
    smaller = shrink(package, case) or case
    return hint(package, smaller, replay(package, smaller, draws=True))


RETURN = f"return {SEEN}"
STATE = "        return State(position=position), reward, at_goal"
FAULTS = {
    "the counter before the step": (RETURN, RETURN.replace("state.t", "(state.t - 1)"), "t - 1"),
    "a broadcast": (STATE, STATE.replace("reward", "reward.unsqueeze(-1) + reward"), "fast.py made [N, "),
    "a sum over the batch": (
        RETURN,
        f"return {SEEN} + state.t.sum() * 0 + state.t.shape[0] // 5",
        "alone the row agrees",
    ),
    "a division by a product": (
        RETURN,
        "return torch.stack([state.position * (1 / self.float32(L)), state.t * (1 / self.float32(MAX_STEPS))], -1)",
        "in the last place",
    ),
    "a zero's sign": (RETURN, f"return -(-{SEEN} + 0.0)", "the sign of a zero"),
    "an inverted reset": (
        *method("    def _renew(self, carry, seen, mask):\n        return super()._renew(carry, seen, ~mask)"),
        "the reset mask is inverted",
    ),
    "the terminal observation": (
        *method(
            "    def _step_and_maybe_reset(self, td):\n"
            "        td, root = super()._step_and_maybe_reset(td)\n"
            "        td['next', 'observation'] = root['observation']\n"
            "        return td, root"
        ),
        "the terminal observation was replaced",
    ),
    "the flags": (
        *method(
            "    def _result(self, carry, outcome):\n"
            "        flags = {'terminated': outcome.truncated, 'truncated': outcome.terminated}\n"
            "        return super()._result(carry, outcome._replace(**flags))"
        ),
        "are exchanged",
    ),
    "another probability": ("Slots.SLIP, SLIP_P", "Slots.SLIP, 1 - SLIP_P", "fast.py's draw of SLIP at index 0"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_toywalk_is_told(name: str, tmp_path: Path) -> None:
    old, new, sentence = FAULTS[name]
    assert sentence in told(changed(tmp_path / "package", old, new), TOYWALK)


def test_one_draw_for_all_berries_is_a_missing_index(tmp_path: Path) -> None:
    new = "draw.randint(Slots.BERRY_X, GRID).unsqueeze(-1).repeat(1, N_BERRIES)"
    package = changed(tmp_path / "p", "draw.randint(Slots.BERRY_X, GRID, shape=(N_BERRIES,))", new, base="forager")
    assert "the elements of state.berry_x are all equal" in told(package, FORAGER)


def test_two_draws_of_one_slot_are_told(tmp_path: Path) -> None:
    new = "draw.randint(Slots.BERRY_X, GRID, shape=(N_BERRIES,), index=6)"
    package = changed(tmp_path / "p", "draw.randint(Slots.BERRY_Y, GRID, shape=(N_BERRIES,))", new, base="forager")
    assert "fast.py draws ['AGENT_X', 'AGENT_Y', 'BERRY_KIND', 'BERRY_X'], the reference" in told(package, FORAGER)


def test_an_output_that_broadcast_is_told_without_a_case(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", STATE, STATE.replace("reward", "reward.unsqueeze(-1)"))
    (finding,) = run_check("differential", package, replace(QUICK, seed=3)).findings
    assert finding.hint.startswith("fast.py made [N, 1] of [N]")


def test_nothing_is_told_of_sides_that_agree() -> None:
    assert told(Package.read(ENVS / "toywalk"), TOYWALK) == ""


def test_the_rows_of_a_case_that_was_not_shrunk_tell_nothing(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "GOAL_REWARD)", "GOAL_REWARD - 1)")
    shown = replay(package, TOYWALK)
    assert "a batch of 7 rows" in hint(package, TOYWALK, shown)
    assert "a batch" not in hint(package, TOYWALK, shown, shrunk=False)
