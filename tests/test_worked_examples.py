"""The worked examples are run on both sides, each for itself."""

from __future__ import annotations

from pathlib import Path

from edited import broken
from environments import ENVS
from test_harness import PROFILE

from simulacrum.harness.runner import run_check


def messages(package: object) -> list[str]:
    return [finding.message for finding in run_check("worked_examples", package, PROFILE).findings]


def test_a_rule_that_both_sides_misread_alike_is_found_on_both(tmp_path: Path) -> None:
    package = broken(
        tmp_path / "package",
        "toywalk",
        fast=("torch.clamp(state.position + step, -L, L)", "torch.clamp(state.position + step, 1 - L, L)"),
        reference=(
            "if position < -L:\n            position = -L",
            "if position < 1 - L:\n            position = 1 - L",
        ),
    )
    found = messages(package)
    for side in ("reference.py", "fast.py"):
        assert f"example 5, {side}: state position: spec.md says -5, got -4" in found
    assert not any("example 1," in message for message in found)


def test_a_draw_that_is_not_the_tables_is_found(tmp_path: Path) -> None:
    package = broken(
        tmp_path / "package",
        "toywalk",
        reference=("draw.bernoulli(Slots.SLIP, SLIP_P)", "draw.bernoulli(Slots.SLIP, 0.2)"),
    )
    assert any("slot SLIP is drawn as bernoulli(0.2,)" in message for message in messages(package))


def test_an_exception_in_one_example_hides_no_other(tmp_path: Path) -> None:
    at = "        at_goal = position == L\n"
    package = broken(tmp_path / "package", "toywalk", reference=(at, f"        1 // (position + 5)\n{at}"))
    found = messages(package)
    raised = [message for message in found if "ZeroDivisionError" in message]
    assert len(raised) == len(found) == 4  # the examples that end on cell -5
    assert raised[0].startswith("example 5, reference.py: ")


def test_too_few_examples_are_told(tmp_path: Path) -> None:
    lines = (ENVS / "toywalk" / "spec.md").read_text().splitlines(keepends=True)
    resets = "".join(line for line in lines if "INIT_POSITION = " in line and line.startswith("| "))
    package = broken(tmp_path / "package", "toywalk", spec=(resets, ""))
    assert messages(package) == [
        "spec.md: expected at least 1 reset examples, got 0: work more out by hand from the rules"
    ]
    rows = [line for line in lines if line.startswith("| ") and ": " in line and "SLIP = " in line]
    assert len(rows) > 8
    package = broken(tmp_path / "few", "toywalk", spec=("".join(rows[7:]), ""))
    assert messages(package) == [
        "spec.md: expected at least 8 worked examples, got 7: work more out by hand from the rules"
    ]
