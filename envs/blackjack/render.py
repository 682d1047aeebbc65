"""blackjack's pictures: a state of one instance as text and as an RGB array, the dealer's hidden card included.

The picture has a square for each point of a hand, the dealer's above: the open card dark, the points that a usable ace
adds hollow, and a line behind 21.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

KEYS = {"s": 0, "h": 1}

POINTS = 31  # squares in a row; what is beyond is not drawn
LIMIT, SOFT = 21, 11
CELL = 12
MARGIN = 10
FELT = (44, 104, 78)
EMPTY = (56, 120, 92)
CARD_COLOR = (240, 236, 224)
OPEN_COLOR = (40, 44, 52)
BUST_COLOR = (208, 84, 60)
LINE = (232, 184, 72)

Image = NDArray[np.uint8]
Color = tuple[int, int, int]


def render_text(state: Any) -> str:
    dealer = _hand(int(state.dealer_total), bool(state.dealer_ace), int(state.dealer_cards))
    player = _hand(int(state.player_total), bool(state.player_ace), int(state.player_cards))
    return f"dealer {dealer}, shows {int(state.dealer_shows)}\nplayer {player}\nstep {int(state.t)}"


def _hand(total: int, ace: bool, cards: int) -> str:
    usable = ace and total <= SOFT
    points = f"{total + 10} with an ace as 11" if usable else f"{total}{', bust' if total > LIMIT else ''}"
    return f"{points}, {cards} cards"


def render_rgb(state: Any) -> Image:
    picture = np.full((2 * CELL + 3 * MARGIN, POINTS * CELL + 2 * MARGIN, 3), FELT, np.uint8)
    _points(picture, MARGIN, int(state.dealer_total), bool(state.dealer_ace), int(state.dealer_shows))
    _points(picture, CELL + 2 * MARGIN, int(state.player_total), bool(state.player_ace), 0)
    picture[:, MARGIN + LIMIT * CELL - 1 : MARGIN + LIMIT * CELL + 1] = LINE
    return picture


def _points(picture: Image, top: int, total: int, ace: bool, shown: int) -> None:
    """A row of squares; the first ones are those of the open card."""
    color = BUST_COLOR if total > LIMIT else CARD_COLOR
    worth = total + (10 if ace and total <= SOFT else 0)
    for point in range(POINTS):
        filled = OPEN_COLOR if point < shown else color if point < worth else EMPTY
        _square(picture, top, point, filled, 1)
        if total <= point < worth:
            _square(picture, top, point, FELT, 3)


def _square(picture: Image, top: int, point: int, color: Color, inset: int) -> None:
    left = MARGIN + point * CELL
    picture[top + inset : top + CELL - inset, left + inset : left + CELL - inset] = color
