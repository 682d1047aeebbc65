"""``simulacrum pick``: the episodes of trajectory files that are worth a look."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..errors import SimulacrumError
from ..trajectory import picker
from ..trajectory.picker import Mark, Summary
from .codes import PASSED
from .packages import Packages
from .signals import interruptible

PATIENCE = 10.0  # seconds between two lines of a log that say how far it is
COUNT = 5  # how many of an order are shown where --count is not given
NAMED = 5  # how many files that were passed over are named
NUMBERS = ("in file", "seed", "episode", "steps", "return", "score")  # columns
WIDE = 1000  # columns of what is no terminal: nothing is wrapped there

Pick = Callable[[list[Summary], argparse.Namespace], list[Summary]]
PICKS: dict[str, Pick] = {
    "worst": lambda found, given: picker.worst(found, given.count or COUNT),
    "best": lambda found, given: picker.best(found, given.count or COUNT),
    "longest": lambda found, given: picker.longest(found, given.count or COUNT),
    "shortest": lambda found, given: picker.shortest(found, given.count or COUNT),
    "score": lambda found, given: picker.highest(_scored(found, given.scores), given.count or COUNT),
    "sample": lambda found, given: picker.sample(found, given.count or COUNT, given.seed),
    "cause": lambda found, given: picker.causes(found)[: given.count],
    "broken": lambda found, given: picker.broken(found)[: given.count],
    "findings": lambda found, given: picker.marked(found, _marks(given.findings))[: given.count],
    "all": lambda found, given: found[: given.count],
}
NEEDED = {"score": "scores", "findings": "findings"}


def pick(arguments: argparse.Namespace) -> int:
    """List the episodes that are asked for, and write them where a folder is named; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError`: no trajectory, no package for one, scores that do not fit, a
    folder that is in use. Nothing is written then, nor when it is interrupted.
    """
    with interruptible():
        return _pick(arguments)


def _pick(arguments: argparse.Namespace) -> int:
    _check(arguments)
    passed: list[Path] = []
    with _Progress(Console(stderr=True, emoji=False)) as progress:
        packages = Packages(arguments.package)
        found = list(picker.summaries(arguments.paths, packages, progress, passed.append))
    _tell(found, passed)
    if not progress.total - len(passed):
        raise SimulacrumError(f"no trajectory file in {', '.join(map(str, arguments.paths))}")
    picked = PICKS[arguments.by](found, arguments)
    files = picker.split(picked, arguments.output) if arguments.output and picked else []
    _show(picked, files, arguments)
    print(f"{len(picked)} of {len(found)} episodes in {progress.total - len(passed)} files")
    if files:
        print(f"written to {_printable(arguments.output)}")
    return PASSED


def _check(arguments: argparse.Namespace) -> None:
    for by, name in NEEDED.items():
        value = getattr(arguments, name)
        if (arguments.by == by) != (value is not None):
            raise SimulacrumError(f"--by {by} and --{name} go together: give both, or neither")
    target = arguments.output
    if target is not None and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SimulacrumError(f"{target} is not empty: name another folder by --output DIR")


def _scored(found: list[Summary], file: Path) -> list[Summary]:
    return picker.scored(found, picker.read_scores(file), str(file))


def _marks(folder: Path) -> list[Mark]:
    """The episodes that findings name."""
    from ..harness import findings

    files = [file for file in sorted(folder.glob("*.json")) if file.is_file()] if folder.is_dir() else [folder]
    read = {file: findings.read(file) for file in files}
    marks = [
        Mark(one.id, one.finding.seed, one.finding.episode, file.name)
        for file, one in read.items()
        if one.finding.seed is not None and one.finding.episode is not None
    ]
    if len(marks) < len(read) or not read:
        print(f"simulacrum: {len(marks)} of {len(read)} findings in {folder} name an episode", file=sys.stderr)
    return marks


def _tell(found: Sequence[Summary], passed: Sequence[Path]) -> None:
    """Say which files were not read, and which not wholly."""
    for file in passed[:NAMED]:
        print(f"simulacrum: {_printable(file)}: passed over: JSON, but no trajectory", file=sys.stderr)
    if len(passed) > NAMED:
        print(f"simulacrum: and {len(passed) - NAMED} more like it", file=sys.stderr)
    for text in dict.fromkeys(one.cut_off for one in found if one.cut_off):
        print(f"simulacrum: {_printable(text)}", file=sys.stderr)


def _show(picked: Sequence[Summary], files: Sequence[Path], arguments: argparse.Namespace) -> None:
    """A table of what was picked, and below it the commands to look at each."""
    if not picked:
        return
    console = Console(emoji=False)
    if not console.is_terminal:
        console = Console(width=WIDE, emoji=False)
    table = Table(box=None, pad_edge=False)
    columns = ["file", "in file", "seed", "episode", "steps", "return", "ended"]
    columns += [
        name for name in ("score", "broken", "note") if any(getattr(one, name) not in (None, "") for one in picked)
    ]
    if len({one.id for one in picked}) > 1:
        columns.insert(2, "id")
    for name in columns:
        table.add_column(name, justify="right" if name in NUMBERS else "left")
    for one in picked:
        table.add_row(*(Text(_printable(_cell(one, name))) for name in columns))
    console.print(table)
    print()
    option = f" --package {shlex.quote(arguments.package)}" if arguments.package else ""
    for number, one in enumerate(picked):
        file, episode = (files[number], "") if files else (one.file, f" --episode {one.number}")
        command = f"simulacrum render {shlex.quote(str(file))}{episode}{option}"
        shown = _printable(command)
        # What a terminal cannot show cannot be typed: the name as it is shown is not the file's.
        print(command if command == shown else f"# no command for {_printable(file)}: its name cannot be typed")
    print()


def _cell(one: Summary, name: str) -> str:
    if name == "in file":
        return str(one.number)
    if name == "return":
        return f"{one.return_:.6g}"
    if name == "score":
        return f"{one.score:.6g}"
    if name == "ended":
        return ", ".join(one.kinds)
    if name == "broken":
        return f"{one.broken.invariant} at t = {one.broken.t}" if one.broken else ""
    return str(getattr(one, name))


def _printable(value: str | os.PathLike[str]) -> str:
    """A text that stdout can take, of one line: file names may have control characters, and bytes that are no text."""
    text = "".join(one if one.isprintable() else repr(one)[1:-1] for one in os.fspath(value))
    return text.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode(sys.stdout.encoding or "utf-8")


class _Progress:
    """How many files were read, of how many: a bar on a terminal, a line at times in a log."""

    def __init__(self, console: Console) -> None:
        self.total = 0
        self._console, self._told = console, time.monotonic()
        self._bar: Progress | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            columns = TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task("reading", total=None)

    def __call__(self, done: int, total: int) -> None:
        self.total = total
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
        elif time.monotonic() - self._told > PATIENCE:
            self._told = time.monotonic()
            self._console.print(f"{done} of {total} files read", soft_wrap=True)

    def __enter__(self) -> _Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
