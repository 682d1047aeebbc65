"""PNG folders, GIFs and MP4s: read back by Pillow and ffmpeg, and never half written."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from filming import SNAKE, noise, recorded
from PIL import Image

from simulacrum.cli import COULD_NOT_RUN, INTERRUPTED, PASSED, main
from simulacrum.errors import SimulacrumError
from simulacrum.render import film
from simulacrum.render.film import BACKGROUND, padded, write

ROOT = Path(__file__).resolve().parent.parent
RENDER = ["render", "run.jsonl"]


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A folder and a state of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def of_gif(file):
    """The images of a GIF, and how long each is shown, in milliseconds."""
    with Image.open(file) as gif:
        images, durations = [], []
        for number in range(gif.n_frames):
            gif.seek(number)
            images.append(np.array(gif.convert("RGB")))
            durations.append(gif.info["duration"])
        assert gif.info["loop"] == 0
    return images, durations


def of_mp4(file):
    """The images of an MP4, and what ffmpeg says of it."""
    import imageio_ffmpeg

    frames = imageio_ffmpeg.read_frames(str(file))
    about = next(frames)
    width, height = about["size"]
    return [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in frames], about


def of_png(folder):
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"{number:06d}.png" for number in range(len(files))]
    return [np.array(Image.open(file)) for file in files]


READ = {"gif": lambda file: of_gif(file)[0], "mp4": lambda file: of_mp4(file)[0], "png": of_png}


def same(one, other):
    assert len(one) == len(other)
    assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


# ---------------------------------------------------------------------- what is written


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
@pytest.mark.parametrize("kind", ["png", "gif"])
def test_png_and_gif_hold_the_very_images(kind, package, tmp_path, capsys):
    images, _ = recorded(package, 90, tmp_path / "run.jsonl")
    assert main([*RENDER, "--to", kind, "--package", str(package.path), "-o", f"out.{kind}"]) == PASSED
    assert capsys.readouterr().out == f"{len(images)} frames in out.{kind}\n"
    same(READ[kind](Path(f"out.{kind}")), images)


@pytest.mark.parametrize(("package", "steps"), [(FORAGER, 90), (SNAKE, 30)], ids=["forager", "snake"])
def test_an_mp4_holds_the_images_within_the_loss_of_its_codec(package, steps, tmp_path, capsys):
    images, _ = recorded(package, steps, tmp_path / "run.jsonl")
    assert main([*RENDER, "--to", "mp4", "--package", str(package.path), "--fps", "12.5"]) == PASSED
    found, about = of_mp4(Path("run.mp4"))
    height, width = images[0].shape[:2]
    assert about["size"] == (width + width % 2, height + height % 2)
    assert about["fps"] == 12.5
    assert about["codec"] == "h264"
    assert "yuv420p" in about["pix_fmt"]
    assert len(found) == len(images)
    differences = [np.abs(one[:height, :width].astype(int) - other) for one, other in zip(found, images, strict=True)]
    assert max(difference.mean() for difference in differences) < 4


def test_an_mp4_has_the_colours():
    colours = [(178, 36, 72), (44, 92, 160), (92, 168, 104), (226, 178, 70), (250, 250, 247), (0, 0, 255), (0, 0, 0)]
    write(lambda: (np.full((32, 32, 3), colour, np.uint8) for colour in colours), "mp4", Path("a.mp4"), 8)
    images, about = of_mp4("a.mp4")
    assert "tv, bt709" in about["pix_fmt"]
    for image, colour in zip(images, colours, strict=True):
        assert np.abs(image.astype(int) - colour).max() <= 3


@pytest.mark.parametrize("fps", [8, 1, 0.5, 30, 50, 7.3])
def test_a_gif_is_shown_as_fast_as_was_asked(fps):
    count = write(lambda: noise([(3, 4)] * 30, colours=5), "gif", Path("a.gif"), fps)
    _, durations = of_gif("a.gif")
    assert count == len(durations) == 30
    times = np.cumsum([0, *durations]) / 1000
    assert np.abs(times - np.arange(31) / fps).max() <= 0.005 + 1e-9
    assert len(set(durations)) <= 2


@pytest.mark.parametrize("fps", [30, 0.5, 24000 / 1001])
def test_an_mp4_is_shown_as_fast_as_was_asked(fps):
    write(lambda: noise([(16, 16)] * 10), "mp4", Path("a.mp4"), fps)
    images, about = of_mp4("a.mp4")
    assert len(images) == 10
    assert about["fps"] == pytest.approx(fps, abs=0.006)
    assert about["duration"] == pytest.approx(10 / fps, abs=0.02)


@pytest.mark.parametrize("colours", [1, 2, 3, 17, 255])
def test_a_gif_is_exact_up_to_255_colours(colours):
    images = list(noise([(30, 40)] * 4, colours=colours))
    images.insert(2, images[1])
    images.append(images[-1].copy())
    images[-1][7, 9] ^= 1
    write(lambda: iter(images), "gif", Path("a.gif"), 8)
    same(of_gif("a.gif")[0], images)


def test_a_gif_of_many_colours_has_the_nearest():
    ramp = np.linspace(0, 255, 64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8)
    write(lambda: iter([ramp, ramp[::-1]]), "gif", Path("a.gif"), 8)
    for found, image in zip(of_gif("a.gif")[0], [ramp, ramp[::-1]], strict=True):
        assert np.abs(found.astype(int) - image).max() < 16


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_images_of_other_sizes_are_padded_and_not_scaled(kind):
    sizes = [(20, 30), (41, 30), (16, 51), (20, 30), (41, 52)]
    images = [np.full((*size, 3), 40 * number, np.uint8) for number, size in enumerate(sizes)]
    assert write(lambda: iter(images), kind, Path(f"a.{kind}"), 8) == 5
    found = READ[kind](Path(f"a.{kind}"))
    expected = (41, 52) if kind == "gif" else (42, 52)
    for one, image in zip(found, images, strict=True):
        assert one.shape[:2] == expected
        difference = np.abs(one.astype(int) - padded(image, expected))
        assert difference.max() == 0 if kind == "gif" else np.median(difference) <= 2
    assert tuple(padded(images[0], (41, 52))[40, 0]) == BACKGROUND


def test_png_files_keep_their_sizes():
    images = list(noise([(2, 3), (5, 4), (1, 1)]))
    write(lambda: iter(images), "png", Path("frames"), 8)
    same(of_png(Path("frames")), images)


def test_one_image_is_enough():
    for kind in film.KINDS:
        write(lambda: noise([(16, 16)]), kind, Path(f"a.{kind}"), 8)
        assert len(READ[kind](Path(f"a.{kind}"))) == 1


def test_an_option_sets_the_size_of_a_cell(tmp_path):
    recorded(SNAKE, 2, tmp_path / "run.jsonl")
    assert main([*RENDER, "--to", "gif", "--cell", "3", "--around", "1"]) == PASSED
    assert Image.open("run.gif").size == (21, 18)


# ---------------------------------------------------------------------- text in a file, one episode


def test_text_in_a_file(tmp_path, capsys):
    _, texts = recorded(FORAGER, 90, tmp_path / "run.jsonl")
    assert main([*RENDER, "--package", str(FORAGER.path), "--output", "run.txt"]) == PASSED
    assert capsys.readouterr().out == f"{len(texts)} frames in run.txt\n"
    parts = Path("run.txt").read_text().removesuffix("\n\n").split("\n\n")
    assert [part.split("\n", 1)[1] for part in parts] == texts
    assert main([*RENDER, "--package", str(FORAGER.path), "--output", "run.txt"]) == COULD_NOT_RUN
    assert "run.txt exists already" in capsys.readouterr().err


def test_one_episode_alone(tmp_path, capsys):
    images, texts = recorded(TOYWALK, 200, tmp_path / "run.jsonl")
    starts = [number for number, text in enumerate(texts) if "step 0/" in text]
    assert len(starts) > 2
    assert main([*RENDER, "--episode", "1", "--to", "gif"]) == PASSED
    same(of_gif("run.gif")[0], images[starts[1] : starts[2]])
    assert main([*RENDER, "--episode", "0"]) == PASSED
    assert capsys.readouterr().out.count("position") == starts[1]


@pytest.mark.parametrize("kind", ["text", *film.KINDS])
def test_an_episode_that_is_not_there_is_told(kind, tmp_path, capsys):
    recorded(FORAGER, 5, tmp_path / "run.jsonl")
    before = sorted(tmp_path.iterdir())
    assert main([*RENDER, "--episode", "3", "--to", kind]) == COULD_NOT_RUN
    assert "run.jsonl: expected an episode 3: it has 1, numbered from 0 on" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


# ---------------------------------------------------------------------- what cannot be written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "gif"], "run.gif exists already: name another file by --output FILE"),
        (["--to", "mp4", "-o", "there.mp4"], "there.mp4 exists already"),
        (["--to", "png", "-o", "there.mp4"], "there.mp4 is not empty: name another folder"),
        (["--to", "mp4", "-o", "a.gif"], "--output: expected a name that ends with .mp4, got a.gif"),
        (["--to", "gif", "-o", "nowhere/a.gif"], "there is no folder nowhere"),
        (["--to", "png", "-o", "nowhere/a"], "there is no folder nowhere"),
        (["--to", "gif", "-o", "a.gif", "--fps", "51"], "--fps: a GIF shows at most 50 frames a second, got 51"),
        (["--matplotlib"], "--matplotlib: expected --to png, gif or mp4 with it"),
        (["--to", "gif", "-o", "a.gif", "--matplotlib"], "render.py: expected a function render_figure(state)"),
        (["--to", "gif", "-o", "a.gif", "--cell", "3"], "--cell: "),
    ],
)
def test_what_cannot_be_written_is_told_and_leaves_nothing(arguments, message, tmp_path, capsys):
    recorded(TOYWALK, 5, tmp_path / "run.jsonl")
    for name in ("run.gif", "there.mp4"):
        Path(name).write_text("kept")
    before = sorted(tmp_path.iterdir())
    assert main([*RENDER, *arguments]) == COULD_NOT_RUN
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert sorted(tmp_path.iterdir()) == before
    assert Path("run.gif").read_text() == Path("there.mp4").read_text() == "kept"


@pytest.mark.parametrize("kind", ["gif", "mp4"])
@pytest.mark.parametrize("name", ["imageio_ffmpeg", "PIL"])
def test_a_missing_extra_is_told(name, kind, tmp_path, capsys, monkeypatch):
    recorded(TOYWALK, 2, tmp_path / "run.jsonl")
    monkeypatch.setitem(sys.modules, name, None)
    assert main([*RENDER, "--to", kind]) == COULD_NOT_RUN
    assert f"--to {kind} needs the extra viz: pip install 'simulacrum[viz]'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", film.KINDS)
def test_no_images_are_told(kind):
    with pytest.raises(SimulacrumError, match="there are no images to write"):
        write(lambda: iter(()), kind, Path(f"a.{kind}"), 8)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("kind", film.KINDS)
def test_an_error_midway_leaves_nothing(kind, error):
    def broken():
        yield from noise([(16, 16)] * 5)
        raise error

    with pytest.raises(error):
        write(broken, kind, Path(f"a.{kind}"), 8)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("kind", film.KINDS)
def test_a_file_that_is_wrong_further_on_leaves_nothing(kind, tmp_path, capsys):
    recorded(FORAGER, 20, tmp_path / "run.jsonl")
    text = (tmp_path / "run.jsonl").read_text().replace('"t":15,', '"t":99,')
    (tmp_path / "run.jsonl").write_text(text)
    before = sorted(tmp_path.iterdir())
    assert main([*RENDER, "--to", kind]) == COULD_NOT_RUN
    assert "run.jsonl: line 18, /t: expected 15, got 99" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


# ---------------------------------------------------------------------- interruptions, length


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("kind", [*film.KINDS, "text"])
def test_an_interruption_leaves_nothing(kind, number, tmp_path):
    folder = tmp_path / "toywalk"
    shutil.copytree(TOYWALK.path, folder, ignore=shutil.ignore_patterns("validation_report*", "__pycache__"))
    source = (folder / "render.py").read_text()
    slow = "import time; time.sleep(0.02)\n    "
    for begin in ("position, t =", "cells = 2 * L"):
        source = source.replace(begin, slow + begin, 1)
    (folder / "render.py").write_text(source)
    (tmp_path / "in").mkdir()
    recorded(TOYWALK, 3000, tmp_path / "in" / "run.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-m", "simulacrum", *RENDER, "--to", kind, "-o", f"out.{kind}", "--package", str(folder)],
        cwd=tmp_path / "in",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 60
        while not list((tmp_path / "in").glob(".*")):
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.3)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == INTERRUPTED, error
    assert error.decode().endswith("Interrupted.\n")
    assert [file.name for file in (tmp_path / "in").iterdir()] == ["run.jsonl"]


@pytest.mark.parametrize("kind", film.KINDS)
def test_memory_does_not_grow_with_the_length(kind):
    """Every image that was written is let go of before the next but one is made."""
    import weakref

    living = []

    def images():
        for image in noise([(16, 16)] * 200, colours=4):
            living.append(weakref.ref(image))
            yield image
            del image
            assert sum(each() is not None for each in living) <= 3

    assert write(images, kind, Path(f"a.{kind}"), 8) == 200


def test_a_long_gif_is_warned_of(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(film, "LONG_GIF", 10)
    recorded(FORAGER, 9, tmp_path / "run.jsonl")
    assert main([*RENDER, "--to", "gif"]) == PASSED
    assert capsys.readouterr().err == ""
    recorded(FORAGER, 10, tmp_path / "run.jsonl")
    assert main([*RENDER, "--to", "gif", "-o", "b.gif"]) == PASSED
    assert capsys.readouterr().err == "simulacrum: a GIF of more than 10 frames is slow to show: --to mp4 is not\n"


def test_a_log_says_at_times_how_far_it_has_come(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("simulacrum.cli.counting.PATIENCE", 0.0)
    recorded(TOYWALK, 9, tmp_path / "run.jsonl")
    assert main([*RENDER, "--to", "png"]) == PASSED
    assert "10 frames written\n" in capsys.readouterr().err
