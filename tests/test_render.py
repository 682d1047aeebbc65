"""Frames: text, arrays, and the two screens of the human mode."""

import importlib.util
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from environments import FORAGER, TOYWALK, CountdownReference

from simulacrum import render
from simulacrum.errors import PackageError
from simulacrum.reference import state_of
from simulacrum.render import windows

PACKAGES = [TOYWALK, FORAGER]


@pytest.fixture
def no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def dummy_display(no_display, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def started(package, mode, **options):
    env = package.reference(render_mode=mode)
    for name, value in options.items():
        env.metadata = {**env.metadata, name: value}
    env.reset(seed=0)
    return env


# ---------------------------------------------------------------------- frames


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_text_frames_are_new_at_every_state(package):
    env = started(package, "ansi")
    frames = [env.render()]
    for _ in range(3):
        env.step(1)
        frames.append(env.render())
    assert all(isinstance(frame, str) for frame in frames)
    assert len(set(frames)) == 4
    assert frames[-1] == render.frame(type(env), state_of(env), "ansi")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_images_are_rgb_arrays_of_one_size(package):
    env = started(package, "rgb_array")
    frames = [env.render()]
    for _ in range(3):
        env.step(1)
        frames.append(env.render())
    for frame in frames:
        assert frame.dtype == np.uint8
        assert frame.ndim == 3
        assert frame.shape == (*frames[0].shape[:2], 3)
    assert len({frame.tobytes() for frame in frames}) == 4
    kept = frames[-1].copy()
    env.render()[:] = 0
    assert np.array_equal(env.render(), kept)


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_frame_changes_no_state(package, mode):
    env = started(package, mode)
    before = repr(env.get_state())
    env.render()
    assert repr(env.get_state()) == before


def test_a_frame_takes_a_state_of_the_fast_side_row_by_row():
    env = TOYWALK.fast(batch_size=[2], seed=0)
    env.reset()
    state = env.get_state()
    for row in range(2):
        fields = {name: value[row].numpy() for name, value in state["state"].items()}
        frame = render.frame(TOYWALK.fast, SimpleNamespace(**fields, t=0), "ansi")
        assert f"position {int(fields['position']):+d}" in frame


def test_without_a_mode_a_frame_is_asked_for_in_vain():
    env = started(TOYWALK, None)
    with pytest.warns(UserWarning, match="no render_mode was given"):
        assert env.render() is None


def test_a_class_of_no_package_has_no_pictures():
    env = CountdownReference(render_mode="ansi")
    env.reset(seed=0)
    with pytest.raises(PackageError, match=r"CountdownReference: expected render\.py beside its module environments"):
        env.render()


# ---------------------------------------------------------------------- the human mode in the terminal


def test_the_terminal_shows_every_state(no_display, capsys):
    env = started(TOYWALK, "human")
    text = TOYWALK.reference(render_mode="ansi")
    text.reset(seed=0)
    expected = [text.render()]
    for action in (1, 0, 1):
        env.step(action)
        text.step(action)
        expected.append(text.render())
    env.set_state(text.get_state())
    expected.append(expected[-1])
    assert env.render() is None
    expected.append(expected[-1])
    env.close()
    env.close()
    assert capsys.readouterr().out == "".join(f"{frame}\n" for frame in expected)


def test_without_pygame_the_terminal_is_taken(dummy_display, monkeypatch):
    assert windows.window_possible()
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pygame" else find(name))
    assert not windows.window_possible()
    assert isinstance(render.open_window("title", 8), windows.Terminal)


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"])
def test_on_linux_a_window_needs_a_display(name, no_display, monkeypatch):
    monkeypatch.setattr(windows.sys, "platform", "linux")
    assert not windows.window_possible()
    monkeypatch.setenv(name, "x")
    assert windows.window_possible()


def test_elsewhere_a_display_is_there(no_display, monkeypatch):
    monkeypatch.setattr(windows.sys, "platform", "darwin")
    assert windows.window_possible()


# ---------------------------------------------------------------------- the human mode in a window


def test_the_window_shows_every_state(dummy_display, capsys):
    import pygame

    env = started(TOYWALK, "human", render_fps=1000)
    image = TOYWALK.reference(render_mode="rgb_array")
    image.reset(seed=0)
    for action in (1, 0, 1):
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        assert np.array_equal(shown, image.render())
        env.step(action)
        image.step(action)
    assert env.render() is None
    assert pygame.display.get_caption()[0] == "simulacrum/toywalk-v0"
    env.close()
    assert not pygame.display.get_init()
    env.close()
    assert "position" not in capsys.readouterr().out


def test_a_window_opens_again_after_it_was_closed(dummy_display):
    import pygame

    env = started(TOYWALK, "human", render_fps=1000)
    env.close()
    env.step(1)
    assert pygame.display.get_surface() is not None
    env.close()


def test_a_window_keeps_to_its_frames_a_second(dummy_display):
    env = started(TOYWALK, "human", render_fps=50)
    begin = time.perf_counter()
    for _ in range(5):
        env.render()
    assert time.perf_counter() - begin > 4 / 50
    env.close()


def test_a_window_alone_may_be_closed_twice(dummy_display):
    screen = render.open_window("title", 1000)
    assert isinstance(screen, windows.Window)
    screen.close()
    screen.close()


def test_nothing_is_shown_before_the_first_reset(dummy_display):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = TOYWALK.reference(render_mode="human")
        env.close()
        env.close()
