"""``simulacrum pick``: what is listed, what is written, what is refused."""

import io
import json
import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from rich.console import Console

from simulacrum import trajectory
from simulacrum.cli import COULD_NOT_RUN, PASSED, main
from simulacrum.cli import pick as command
from simulacrum.cli.packages import Packages
from simulacrum.errors import PackageError
from simulacrum.harness.case import Case
from simulacrum.harness.finding import Finding
from simulacrum.spec import Package
from simulacrum.trajectory import Metadata, Recorder, picker

SNAKE = Package.read(TOYWALK.path.parent / "snake")


@pytest.fixture(autouse=True)
def plain(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder with a file of toywalk and one of forager; the working folder is the one that it lies in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for package, name in ((TOYWALK, "walk.jsonl"), (FORAGER, "forage.json")):
        env = Recorder(package.reference(), tmp_path / "runs" / name)
        env.action_space.seed(1)
        env.reset(seed=1)
        for _ in range(300):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        env.close()
    return tmp_path / "runs"


def found(runs):
    by_id = {package.environment.id: package for package in (TOYWALK, FORAGER)}
    return list(picker.summaries([runs], lambda metadata: by_id[metadata.id]))


def listed(output):
    """(file, number) of the commands below a table."""
    lines = [shlex.split(line) for line in output.splitlines() if line.startswith("simulacrum render ")]
    return [(line[2], int(line[4])) for line in lines]


def keys(summaries):
    return [(f"runs/{one.file.name}", one.number) for one in summaries]


PICKS = {
    "worst": lambda all: picker.worst(all, 3),
    "best": lambda all: picker.best(all, 3),
    "longest": lambda all: picker.longest(all, 3),
    "shortest": lambda all: picker.shortest(all, 3),
    "sample": lambda all: picker.sample(all, 3, 9),
    "cause": lambda all: picker.causes(all)[:3],
    "broken": lambda all: [],
    "all": lambda all: all[:3],
}


@pytest.mark.parametrize("by", PICKS)
def test_each_pick_is_listed_with_the_command_to_look_at_it(by, runs, capsys):
    assert main(["pick", "runs", "--by", by, "-n", "3", "--seed", "9"]) == PASSED
    output = capsys.readouterr().out
    expected = PICKS[by](found(runs))
    assert listed(output) == keys(expected)
    assert output.splitlines()[-1] == f"{len(expected)} of {len(found(runs))} episodes in 2 files"
    rows = [line.split() for line in output.splitlines()[1 : len(expected) + 1]]
    assert [row[0] for row in rows] == [name for name, _ in keys(expected)]
    for row, one in zip(rows, expected, strict=True):
        assert [str(one.steps), f"{one.return_:.6g}"] == row[-2 - len(one.kinds) : -len(one.kinds)]


def test_the_command_that_is_shown_renders(runs, capsys):
    assert main(["pick", "runs", "--by", "best", "-n", "1"]) == PASSED
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("simulacrum render "))
    assert main(shlex.split(line)[1:]) == PASSED
    (one,) = picker.best(found(runs), 1)
    assert capsys.readouterr().out.count("after step") == one.steps


def test_picks_are_written(runs, tmp_path, capsys):
    assert main(["pick", "runs", "--by", "longest", "-n", "2", "-o", "picks"]) == PASSED
    output = capsys.readouterr().out
    expected = picker.longest(found(runs), 2)
    files = sorted((tmp_path / "picks").iterdir())
    lines = [line for line in output.splitlines() if line.startswith("simulacrum render ")]
    assert lines == [f"simulacrum render picks/{file.name}" for file in files]
    assert output.splitlines()[-1] == "written to picks"
    for file, one in zip(files, expected, strict=True):
        assert trajectory.read(file).episodes == [trajectory.read(one.file).episodes[one.number]]
    assert main(["pick", "runs", "-o", "picks"]) == COULD_NOT_RUN
    assert "picks is not empty: name another folder by --output DIR" in capsys.readouterr().err
    assert main(["pick", "runs", "--by", "broken", "-o", "none"]) == PASSED
    assert not (tmp_path / "none").exists()


def test_scores_choose(runs, tmp_path, capsys):
    count = len(trajectory.read(runs / "walk.jsonl").episodes)
    (tmp_path / "scores.json").write_text(json.dumps({"walk.jsonl": [*range(count)], "forage.json": 2.5}))
    assert main(["pick", "runs", "--by", "score", "--scores", "scores.json", "-n", "2"]) == PASSED
    output = capsys.readouterr().out
    assert listed(output) == [("runs/walk.jsonl", count - 1), ("runs/walk.jsonl", count - 2)]
    assert output.splitlines()[0].split()[-1] == "score"
    assert output.splitlines()[1].split()[-1] == str(count - 1)
    (tmp_path / "scores.json").write_text('{"walk.jsonl": 1}')
    assert main(["pick", "runs", "--by", "score", "--scores", "scores.json"]) == COULD_NOT_RUN
    assert "scores.json: expected a score of runs/forage.json, episode 0: there is none" in capsys.readouterr().err


