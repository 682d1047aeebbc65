"""Files that never end, or are too long: told, not read for ever."""

import gzip
import os
import signal
from contextlib import contextmanager

import pytest
from environments import TOYWALK

from simulacrum import trajectory
from simulacrum.trajectory import Recorder, TrajectoryError, bounded, picker, reading

FORMS = ["json", "jsonl", "json.gz", "jsonl.gz"]


@contextmanager
def at_most(seconds=10):
    """What takes longer is a failure, also where it waits for the system."""

    def late(*_):
        raise AssertionError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def played(file):
    env = Recorder(TOYWALK.reference(), file)
    env.reset(seed=1)
    for _ in range(10):
        if any(env.step(1)[2:4]):
            env.reset()
    env.close()
    return file


@pytest.mark.parametrize("form", FORMS)
def test_pipes_and_devices_are_refused(form, tmp_path):
    pipe, device = tmp_path / f"pipe.{form}", tmp_path / f"zero.{form}"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for file, got in ((pipe, "a pipe"), (device, "a device")):
        for take in (trajectory.read, picker.read_scores, lambda file: list(picker.summaries([file]))):
            with at_most(), pytest.raises(TrajectoryError, match=f"{file}: expected a regular file, got {got}"):
                take(file)


def test_in_a_folder_they_are_passed_over(tmp_path):
    played(tmp_path / "run.json")
    os.mkfifo(tmp_path / "a.json")
    (tmp_path / "z.jsonl").symlink_to("/dev/zero")
    (tmp_path / "link.json").symlink_to("run.json")
    with at_most():
        assert sum(one.steps for one in picker.summaries([tmp_path])) == 10
    (tmp_path / "dead.json").symlink_to("nothing")
    with pytest.raises(FileNotFoundError, match=r"dead\.json"):  # it was to be a file
        list(picker.summaries([tmp_path]))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_too_long_is_refused(form, tmp_path, monkeypatch):
    file = played(tmp_path / f"run.{form}")
    monkeypatch.setattr(bounded, "LINE", 10_000)
    monkeypatch.setattr(bounded, "WHOLE", 10_000)
    assert len(trajectory.read(file).steps) == 10
    content = b" " * 10_001 + b"\n"
    file.write_bytes(gzip.compress(content) if form.endswith("gz") else content)
    expected = "line 1: expected a line of at most 10,000 bytes" if "jsonl" in form else "expected at most 10,000 bytes"
    with pytest.raises(TrajectoryError, match=f"{file}: {expected}"):
        trajectory.read(file)
    with pytest.raises(TrajectoryError, match=expected):
        list(picker.summaries([tmp_path]))
    with pytest.raises(TrajectoryError, match=f"{file}: expected at most 10,000 bytes"):
        picker.read_scores(file)


def test_a_line_has_as_much_as_is_allowed(tmp_path, monkeypatch):
    file = played(tmp_path / "run.jsonl")
    longest = max(map(len, file.read_bytes().splitlines(keepends=True)))
    monkeypatch.setattr(bounded, "LINE", longest)
    assert len(trajectory.read(file).steps) == 10
    monkeypatch.setattr(bounded, "LINE", longest - 1)
    with pytest.raises(TrajectoryError, match="line 1: expected a line of at most"):
        trajectory.read(file)


def test_a_bomb_is_not_held_in_memory(tmp_path):
    """Half a gigabyte in half a megabyte: read up to the bound of a line."""
    bomb = tmp_path / "bomb.jsonl.gz"
    with gzip.open(bomb, "wb", compresslevel=9) as stream:
        for _ in range(512):
            stream.write(bytes(1 << 20))
    assert bomb.stat().st_size < 1_000_000
    with at_most(60), pytest.raises(TrajectoryError, match="line 1: expected a line of at most 268,435,456 bytes"):
        trajectory.read(bomb)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_where_memory_ends_the_file_is_named(form, tmp_path, monkeypatch):
    file = played(tmp_path / f"run.{form}")

    def full(_):
        raise MemoryError

    monkeypatch.setattr(reading, "loads", full)
    monkeypatch.setattr("simulacrum.trajectory.scores.loads", full)
    for take in (trajectory.read, picker.read_scores):
        with pytest.raises(TrajectoryError, match=f"{file}: it is too large for the memory that there is"):
            take(file)
