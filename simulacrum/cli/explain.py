"""``simulacrum explain``: a finding's case, replayed: both sides step by step, and the first difference."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import bits
from ..errors import PackageError
from ..harness.case import Case
from ..harness.case_fits import check_fit
from ..harness.findings import Saved, rules_of, with_draws
from ..harness.findings import read as read_finding
from ..harness.hints import hint, outcomes
from ..harness.playback import AFTER_STEP, NEXT_FIRST, Moment, Replay
from ..registry import resolve
from ..render.text import printable
from ..spec import Package
from .codes import FINDINGS, PASSED
from .validate import load

SHOWN = 12  # moments of a long case: the first, and the last ones
HEADER = ("field", "reference", "fast", "")
Drawn = dict[tuple[str, int], Any]  # outcomes by slot and index
FIRST_DIFFERENCE, DIFFERS = "<- the first difference", "<- differs"


def explain(file: str, package: str | None = None) -> int:
    """Replay a finding's case on its package as it is now and print what both sides do; the exit code.

    Args:
        file: what validate wrote.
        package: a path, a name or an ID of the package to replay it on; by default the one beside whose ``failures/``
            the file lies, or else the one that it names, if that is still the same.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a file that is none, a package that cannot be found or
    loaded, and a case that does not fit it.
    """
    saved = read_finding(Path(file))
    found = package_beside(Path(file), saved) if package is None else Package.read(resolve(package))
    load(found)
    check_fit(found, saved.case)
    console = Console(file=sys.stdout, highlight=False, emoji=False)
    _say(console, saved.finding.text())
    _say(console, f"\n{_opening(found, saved)}")
    shown = with_draws(found, saved.case)
    _show(console, saved.case.world(found), saved.case, shown)
    return _end(console, found, saved, shown)


def package_beside(file: Path, saved: Saved) -> Package:
    """The package beside which the file lies, or else the one that it names: read, and nothing of it imported.

    A file cannot have any code run: what it names must be what it was found in, byte for byte.
    """
    beside = file.resolve().parent.parent
    if (beside / "spec.md").is_file():
        return Package.read(beside)
    advice = f"name the package to replay it on: simulacrum explain {shlex.quote(str(file))} --package PATH"
    try:
        package = Package.read(saved.path)
    except PackageError as error:
        raise PackageError(f"{error}\n{advice}") from None
    if package.digest != saved.digest:
        raise PackageError(
            f"{file}: expected it in the failures/ of its package, or that package unchanged: {saved.path} has the "
            f"digest {package.digest[:16]}, the file {saved.digest[:16]}\n{advice}"
        )
    return package


def _opening(package: Package, saved: Saved) -> str:
    """What is replayed, on what."""
    case = saved.case
    steps = f"{case.steps} transition{'' if case.steps == 1 else 's'}"
    rows = f"{case.rows} row{'' if case.rows == 1 else 's'}"
    start = "from an injected state" if case.starts is not None else "from a reset"
    ways = [f"{name}={value}" for name, value in {**case.options, **case.constants}.items()]
    fused = "step_and_maybe_reset" if case.fused else "step, then reset"
    form = fused if case.form == "bare" else case.form
    now = "as it was when this was found" if package.digest == saved.digest else "CHANGED since this was found"
    return (
        f"Replaying {steps} of {rows} {start} ({', '.join([form, *ways])})\n"
        f"on {package.environment.id} ({package.path}), {now}"
    )


def _show(console: Console, package: Package, case: Case, shown: Replay) -> None:
    """The moments up to the difference, each as a table."""
    moments = shown.moments[: shown.before + 1]
    told = [one for one in moments if one.when != NEXT_FIRST or _ended(one, moments) or one is moments[-1]]
    if len(told) > SHOWN:
        _say(console, f"\n({len(told) - SHOWN} of {len(told)} moments are left out after the first)")
        told = [told[0], *told[1 - SHOWN :]]
    row = int(case.watched_rows[0]) if shown.divergence is None else shown.divergence.row
    for moment in told:
        _say(console, f"\n{_title(case, moment, row)}")
        drawn = [outcomes(package, moment.draws[side], row) for side in ("reference", "fast")]
        for slot, line in _draws(*drawn):
            stated = package.spec.slots.get(slot)
            later = moment.when == AFTER_STEP and stated is not None and stated.phase == "reset"
            _say(console, f"  drew {line}{', for the reset that follows' if later else ''}")
        first = shown.divergence.field if shown.divergence is not None and moment is moments[-1] else None
        _show_rows(console, _rows(moment, int(np.argmax(case.watched_rows == row)), first))


def _ended(moment: Moment, moments: list[Moment]) -> bool:
    """Whether an episode ended in the step that a moment belongs to."""
    steps = [one for one in moments if one.step == moment.step and one.when == AFTER_STEP]
    return any(bool((one.reference["terminated"] | one.reference["truncated"]).any()) for one in steps)


def _title(case: Case, moment: Moment, row: int) -> str:
    """Which moment it is, and what was done."""
    if moment.when == AFTER_STEP:
        assert case.actions is not None
        return f"transition {moment.step}: action {bits.shown(case.actions[moment.step - 1, row])}"
    return f"transition {moment.step}: {moment.when}" if moment.step else moment.when


def _draws(reference: Drawn, fast: Drawn) -> list[tuple[str, str]]:
    """Each draw's slot, and the draw with its index and outcome; both outcomes where the sides drew otherwise."""
    lines = []
    for slot, index in dict.fromkeys([*reference, *fast]):
        one, other = (side.get((slot, index), "not drawn") for side in (reference, fast))
        same = one == other or not fast  # those of a compiled graph are not noted
        told = f"{slot}[{index}] = {one}" if same else f"{slot}[{index}]: reference {one}, fast {other}"
        lines.append((slot, told))
    return lines


