"""newenv's pictures: a state of one instance as text and as an RGB array. No rules here, and neither implementation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import MAX_STEPS, TOP

RUNG = 24  # pixels from rung to rung
WIDTH = 96
BACKGROUND = (250, 250, 247)
WOOD_COLOR = (160, 120, 80)
TOP_COLOR = (92, 168, 104)
CLIMBER_COLOR = (44, 92, 160)

Image = NDArray[np.uint8]


def render_text(state: Any) -> str:
    height, t = int(state.height), int(state.t)
    rungs = "".join("*" if rung == height else "T" if rung == TOP else "-" for rung in range(TOP + 1))
    return f"|{rungs}|  height {height}/{TOP}  step {t}/{MAX_STEPS}"


def render_rgb(state: Any) -> Image:
    """uint8 [H, W, 3]: the ladder from the foot below to the top above, and the steps used as a line at the left."""
    picture = np.full(((TOP + 2) * RUNG, WIDTH, 3), BACKGROUND, np.uint8)
    for rung in range(TOP + 1):
        _bar(picture, rung, 24, 72, 4, TOP_COLOR if rung == TOP else WOOD_COLOR)
    _bar(picture, int(state.height), 40, 56, 16, CLIMBER_COLOR)
    used = round(int(state.t) / MAX_STEPS * len(picture))
    picture[len(picture) - used :, 4:8] = WOOD_COLOR
    return picture


def _bar(picture: Image, rung: int, left: int, right: int, thick: int, color: tuple[int, int, int]) -> None:
    middle = len(picture) - (rung + 1) * RUNG
    picture[middle - thick // 2 : middle + thick // 2, left:right] = color
