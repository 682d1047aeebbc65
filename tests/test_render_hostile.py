"""What render does on a full disk, with a file made to mislead, with one that has no end, and on a dumb terminal."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from environments import FORAGER, TOYWALK
from filming import kept, noise, recorded
from pseudo_terminal import Terminal

from simulacrum.cli import COULD_NOT_RUN, PASSED, main
from simulacrum.errors import SimulacrumError
from simulacrum.render import film
from simulacrum.render.film import write
from simulacrum.render.placing import placed
from simulacrum.viewer.pairs import Span, paired

ROOT = Path(__file__).resolve().parent.parent
KINDS = ["text", *film.KINDS]
ESCAPE = "\x1b]0;mine\x07\x1b[31m"


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A folder and a state of the test's own, and no colour."""
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def in_a_process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "simulacrum", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


# ---------------------------------------------------------------------- what cannot be written whole


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_may_not_grow_is_told_and_not_left(kind):
    """As on a full disk: a write fails, and the error has no file name."""
    recorded(FORAGER, 60, "run.jsonl")
    output = f"out.{kind}"
    done = in_a_process(
        *("render", "run.jsonl", "--to", kind, "-o", output, "--package", str(FORAGER.path)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)),
    )
    assert done.returncode == COULD_NOT_RUN
    assert done.stderr.startswith(f"simulacrum: {output}: ")
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir() == ["run.jsonl"]


