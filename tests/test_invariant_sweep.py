"""Invariants that say nothing are found, or excused."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited import PACKAGES, broken
from environments import ENVS, FORAGER, TOYWALK
from test_harness import SMALL

from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

TEMPLATE = Package.read(ENVS.parent / "simulacrum" / "templates" / "package")
REACH = "return np.abs(state.position) <= START_RANGE + state.t"
START = "return (state.t > 0) | (np.abs(state.position) <= START_RANGE)"
BOUNDS = "return (state.position >= -L) & (state.position <= L)"


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (REACH, "return state.position == state.position", "within_reach"),
        (REACH, "return np.abs(state.position) <= 2 * L + state.t", "within_reach"),
        (START, "return state.t >= 0", "starts_near_zero"),
        (BOUNDS, "return state.position >= -L - 1", "in_bounds"),
    ],
)
def test_an_invariant_that_always_holds_is_found(old: str, new: str, name: str, tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", checks=(old, new))
    (finding,) = run_check("invariant_sweep", package, SMALL).findings
    assert finding.message.startswith(f"the invariant {name!r} holds in each of ")
    assert f"EXCUSES = {{'invariant {name}'" in finding.message


def test_it_may_be_excused_and_an_idle_excuse_is_a_finding(tmp_path: Path) -> None:
    excuse = '\n\nEXCUSES = {"invariant within_reach": "for readers"}\n\n\ndef goal('
    excused = broken(tmp_path / "one", "toywalk", checks=("\n\ndef goal(", excuse))
    (finding,) = run_check("invariant_sweep", excused, SMALL).findings
    assert "EXCUSES['invariant within_reach'] in checks.py excuses nothing" in finding.message
    checks = (excused.path / "checks.py").read_text().replace(REACH, "return state.t < 100")
    (excused.path / "checks.py").write_text(checks)
    result = run_check("invariant_sweep", Package.read(excused.path), SMALL)
    assert result.findings == []
    assert "excused: within_reach: for readers" in result.notes


def test_one_that_raises_beyond_the_bounds_refuses_them(tmp_path: Path) -> None:
    table = "return np.ones(2 * L + 1, bool)[state.position + L] | (state.position >= -L)"
    package = broken(tmp_path / "package", "toywalk", checks=(BOUNDS, table))
    assert run_check("invariant_sweep", package, SMALL).findings == []


@pytest.mark.parametrize(
    "package",
    [TOYWALK, FORAGER, TEMPLATE, *(Package.read(PACKAGES / name) for name in ("courier", "gates"))],
    ids=lambda package: package.name,
)
def test_the_invariants_of_the_packages_say_something(package: Package) -> None:
    assert run_check("invariant_sweep", package, SMALL).findings == []
