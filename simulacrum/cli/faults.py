"""``simulacrum faults``: which check finds which fault, and what no check finds."""

from __future__ import annotations

import argparse
import ast
import hashlib
import random
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..harness.checks import _matches
from ..harness.places import state_folder
from ..harness.profile import PROFILES
from ..spec import Package
from . import FINDINGS, PASSED, complain
from .validate import load, read


def faults(arguments: argparse.Namespace) -> int:
    """Put faults into copies of a package, run the checks, print the table and the summary; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a package that cannot be found or loaded, or does not pass
    the checks without a fault.
    """
    package = read(arguments.target)
    load(package)  # from here on with torch, which takes its time
    from ..harness.faults import cases, matrix, summary
    from ..harness.surroundings import compilation_possible

    profile = PROFILES["quick" if arguments.quick else "default"].seeded(arguments.seed)
    groups = cases.GROUPS if arguments.kind == "all" else (arguments.kind,)
    chosen = cases.cases(package, groups, compiled=profile.compiled and compilation_possible())
    try:
        picked = [case for case in chosen if _picked(arguments.expression, case.name)]
    except (SyntaxError, ValueError):
        return complain(f"-k {arguments.expression!r}: expected parts of names of faults with and, or, not")
    if arguments.sample is not None and arguments.sample < len(picked):
        picked = random.Random(arguments.seed).sample(picked, arguments.sample)
    if not picked:
        return complain(f"-k {arguments.expression!r} picks none of the {len(chosen)} faults")

    console = Console(file=sys.stdout, highlight=False)
    output = arguments.output or _kept(package)
    _say(
        console,
        f"{len(picked)} of {len(chosen)} faults put into copies of {package.environment.id} ({package.path}), "
        f"{profile.name} profile, seed {profile.seed}\nResults, as they come: {output}",
    )
    results = []
    with _bar(console) as bar:
        task = bar.add_task("", total=len(picked))
        found = matrix.run(
            package, picked, profile, every=arguments.all_checks, workers=arguments.workers, output=output
        )
        for result in found:
            results.append(result)
            bar.update(task, advance=1)
            steps = "" if result.steps is None else f"{result.steps} steps"
            _say(
                console,
                f"{', '.join(result.found_by) or 'NOT FOUND':<26} {steps:>9} {result.seconds:7.1f} s  "
                f"{result.kind}: {result.name}",
            )
    whole = "generic" in groups and len(picked) == len(chosen)
    told = summary.Summary(package.environment.id, results, cases.excused(package), whole)
    _say(console, "\n" + "\n".join(summary.lines(told, arguments.all_checks)))
    if arguments.markdown is not None:
        command = f"simulacrum faults {shlex.quote(package.name)} --markdown {arguments.markdown.name}"
        head = f"# Faults on purpose\n\nMade by `{command}`, {profile.name} profile, seed {profile.seed}.\n\n"
        arguments.markdown.write_text(head + summary.markdown(told, arguments.all_checks), encoding="utf-8")
        _say(console, f"Written: {arguments.markdown}")
    return PASSED if told.passed else FINDINGS


def _picked(expression: str | None, name: str) -> bool:
    return not expression or _matches(ast.parse(expression.strip(), mode="eval").body, name)


def _kept(package: Package) -> Path:
    """Where the results of a package are kept by default."""
    digest = hashlib.sha256(str(package.path).encode()).hexdigest()[:8]
    return state_folder() / "faults" / f"{package.name}-{digest}.jsonl"


def _bar(console: Console) -> Progress:
    """A bar below the lines on a terminal; nothing in a log, whose lines tell as much."""
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("faults"), TimeElapsedColumn())
    shown = console.is_terminal and not console.is_dumb_terminal
    return Progress(*columns, console=console, transient=True, disable=not shown)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
