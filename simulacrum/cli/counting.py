"""How far something has come that is counted: a bar on a terminal, a line at times in a log."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

PATIENCE = 30.0  # seconds between two lines of a log


class Counting:
    """Shows a number on stderr; a context manager, called with the number as it grows.

    Args:
        what: what is counted: ``frames written``.
        total: how many there will be, where that is known.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self._what, self._total = what, total
        self._console = Console(file=sys.stderr, highlight=False, emoji=False)
        self._latest = time.monotonic()
        self._bar: Progress | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task(self._words(0), total=total)

    def __call__(self, count: int) -> None:
        """So many there are now."""
        if self._bar is not None:
            self._bar.update(self._task, completed=count, description=self._words(count))
        elif time.monotonic() - self._latest > PATIENCE:
            self._latest = time.monotonic()
            self.say(self._words(count))

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self._console.print(text, soft_wrap=True, markup=False)

    def __enter__(self) -> Counting:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _words(self, count: int) -> str:
        return f"{count:,}{'' if self._total is None else f' of {self._total:,}'} {self._what}"
