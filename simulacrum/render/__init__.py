"""Frames of a state: a package's ``render.py`` draws them, this shows them. Never imports an implementation."""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from ..spec.package import sibling
from .colours import coloured
from .windows import Terminal, Window, window_possible

__all__ = ["COLOUR", "MODES", "Screen", "coloured", "frame", "open_window", "options_of", "window_possible"]

MODES = ("human", "ansi", "rgb_array")
COLOUR = "colour"


class Screen(Protocol):
    """Where the ``human`` mode shows its frames."""

    def show(self, cls: type, state: Any) -> None:
        """Show the frame of a state."""

    def close(self) -> None:
        """Close it; may be called again."""


def frame(source: type | ModuleType, state: Any, mode: str, **options: Any) -> str | np.ndarray:
    """The frame of one instance's state: ``ansi`` text, or ``rgb_array`` uint8 [H, W, 3].

    Args:
        source: a package's ``render`` module, or a class beside it.
        state: the spec's fields as attributes: a reference's, a fast row's, or one from a trajectory file.
        options: keywords of the module's ``render_text`` and ``render_rgb``; those that only the other one takes are
            left out, and so is ``colour``, ANSI colours, where the text has none.

    Raises TypeError for an option that neither takes.
    """
    module = source if isinstance(source, ModuleType) else sibling(source, "render")
    taken, other = options_of(module, mode), options_of(module, "ansi" if mode != "ansi" else "rgb_array")
    unknown = [name for name in options if name not in (*taken, *other, COLOUR)]
    if unknown:
        raise TypeError(f"render options {unknown}: {module.__file__} takes {sorted({*taken, *other}) or 'none'}")
    drawn: str | np.ndarray = _draw(module, mode)(state, **{name: value for name, value in options.items() if name in taken})
    return drawn


def options_of(module: ModuleType, mode: str) -> list[str]:
    """The names of the options that a ``render`` module's ``render_text`` (``ansi``) or ``render_rgb`` takes."""
    return list(_options(_draw(module, mode)))


def _draw(module: ModuleType, mode: str) -> Any:
    return module.render_text if mode == "ansi" else module.render_rgb


@functools.lru_cache(maxsize=64)
def _options(draw: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(draw).parameters)[1:]


def open_window(title: str, fps: float, **options: Any) -> Screen:
    """A pygame window where pygame and a display are there, else the terminal; with options for its frames."""
    if window_possible():
        return Window(title, fps, functools.partial(frame, **options))
    return Terminal(functools.partial(frame, **{COLOUR: coloured(sys.stdout), **options}))
