"""A pygame-ce window as a screen: the package's image, and the game's status below it."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from .game import Game

NARROWEST, LINE, MARGIN, LETTERS = 620, 22, 8, 20  # pixels
BACKGROUND, INK, FAINT = (250, 250, 247), (24, 26, 30), (110, 112, 118)
LOOK = 50  # milliseconds after which a waiting window lets signals through


class WindowScreen:
    """Shows a game's image; a context manager. Raises pygame's error where there is no display."""

    def __init__(self, title: str) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        import pygame

        self._pygame, self._title = pygame, title
        self._surface: Any = None

    def __enter__(self) -> WindowScreen:
        pygame = self._pygame
        pygame.display.init()
        pygame.font.init()
        self._font = pygame.font.Font(None, LETTERS)
        self._keys = {
            **{pygame.K_UP: "up", pygame.K_DOWN: "down", pygame.K_LEFT: "left", pygame.K_RIGHT: "right"},
            pygame.K_ESCAPE: "escape",
        }
        return self

    def __exit__(self, *raised: Any) -> None:
        self._surface = None
        self._pygame.font.quit()
        self._pygame.display.quit()

    def show(self, game: Game) -> None:
        """Draw the game; small images are enlarged by a whole factor."""
        pygame, image, status = self._pygame, game.image(), game.status()
        factor = max(1, NARROWEST // image.shape[1])
        image = image.repeat(factor, axis=0).repeat(factor, axis=1)
        height, width = image.shape[:2]
        size = max(width, NARROWEST), height + LINE * len(status) + MARGIN
        if self._surface is None or self._surface.get_size() != size:
            self._surface = pygame.display.set_mode(size)
            pygame.display.set_caption(self._title)
            pygame.key.set_repeat(300, 100)
        self._surface.fill(BACKGROUND)
        board = pygame.surfarray.make_surface(np.ascontiguousarray(image.swapaxes(0, 1)))
        self._surface.blit(board, ((size[0] - width) // 2, 0))
        for number, line in enumerate(status):
            written = self._font.render(line, True, FAINT if number else INK)
            self._surface.blit(written, (MARGIN, height + MARGIN // 2 + LINE * number))
        pygame.display.flip()

    def key(self, wait: float) -> str:
        """The name of the next key; empty where none was pressed within ``wait`` seconds. Closing it is Escape."""
        pygame, until = self._pygame, time.monotonic() + wait
        while True:
            rest = until - time.monotonic()
            event = pygame.event.wait(max(1, min(LOOK, int(rest * 1000))))
            if event.type == pygame.QUIT:
                return "escape"
            if event.type == pygame.KEYDOWN:
                return self._keys.get(event.key) or event.unicode or ""
            if rest <= 0:
                return ""
