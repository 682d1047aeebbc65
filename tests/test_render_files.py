"""``simulacrum render``, options of frames, colours, and PNG."""

import json
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from environments import FORAGER, TOYWALK

from simulacrum import render
from simulacrum.cli import COULD_NOT_RUN, PASSED, main
from simulacrum.render.png import png
from simulacrum.spec import Package
from simulacrum.spec.package import Package as AnyPackage
from simulacrum.trajectory import Recorder

SNAKE = Package.read(TOYWALK.path.parent / "snake").configured("tiny")


@pytest.fixture(autouse=True)
def plain(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def recorded(package, steps, file):
    """A recording, and the text and image frames of its states."""
    env = Recorder(package.reference(render_mode="ansi"), file)
    env.action_space.seed(1)
    env.reset(seed=1)
    frames = [env.render()]
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        frames.append(env.render())
        if terminated or truncated:
            env.reset()
            frames.append(env.render())
    env.close()
    return frames


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
def test_a_file_shows_the_frames_of_the_reference_and_runs_no_implementation(package, tmp_path, capsys, monkeypatch):
    frames = recorded(package, 90, tmp_path / "run.jsonl")
    for name in ("reference", "fast", "forms"):
        monkeypatch.setattr(AnyPackage, name, property(lambda self: pytest.fail("an implementation was asked for")))
    assert main(["render", str(tmp_path / "run.jsonl"), "--package", str(package.path)]) == PASSED
    shown = [part.split("\n", 1) for part in capsys.readouterr().out.removesuffix("\n\n").split("\n\n")]
    assert [part[1] for part in shown] == frames
    assert shown[0][0] == "seed 1  episode 0  first state"
    assert shown[1][0].startswith("episode 0  after step 0  action ")
    assert any("truncated" in part[0] or "terminated" in part[0] for part in shown)


def test_png_frames_are_the_images(tmp_path, capsys):
    recorded(TOYWALK, 3, tmp_path / "run.json")
    assert main(["render", str(tmp_path / "run.json"), "--to", "png"]) == PASSED
    assert capsys.readouterr().out == f"4 frames in {tmp_path / 'run-frames'}\n"
    files = sorted((tmp_path / "run-frames").iterdir())
    assert [file.name for file in files] == [f"00000{number}.png" for number in range(4)]
    env = TOYWALK.reference(render_mode="rgb_array")
    env.reset(seed=1)
    assert files[0].read_bytes() == png(env.render())
    assert main(["render", str(tmp_path / "run.json"), "--to", "png"]) == COULD_NOT_RUN
    assert "is not empty: name another folder by --output DIR" in capsys.readouterr().err


def test_options_reach_the_renderer(tmp_path, capsys):
    recorded(SNAKE, 2, tmp_path / "run.json")
    file, output = str(tmp_path / "run.json"), tmp_path / "frames"
    assert main(["render", file, "--to", "png", "--cell", "3", "--around", "1", "--output", str(output)]) == PASSED
    assert (output / "000000.png").read_bytes()[16:24] == (21).to_bytes(4, "big") + (18).to_bytes(4, "big")
    capsys.readouterr()
    assert main(["render", file, "--around", "2"]) == PASSED
    assert "@" in capsys.readouterr().out


def test_an_option_that_a_renderer_lacks_is_told(tmp_path, capsys):
    recorded(TOYWALK, 2, tmp_path / "run.json")
    assert main(["render", str(tmp_path / "run.json"), "--around", "0"]) == COULD_NOT_RUN
    assert "--around: " in capsys.readouterr().err


def test_a_snake_that_is_not_there_is_told(tmp_path, capsys):
    recorded(SNAKE, 2, tmp_path / "run.json")
    assert main(["render", str(tmp_path / "run.json"), "--around", "7"]) == COULD_NOT_RUN
    error = capsys.readouterr().err
    assert "around: expected a snake of 0..2, got 7" in error
    assert "Traceback" not in error


def test_a_cut_off_file_is_shown_as_far_as_it_goes(tmp_path, capsys):
    recorded(TOYWALK, 3, tmp_path / "run.jsonl")
    data = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_text("".join(data[:4])[:-5])
    assert main(["render", str(tmp_path / "run.jsonl")]) == PASSED
    shown = capsys.readouterr()
    assert shown.out.count("position") == 2
    assert "cut off: it has no end" in shown.err


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda content: content["metadata"].update(id="nobody/nothing-v9"), "--package PATH"),
        (lambda content: content["metadata"].update(configuration="huge"), "config"),
        (lambda content: content["episodes"][0]["state"].update(position=77), "/episodes/0/state/position: 77 is"),
    ],
)
def test_a_file_that_does_not_fit_is_told(edit, message, tmp_path, capsys):
    recorded(TOYWALK, 2, tmp_path / "run.json")
    content = json.loads((tmp_path / "run.json").read_text())
    edit(content)
    (tmp_path / "run.json").write_text(json.dumps(content))
    assert main(["render", str(tmp_path / "run.json"), "--to", "png"]) == COULD_NOT_RUN
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run-frames").exists()


@pytest.mark.parametrize("name", ["missing.json", "run.csv"])
def test_no_such_file(name, tmp_path, capsys):
    assert main(["render", str(tmp_path / name)]) == COULD_NOT_RUN
    assert name in capsys.readouterr().err


# ---------------------------------------------------------------------- options and colours


def renderer():
    return SimpleNamespace(
        render_text=lambda state, wide=False: f"{state} {wide}", render_rgb=lambda state, cell=1: (state, cell)
    )


def test_a_frame_takes_the_options_of_either_form(monkeypatch):
    module = type(render)("module")
    module.__dict__.update(vars(renderer()), __file__="render.py")
    assert render.frame(module, 5, "ansi", wide=True, cell=3, colour=True) == "5 True"
    assert render.frame(module, 5, "rgb_array", wide=True, cell=3) == (5, 3)
    assert render.options_of(module, "ansi") == ["wide"]
    with pytest.raises(TypeError, match=r"render options \['deep'\]: render.py takes \['cell', 'wide'\]"):
        render.frame(module, 5, "ansi", deep=1)


@pytest.mark.parametrize(
    ("variables", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_where_there_is_colour(variables, terminal, expected, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert render.coloured(SimpleNamespace(isatty=lambda: terminal)) is expected


def test_the_human_mode_in_a_terminal_is_coloured_where_there_is_colour(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    for value, expected in (("", False), ("1", True)):
        monkeypatch.setenv("FORCE_COLOR", value)
        env = SNAKE.reference(render_mode="human")
        env.reset(seed=0)
        env.close()
        assert ("\x1b[48;2;" in capsys.readouterr().out) is expected


# ---------------------------------------------------------------------- PNG


def test_a_png_can_be_read_by_others(tmp_path):
    import pygame

    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    (tmp_path / "a.png").write_bytes(png(picture))
    read = pygame.surfarray.array3d(pygame.image.load(str(tmp_path / "a.png"))).swapaxes(0, 1)
    assert np.array_equal(read, picture)


def test_chunks_have_their_checksums():
    data = png(np.zeros((1, 1, 3), np.uint8))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[29:33], "big") == zlib.crc32(data[12:29])


@pytest.mark.parametrize("array", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8)])
def test_other_arrays_are_refused(array):
    with pytest.raises(ValueError, match=r"expected uint8 \[H, W, 3\]"):
        png(array)
