"""Matplotlib figures of a package: their pixels, and that nothing of Matplotlib's own state changes."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from filming import recorded
from PIL import Image

from simulacrum import render
from simulacrum.cli import PASSED, main
from simulacrum.errors import PackageError, SimulacrumError
from simulacrum.trajectory.values import as_arrays
from simulacrum.viewer import moments


def state_of(file):
    recorded(FORAGER, 20, file)
    return [as_arrays(FORAGER, one.part.state) for one in moments(file, lambda metadata: FORAGER)]


def module(draw):
    one = ModuleType("render")
    one.__dict__.update(render_text=lambda state: "", render_rgb=lambda state: None, __file__="render.py")
    one.__dict__["render_figure"] = draw
    return one


def test_a_figure_shows_the_state(tmp_path):
    states = state_of(tmp_path / "run.jsonl")
    images = [render.frame(FORAGER.module("render"), state, "figure") for state in (states[0], states[0], states[20])]
    assert images[0].dtype == np.uint8
    assert images[0].shape == (420, 720, 3)
    assert np.array_equal(images[0], images[1])
    assert not np.array_equal(images[0], images[2])
    agent = FORAGER.module("render").AGENT_COLOR
    assert (images[0] == agent).all(axis=2).sum() > 300


def test_the_command_writes_figures(tmp_path):
    states = state_of(tmp_path / "run.jsonl")
    arguments = ["--package", str(FORAGER.path), "--to", "png", "--matplotlib", "-o", str(tmp_path / "frames")]
    assert main(["render", str(tmp_path / "run.jsonl"), *arguments]) == PASSED
    files = sorted(Path(tmp_path / "frames").iterdir())
    assert len(files) == 21
    for number in (0, 20):
        image = render.frame(FORAGER.module("render"), states[number], "figure")
        assert np.array_equal(np.array(Image.open(files[number])), image)


def test_matplotlib_is_left_as_it_was():
    import matplotlib
    from matplotlib import pyplot

    def draw(state):
        matplotlib.rcParams["lines.linewidth"] = 77
        figure = pyplot.figure(figsize=(1, 1), dpi=50)
        figure.add_subplot().plot([0, 1])
        return figure

    pyplot.switch_backend("Agg")  # gymnasium.utils.play chooses TkAgg for a whole process
    own = pyplot.figure()
    before = dict(matplotlib.rcParams)
    image = render.frame(module(draw), None, "figure")
    assert image.shape == (50, 50, 3)
    assert image.min() < 128 < image.max()
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == [own.number]
    assert pyplot.gcf() is own
    pyplot.close(own)


def test_options_reach_a_figure():
    from matplotlib.figure import Figure

    one = module(lambda state, cell=1: Figure(figsize=(cell, 1), dpi=10))
    assert render.options_of(one, "figure") == ["cell"]
    assert render.frame(one, None, "figure", cell=3).shape == (10, 30, 3)
    assert render.frame(one, None, "ansi", cell=3) == ""


def test_what_is_no_figure_is_told():
    with pytest.raises(PackageError, match=r"render_figure: expected a matplotlib\.figure\.Figure, got int"):
        render.frame(module(lambda state: 3), None, "figure")


def test_a_package_without_figures_is_told():
    with pytest.raises(PackageError, match=r"expected a function render_figure\(state\) for figure frames, got none"):
        render.frame(TOYWALK.module("render"), None, "figure")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SimulacrumError, match=r"needs the extra viz: pip install 'simulacrum\[viz\]'"):
        render.frame(module(lambda state: None), None, "figure")
