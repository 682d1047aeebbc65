"""``simulacrum play``: a person steers one agent, in a window or in the terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..errors import SimulacrumError
from ..harness.gate import admit
from ..play import Game, Screen, run
from ..registry import resolve
from ..render import window_possible
from ..spec import Package
from ..trajectory.writing import kind_of
from .codes import PASSED
from .signals import interruptible


def play(arguments: argparse.Namespace) -> int:
    """Play until the player leaves; the exit code. An interruption (Ctrl-C, a signal) saves as well, and then goes on
    as :class:`KeyboardInterrupt`.

    Raises :class:`~simulacrum.errors.SimulacrumError` for what cannot be played, shown or saved.
    """
    file = None if arguments.save is None else _free(arguments.save)
    package = _package(arguments.target, arguments.config, arguments.unvalidated)
    title = f"{package.environment.id}{f' {package.config}' if package.config else ''}"
    screen = _screen(title, arguments.terminal)
    with Game(package, seed=arguments.seed, agent=arguments.agent, policy=arguments.policy, file=file) as game:
        try:
            with interruptible(), screen:
                run(game, screen, arguments.fps)
        finally:
            if file is not None:
                print(f"Saved {game.save()}", file=sys.stderr)
    return PASSED


def _package(target: str, config: str | None, unvalidated: bool) -> Package:
    if unvalidated:
        return Package.read(resolve(target)).configured(config)
    return admit(target, form=None, config=config)


def _screen(title: str, terminal: bool) -> Any:
    """The screen that is there; a context manager that is a :class:`~simulacrum.play.Screen`."""
    screen: Screen
    if not terminal and window_possible():
        from ..play.window import WindowScreen

        screen = WindowScreen(title)
    else:
        from ..play.terminal import TerminalScreen

        screen = TerminalScreen()
    return screen


def _free(file: Path) -> Path:
    """A file that can be written. Raises SimulacrumError before a game is played for nothing."""
    kind_of(file)
    if file.exists():
        raise SimulacrumError(f"--save: {file} exists already: expected a file that does not")
    if not file.parent.is_dir():
        raise SimulacrumError(f"--save: {file}: there is no folder {file.parent}")
    return file
