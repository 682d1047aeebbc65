"""``simulacrum render``: a trajectory file as text or as PNG frames. No implementation runs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from ..errors import PackageError, SimulacrumError
from ..registry import resolve
from ..render import COLOUR, coloured, frame, options_of
from ..render.png import png
from ..spec import Package
from ..trajectory import End, First, Metadata, Step, events
from ..trajectory.values import as_arrays
from .codes import PASSED

HOME = "\x1b[H\x1b[J"


class Moment(NamedTuple):
    """One frame: what led to its state, in words, and the state as renderers take it."""

    title: str
    state: Any


def render(arguments: argparse.Namespace) -> int:
    """Show or write every state of a file; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a file that is no trajectory, or not of a known package.
    """
    if arguments.to == "png":
        return _write(arguments)
    animated = sys.stdout.isatty()
    for number, (renderer, moment) in enumerate(_moments(arguments)):
        text = _drawn(renderer, moment.state, "ansi", arguments)
        if animated and number:
            time.sleep(1 / arguments.fps)
        print(f"{HOME if animated else ''}{moment.title}\n{text}" + ("" if animated else "\n"), flush=True)
    return PASSED


def _write(arguments: argparse.Namespace) -> int:
    folder = arguments.output or arguments.file.with_name(f"{arguments.file.name.split('.')[0]}-frames")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SimulacrumError(f"{folder} is not empty: name another folder by --output DIR")
    number = -1
    for number, (renderer, moment) in enumerate(_moments(arguments)):
        image = _drawn(renderer, moment.state, "rgb_array", arguments)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:06d}.png").write_bytes(png(image))
    print(f"{number + 1} frames in {folder}")
    return PASSED


def _moments(arguments: argparse.Namespace) -> Iterator[tuple[ModuleType, Moment]]:
    """The states of a file with the renderer of its package."""
    found: list[Package] = []
    for part in events(arguments.file, _finder(arguments.package, found)):
        if isinstance(part, (First, Step)):
            state = as_arrays(found[0], part.state)
            yield found[0].module("render"), Moment(_title(part), state)
        elif isinstance(part, End) and part.cut_off:
            print(f"simulacrum: {part.cut_off}", file=sys.stderr)


def _finder(target: str | None, found: list[Package]) -> Callable[[Metadata], Package]:
    """What finds the package of a file: by name where one is given, else by the ID in the file."""

    def find(metadata: Metadata) -> Package:
        try:
            folder = resolve(target or metadata.id)
        except PackageError as error:
            raise PackageError(f"{error}\nor name the package to render it with: --package PATH") from None
        found.append(Package.read(folder).configured(metadata.configuration))
        return found[0]

    return find


def _title(part: First | Step) -> str:
    if isinstance(part, First):
        return f"seed {part.seed}  episode {part.episode}  first state"
    end = "  terminated" if part.terminated else "  truncated" if part.truncated else ""
    reward = f"{sum(part.reward):.6g} (the sum)" if isinstance(part.reward, list) else f"{part.reward:.6g}"
    action = "" if isinstance(part.action, list) and len(part.action) > 8 else f"  action {part.action}"
    return f"episode {part.episode}  after step {part.t}{action}  reward {reward}{end}"


def _drawn(renderer: ModuleType, state: Any, mode: str, arguments: argparse.Namespace) -> Any:
    """A frame with the options that were given. Raises SimulacrumError for what the renderer does not take."""
    given = {name: getattr(arguments, name) for name in ("around", "cell") if getattr(arguments, name) is not None}
    for name in given:
        if name not in options_of(renderer, mode):
            raise SimulacrumError(f"--{name}: {renderer.__file__} does not take it for {arguments.to}")
    try:
        return frame(renderer, state, mode, **{COLOUR: coloured(sys.stdout), **given})
    except ValueError as error:
        raise SimulacrumError(f"{renderer.__file__}: {error}") from None
