"""frozen_lake's pictures: a state of one instance as text and as an RGB array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import GOAL, HEIGHT, HOLES, MAX_STEPS, START, WIDTH

KEYS = {"left": 0, "down": 1, "right": 2, "up": 3}

CELL = 32
GAP = 1
AGENT = 9
LINE = (168, 192, 204)
ICE = (228, 240, 246)
HOLE = (44, 72, 108)
GOAL_COLOR = (92, 168, 104)
START_COLOR = (204, 224, 196)
AGENT_COLOR = (208, 96, 60)

Image = NDArray[np.uint8]


def render_text(state: Any) -> str:
    marks = dict.fromkeys(HOLES, "O") | {START: "S", GOAL: "G", int(state.cell): "A"}
    if int(state.cell) in (GOAL, *HOLES):
        marks[int(state.cell)] = "*" if int(state.cell) == GOAL else "X"
    rows = [" ".join(marks.get(row * WIDTH + column, ".") for column in range(WIDTH)) for row in range(HEIGHT)]
    return "\n".join([*rows, f"step {int(state.t)}/{MAX_STEPS}"])


def render_rgb(state: Any) -> Image:
    picture = np.full((HEIGHT * CELL, WIDTH * CELL, 3), LINE, np.uint8)
    colors = dict.fromkeys(HOLES, HOLE) | {START: START_COLOR, GOAL: GOAL_COLOR}
    for cell in range(HEIGHT * WIDTH):
        _square(picture, cell, colors.get(cell, ICE), GAP)
    _square(picture, int(state.cell), AGENT_COLOR, AGENT)
    return picture


def _square(picture: Image, cell: int, color: tuple[int, int, int], inset: int) -> None:
    top, left = cell // WIDTH * CELL, cell % WIDTH * CELL
    picture[top + inset : top + CELL - inset, left + inset : left + CELL - inset] = color
