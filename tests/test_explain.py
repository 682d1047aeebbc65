"""``simulacrum explain FILE``: a finding's case on the package as it is now, both sides beside each other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited import changed
from rich.console import Console

from simulacrum.cli import explain as explaining
from simulacrum.cli import main
from simulacrum.harness.case import Case
from simulacrum.harness.context import Context
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


# ---------------------------------------------------------------------- files that were edited

Edit = Callable[[dict[str, Any]], Any]
BAD = "\ud800"  # half a character, which cannot be printed


def edit(file: Path, change: Edit) -> None:
    """Change the JSON of a file in place."""
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def put(part: str, *path: Any, value: Any) -> Edit:
    """An edit that puts a value at a place of a part of the file."""

    def change(content: dict[str, Any]) -> None:
        place = content[part]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return found(changed(tmp_path_factory.mktemp("good") / "package", *FAULT))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("case"), "expected an object with"),
        (lambda content: content.update(format=True), "expected the format 1, got True"),
        (lambda content: content.update(package=[]), "package: expected an object with id, path and digest"),
        (lambda content: content.update(finding=None), "finding: expected an object with check, message"),
        (put("package", "path", value=3), "package.path: expected a text, got 3"),
        (put("package", "path", value="a\0b"), "package.path: expected a path"),
        (put("package", "digest", value=None), "package.digest: expected a text"),
        *(
            (put("finding", name, value=value), f"finding.{name}: expected")
            for name, value in (("reference", 1), ("replay", 2.5), ("file", 3), ("message", None), ("hint", []))
        ),
        (put("finding", "steps", value="1"), "finding.steps: expected a whole number, got '1'"),
        (put("finding", "seed", value=1.5), "finding.seed: expected a whole number, got 1.5"),
        (put("finding", "more", value="x"), "finding: expected an object with check, message"),
        (put("finding", "message", value=BAD), "surrogates not allowed"),
        (put("case", "resets", value=10**9), "case.resets: expected a whole number in 0..4096"),
        (put("case", "laws", value=float("nan")), "expected JSON, got 'NaN'"),
        (put("case", "starts", "state.position", "values", value=[99]), "state.position: expected values in -5 .. 5"),
        (
            put("case", "actions", "values", value=[[9]]),
            "case.actions, step 1: action: expected elements of Discrete(2)",
        ),
        (put("case", "constants", "L", value=0), "case.constants: expected those of a small world"),
    ],
)
def test_an_edited_file_is_refused_before_anything_runs(
    good: Path, change: Edit, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = good.with_name("edited.json")
    shutil.copy(good, file)
    edit(file, change)
    monkeypatch.setattr(explaining, "with_draws", None)  # it would replay the case
    assert main(["explain", str(file)]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.err.startswith("simulacrum: ")
    assert "Traceback" not in told.err
    assert told.out == ""


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[" * 100_000, b"\x00", b"[1, 2]", b"NaN"])
def test_a_file_of_no_json_is_refused(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert main(["explain", str(tmp_path / "x.json")]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"simulacrum: {tmp_path / 'x.json'}: expected the file of a finding")
    assert "Traceback" not in told


def test_a_file_moves_no_cursor(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = good.with_name("edited.json")
    shutil.copy(good, file)
    edit(file, put("finding", "message", value="\x1b[2J[bold]wrong[/bold]"))
    assert main(["explain", str(file)]) == 1
    assert "\ufffd[2J[bold]wrong[/bold]" in capsys.readouterr().out


# ---------------------------------------------------------------------- which package


def test_a_file_that_lies_elsewhere_runs_nothing_of_a_package_that_changed(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package, moved = file.parent.parent, Path(shutil.move(file, tmp_path / "moved.json"))
    mark = tmp_path / "mark"
    with (package / "__init__.py").open("a") as source:
        source.write(f"\nopen({str(mark)!r}, 'w').close()\n")
    assert main(["explain", str(moved)]) == 2
    told = capsys.readouterr().err
    assert f"simulacrum explain {moved} --package PATH" in told
    assert str(package) in told
    assert not mark.exists()
    assert main(["explain", str(moved), "--package", str(package)]) == 1
    assert mark.exists()
    assert "CHANGED since this was found" in capsys.readouterr().out


def test_the_named_package_goes_before_the_one_beside(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = changed(tmp_path / "other").path
    assert main(["explain", str(file), "--package", str(other)]) == 0
    assert f"({other}), CHANGED" in capsys.readouterr().out
    assert main(["explain", str(file), "--package", str(tmp_path / "none")]) == 2


def test_a_case_outside_of_the_bounds_is_written_and_says_so(tmp_path: Path) -> None:
    context = Context("differential", changed(tmp_path / "package"), PROFILE)
    starts = {"state.position": np.array([9], np.int32), "clock.seed": np.array([1], np.uint64)}
    starts |= {"clock.episode": np.array([0]), "clock.t": np.array([0])}
    context.problem("it went astray", Case(starts=starts, actions=np.array([[1]])))
    (finding,) = context.findings
    assert Path(finding.file).is_file()
    assert "explain cannot replay it" in finding.hint
    assert "state.position: expected values in -5 .. 5, got 9" in finding.hint
