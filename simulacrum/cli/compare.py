"""``simulacrum compare``: any batched environment beside any single one, or a saved finding once more."""

from __future__ import annotations

import argparse
import ast
import json
import sys
import warnings
from pathlib import Path

from rich.console import Console

from ..compare import CompareError, Comparison, Target, replay
from ..compare import compare as run
from ..compare.checks import CHECKS
from ..compare.intended import stated
from ..compare.run import FAILED, CheckResult
from ..harness.checks import matches
from ..harness.places import write_atomically
from ..render.text import printable
from .codes import FINDINGS, PASSED, complain
from .progress import display


def compare(arguments: argparse.Namespace) -> int:
    """Compare, or replay; the exit code. Raises :class:`~simulacrum.errors.SimulacrumError`."""
    sys.path.insert(0, "")  # module:function from where the command is called, as python -m finds it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a library says of its own use: what it does is what is looked at
            return _replay(arguments.replay) if arguments.replay is not None else _compare(arguments)
    finally:
        sys.path.remove("")


def _compare(arguments: argparse.Namespace) -> int:
    if arguments.reference is None or arguments.candidate is None:
        return complain("compare: expected REFERENCE and CANDIDATE, or --replay FILE")
    names = _selected(arguments.expression)
    known = [one for text in arguments.intended for one in stated(text)]
    console = Console(file=sys.stdout, highlight=False, emoji=False)
    _say(
        console,
        f"Comparing {arguments.candidate} with {arguments.reference}: {len(names)} checks, seed {arguments.seed}",
    )
    with display(console, names) as shown:
        comparison = run(
            Target(arguments.reference, dict(arguments.reference_option)),
            Target(arguments.candidate, dict(arguments.candidate_option)),
            state=arguments.state,
            autoreset=arguments.autoreset,
            checks=names,
            seed=arguments.seed,
            quick=arguments.quick,
            intended=known,
            progress=shown.progress,
            finished=shown.finished,  # type: ignore[arg-type]
        )
    files = comparison.save(arguments.save) if arguments.save is not None else []
    _show(console, comparison)
    if files:
        _say(console, f"{len(files)} files in {arguments.save}; see one again: simulacrum compare --replay {files[0]}")
    elif comparison.findings:
        _say(console, "The same call with --save FOLDER writes each finding for simulacrum compare --replay FILE.")
    if arguments.json is not None:
        write_atomically(arguments.json, (json.dumps(comparison.as_dict(), indent=1) + "\n").encode())
        _say(console, f"Results: {arguments.json}")
    return PASSED if comparison.passed else FINDINGS


def _replay(file: Path) -> int:
    """Play a saved finding's case; whether it still shows."""
    console = Console(file=sys.stdout, highlight=False, emoji=False)
    saved, shown = replay(file)
    _say(console, f"It was found:\n{saved.text()}")
    still = [each for each in shown if each.subject == saved.difference.subject]
    if not still:
        _say(console, "\nIt does not show any more.")
        return PASSED
    _say(console, "\nIt shows now:")
    for each in still:
        _say(console, each.text())
    return FINDINGS


def _show(console: Console, comparison: Comparison) -> None:
    """Each check's notes, and its findings: those that are meant last."""
    for result in comparison.results:
        if result.notes or result.findings:
            _say(console, f"\n{result.name}: {result.outcome}{_counted(result)}")
        for note in result.notes:
            _say(console, f"  {note}")
    for meant, title in ((False, "Findings"), (True, "Intended")):
        findings = [finding for finding in comparison.findings if bool(finding.intended) == meant]
        for number, finding in enumerate(findings):
            head = f"\n{title}:\n" if number == 0 else ""
            _say(console, f"{head}\n{finding.text()}")
    failed = [result.name for result in comparison.results if result.outcome == FAILED]
    number = sum(not finding.intended for finding in comparison.findings)
    told = f"{number} finding{'s' if number > 1 else ''} in {', '.join(failed)}" if failed else "No finding"
    _say(console, f"\n{told}{', but intended ones' if not failed and comparison.findings else ''}.")


def _counted(result: CheckResult) -> str:
    counts = ", ".join(f"{number:,} {what}" for what, number in result.counts.items() if number)
    return f" ({counts})" if counts else ""


def _selected(expression: str | None) -> tuple[str, ...]:
    """The checks that a ``-k`` expression picks. Raises CompareError."""
    if not expression:
        return tuple(CHECKS)
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        names = tuple(name for name in CHECKS if matches(tree, name))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        names = ()
    if not names:
        raise CompareError(
            f"-k {expression!r}: expected parts of check names with and, or, not; the checks: {', '.join(CHECKS)}"
        )
    return names


def _say(console: Console, text: str) -> None:
    console.print(printable(text), markup=False, soft_wrap=True)
