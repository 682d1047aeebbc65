"""snake's pictures: a state of one board as text and as an RGB array, the whole of it or a part around one snake.

In text a cell is two characters wide: `*` is food, `%` a corpse, `##` a wall, and a snake a letter of its colour, its
head in capitals; `@` is the head of the snake that the picture follows. In an image heads have a light spot, and that
one's has a dark one in it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import MAX_STEPS, N_COLOURS, SNAKES

KEYS = {"up": 0, "down": 1, "left": 2, "right": 3}
REALTIME = True  # in play the snakes move on by themselves

SYMBOLS = [". ", "* ", "% ", "##", *(f"{chr(ord('a') + colour)} " for colour in range(N_COLOURS))]
TEXT_VIEW = 39  # cells of text a side: where there are more, a part is shown
CROP = 41
LARGEST = (720, 1280)  # pixels of an image: where one a cell is more than these, a part is shown
MOST, LINED = 24, 6  # the size of a cell at most, and from which on cells are set apart by lines

BACKGROUND = (250, 250, 247)
PALETTE = np.array(
    [
        *((238, 239, 232), (214, 64, 52), (176, 168, 152), (92, 96, 104)),  # empty, food, corpse, wall
        *((44, 92, 160), (92, 148, 68), (208, 140, 60), (132, 84, 168), (60, 156, 160), (196, 96, 140)),
        *((148, 116, 64), (88, 124, 208), (148, 172, 60), (232, 172, 72), (176, 120, 208), (104, 180, 140)),
    ],
    np.uint8,
)
SPOT, FOLLOWED = (255, 255, 255), (24, 26, 30)

Image = NDArray[np.uint8]
Part = tuple[int, int, int, int]  # top, left, height, width: of the board, in cells


def render_text(state: Any, colour: bool = False, around: int | None = None, view: int | None = None) -> str:
    """The board as text, in ANSI colours if asked; around a snake, ``view`` cells a side.

    By default it is the whole board; around snake 0 where that is larger than 39 cells.
    """
    if around is None and (view is not None or max(np.shape(state.board)) > TEXT_VIEW):
        around = 0
    top, left, height, width = _part(state, around, view or TEXT_VIEW)
    cells = np.asarray(state.board)[top : top + height, left : left + width]
    heads = {(row - top, column - left): snake for snake, row, column in _heads(state)}
    lines = []
    for row, values in enumerate(cells.tolist()):
        line = [_symbol(value, heads.get((row, column)), around) for column, value in enumerate(values)]
        lines.append("".join(map(_painted, line, values)) if colour else "".join(line).rstrip())
    return "\n".join([*lines, _summary(state, around or 0)])


def render_rgb(state: Any, cell: int | None = None, around: int | None = None, view: int | None = None) -> Image:
    """The board as uint8 [height, width, 3], ``cell`` pixels a cell; around a snake, ``view`` cells a side.

    By default it is the whole board, as large as fits; around snake 0 where one pixel a cell is too many.
    """
    height, width = np.shape(state.board)
    if around is None and (view is not None or (cell is None and (height > LARGEST[0] or width > LARGEST[1]))):
        around = 0
    top, left, height, width = _part(state, around, view or CROP)
    size = cell or max(1, min(MOST, LARGEST[0] // height, LARGEST[1] // width))
    picture = PALETTE[np.asarray(state.board)[top : top + height, left : left + width]]
    picture = picture.repeat(size, axis=0).repeat(size, axis=1)
    if size >= LINED:
        picture[::size] = picture[:, ::size] = BACKGROUND
    for snake, row, column in _heads(state):
        row, column = row - top, column - left
        if 0 <= row < height and 0 <= column < width:
            if size >= LINED:
                _square(picture, row, column, size, size // 4, SPOT)
            if snake == around or SNAKES == 1:
                _square(picture, row, column, size, size // 3 if size >= LINED else 0, FOLLOWED)
    return picture


def _part(state: Any, around: int | None, view: int) -> Part:
    """The whole board, or the square around a snake's head (the middle, while it waits), moved to lie inside."""
    height, width = np.shape(state.board)
    if around is None:
        return 0, 0, height, width
    if not 0 <= around < SNAKES:
        raise ValueError(f"around: expected a snake of 0..{SNAKES - 1}, got {around!r}")
    head = int(state.head[around])
    row, column = divmod(head, width) if head >= 0 else (height // 2, width // 2)
    high, wide = min(view, height), min(view, width)
    return min(max(0, row - high // 2), height - high), min(max(0, column - wide // 2), width - wide), high, wide


def _heads(state: Any) -> list[tuple[int, int, int]]:
    """(snake, row, column) of every snake on the board."""
    width = np.shape(state.board)[1]
    return [(snake, *divmod(int(head), width)) for snake, head in enumerate(state.head) if head >= 0]


def _symbol(value: int, head: int | None, follow: int | None) -> str:
    if head is None:
        return SYMBOLS[value]
    return "@ " if head == follow or SNAKES == 1 else SYMBOLS[value].upper()


def _painted(symbol: str, value: int) -> str:
    """A cell in ANSI colours: letters stay, so that heads show; what has one meaning alone is a block."""
    if value == 0:
        return "  "
    red, green, blue = PALETTE[value]
    return f"\x1b[48;2;{red};{green};{blue};97;1m{symbol if value > 3 else '  '}\x1b[0m"


def _summary(state: Any, snake: int) -> str:
    board = np.asarray(state.board)
    alive = int(np.count_nonzero(np.asarray(state.length)))
    return (
        f"length {int(state.length[snake])}  snakes {alive}/{SNAKES}  food {int((board == 1).sum())}  "
        f"corpses {int((board == 2).sum())}  step {int(state.t)}/{MAX_STEPS}"
    )


def _square(picture: Image, row: int, column: int, size: int, inset: int, color: tuple[int, int, int]) -> None:
    top, left = row * size, column * size
    picture[top + inset : top + size - inset, left + inset : left + size - inset] = color
