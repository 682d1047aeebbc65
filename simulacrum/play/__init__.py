"""Playing an environment: a person steers one agent of the reference, in a window or in the terminal."""

from __future__ import annotations

import time
from typing import Protocol

from .game import Game

__all__ = ["Game", "Screen", "run"]


class Screen(Protocol):
    """Where a game is shown, and where keys come from."""

    def show(self, game: Game) -> None:
        """Show the game as it is."""

    def key(self, wait: float) -> str:
        """The name of the next key; empty where none was pressed within ``wait`` seconds."""


IDLE = 0.2  # seconds between looks at a screen on which nothing happens


def run(game: Game, screen: Screen, fps: float) -> None:
    """Play until the game is left. One that moves on by itself makes ``fps`` steps a second."""
    due = time.monotonic()
    while not game.left:
        screen.show(game)
        rest = due - time.monotonic() if game.running else IDLE
        key = screen.key(min(max(0.0, rest), IDLE))
        if key:
            game.press(key)
        if game.running and time.monotonic() >= due:  # also while a key is held down
            game.advance()
            due = time.monotonic() + 1 / fps
