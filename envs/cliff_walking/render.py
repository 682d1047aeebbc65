"""cliff_walking's pictures: a state of one instance as text and as an RGB array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import GOAL, HEIGHT, START, WIDTH

KEYS = {"up": 0, "right": 1, "down": 2, "left": 3}

CELL = 28
GAP = 1
AGENT = 8
LINE = (196, 190, 176)
GROUND = (236, 230, 214)
CLIFF = (84, 68, 60)
GOAL_COLOR = (92, 168, 104)
START_COLOR = (188, 208, 160)
AGENT_COLOR = (44, 92, 160)

Image = NDArray[np.uint8]


def render_text(state: Any) -> str:
    marks = dict.fromkeys(range(START + 1, GOAL), "#") | {START: "S", GOAL: "G", int(state.cell): "A"}
    if int(state.cell) == GOAL:
        marks[GOAL] = "*"
    rows = [" ".join(marks.get(row * WIDTH + column, ".") for column in range(WIDTH)) for row in range(HEIGHT)]
    return "\n".join([*rows, f"step {int(state.t)}"])


def render_rgb(state: Any) -> Image:
    picture = np.full((HEIGHT * CELL, WIDTH * CELL, 3), LINE, np.uint8)
    colors = dict.fromkeys(range(START + 1, GOAL), CLIFF) | {START: START_COLOR, GOAL: GOAL_COLOR}
    for cell in range(HEIGHT * WIDTH):
        _square(picture, cell, colors.get(cell, GROUND), GAP)
    _square(picture, int(state.cell), AGENT_COLOR, AGENT)
    return picture


def _square(picture: Image, cell: int, color: tuple[int, int, int], inset: int) -> None:
    top, left = cell // WIDTH * CELL, cell % WIDTH * CELL
    picture[top + inset : top + CELL - inset, left + inset : left + CELL - inset] = color
