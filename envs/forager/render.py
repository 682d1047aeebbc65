"""forager's pictures: a state of one instance as text and as an RGB array, north at the top.

Berries are drawn by kind, `o`, `b` and `B` from the least to the best; where several live berries share a cell, the
best is shown. The agent is `@`, or `&` where a live berry lies on its cell.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import GRID, MAX_STEPS, N_BERRIES, START_ENERGY

KEYS = {"up": 0, "right": 1, "down": 2, "left": 3}

SYMBOLS = "obB"
BAR_WIDTH = 20

CELL = 24
MARGIN = 8
BAR = 6
BACKGROUND = (250, 250, 247)
CELL_COLOR = (224, 232, 214)
AGENT_COLOR = (44, 92, 160)
BERRY_COLORS = ((226, 178, 70), (214, 112, 52), (178, 36, 72))
TRACK_COLOR = (224, 224, 218)
ENERGY_COLOR = (92, 168, 104)
STEP_COLOR = (208, 140, 60)

Image = NDArray[np.uint8]
Color = tuple[int, int, int]
Cell = tuple[int, int]


def render_text(state: Any) -> str:
    berries, agent = _best_berries(state), _agent(state)
    rows = [" ".join(_symbol((x, y), berries, agent) for x in range(GRID)) for y in reversed(range(GRID))]
    edge = "+" + "-" * (2 * GRID + 1) + "+"
    return "\n".join([edge, *(f"| {row} |" for row in rows), edge, _energy_line(state), _count_line(state)])


def render_rgb(state: Any) -> Image:
    side = GRID * CELL + 2 * MARGIN
    picture = np.full((side + 2 * (BAR + MARGIN), side, 3), BACKGROUND, np.uint8)
    for x in range(GRID):
        for y in range(GRID):
            _square(picture, (x, y), CELL_COLOR, inset=1)
    _square(picture, _agent(state), AGENT_COLOR, inset=3)
    for cell, kind in _best_berries(state).items():
        _square(picture, cell, BERRY_COLORS[kind], inset=8)
    _bar(picture, side, ENERGY_COLOR, float(state.energy) / START_ENERGY)
    _bar(picture, side + BAR + MARGIN, STEP_COLOR, int(state.t) / MAX_STEPS)
    return picture


def _agent(state: Any) -> Cell:
    return int(state.x), int(state.y)


def _best_berries(state: Any) -> dict[Cell, int]:
    """The best kind among the live berries of each cell that has one."""
    best: dict[Cell, int] = {}
    for x, y, kind, live in zip(state.berry_x, state.berry_y, state.berry_kind, state.berry_live, strict=True):
        if live:
            cell = int(x), int(y)
            best[cell] = max(best.get(cell, 0), int(kind))
    return best


def _symbol(cell: Cell, berries: dict[Cell, int], agent: Cell) -> str:
    if cell == agent:
        return "&" if cell in berries else "@"
    return SYMBOLS[berries[cell]] if cell in berries else "."


def _energy_line(state: Any) -> str:
    """A full bar is the energy of the start; what exceeds it shows in the number only."""
    filled = round(_share(float(state.energy) / START_ENERGY) * BAR_WIDTH)
    return f"energy [{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {float(state.energy):.3f}"


def _count_line(state: Any) -> str:
    live = sum(bool(berry) for berry in state.berry_live)
    return f"berries {live}/{N_BERRIES}  step {int(state.t)}/{MAX_STEPS}"


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _square(picture: Image, cell: Cell, color: Color, inset: int) -> None:
    left, top = MARGIN + cell[0] * CELL, MARGIN + (GRID - 1 - cell[1]) * CELL
    picture[top + inset : top + CELL - inset, left + inset : left + CELL - inset] = color


def _bar(picture: Image, top: int, color: Color, share: float) -> None:
    full = picture.shape[1] - 2 * MARGIN
    picture[top : top + BAR, MARGIN : MARGIN + full] = TRACK_COLOR
    picture[top : top + BAR, MARGIN : MARGIN + round(_share(share) * full)] = color
