"""snake's pictures, of states made by hand and of played ones."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from environments import TOYWALK

from simulacrum import render
from simulacrum.reference import state_of
from simulacrum.spec import Package

SNAKE = Package.read(TOYWALK.path.parent / "snake")
TINY, CLASSIC = (SNAKE.configured(name) for name in ("tiny", "classic"))
BLUE, GREEN = (44, 92, 160), (92, 148, 68)
FOOD, WALL, EMPTY = (214, 64, 52), (92, 96, 104), (238, 239, 232)


def board(height=6, width=7, vision=1, snakes=3):
    """A state with walls alone, all snakes waiting."""
    cells = np.full((height, width), 3, np.uint8)
    cells[vision:-vision, vision:-vision] = 0
    nowhere = np.full(snakes, -1, np.int32)
    return SimpleNamespace(board=cells, head=nowhere, length=np.zeros(snakes, np.int32), t=np.int32(0))


def put(state, snake, cells):
    """Put a snake on cells (row, column), from its head on."""
    for cell in cells:
        state.board[cell] = 4 + snake
    state.head = state.head.copy()
    state.head[snake] = cells[0][0] * state.board.shape[1] + cells[0][1]
    state.length[snake] = len(cells)
    return state


def some():
    state = put(put(board(), 0, [(1, 2), (1, 1)]), 1, [(3, 4)])
    state.board[4, 5], state.board[2, 2] = 1, 2
    return state


def text(state, package=TINY, **options):
    return render.frame(package.module("render"), state, "ansi", **options)


def image(state, package=TINY, **options):
    return render.frame(package.module("render"), state, "rgb_array", **options)


def centre(picture, row, column, size=24):
    """The colour of a cell beside its head's spot."""
    return tuple(picture[row * size + 1, column * size + 1].tolist())


# ---------------------------------------------------------------------- text


def test_text_shows_every_kind_of_cell():
    assert text(some()).split("\n") == [
        "##############",
        "##a A . . . ##",
        "##. % . . . ##",
        "##. . . B . ##",
        "##. . . . * ##",
        "##############",
        "length 2  snakes 2/3  food 1  corpses 1  step 0/40",
    ]


def test_the_followed_snake_has_a_head_of_its_own():
    lines = text(some(), around=1).split("\n")
    assert lines[1] == "##a A . . . ##"
    assert lines[3] == "##. . . @ . ##"
    assert lines[-1].startswith("length 1 ")


def test_text_is_plain_unless_colours_are_asked_for():
    assert "\x1b" not in text(some())
    painted = text(some(), colour=True)
    assert "\x1b[48;2;44;92;160;97;1mA \x1b[0m" in painted
    assert "\x1b[48;2;214;64;52;97;1m  \x1b[0m" in painted
    blank = re.sub(r"\x1b\[[0-9;]*m", "", painted)
    assert [len(line) for line in blank.split("\n")[:6]] == [14] * 6


def test_a_part_is_shown_around_a_snake():
    lines = text(some(), around=1, view=3).split("\n")
    assert lines[:-1] == [". . .", ". @ .", ". . *"]


def test_a_part_at_the_edge_lies_inside_the_board():
    assert text(some(), around=0, view=4).split("\n")[:-1] == ["########", "##a @ .", "##. % .", "##. . ."]


def test_a_snake_that_waits_is_looked_for_in_the_middle():
    assert text(some(), around=2, view=2).split("\n")[:-1] == ["% .", ". ."]


def test_of_a_large_board_a_part_is_shown():
    state = put(board(360, 640, 5, 256), 0, [(100, 200)])
    lines = text(state, SNAKE.configured("boards")).split("\n")
    assert len(lines) == 40
    assert lines[19][38:40].strip() == "@"
    assert max(map(len, lines[:-1])) <= 78


# ---------------------------------------------------------------------- images


def test_an_image_shows_every_kind_of_cell():
    picture = image(some())
    assert picture.shape == (6 * 24, 7 * 24, 3)
    assert picture.dtype == np.uint8
    expected = {(0, 0): WALL, (1, 1): BLUE, (1, 2): BLUE, (3, 4): GREEN, (4, 5): FOOD, (1, 3): EMPTY}
    assert {cell: centre(picture, *cell) for cell in expected} == expected


def test_heads_have_spots():
    picture = image(some(), around=1)
    assert picture[1 * 24 + 12, 2 * 24 + 12].tolist() == [255, 255, 255]
    assert picture[3 * 24 + 12, 4 * 24 + 12].tolist() == [24, 26, 30]
    assert centre(picture, 1, 1) == tuple(picture[1 * 24 + 12, 1 * 24 + 12])


@pytest.mark.parametrize("size", [1, 2, 5, 6, 8, 30])
def test_cells_have_any_size(size):
    assert image(some(), cell=size).shape == (6 * size, 7 * size, 3)


def test_an_image_of_a_part():
    picture = image(some(), cell=10, around=1, view=3)
    assert picture.shape == (30, 30, 3)
    assert centre(picture, 1, 1, 10) == GREEN
    assert centre(picture, 2, 2, 10) == FOOD


@pytest.mark.parametrize(
    ("height", "width", "snakes", "config", "shape"),
    [
        (26, 26, 1, "classic", (624, 624, 3)),
        (360, 640, 256, "boards", (720, 1280, 3)),
        (1440, 2560, 4096, "arena", (697, 697, 3)),
    ],
)
def test_images_have_a_reasonable_size(height, width, snakes, config, shape):
    state = put(board(height, width, 5, snakes), 0, [(10, 10)])
    assert image(state, SNAKE.configured(config)).shape == shape


@pytest.mark.parametrize("around", [-1, 3])
def test_there_is_no_such_snake(around):
    with pytest.raises(ValueError, match=rf"around: expected a snake of 0\.\.2, got {around}"):
        image(some(), around=around)


# ---------------------------------------------------------------------- played


@pytest.mark.parametrize("package", [TINY, CLASSIC], ids=lambda package: package.config)
def test_pictures_of_played_boards_change_nothing(package):
    env = package.reference()
    env.action_space.seed(0)
    env.reset(seed=0)
    frames = set()
    for _ in range(20):
        env.step(env.action_space.sample())
        before = repr(env.get_state())
        frames.add((text(state_of(env), package), image(state_of(env), package).tobytes()))
        assert repr(env.get_state()) == before
    assert len(frames) == 20


def test_kernel_and_renderers_take_at_most_450_lines():
    lines = sum(SNAKE.files[name].count(b"\n") for name in ("kernel.pyx", "render.py"))
    assert lines <= 450
