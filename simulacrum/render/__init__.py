"""Frames of a state: a package's ``render.py`` draws them, this shows them. Never imports an implementation."""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from ..errors import PackageError
from ..spec.package import sibling
from .colours import coloured
from .figures import pixels
from .windows import Terminal, Window, window_possible

__all__ = ["COLOUR", "FIGURE", "MODES", "Screen", "coloured", "frame", "open_window", "options_of", "window_possible"]

MODES = ("human", "ansi", "rgb_array")
FIGURE = "figure"  # no mode of an environment: a package may draw figures as well
COLOUR = "colour"
FORMS = {"ansi": "render_text", "rgb_array": "render_rgb", FIGURE: "render_figure"}


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
        mode: ``ansi`` or ``rgb_array``; ``figure`` is the Matplotlib form, as uint8 [H, W, 3], where a package has it.
        options: keywords of the module's ``render_text``, ``render_rgb`` and ``render_figure``; those that only another
            one takes are left out, and so is ``colour``, ANSI colours, where the text has none.

    Raises TypeError for an option that none takes, :class:`~simulacrum.errors.PackageError` for a form that the package
    does not have.
    """
    module = source if isinstance(source, ModuleType) else sibling(source, "render")
    taken = options_of(module, mode)
    known = {name for form, function in FORMS.items() if hasattr(module, function) for name in options_of(module, form)}
    unknown = [name for name in options if name not in known and name != COLOUR]
    if unknown:
        raise TypeError(f"render options {unknown}: {module.__file__} takes {sorted(known) or 'none'}")
    draw = functools.partial(_draw(module, mode), state, **{name: options[name] for name in taken if name in options})
    drawn: str | np.ndarray = draw() if mode != FIGURE else pixels(draw, f"{module.__file__}: render_figure")
    return drawn


def options_of(module: ModuleType, mode: str) -> list[str]:
    """The names of the options that a ``render`` module's function for a mode takes; for ``ansi`` ``render_text``'s."""
    return list(_options(_draw(module, mode)))


def _draw(module: ModuleType, mode: str) -> Any:
    function = FORMS[mode]
    if not hasattr(module, function):
        raise PackageError(f"{module.__file__}: expected a function {function}(state) for {mode} frames, got none")
    return getattr(module, function)


@functools.lru_cache(maxsize=64)
def _options(draw: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(draw).parameters)[1:]


def open_window(title: str, fps: float, **options: Any) -> Screen:
    """A pygame window where pygame and a display are there, else the terminal; with options for its frames."""
    if window_possible():
        return Window(title, fps, functools.partial(frame, **options))
    return Terminal(functools.partial(frame, **{COLOUR: coloured(sys.stdout), **options}))
