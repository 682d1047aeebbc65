"""The two screens of the ``human`` mode: a pygame window, and the terminal."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Frame = Callable[[type, Any, str], Any]


def window_possible() -> bool:
    """Whether pygame (extra ``viz``) and a display are there."""
    if importlib.util.find_spec("pygame") is None:
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"))


class Terminal:
    """Prints the text frame of each state."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def show(self, cls: type, state: Any) -> None:
        """Print the frame."""
        print(self._frame(cls, state, "ansi"), flush=True)

    def close(self) -> None:
        """Nothing to close."""


class Window:
    """Shows the RGB frame of each state in a pygame window, at most ``fps`` a second."""

    def __init__(self, title: str, fps: float, frame: Frame) -> None:
        import pygame

        self._pygame = pygame
        self._frame, self._fps, self._title = frame, fps, title
        self._surface: Any = None
        pygame.display.init()
        self._clock = pygame.time.Clock()

    def show(self, cls: type, state: Any) -> None:
        """Draw the frame, keep the window's events flowing, and wait for the next frame's time."""
        pixels: np.ndarray = self._frame(cls, state, "rgb_array")
        if self._surface is None:
            self._surface = self._pygame.display.set_mode((pixels.shape[1], pixels.shape[0]))
            self._pygame.display.set_caption(self._title)
        self._pygame.surfarray.blit_array(self._surface, pixels.swapaxes(0, 1))
        self._pygame.event.pump()
        self._pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window; may be called again."""
        if self._pygame is not None and self._pygame.display.get_init():
            self._pygame.display.quit()
