"""taxi's pictures: a state of one instance as text and as an RGB array, north at the top.

In text, pads are `R`, `G`, `Y` and `B`, the taxi is `t`, or `T` with the passenger in it. A `*` beside what is on a
cell is a passenger who waits there; the line below says where they want to go.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import MAX_STEPS

KEYS = {"down": 0, "up": 1, "right": 2, "left": 3, "e": 4, "f": 5}

CITY = ("R: | : :G", " : | : : ", " : : : : ", " | : | : ", "Y| : |B: ")
PADS = ((0, 0), (0, 4), (4, 0), (4, 3))
NAMES = ("red", "green", "yellow", "blue")
SIDE, IN_TAXI = 5, 4

CELL = 40
MARGIN = 8
WALL = 4
BAR = 6
BACKGROUND = (250, 250, 247)
CELL_COLOR = (224, 224, 218)
WALL_COLOR = (70, 70, 74)
PAD_COLORS = ((214, 74, 74), (92, 168, 104), (226, 196, 70), (74, 110, 200))
TAXI_COLOR = (240, 176, 32)
PASSENGER_COLOR = (120, 60, 140)
TRACK_COLOR = (224, 224, 218)
BAR_COLOR = (208, 140, 60)

Image = NDArray[np.uint8]
Color = tuple[int, int, int]


def render_text(state: Any) -> str:
    taxi, passenger = (int(state.row), int(state.column)), int(state.passenger)
    edge = "+" + "-" * (3 * SIDE - 1) + "+"
    rows = [
        "".join(_letters((row, column), taxi, passenger) + _east(row, column) for column in range(SIDE))
        for row in range(SIDE)
    ]
    where = "in the taxi" if passenger == IN_TAXI else f"on {NAMES[passenger]}"
    whether = ", may think again" if state.fickle_step else ""
    line = f"passenger {where}, to {NAMES[int(state.destination)]}{whether}  step {int(state.t)}/{MAX_STEPS}"
    return "\n".join([edge, *(f"|{row}" for row in rows), edge, line])


def render_rgb(state: Any) -> Image:
    side = SIDE * CELL + 2 * MARGIN
    picture = np.full((side + BAR + MARGIN, side, 3), BACKGROUND, np.uint8)
    for row, column in np.ndindex(SIDE, SIDE):
        _square(picture, (row, column), CELL_COLOR, 1)
    for pad, color in zip(PADS, PAD_COLORS, strict=True):
        _square(picture, pad, color, 5)
    for row, column in np.ndindex(SIDE, SIDE - 1):
        if _east(row, column) == "|":
            _wall(picture, row, column)
    destination, passenger = int(state.destination), int(state.passenger)
    _square(picture, PADS[destination], BACKGROUND, 9)
    _square(picture, PADS[destination], PAD_COLORS[destination], 11)
    taxi = int(state.row), int(state.column)
    _square(picture, taxi, TAXI_COLOR, 13)
    if passenger == IN_TAXI:
        _square(picture, taxi, PASSENGER_COLOR, 17)
    else:
        _corner(picture, PADS[passenger])
    full = side - 2 * MARGIN
    picture[side : side + BAR, MARGIN : MARGIN + full] = TRACK_COLOR
    share = min(1.0, max(0.0, int(state.t) / MAX_STEPS))
    picture[side : side + BAR, MARGIN : MARGIN + round(share * full)] = BAR_COLOR
    return picture


def _east(row: int, column: int) -> str:
    """What stands on the east side of a cell: a way, a wall or the edge."""
    return CITY[row][2 * column + 1] if column + 1 < SIDE else "|"


def _letters(cell: tuple[int, int], taxi: tuple[int, int], passenger: int) -> str:
    """Two letters: the taxi or the pad, and whether the passenger waits there."""
    letter = CITY[cell[0]][2 * cell[1]]
    if cell == taxi:
        letter = "T" if passenger == IN_TAXI else "t"
    return letter + ("*" if passenger < IN_TAXI and PADS[passenger] == cell else " ")


def _corner_of(cell: tuple[int, int]) -> tuple[int, int]:
    """The topmost, leftmost pixel of a cell."""
    return MARGIN + cell[0] * CELL, MARGIN + cell[1] * CELL


def _square(picture: Image, cell: tuple[int, int], color: Color, inset: int) -> None:
    top, left = _corner_of(cell)
    picture[top + inset : top + CELL - inset, left + inset : left + CELL - inset] = color


def _wall(picture: Image, row: int, column: int) -> None:
    top, left = _corner_of((row, column + 1))
    picture[top : top + CELL, left - WALL // 2 : left + WALL // 2] = WALL_COLOR


def _corner(picture: Image, cell: tuple[int, int]) -> None:
    """The passenger who waits on a cell."""
    top, left = _corner_of(cell)
    picture[top + 2 : top + 12, left + 2 : left + 12] = PASSENGER_COLOR
