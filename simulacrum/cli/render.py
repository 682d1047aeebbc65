"""``simulacrum render``: a trajectory, two of them, or a finding, played back or written. No implementation runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ..errors import SimulacrumError
from ..render import film
from ..render.placing import placed
from ..render.terminal import TerminalScreen
from ..render.text import printable
from ..viewer import Player, show
from .codes import PASSED
from .counting import Counting
from .footage import Footage
from .signals import interruptible


def render(arguments: argparse.Namespace) -> int:
    """Show or write every state of a file; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a file that is no trajectory, or not of a known package, and
    for what cannot be drawn or written; then, and when it is interrupted, no part of a file is left.
    """
    target = _target(arguments)
    playing = target is None and _on_terminal()
    with interruptible(), ExitStack() as stack:
        footage = Footage(arguments, stack, by_number=playing)
        if arguments.to != "text":
            assert target is not None
            _film(footage, arguments, target)
        elif target is not None:
            _text(footage, target)
        elif playing:
            _play(footage, arguments.fps)
        else:
            for text in _texts(footage):
                print(text, flush=True)
    return PASSED


def _play(footage: Footage, fps: float) -> None:
    """Play it on the terminal. What ended the file before its end is raised when the viewer has left."""
    assert footage.reel is not None
    player, drawer = Player(footage.reel, fps), footage.drawer()
    with TerminalScreen() as screen:
        show(player, drawer, screen)
    if footage.reel.error is not None:
        raise footage.reel.error


def _film(footage: Footage, arguments: argparse.Namespace, target: Path) -> None:
    def images() -> Iterator[np.ndarray]:
        for shot in footage.shots():
            yield footage.drawer().image(shot)

    with Counting("frames written", footage.count) as counting:

        def told(count: int) -> None:
            counting(count)
            if arguments.to == "gif" and count == film.LONG_GIF + 1:
                counting.say(f"simulacrum: a GIF of more than {film.LONG_GIF} frames is slow to show: --to mp4 is not")

        count = film.write(images, arguments.to, target, arguments.fps, told)
    print(printable(f"{count} frames in {target}"))


def _text(footage: Footage, target: Path) -> None:
    """Write the frames as text into a file, which appears when it is whole."""
    count = 0
    with (
        placed(target) as work,
        Counting("frames written", footage.count) as counting,
        work.open("w", encoding="utf-8") as stream,
    ):
        for count, text in enumerate(_texts(footage), 1):
            stream.write(text + "\n")
            counting(count)
    print(printable(f"{count} frames in {target}"))


def _texts(footage: Footage) -> Iterator[str]:
    """All shots as text, an empty line after each."""
    for shot in footage.shots():
        yield footage.drawer().text(shot) + "\n"


def _target(arguments: argparse.Namespace) -> Path | None:
    """Where the output goes; None for stdout. Raises SimulacrumError, before anything is read, for a bad place."""
    if arguments.to == "text":
        if arguments.matplotlib:
            raise SimulacrumError("--matplotlib: expected --to png, gif or mp4 with it, got text")
        if arguments.output is None:
            return None
    stem = arguments.file.name.split(".")[0]
    if arguments.beside is not None:
        stem += f"-beside-{arguments.beside.name.split('.')[0]}"
    target: Path = arguments.output or arguments.file.with_name(
        f"{stem}-frames" if arguments.to == "png" else f"{stem}.{arguments.to}"
    )
    if arguments.to in ("gif", "mp4") and target.suffix != f".{arguments.to}":
        raise SimulacrumError(f"--output: expected a name that ends with .{arguments.to}, got {target}")
    film.check(arguments.to, target, arguments.fps)
    return target


def _on_terminal() -> bool:
    """Whether there is a terminal that can be played on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and sys.platform != "win32"
