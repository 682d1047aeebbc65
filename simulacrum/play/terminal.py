"""The terminal as a game's screen."""

from __future__ import annotations

import sys

from ..render import coloured, terminal
from ..render.terminal import ENTER, LEAVE
from .game import Game

__all__ = ["ENTER", "LEAVE", "TerminalScreen"]

OTHERWISE = " (for a window: a display, and pygame-ce from the extra viz)"


class TerminalScreen(terminal.TerminalScreen):
    """Shows a game's text; a context manager. Raises SimulacrumError where there is no terminal."""

    def __init__(self) -> None:
        super().__init__(OTHERWISE)

    def show(self, game: Game) -> None:
        """Draw the game, cut to the terminal's size."""
        rows, columns = self.size
        status = game.status()
        room = max(1, rows - len(status) - 1)
        board = game.text(coloured(sys.stdout), room, columns).split("\n")[:room]
        self.draw([*board, "", *status])
