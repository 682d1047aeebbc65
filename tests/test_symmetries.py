"""Symmetries find rules that both sides misread alike, and are themselves looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from edited import broken
from environments import FORAGER, TOYWALK
from test_harness import PROFILE

from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

TEMPLATE = FORAGER.path.parents[1] / "simulacrum" / "templates" / "package"


def messages(package: Package) -> list[str]:
    result = run_check("symmetries", package, PROFILE)
    assert result.outcome == "failed"
    return [finding.message for finding in result.findings]


BOTH = {
    # the same misreading of forager's spec in fast.py and reference.py: which symmetry finds it
    "an edge that is nearer than the others": (
        ("torch.clamp(state.x + to_east, 0, GRID - 1)",) * 2,
        ("min(max(state.x + dx, 0), GRID - 1)",) * 2,
        ("GRID - 1)", "GRID - 2)"),
        "quarter_turn",
    ),
    "a slip that turns the other way": (
        ("(action.to(torch.int32) + slips) & 3", "(action.to(torch.int32) - 1 * slips) & 3"),
        ("dx, dy = dy, -dx", "dx, dy = -dy, dx"),
        ("", ""),
        "mirror",
    ),
}


@pytest.mark.parametrize("name", BOTH)
def test_a_misreading_of_both_sides_is_found(name: str, tmp_path: Path) -> None:
    fast, reference, change, symmetry = BOTH[name]
    package = broken(
        tmp_path / "package",
        "forager",
        fast=(fast[0], fast[1].replace(*change)),
        reference=(reference[0], reference[1].replace(*change)),
    )
    assert run_check("differential", package, replace(PROFILE, sizes={65: (65, 60)})).outcome == "passed"
    (message,) = messages(package)
    assert message.startswith(f"fast.py: the symmetry {symmetry} does not hold: from the state {{'x': ")


def test_the_reference_is_followed_as_well(tmp_path: Path) -> None:
    change = ("if position < -L:", "if position < -L or (position == 0 and action == 1):")
    (message,) = messages(broken(tmp_path / "package", "toywalk", reference=change))
    assert message.startswith("reference.py: the symmetry slip_reverses does not hold")


def test_a_symmetry_that_changes_nothing_is_told(tmp_path: Path) -> None:
    change = (
        'Symmetry("slip_reverses", as_it_is, other_action, other_slip)',
        "Symmetry('slip_reverses', as_it_is, abs)",
    )
    assert messages(broken(tmp_path / "package", "toywalk", checks=change))[0].startswith(
        "slip_reverses: it maps every"
    )


def test_a_symmetry_of_an_unknown_field_is_told(tmp_path: Path) -> None:
    change = ("    return {}\n\n\ndef other_action", "    return {'place': 1}\n\n\ndef other_action")
    assert "turns ['place']" in messages(broken(tmp_path / "package", "toywalk", checks=change))[0]


def test_what_checks_and_spec_name_must_agree(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", spec=("| `slip_reverses` |", "| `other` |"))
    found = run_check("spec_contract", package, PROFILE).findings
    assert [finding.message for finding in found] == [
        "SYMMETRIES: spec.md says ['other'], checks.py has ['slip_reverses']"
    ]


def test_without_a_symmetry_it_is_not_applicable() -> None:
    assert run_check("symmetries", Package.read(TEMPLATE), PROFILE).outcome == "not_applicable"


@pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=["toywalk", "forager"])
def test_the_examples_pass(package: Package) -> None:
    result = run_check("symmetries", package, PROFILE)
    assert (result.outcome, result.findings) == ("passed", [])
    assert result.counts["transitions turned"] > 5000