def test_an_mp4_lacks_no_byte():
    images = list(noise([(16, 16)] * 40, colours=4))
    write(lambda: iter(images), "mp4", Path("a.mp4"), 8)
    size = Path("a.mp4").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for limit in (1, size // 2, size - 500, size - 1):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            with pytest.raises(SimulacrumError, match=r"b.mp4: ffmpeg failed"):
                write(lambda: iter(images), "mp4", Path("b.mp4"), 8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir() == ["a.mp4"]


@pytest.mark.parametrize("after", [0, 1, 200])
@pytest.mark.parametrize("size", [(4, 4), (64, 64)], ids=["less than a buffer", "more"])
def test_an_ffmpeg_that_dies_is_told(size, after, monkeypatch):
    """In the midst of it and after the last image."""
    made = []
    begin = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *given, **options: made.append(begin(*given, **options)) or made[-1]
    )

    def images():
        yield from noise([size] * 3)
        os.kill(made[-1].pid, signal.SIGKILL)
        yield from noise([size] * after)

    with pytest.raises(SimulacrumError, match=r"a.mp4: ffmpeg failed \(-9\): it does not say why"):
        write(images, "mp4", Path("a.mp4"), 8)
    assert os.listdir() == []


def refused(*_):
    raise PermissionError(1, "not permitted")


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_appears_meanwhile_is_not_written_over(kind, links, monkeypatch, capsys):
    recorded(TOYWALK, 3, "run.jsonl")
    if not links:
        monkeypatch.setattr(os, "link", refused)
    check = film.check

    def outrun(*arguments):
        """It is looked for, and not there, and then somebody else makes it."""
        check(*arguments)
        Path(f"out.{kind}").write_text("kept")
        monkeypatch.setattr(film, "check", lambda *arguments: None)

    monkeypatch.setattr(film, "check", outrun)
    assert main(["render", "run.jsonl", "--to", kind, "-o", f"out.{kind}"]) == COULD_NOT_RUN
    assert f"simulacrum: out.{kind}" in capsys.readouterr().err
    assert Path(f"out.{kind}").read_text() == "kept"
    assert sorted(os.listdir()) == [f"out.{kind}", "run.jsonl"]


def test_without_hard_links_it_is_written_all_the_same(monkeypatch):
    monkeypatch.setattr(os, "link", refused)
    with placed(Path("a")) as work:
        work.write_text("whole")
    assert Path("a").read_text() == "whole"
    assert os.listdir() == ["a"]


def test_text_needs_no_extra(monkeypatch, capsys):
    recorded(TOYWALK, 2, "run.jsonl")
    for name in ("imageio", "imageio_ffmpeg", "PIL"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["render", "run.jsonl", "-o", "run.txt"]) == PASSED
    assert capsys.readouterr().out == "3 frames in run.txt\n"


# ---------------------------------------------------------------------- what is read


def test_a_pipe_and_a_device_are_refused_at_once():
    os.mkfifo("pipe.json")
    os.symlink("/dev/zero", "zero.json")
    for name in ("pipe.json", "zero.json"):
        done = in_a_process("render", name)
        assert done.returncode == COULD_NOT_RUN
        assert f"{name}: " in done.stderr
        assert "regular file" in done.stderr


def test_what_takes_more_memory_than_there_is_is_told_by_its_file(monkeypatch, capsys):
    def too_much(_):
        raise MemoryError

    Path("run.json").write_text("{}")
    monkeypatch.setattr(json, "loads", too_much)
    assert main(["render", "run.json"]) == COULD_NOT_RUN
    assert capsys.readouterr().err == "simulacrum: run.json: it takes more memory than there is\n"


# ---------------------------------------------------------------------- what a file says moves no cursor


@pytest.mark.parametrize("way", ["text", "said", "field"])
def test_words_of_a_finding_move_no_cursor(way, tmp_path, capsys):
    from dataclasses import replace

    from edited import changed as faulty

    from simulacrum.harness.profile import QUICK
    from simulacrum.harness.runner import run_check

    package = faulty(tmp_path / "package", "+ gained", "+ gained * 0.5", base="forager")
    profile = replace(QUICK, seed=11, sizes={7: (7, 100)}, sweep=(64, 60))
    file = Path(run_check("differential", package, profile).findings[0].file)
    content = json.loads(file.read_text())
    for moment in content["moments"]:
        moment["when"] += f"\n{ESCAPE}"
        moment["fast"][f"state.{ESCAPE}"], moment["reference"][f"state.{ESCAPE}"] = 1, 2
        if way == "field":  # the first one that differs
            moment["fast"] = {f"state.{ESCAPE}": 1, **moment["fast"]}
            moment["reference"] = {f"state.{ESCAPE}": 2, **moment["reference"]}
    if way == "said":
        content["package"]["id"] = ESCAPE
    file.write_text(json.dumps(content))
    assert main(["render", str(file)]) == (COULD_NOT_RUN if way == "said" else PASSED)
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "\x07" not in shown.out + shown.err
    assert "]0;mine" in (shown.err if way == "said" else shown.out)


def test_names_of_files_move_no_cursor_and_need_not_be_utf8(capsys):
    names = [f"a{ESCAPE}\n.jsonl", os.fsdecode(b"b\xff.jsonl")]
    for name in names:
        recorded(TOYWALK, 3, "run.jsonl")
        os.rename("run.jsonl", name)
    assert main(["render", names[0], "--beside", names[1]]) == PASSED
    shown = capsys.readouterr()
    first = shown.out.split("\n")[1].split()
    assert first == ["a\ufffd]0;mine\ufffd\ufffd[31m\ufffd.jsonl", "b\ufffd.jsonl"]
    assert "\x1b" not in shown.out + shown.err
    assert main(["render", names[0], "--to", "png"]) == PASSED
    assert main(["render", f"missing{ESCAPE}.jsonl"]) == COULD_NOT_RUN
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err


# ---------------------------------------------------------------------- two beside each other


def test_shared_episodes_in_another_order_are_shared_all_the_same():
    one = [Span(7, number, 0, 10 * number, 10) for number in range(2)]
    other = [one[1]._replace(start=0), one[0]._replace(start=10)]
    pairs, left = paired(one, other)
    assert [(pair.spans[0].episode, pair.spans[1].episode, pair.over) for pair in pairs] == [(0, 0, None), (1, 1, None)]
    assert left == [0, 0]
    pairs, left = paired(one, [*other, Span(7, 2, 0, 20, 5)])
    assert [(pair.spans[1].episode, pair.over) for pair in pairs] == [(0, None), (1, None), (2, 0)]
    assert left == [0, 0]


def test_a_side_that_stops_without_an_end_is_told_and_is_no_difference(capsys):
    recorded(FORAGER, 30, "run.jsonl")
    kept(Path("run.jsonl"), Path("other.jsonl"), lambda number, line: number < 12)
    assert main(["render", "run.jsonl", "--beside", "other.jsonl", "--package", str(FORAGER.path)]) == PASSED
    shown = capsys.readouterr()
    assert shown.out.count("seed 7  episode 0  other.jsonl ended after step 10\n") == 20
    assert "first difference" not in shown.out
    assert "tells no end of the episode: other.jsonl ended after step 10 (seed 7  episode 0)" in shown.err
    assert main(["render", "run.jsonl", "--beside", "run.jsonl", "--package", str(FORAGER.path)]) == PASSED
    shown = capsys.readouterr()
    assert "ended after" not in shown.out + shown.err


# ---------------------------------------------------------------------- a dumb terminal


def test_a_dumb_terminal_is_printed_on():
    _, texts = recorded(TOYWALK, 3, "run.jsonl")
    one = Terminal("render", "run.jsonl", TERM="dumb")
    try:
        assert one.end(taken=0) == (PASSED, "")
    finally:
        one.close()
    assert "\x1b" not in one.seen
    assert one.seen.replace("\r", "").count(texts[-1]) == 1
