"""``simulacrum explain FILE``: a finding's case on the package as it is now, both sides beside each other."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from edited import changed
from rich.console import Console

from simulacrum.cli import explain as explaining
from simulacrum.cli import main
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

PROFILE = replace(QUICK, seed=11, sizes={7: (7, 100)}, sweep=(64, 60))
FAULT = ("GOAL_REWARD)", "GOAL_REWARD - 1)")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No terminal."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return found(changed(tmp_path / "package", *FAULT))


def found(package: Package, check: str = "differential") -> Path:
    (finding,) = run_check(check, package, PROFILE).findings
    assert f"simulacrum explain {finding.file}" in finding.text()
    return Path(finding.file)


def mend(file: Path) -> None:
    """Undo the fault in the package beside which a file lies."""
    source = file.parent.parent / "fast.py"
    source.write_text(source.read_text().replace(*reversed(FAULT)))


def test_both_sides_stand_beside_each_other(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "differential: the two sides differ after a step"
    assert "Replaying 1 transition of 1 row from an injected state (step_and_maybe_reset, " in "\n".join(lines)
    assert any(line.endswith("as it was when this was found") for line in lines)
    begin = lines.index("transition 1: action 1")
    assert "  drew SLIP[0] = False" in lines[begin:]
    fields = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[begin:] if line.startswith("  ")}
    assert fields["reward"].split() == ["10.", "9.", "<-", "the", "first", "difference"]
    assert fields["state.position"].split() == ["5", "5"]
    assert [line for line in lines if "<-" in line] == [line for line in lines if line.startswith("  reward ")]
    assert lines[-1] == "Still so: row 0, after a step: the first difference, reward: reference 10., fast 9."
    assert any("rule       transition 3: Reward. `GOAL_REWARD` if" in line for line in lines)


def test_a_mended_package_agrees(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mend(file)
    assert main(["explain", str(file)]) == 0
    told = capsys.readouterr().out
    assert "CHANGED since this was found" in told
    assert "Both sides agree now." in told
    assert "simulacrum validate" in told.splitlines()[-1]
    assert "<-" not in told


def test_a_file_that_lies_elsewhere_finds_its_package(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = shutil.move(file, tmp_path / "moved.json")
    assert main(["explain", str(moved)]) == 1
    assert str(file.parent.parent) in capsys.readouterr().out


def test_a_law_is_explained_though_both_sides_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = changed(tmp_path / "package", "(state.position >= -L)", "(state.position > -L)", file="checks.py")
    assert main(["explain", str(found(package, "invariant_sweep"))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Still so: row 0, after a step: both sides: the invariant 'in_bounds' does not hold"


def test_other_draws_are_told_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = found(changed(tmp_path / "package", "Slots.SLIP, SLIP_P", "Slots.SLIP, 1 - SLIP_P"))
    assert main(["explain", str(file)]) == 1
    assert "  drew SLIP[0]: reference False, fast True" in capsys.readouterr().out


def test_on_a_terminal_there_is_a_table(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = StringIO()
    monkeypatch.setattr(explaining, "Console", lambda **_: Console(file=screen, force_terminal=True, width=120))
    assert main(["explain", str(file)]) == 1
    assert screen.getvalue().count("┏") == 2  # the first state, and the transition
    (row,) = (line for line in screen.getvalue().splitlines() if "│" in line and "<- the first difference" in line)
    assert "reward" in row


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1}', '{"format": 99}', "no JSON"])
def test_a_file_that_is_none(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(content)
    assert main(["explain", str(tmp_path / "x.json")]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"simulacrum: {tmp_path / 'x.json'}: expected the f")
    assert "Traceback" not in told


def test_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / "x.json")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_package_that_is_gone(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moved = Path(shutil.move(file, tmp_path / "moved.json"))
    shutil.rmtree(tmp_path / "package")
    assert main(["explain", str(moved)]) == 2
    assert "no environment" in capsys.readouterr().err


def test_a_state_of_other_fields_cannot_be_replayed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(file.read_text())
    starts = content["case"]["starts"]
    starts["state.place"] = starts.pop("state.position")
    file.write_text(json.dumps(content))
    assert main(["explain", str(file)]) == 2
    assert "fields ['place'], the package now has ['position']" in capsys.readouterr().err
