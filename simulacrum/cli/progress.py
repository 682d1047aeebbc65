"""What is shown while a battery runs: a line for each finished check; a bar on a terminal, a line at times in a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from ..harness.report import CheckResult
from ..harness.report_views import STYLES

PATIENCE = 30.0  # seconds after which a log says that a check is still running


def display(console: Console, names: Sequence[str], patience: float = PATIENCE) -> Display:
    """A display for a terminal or for a log: use it as a context, give it what the battery reports."""
    on_screen = console.is_terminal and not console.is_dumb_terminal
    return Bar(console, names) if on_screen else Log(console, names, patience)


class Display:
    """Prints a line for each finished check; what it shows of a running one is a subclass's."""

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self.console, self.names = console, tuple(names)
        self.count = 0

    @property
    def running(self) -> str:
        """The check that runs now, with its number."""
        name = self.names[min(self.count, len(self.names) - 1)]
        return f"{name} ({min(self.count + 1, len(self.names))} of {len(self.names)})"

    def progress(self, name: str, share: float) -> None:
        """How much of a check is done, 0 to 1."""

    def finished(self, result: CheckResult) -> None:
        """A check has ended."""
        self.count += 1
        line = f"{result.outcome:<15} {result.name:<26} {result.seconds:8.1f} s"
        self.console.print(Text(line, STYLES.get(result.outcome, "")), soft_wrap=True)

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Bar(Display):
    """A bar below the lines, for the check that runs now."""

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        super().__init__(console, names)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(self.running, total=1.0)

    def progress(self, name: str, share: float) -> None:
        """Move the bar."""
        self._bar.update(self._task, completed=share)

    def finished(self, result: CheckResult) -> None:
        """Print the line, and begin the next check's bar."""
        super().finished(result)
        self._bar.reset(self._task, total=1.0, description=self.running)

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class Log(Display):
    """A line whenever a check has run for another ``patience`` seconds."""

    def __init__(self, console: Console, names: Sequence[str], patience: float) -> None:
        super().__init__(console, names)
        self._patience, self._share, self._began = patience, 0.0, time.monotonic()
        self._news, self._over = threading.Event(), False
        self._watcher = threading.Thread(target=self._watch, name="simulacrum-progress", daemon=True)

    def progress(self, name: str, share: float) -> None:
        """Note the share for the next line."""
        self._share = share

    def finished(self, result: CheckResult) -> None:
        """Print the line, and begin to wait anew."""
        super().finished(result)
        self._share, self._began = 0.0, time.monotonic()
        self._news.set()

    def _watch(self) -> None:
        while not self._over:
            if self._news.wait(self._patience):
                self._news.clear()
                continue
            seconds = time.monotonic() - self._began
            self.console.print(f"{'':<15} {self.running}: {self._share:.0%} after {seconds:.0f} s", soft_wrap=True)

    def __enter__(self) -> Log:
        self._began = time.monotonic()
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._news.set()
        self._watcher.join()
