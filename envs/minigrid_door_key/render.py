"""minigrid_door_key's pictures: the world from above, as text and as an RGB array.

In text `#` is a wall, `G` the goal, `k` the key, the door `D` while it is locked, `d` closed and `_` open, and the
agent an arrow that looks where it does. In an image the agent is a block with a light edge on the side to which it
looks, and with a spot in it while it carries the key.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import MAX_STEPS, SIZE

KEYS = {"left": 0, "right": 1, "up": 2}

ARROWS, DOORS = ">v<^", "_dD"
CELL = 24
FLOOR_COLOR, WALL_COLOR, GOAL_COLOR = (250, 250, 247), (92, 96, 104), (92, 168, 104)
AGENT_COLOR, EDGE_COLOR, KEY_COLOR = (44, 92, 160), (232, 172, 72), (214, 168, 40)
# Of a cell the side to which an agent looks: (rows, columns), by direction
EDGES = [
    (slice(4, -4), slice(-7, -3)),
    (slice(-7, -3), slice(4, -4)),
    (slice(4, -4), slice(3, 7)),
    (slice(3, 7), slice(4, -4)),
]
SPOT = (slice(9, -9), slice(9, -9))

Image = NDArray[np.uint8]


def render_text(state: Any) -> str:
    cells = [["#" if 0 in (x, y) or SIZE - 1 in (x, y) else "." for x in range(SIZE)] for y in range(SIZE)]
    for row in cells:
        row[int(state.wall)] = "#"
    cells[SIZE - 2][SIZE - 2] = "G"
    cells[int(state.door)][int(state.wall)] = DOORS[int(state.lock)]
    if state.key_x:
        cells[int(state.key_y)][int(state.key_x)] = "k"
    cells[int(state.y)][int(state.x)] = ARROWS[int(state.direction)]
    carries = "" if state.key_x else "  with the key"
    return "\n".join([*(" ".join(row) for row in cells), f"step {int(state.t)}/{MAX_STEPS}{carries}"])


def render_rgb(state: Any) -> Image:
    picture = np.full((SIZE * CELL, SIZE * CELL, 3), WALL_COLOR, np.uint8)
    picture[CELL:-CELL, CELL:-CELL] = FLOOR_COLOR
    wall = int(state.wall) * CELL
    picture[:, wall : wall + CELL] = WALL_COLOR
    _cell(picture, SIZE - 2, SIZE - 2)[:] = GOAL_COLOR
    door, lock = _cell(picture, state.wall, state.door), int(state.lock)
    door[:] = KEY_COLOR
    door[3:-3, 3:-3] = (FLOOR_COLOR, AGENT_COLOR, WALL_COLOR)[lock]
    if state.key_x:
        _cell(picture, state.key_x, state.key_y)[SPOT] = KEY_COLOR
    agent = _cell(picture, state.x, state.y)
    agent[3:-3, 3:-3] = AGENT_COLOR
    agent[EDGES[int(state.direction)]] = EDGE_COLOR
    if not state.key_x:
        agent[SPOT] = KEY_COLOR
    return picture


def _cell(picture: Image, x: Any, y: Any) -> Image:
    """The part of the picture that is a cell."""
    left, top = int(x) * CELL, int(y) * CELL
    return picture[top : top + CELL, left : left + CELL]
