"""minigrid_empty's pictures: the room from above, as text and as an RGB array.

In text `#` is a wall, `G` the goal, and the agent an arrow that looks where it does. In an image the agent is a block
with a light edge on the side to which it looks.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import MAX_STEPS, SIZE

KEYS = {"left": 0, "right": 1, "up": 2}

ARROWS = ">v<^"
CELL = 24
FLOOR_COLOR, WALL_COLOR, GOAL_COLOR = (250, 250, 247), (92, 96, 104), (92, 168, 104)
AGENT_COLOR, EDGE_COLOR = (44, 92, 160), (232, 172, 72)
# Of a cell the side to which an agent looks: (rows, columns), by direction
EDGES = [
    (slice(4, -4), slice(-7, -3)),
    (slice(-7, -3), slice(4, -4)),
    (slice(4, -4), slice(3, 7)),
    (slice(3, 7), slice(4, -4)),
]

Image = NDArray[np.uint8]


def render_text(state: Any) -> str:
    cells = [["#" if 0 in (x, y) or SIZE - 1 in (x, y) else "." for x in range(SIZE)] for y in range(SIZE)]
    cells[SIZE - 2][SIZE - 2] = "G"
    cells[int(state.y)][int(state.x)] = ARROWS[int(state.direction)]
    return "\n".join([*(" ".join(row) for row in cells), f"step {int(state.t)}/{MAX_STEPS}"])


def render_rgb(state: Any) -> Image:
    picture = np.full((SIZE * CELL, SIZE * CELL, 3), WALL_COLOR, np.uint8)
    picture[CELL:-CELL, CELL:-CELL] = FLOOR_COLOR
    _cell(picture, SIZE - 2, SIZE - 2)[:] = GOAL_COLOR
    agent = _cell(picture, int(state.x), int(state.y))
    agent[3:-3, 3:-3] = AGENT_COLOR
    agent[EDGES[int(state.direction)]] = EDGE_COLOR
    return picture


def _cell(picture: Image, x: int, y: int) -> Image:
    """The part of the picture that is a cell."""
    return picture[y * CELL : (y + 1) * CELL, x * CELL : (x + 1) * CELL]
