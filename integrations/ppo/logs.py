"""What a run shows and writes: a bar on a terminal, plain lines in a log, a CSV file, and TensorBoard's where it is
installed."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column

PATIENCE = 10.0  # seconds between two lines of a log


def words(row: dict[str, float]) -> str:
    """One line for a row."""
    split = " ".join(f"{name} {row[name]:.0%}" for name in ("simulate", "policy", "learn"))
    ended = "" if row["return"] != row["return"] else f"return {row['return']:.3f}  "
    return (
        f"{row['frames']:,} steps  {ended}reward {row['reward']:+.4f}  entropy {row['entropy']:.2f}  "
        f"{row['steps_per_second']:,.0f} steps/s ({split})"
    )


class Display:
    """Shows rows as they come: a bar on a terminal, elsewhere a line every ``patience`` seconds. A context."""

    def __init__(self, console: Console, total: int, patience: float = PATIENCE) -> None:
        self.console, self.patience = console, patience
        self._shown = -patience  # so that the first row is
        said = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=False))
        columns = (BarColumn(20), TaskProgressColumn(), TimeRemainingColumn(), said)
        on_screen = console.is_terminal and not console.is_dumb_terminal
        self._bar = Progress(*columns, console=console, expand=True) if on_screen else None
        self._task = None if self._bar is None else self._bar.add_task("", total=total)

    def __enter__(self) -> Display:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, row: dict[str, float]) -> None:
        """A row of :meth:`ppo.trainer.Trainer.iterate`."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=row["frames"], description=words(row))
        elif time.monotonic() - self._shown >= self.patience:
            self._shown = time.monotonic()
            self.console.print(words(row), highlight=False, soft_wrap=True)


class Logs:
    """Rows in ``log.csv`` of a folder, and as TensorBoard scalars where ``tensorboard`` is installed. A context.

    A run that goes on from iteration ``after`` keeps the rows up to there: what came later is made again.
    """

    def __init__(self, folder: Path, after: int = 0) -> None:
        self.path = folder / "log.csv"
        kept = self._rows(after) if after and self.path.exists() else []
        self._file = self.path.open("w", newline="")
        self._csv: Any = None
        for row in kept:
            self._write(row)
        self._board = _board(folder, after)

    def _rows(self, after: int) -> list[dict[str, Any]]:
        with self.path.open(newline="") as file:
            return [row for row in csv.DictReader(file) if row["iteration"] and int(row["iteration"]) <= after]

    def _write(self, row: dict[str, Any]) -> None:
        if self._csv is None:
            self._csv = csv.DictWriter(self._file, list(row))
            self._csv.writeheader()
        self._csv.writerow(row)

    def add(self, row: dict[str, float]) -> None:
        """Write a row."""
        self._write({name: value if isinstance(value, int) else f"{value:.6g}" for name, value in row.items()})
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name, value, int(row["frames"]))

    def flush(self) -> None:
        """See to it that what was written is on disk."""
        self._file.flush()
        if self._board is not None:
            self._board.flush()

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _board(folder: Path, after: int) -> Any:
    """TensorBoard's writer, or None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), filename_suffix=f".{after}")