def _rows(moment: Moment, place: int, first: str | None) -> list[tuple[str, str, str, str]]:
    """A row for each field: its name, both sides' values, and whether they differ."""
    rows = []
    for name in dict.fromkeys([*moment.reference, *moment.fast]):
        values = [record[name][place] for record in (moment.reference, moment.fast) if name in record]
        if len(values) == 2 and not bits.same(*values):
            rows.append((name, *bits.pair_shown(*values), FIRST_DIFFERENCE if name == first else DIFFERS))
        else:
            one, other = (bits.shown(values[0]) if name in side else "-" for side in (moment.reference, moment.fast))
            rows.append((name, one, other, FIRST_DIFFERENCE if name == first else ""))
    return rows


def _show_rows(console: Console, rows: list[tuple[str, str, str, str]]) -> None:
    """A table on a terminal, aligned lines in a log."""
    if console.is_terminal:
        console.print(_table(rows))
        return
    widths = [max(len(row[column]) for row in [HEADER, *rows]) for column in range(3)]
    for row in [HEADER, *rows]:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        _say(console, f"  {cells}  {row[3]}".rstrip())


def _table(rows: list[tuple[str, str, str, str]]) -> Table:
    table = Table(*HEADER)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row), style="bold red" if row[3] else "")
    return table


def _end(console: Console, package: Package, saved: Saved, shown: Replay) -> int:
    """What the replay came to; the exit code."""
    found = shown.divergence
    if found is None:
        _say(console, "\nBoth sides agree now.")
        _say(console, f"Whether the check passes, its own command tells: {saved.finding.replay}")
        return PASSED
    reference, fast = found.texts()
    what = found.error or f"the first difference, {found.field}: reference {reference}, fast {fast}"
    _say(console, f"\nStill so: row {found.row}, {found.when}: {what}")
    told = saved.finding
    for name, text, before in (
        ("hint", hint(package, saved.case, shown), told.hint),
        ("rule", rules_of(package, shown), told.rule),
    ):
        if text and text != before:
            _say(console, f"{name}: {text}")
    return FINDINGS


def _say(console: Console, text: str) -> None:
    console.print(printable(text), markup=False, soft_wrap=True)