@pytest.mark.parametrize("by", ["score", "findings"])
def test_options_that_go_together_are_asked_for(by, runs, capsys):
    name = {"score": "scores"}.get(by, by)
    for arguments in (["--by", by], [f"--{name}", "x"]):
        assert main(["pick", "runs", *arguments]) == COULD_NOT_RUN
        assert f"--by {by} and --{name} go together" in capsys.readouterr().err


def test_findings_choose_the_episodes_that_they_name(runs, tmp_path, capsys):
    for number, place in enumerate([{"seed": 1, "episode": 2}, {"seed": 1, "episode": 99}, {}]):
        content = {
            "format": 1,
            "package": {"id": TOYWALK.environment.id, "path": str(TOYWALK.path), "digest": TOYWALK.digest},
            "finding": Finding("replay", "the sides differ", **place).as_dict(),
            "case": Case(seeds=np.array([1], np.uint64)).as_json(),
        }
        (tmp_path / "failures").mkdir(exist_ok=True)
        (tmp_path / "failures" / f"replay-{number}.json").write_text(json.dumps(content))
    assert main(["pick", "runs", "--by", "findings", "--findings", "failures"]) == PASSED
    output = capsys.readouterr()
    assert listed(output.out) == [("runs/walk.jsonl", 2)]
    assert output.out.splitlines()[1].split()[-1] == "replay-0.json"
    assert output.err == "simulacrum: 2 of 3 findings in failures name an episode\n"
    (tmp_path / "failures" / "replay-9.json").write_text("{}")
    assert main(["pick", "runs", "--by", "findings", "--findings", "failures"]) == COULD_NOT_RUN
    assert "failures/replay-9.json: expected the file of a finding" in capsys.readouterr().err


def test_broken_invariants_are_told(runs, capsys):
    content = json.loads((runs / "forage.json").read_text())
    state = content["episodes"][1]["steps"][4]["state"]
    state.update(berry_x=[state["x"]] * 6, berry_y=[state["y"]] * 6, berry_live=[True] * 6)
    (runs / "forage.json").write_text(json.dumps(content))
    assert main(["pick", "runs", "--by", "broken"]) == PASSED
    output = capsys.readouterr().out
    assert listed(output) == [("runs/forage.json", 1)]
    assert output.splitlines()[1].endswith("own_cell_empty at t = 5")


def test_what_is_no_trajectory_is_passed_over_and_said(runs, capsys):
    shutil.copy(TOYWALK.path / "schema.json", runs / "schema.json")
    assert main(["pick", "runs"]) == PASSED
    output = capsys.readouterr()
    assert output.err == "simulacrum: runs/schema.json: passed over: JSON, but no trajectory\n"
    assert output.out.endswith("episodes in 2 files\n")


def test_what_cannot_be_read_is_named_and_nothing_is_written(runs, tmp_path, capsys):
    lines = (runs / "walk.jsonl").read_bytes().splitlines(keepends=True)
    (runs / "walk.jsonl").write_bytes(b"".join([*lines[:5], b"{\n", *lines[6:]]))
    assert main(["pick", "runs", "-o", "picks"]) == COULD_NOT_RUN
    output = capsys.readouterr()
    assert output.err.startswith("simulacrum: runs/walk.jsonl: line 6: expected JSON")
    assert output.out == ""
    (runs / "walk.jsonl").write_bytes(b"".join(lines[:5]))
    assert main(["pick", "runs", "--by", "all"]) == PASSED
    assert "runs/walk.jsonl: cut off: it has no end" in capsys.readouterr().err
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != "state") == ["runs"]
    (tmp_path / "empty").mkdir()
    assert main(["pick", "empty"]) == COULD_NOT_RUN
    assert "no trajectory file in empty" in capsys.readouterr().err


def test_of_another_environment(runs, capsys):
    assert main(["pick", "runs/walk.jsonl", "--package", str(FORAGER.path)]) == COULD_NOT_RUN
    error = capsys.readouterr().err
    assert "walk.jsonl: line 1, /metadata/id: expected 'simulacrum/forager-v0' of forager" in error
    line, *rest = (runs / "walk.jsonl").read_text().splitlines(keepends=True)
    for identifier, message in {"tests/none-v0": "no environment 'tests/none-v0'", "../x": "expected an ID"}.items():
        (runs / "walk.jsonl").write_text(line.replace("simulacrum/toywalk-v0", identifier) + "".join(rest))
        assert main(["pick", "runs/walk.jsonl"]) == COULD_NOT_RUN
        error = capsys.readouterr().err
        assert error.startswith(f"simulacrum: runs/walk.jsonl: line 1, /metadata: {message}")
        assert error.endswith("or name the package: --package PATH\n")


