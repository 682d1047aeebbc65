"""Frames of a state: a package's ``render.py`` draws them, this shows them. Never imports an implementation."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..spec.package import sibling
from .windows import Terminal, Window, window_possible

MODES = ("human", "ansi", "rgb_array")


class Screen(Protocol):
    """Where the ``human`` mode shows its frames."""

    def show(self, cls: type, state: Any) -> None:
        """Show the frame of a state."""

    def close(self) -> None:
        """Close it; may be called again."""


def frame(cls: type, state: Any, mode: str) -> str | np.ndarray:
    """The frame of one instance's state by the ``render.py`` beside a class: ``ansi`` text, or ``rgb_array`` uint8
    [H, W, 3]."""
    module = sibling(cls, "render")
    return module.text(state) if mode == "ansi" else module.image(state)


def open_window(title: str, fps: float) -> Screen:
    """A pygame window where pygame and a display are there, else the terminal."""
    return Window(title, fps, frame) if window_possible() else Terminal(frame)
