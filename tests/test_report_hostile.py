"""The command report against what would mislead it: what lies at its output, what a report claims, what has no end."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fabricated import copy_package, fabricated_report, validated

from simulacrum.cli import main
from simulacrum.cli import report as command
from simulacrum.errors import PackageError
from simulacrum.harness.report_page import frames, page, reading, verdict
from simulacrum.harness.report_page.speed import measured
from simulacrum.spec import Package

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder of the test's own, and a present folder."""
    (tmp_path / "in").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.chdir(tmp_path / "in")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_package(tmp_path / "toywalk")


def unsigned(folder: Path, change: Any) -> Path:
    """A report whose JSON was changed, without a signature."""
    path = fabricated_report(folder).write()
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content).replace('"1e999"', "1e999"))
    path.with_suffix(".sig").unlink()
    return path


# ---------------------------------------------------------------------- what lies at the output


def text(path: Path) -> None:
    path.write_text("kept " * 1000)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def link_to_a_page(path: Path) -> None:
    path.with_name("other.html").write_bytes(b"<!DOCTYPE html>" + reading.GENERATOR)
    path.symlink_to("other.html")


@pytest.mark.parametrize(
    "made", [text, os.mkfifo, unix_socket, link_to_a_page, lambda path: path.symlink_to("nowhere")]
)
def test_only_a_page_is_written_over(made: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(Path("out.html"))
    before = Path("out.html").lstat()
    assert main(["report", str(validated(folder)), "-o", "out.html"]) == 2
    assert "out.html exists already, and is no page of simulacrum report" in capsys.readouterr().err
    after = Path("out.html").lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)


def test_an_earlier_page_is_written_over(folder: Path) -> None:
    validated(folder)
    for _ in range(2):
        assert main(["report", str(folder), "-o", "out.html"]) == 0
    assert reading.is_page(Path("out.html"))


def test_a_full_disk_is_told_by_the_output(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "simulacrum", "report", str(validated(folder)), "-o", "out.html"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )
    assert (done.returncode, done.stderr) == (2, "simulacrum: out.html: File too large\n")
    assert os.listdir() == []


# ---------------------------------------------------------------------- what a report claims


@pytest.mark.parametrize("outcome", ["passed ", "passed\u200b", "PASSED", ""])
def test_only_the_very_word_is_an_outcome(outcome: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = unsigned(folder, lambda content: content.update(outcome=outcome))
    assert main(["report", str(folder)]) == 2
    assert f"{path}: /outcome: expected a report" in capsys.readouterr().err
    content = json.loads(path.read_text())
    assert verdict.word_of(content, None) == "unknown"
    assert "passed</title>" not in page(content)


@pytest.mark.parametrize(
    ("throughput", "place"),
    [
        ({"tensor steps per second": "1e999"}, "/throughput/tensor steps per second"),
        ({"tensor steps per second": 10**400}, "/throughput/tensor steps per second"),
        ({"ratio": "1e999", "fastest form": "tensor"}, "/throughput/ratio"),
        ({"threads": 10**400}, "/throughput/threads"),
        ({"by batch size": {"tensor": {"4": 10**400}}}, "/throughput/by batch size/tensor/4"),
    ],
)
def test_numbers_that_no_plot_has_are_named(
    throughput: Any, place: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = unsigned(folder, lambda content: content.update(throughput={"batch size": 4, **throughput}))
    assert main(["report", str(folder)]) == 2
    error = capsys.readouterr().err
    assert f"{path}: {place}: expected a report" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("rate", [5e-324, 1e-320, float("inf"), 10**400])
def test_a_rate_that_has_no_place_on_an_axis_is_left_out(rate: Any) -> None:
    facts = {"batch size": 4, "tensor steps per second": rate, "by batch size": {"tensor": {"8": rate}}}
    assert measured(facts) == []


def test_a_bound_that_no_float_holds_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(content: Any) -> None:
        content["checks"][0]["evidence"] = {"unit": "episodes", "agreed": 3, "bound": 10**400}

    unsigned(folder, change)
    assert main(["report", str(folder)]) == 2
    assert "/checks/0/evidence/bound: expected a report" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["failures/" + "x" * 5000, "failures/\ud800", "failures/a\0b"])
def test_a_file_name_that_no_system_has_is_a_remark(name: str, folder: Path) -> None:
    finding = {"check": "replay", "message": "m", "file": name}
    found = frames.pictures(Package.read(folder), {"checks": [{"findings": [finding]}]})
    assert found[name].moments == []
    assert found[name].remark


def test_a_report_that_changes_while_it_is_read_is_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = validated(folder) / "validation_report.json"
    admit = command.admit

    def replaced(*arguments: Any, **options: Any) -> Any:
        path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
        return admit(*arguments, **options)

    monkeypatch.setattr(command, "admit", replaced)
    assert main(["report", str(folder), "-o", "out.html"]) == 2
    assert f"{path}: it changed while it was read" in capsys.readouterr().err
    assert os.listdir() == []


# ---------------------------------------------------------------------- what has no end


def test_only_so_many_bytes_of_a_regular_file_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("pipe")
    for place in ("pipe", "/dev/zero", "."):
        with pytest.raises(PackageError, match="it is no regular file"):
            reading.bench(Path(place))
    monkeypatch.setattr(reading, "LARGEST", 100)
    Path("long").write_text(" " * 101)
    with pytest.raises(PackageError, match="it has more than 100 bytes"):
        reading.bench(Path("long"))
