"""toywalk's pictures: a state of one instance as text and as an RGB array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import MAX_STEPS, L

KEYS = {"left": 0, "right": 1}

CELL = 24
MARGIN = 8
BAR = 6
BACKGROUND = (250, 250, 247)
CELL_COLOR = (224, 224, 218)
GOAL_COLOR = (92, 168, 104)
AGENT_COLOR = (44, 92, 160)
BAR_COLOR = (208, 140, 60)

Image = NDArray[np.uint8]


def render_text(state: Any) -> str:
    position, t = int(state.position), int(state.t)
    cells = ["."] * (2 * L) + ["G"]
    cells[position + L] = "*" if position == L else "A"
    return f"|{' '.join(cells)}|  position {position:+d}  step {t}/{MAX_STEPS}"


def render_rgb(state: Any) -> Image:
    cells = 2 * L + 1
    width = cells * CELL + 2 * MARGIN
    picture = np.full((CELL + 3 * MARGIN + BAR, width, 3), BACKGROUND, np.uint8)
    for cell in range(cells):
        _square(picture, cell, GOAL_COLOR if cell == cells - 1 else CELL_COLOR, inset=1)
    _square(picture, int(state.position) + L, AGENT_COLOR, inset=6)
    _bar(picture, int(state.t) / MAX_STEPS)
    return picture


def _square(picture: Image, cell: int, color: tuple[int, int, int], inset: int) -> None:
    left = MARGIN + cell * CELL
    picture[MARGIN + inset : MARGIN + CELL - inset, left + inset : left + CELL - inset] = color


def _bar(picture: Image, share: float) -> None:
    """The steps used, below the line."""
    top, full = 2 * MARGIN + CELL, picture.shape[1] - 2 * MARGIN
    picture[top : top + BAR, MARGIN : MARGIN + full] = CELL_COLOR
    picture[top : top + BAR, MARGIN : MARGIN + round(share * full)] = BAR_COLOR
