"""``Footage``: what ``simulacrum render`` shows: one trajectory, two, or a finding; and what draws it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import SimulacrumError
from ..harness.report_page.reading import LARGEST, IrregularError, opened
from ..registry import resolve
from ..render import FIGURE, coloured
from ..spec import Package
from ..trajectory import Metadata
from ..viewer import Alone, Beside, Drawer, Moment, Reel, Shot, Tape, alone, moments, of_finding
from .codes import say
from .counting import Counting
from .packages import Packages

OPTIONS = ("around", "cell")
HEAD = 4096  # bytes of a trajectory in which its metadata begin


class Footage:
    """The shots of the files that were named.

    Args:
        arguments: of the command.
        stack: closes what is opened, and then says what is left to say.
        by_number: whether any shot is to be had by its number, and not only one after the other.

    Attributes:
        reel: the shots by number; None where they only come one after the other.
    """

    def __init__(self, arguments: argparse.Namespace, stack: ExitStack, by_number: bool) -> None:
        self._arguments, self._stack = arguments, stack
        self._packages = Packages(arguments.package)
        self._found: list[Package] = []  # the package, once something of it was read
        self._told: set[str] = set()
        self._drawer: Drawer | None = None
        self.reel: Reel | None = None
        if is_finding(arguments.file):
            self.reel = self._finding()
        elif arguments.beside is not None:
            self.reel = self._beside()
        elif by_number:
            tape = self._tape(arguments.file)
            if not tape.read():
                raise tape.error or SimulacrumError(f"{arguments.file}: there is nothing in it to show")
            self.reel = Alone(tape, self._found, arguments.around)

    @property
    def count(self) -> int | None:
        """How many shots there are, where that is known."""
        return len(self.reel) if self.reel is not None and self.reel.whole else None

    def shots(self) -> Iterator[Shot]:
        """All shots, from the first one on."""
        if self.reel is not None:
            yield from (self.reel[number] for number in range(len(self.reel)))
            return
        for moment in self._moments(self._arguments.file):
            yield alone(self._found[0], moment, self._arguments.around)

    def drawer(self) -> Drawer:
        """What draws the shots, the first of which was read. Raises as :meth:`Drawer.check`."""
        if self._drawer is None:
            given = self._arguments
            options = {name: value for name in OPTIONS if (value := getattr(given, name)) is not None}
            form = FIGURE if given.matplotlib else "rgb_array"
            colour = given.output is None and coloured(sys.stdout)
            self._drawer = Drawer(self._found[0].module("render"), form, colour, options)
            self._drawer.check("ansi" if given.to == "text" else form)
        return self._drawer

    def _moments(self, file: Path) -> Iterator[Moment]:
        return moments(file, self._find, self._arguments.episode, self._say)

    def _find(self, metadata: Metadata) -> Package:
        package = self._packages(metadata)
        if self._found and (package.environment.id, package.config) != _of(self._found[0]):
            raise SimulacrumError(f"--beside: expected a trajectory of {_name(self._found[0])}, got {_name(package)}")
        self._found[:] = [package]
        return package

    def _tape(self, file: Path) -> Tape:
        tape = Tape(self._moments(file))
        self._stack.callback(tape.close)
        return tape

    def _beside(self) -> Reel:
        files = self._arguments.file, self._arguments.beside
        tapes = self._tape(files[0]), self._tape(files[1])
        with Counting("states read") as counting:
            read = 0
            for tape in tapes:
                for count in tape.read_all():
                    counting(read + count)
                read += len(tape)
        reel = Beside(self._found[0], tapes, _names(*files), self._arguments.around)
        if reel.left_out:
            self._say(f"left out are the episodes that are in one file alone: {reel.left_out}")
        if reel.stopped:
            self._say(f"one side stops before the other, and tells no end of the episode: {reel.stopped}")
        return reel

    def _finding(self) -> Reel:
        from ..harness.findings import read
        from ..harness.scenes import scenes
        from .explain import package_beside

        given = self._arguments
        for name in ("beside", "episode"):
            if getattr(given, name) is not None:
                raise SimulacrumError(f"--{name}: expected a trajectory for it, got a finding, {given.file}")
        saved = read(given.file)
        package = package_beside(given.file, saved) if given.package is None else Package.read(resolve(given.package))
        world, found = scenes(package, saved, given.file)
        if not any(scene.reference or scene.fast for scene in found):
            raise SimulacrumError(
                f"{given.file}: /moments: expected states to draw, got none: simulacrum explain tells it"
            )
        self._found[:] = [world]
        return of_finding(found)

    def _say(self, text: str) -> None:
        """Say something on stderr, once, and when the terminal was given back."""
        if text not in self._told:
            self._told.add(text)
            self._stack.callback(say, f"simulacrum: {text}")


def is_finding(file: Path) -> bool:
    """Whether a file is a finding of validate, and no trajectory. Raises SimulacrumError for a device or a pipe."""
    if not file.name.endswith(".json"):
        return False
    try:
        with opened(file) as stream:
            head = stream.read(HEAD)
            if b'"metadata"' in head:
                return False
            rest = stream.read(LARGEST - len(head) + 1)
            content: Any = json.loads(head + rest) if len(head) + len(rest) <= LARGEST else None
    except ValueError as error:
        if isinstance(error, IrregularError):
            raise SimulacrumError(f"{file}: expected a trajectory or a finding: {error}") from None
        return False
    except RecursionError:
        return False
    return isinstance(content, dict) and {"finding", "case"} <= content.keys()


def _of(package: Package) -> tuple[str, str | None]:
    return package.environment.id, package.config


def _name(package: Package) -> str:
    return package.environment.id + (f" in the configuration {package.config}" if package.config else "")


def _names(one: Path, other: Path) -> tuple[str, str]:
    """What two files are called: by their names alone where these differ."""
    return (one.name, other.name) if one.name != other.name else (str(one), str(other))
