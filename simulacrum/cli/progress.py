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
        self.shares: dict[str, float] = {}  # of the checks that run now

    @property
    def running(self) -> str:
        """The checks that run now, each with its share, and how many have ended."""
        now = ", ".join(f"{name} {share:.0%}" for name, share in self.shares.copy().items())
        return f"{now or 'beginning'} ({self.count} of {len(self.names)} checks done)"

    @property
    def share(self) -> float:
        """How much of the battery is done, each check taken alike."""
        return min(1.0, (self.count + sum(self.shares.copy().values())) / max(1, len(self.names)))

    def progress(self, name: str, share: float) -> None:
        """How much of a check is done, 0 to 1."""
        self.shares[name] = share

    def finished(self, result: CheckResult) -> None:
        """A check has ended."""
        self.count += 1
        self.shares.pop(result.name, None)
        line = f"{result.outcome:<15} {result.name:<26} {result.seconds:8.1f} s"
        self.console.print(Text(line, STYLES.get(result.outcome, "")), soft_wrap=True)

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Bar(Display):
    """A bar below the lines, for the battery, with the checks that run now."""

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
        super().progress(name, share)
        self._bar.update(self._task, completed=self.share, description=self.running)

    def finished(self, result: CheckResult) -> None:
        """Print the line, and move the bar."""
        super().finished(result)
        self._bar.update(self._task, completed=self.share, description=self.running)

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class Log(Display):
    """A line whenever no check has ended for another ``patience`` seconds."""

    def __init__(self, console: Console, names: Sequence[str], patience: float) -> None:
        super().__init__(console, names)
        self._patience, self._began = patience, time.monotonic()
        self._news, self._over = threading.Event(), False
        self._watcher = threading.Thread(target=self._watch, name="simulacrum-progress", daemon=True)

    def finished(self, result: CheckResult) -> None:
        """Print the line, and begin to wait anew."""
        super().finished(result)
        self._news.set()

    def _watch(self) -> None:
        while not self._over:
            if self._news.wait(self._patience):
                self._news.clear()
                continue
            seconds = time.monotonic() - self._began
            self.console.print(f"{'':<15} {self.running} after {seconds:.0f} s", soft_wrap=True)

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
