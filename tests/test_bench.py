"""``simulacrum bench`` as it is called."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simulacrum.bench import sides, sweep
from simulacrum.cli import main

GATES = Path(__file__).resolve().parent / "packages" / "gates"
SMALL = ("--quick", "--forms", "eager", "--sizes", "4")


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A state folder of the test's own, no terminal, and copies of little."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("SIMULACRUM_KEY_FILE", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    copying = sides.copying
    monkeypatch.setattr(sides, "copying", lambda: copying(1 << 12))


def bench(*arguments):
    return main(["bench", str(GATES), *map(str, arguments)])


def test_it_measures_and_says_what_is_not_validated(tmp_path, capsys):
    file = tmp_path / "out.json"
    assert bench(*SMALL, "--json", file) == 0
    shown = capsys.readouterr().out
    assert "NOT VALIDATED (eager): " in shown
    assert f"run: simulacrum validate {GATES}" in shown
    assert "measured        N = 4, 1 thread" in shown
    assert "| eager" in shown
    content = json.loads(file.read_text())
    assert content["complete"] is True
    assert content["environment"] == "tests/gates-v0"
    assert content["not validated"].keys() == {"eager"}
    assert content["versions"].keys() >= {"Python", "torch"}
    assert content["machine"].keys() >= {"processor", "torch threads"}
    assert [group["batch size"] for group in content["groups"]] == [4]


def test_a_validated_form_has_no_warning(monkeypatch, capsys):
    monkeypatch.setattr("simulacrum.cli.bench.admit", lambda path, form, mode, config: None)
    assert bench(*SMALL) == 0
    assert "NOT VALIDATED" not in capsys.readouterr().out


def test_a_profile_is_shown_and_written(tmp_path, capsys):
    file = tmp_path / "out.json"
    assert bench(*SMALL, "--profile", "--json", file) == 0
    assert "TorchRL: step_and_maybe_reset" in capsys.readouterr().out
    assert {one["way"] for one in json.loads(file.read_text())["layers"]} >= {"simulacrum: BatchCollector"}


def test_an_interruption_shows_and_writes_what_was_measured(tmp_path, monkeypatch, capsys):
    measured = sweep._measured

    def interrupted(package, plan, size, *rest):
        if size == 8:
            raise KeyboardInterrupt
        return measured(package, plan, size, *rest)

    monkeypatch.setattr(sweep, "_measured", interrupted)
    file = tmp_path / "out.json"
    assert bench("--quick", "--forms", "eager", "--sizes", "4,8", "--json", file) == 130
    shown = capsys.readouterr().out
    assert "INCOMPLETE" in shown
    assert "| eager" in shown
    content = json.loads(file.read_text())
    assert content["complete"] is False
    assert [group["batch size"] for group in content["groups"]] == [4]


def test_ctrl_c_ends_it_in_order(tmp_path):
    file = tmp_path / "out.json"
    command = [sys.executable, "-m", "simulacrum", "bench", str(GATES), *SMALL, "--sizes", "4,8,16,32,64,128,256,512"]
    process = subprocess.Popen(
        [*command, "--json", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    for line in process.stdout:
        if line.startswith("measured        N = 4,"):
            process.send_signal(signal.SIGINT)
            break
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "INCOMPLETE" in shown
    assert json.loads(file.read_text())["complete"] is False
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--forms", "quick,eager"), "--forms quick: tests/gates-v0 has the forms eager, compiled"),
        (
            ("--json", "nowhere/out.json"),
            "nowhere/out.json: expected a file in a folder that exists; make it: mkdir -p nowhere",
        ),
        (("--plot", "."), "--plot .: expected a file, that is a folder"),
        (("--plot", "out.txt"), "--plot out.txt: expected a name that ends in .png"),
        (("--profile", "--plot", "out.png"), "--plot draws what a sweep over batch sizes measured: without --profile"),
        (("--profile", "--threads", "1,2"), "--profile runs with one thread count, got --threads 1,2"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is_measured(arguments, message, capsys):
    assert bench(*arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert "measured" not in out


@pytest.mark.parametrize("value", ["", "0", "1,x", "1;2", "-4"])
def test_sizes_are_whole_numbers(value, capsys):
    with pytest.raises(SystemExit, match="2"):
        bench(f"--sizes={value}")
    assert "expected a whole number from 1 on" in capsys.readouterr().err


def test_a_package_that_is_not_there_is_told(capsys):
    assert main(["bench", "no_such_environment"]) == 2
    assert "no environment 'no_such_environment'" in capsys.readouterr().err