def test_the_package_may_be_named(runs, capsys):
    assert main(["pick", "runs/walk.jsonl", "--package", str(TOYWALK.path), "-n", "1"]) == PASSED
    assert f" --package {TOYWALK.path}\n" in capsys.readouterr().out


def test_file_names_that_are_no_text(runs, capfd):
    name = os.fsdecode(b"runs/a\xff b.json")
    shutil.copy(runs / "forage.json", name)
    assert main(["pick", name, "-n", "1"]) == PASSED
    assert "a\\udcff b.json" in capfd.readouterr().out


# ---------------------------------------------------------------------- packages


def test_packages_are_found_once_and_in_their_configuration(monkeypatch):
    read = []
    monkeypatch.setattr(Package, "read", classmethod(lambda cls, path: read.append(path) or SNAKE))
    packages = Packages(str(SNAKE.path))
    tiny = packages(Metadata(SNAKE.environment.id, 0, configuration="tiny"))
    assert packages(Metadata(SNAKE.environment.id, 5, configuration="tiny")) is tiny
    assert tiny.config == "tiny"
    assert packages(Metadata(SNAKE.environment.id, 0, configuration="classic")).config == "classic"
    assert len(read) == 2
    with pytest.raises(PackageError, match="got 'huge'"):
        packages(Metadata(SNAKE.environment.id, 0, configuration="huge"))


# ---------------------------------------------------------------------- progress


def test_a_terminal_has_a_bar_and_a_log_has_lines(monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    with command._Progress(screen) as progress:
        for done in range(4):
            progress(done, 3)
        progress._bar.refresh()
    assert "3/3" in screen.file.getvalue()
    monkeypatch.setattr(command, "PATIENCE", -1.0)
    log = Console(file=io.StringIO(), force_terminal=False)
    with command._Progress(log) as progress:
        progress(1, 3)
    assert log.file.getvalue() == "1 of 3 files read\n"


def test_a_thousand_files(tmp_path):
    env = Recorder(TOYWALK.reference(), tmp_path / "0000.json")
    env.reset(seed=0)
    for _ in range(5):
        env.step(1)
    env.close()
    for number in range(1, 1000):
        shutil.copy(tmp_path / "0000.json", tmp_path / f"{number:04d}.json")
    arguments = [sys.executable, "-m", "simulacrum", "pick", str(tmp_path), "--package", str(TOYWALK.path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.returncode == PASSED, done.stderr
    assert [name.rpartition("/")[2] for name, _ in listed(done.stdout)] == [f"{k:04d}.json" for k in range(5)]
    assert done.stdout.endswith("5 of 1000 episodes in 1000 files\n")


# ---------------------------------------------------------------------- names and signals


def test_names_move_no_cursor_and_make_no_line(runs, capsys):
    odd = ["a\nsimulacrum render b.jsonl", "\x1b[2Jred\x1b[31m", "\u202etxt"]
    for name in odd:
        shutil.copy(runs / "walk.jsonl", runs / f"{name}.jsonl")
    (runs / "\x1b[2Jother.json").write_text("{}")
    assert main(["pick", "runs", "--by", "all", "--count", "1000"]) == PASSED
    out, error = capsys.readouterr()
    assert "passed over" in error
    for text in (out, error):
        assert all(one.isprintable() or one == "\n" for one in text)
    assert {name for name, _ in listed(out)} == {"runs/walk.jsonl", "runs/forage.json"}
    assert "# no command for runs/a\\nsimulacrum render b.jsonl.jsonl: its name cannot be typed" in out.splitlines()
    assert "# no command for runs/\\x1b[2Jred\\x1b[31m.jsonl: its name cannot be typed" in out.splitlines()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_leaves_nothing(name, runs):
    """The signal comes while the picks are written."""
    code = """if True:
        import os, signal, sys, time
        from simulacrum.cli import main
        from simulacrum.trajectory import picker
        def stopped(*_):
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
            time.sleep(60)
        picker._finish = stopped
        sys.exit(main(["pick", *sys.argv[2:]]))
    """
    arguments = [name, str(runs / "walk.jsonl"), "--package", str(TOYWALK.path), "--output", str(runs / "picks")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (130, "\nInterrupted.\n")
    assert sorted(one.name for one in runs.iterdir()) == ["forage.json", "walk.jsonl"]
