"""orchard's pictures: a state as text and as an RGB array. No rules here, and neither implementation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import BASKET, MAX_STEPS, RIPE

CELL = 32  # pixels of a tree
COLORS = np.array([(226, 222, 210), (150, 190, 110), (226, 190, 80), (208, 84, 60)], np.uint8)  # by ripeness
BACKGROUND = (250, 250, 247)
BASKET_COLOR = (140, 100, 60)


def render_text(state: Any) -> str:
    trees = " ".join(str(int(ripe)) for ripe in state.ripeness)
    counts = f"basket {int(state.basket)}/{BASKET}  fallen {int(state.fallen)}  step {int(state.t)}/{MAX_STEPS}"
    return f"[{trees}]  {counts}"


def render_rgb(state: Any) -> NDArray[np.uint8]:
    """uint8 [H, W, 3]: a square for each tree, its fruit the taller the riper; below, the basket's fill."""
    trees = [int(ripe) for ripe in state.ripeness]
    picture = np.full((2 * CELL, CELL * max(len(trees), 2), 3), BACKGROUND, np.uint8)
    for number, ripe in enumerate(trees):
        height = (ripe + 1) * (CELL - 4) // (RIPE + 1)
        picture[CELL - height : CELL, number * CELL + 2 : (number + 1) * CELL - 2] = COLORS[min(ripe, len(COLORS) - 1)]
    filled = picture.shape[1] * min(int(state.basket), BASKET) // BASKET
    picture[CELL + 12 : CELL + 20, :filled] = BASKET_COLOR
    return picture
