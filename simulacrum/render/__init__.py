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
        """Show the frame of a state, by the ``render`` module beside a class; :func:`frame` tells what it raises."""

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
    does not have, KeyError for another mode, and :class:`~simulacrum.errors.SimulacrumError` for a figure without
    Matplotlib.

    Example:
        >>> from types import SimpleNamespace
        >>> from simulacrum.render import frame
        >>> from simulacrum.spec import Package
        >>> package = Package.read("envs/toywalk")
        >>> state = SimpleNamespace(position=2, t=3)
        >>> frame(package.module("render"), state, "ansi")
        '|. . . . . . . A . . G|  position +2  step 3/60'
        >>> image = frame(package.reference, state, "rgb_array")
        >>> image.shape, image.dtype
        ((54, 280, 3), dtype('uint8'))
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
    """The names of the options that a ``render`` module's function for a mode takes; for ``ansi`` ``render_text``'s.

    Raises :class:`~simulacrum.errors.PackageError` for a form that the package does not have, KeyError for another
    mode.

    Example:
        >>> from simulacrum.render import options_of
        >>> from simulacrum.spec import Package
        >>> options_of(Package.read("envs/snake").module("render"), "ansi")
        ['colour', 'around', 'view']
    """
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
    """A pygame window where pygame and a display are there, else the terminal, which gets text frames.

    Args:
        title: the window's.
        fps: how many frames a second the window shows at most: ``show`` waits. The terminal does not wait.
        options: as of :func:`frame`. The terminal has ``colour`` where :func:`coloured` says so.
    """
    if window_possible():
        return Window(title, fps, functools.partial(frame, **options))
    return Terminal(functools.partial(frame, **{COLOUR: coloured(sys.stdout), **options}))
