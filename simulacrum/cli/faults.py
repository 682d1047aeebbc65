"""``simulacrum faults``: which check finds which fault, and what no check finds."""

from __future__ import annotations

import argparse
import ast
import hashlib
import random
import shlex
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..errors import SimulacrumError
from ..harness.checks import matches
from ..harness.places import state_folder
from ..harness.profile import PROFILES, Profile
from ..spec import Package
from .codes import FINDINGS, PASSED
from .validate import load, read

if TYPE_CHECKING:
    from ..harness.faults.cases import Case
    from ..harness.faults.summary import Summary


PAGE = "faults.md"  # the head of the page, beside the engine


def faults(arguments: argparse.Namespace) -> int:
    """Put faults into copies of packages, run the checks, print the tables and the summaries; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a package that cannot be found or loaded, or does not pass
    the checks without a fault.
    """
    packages = [read(target) for target in arguments.targets]
    for package in packages:
        load(package)  # from here on with torch, which takes its time
    from ..harness.faults import summary

    console = Console(file=sys.stdout, highlight=False, emoji=False)
    told, plans = [], [_plan(package, arguments) for package in packages]  # all before the first takes its hours
    for plan in plans:
        told.append(_judged(console, plan, arguments))
        _say(console, "\n" + "\n".join(summary.lines(told[-1], arguments.all_checks)) + "\n")
    if arguments.markdown is not None:
        _write(told, arguments)
        _say(console, f"Written: {arguments.markdown}")
    return PASSED if all(one.passed for one in told) else FINDINGS


class Plan(NamedTuple):
    """The faults to be put into a package, whether all generic mutants are among them, and the written reasons."""

    package: Package
    picked: list[Case]
    whole: bool
    excused: dict[str, str]


def _plan(package: Package, arguments: argparse.Namespace) -> Plan:
    """What was asked for. Raises :class:`~simulacrum.errors.SimulacrumError` where that is nothing."""
    from ..harness.faults import cases
    from ..harness.surroundings import compilation_possible

    groups = cases.GROUPS if arguments.kind == "all" else (arguments.kind,)
    chosen = cases.cases(package, groups, compiled=_profile(arguments).compiled and compilation_possible())
    what = f"-k {arguments.expression!r}"
    try:
        picked = [case for case in chosen if _picked(arguments.expression, case.name)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last for a parser whose stack is full
        raise SimulacrumError(f"{what}: expected parts of names of faults with and, or, not") from None
    if not picked:
        raise SimulacrumError(f"{what} picks none of the {len(chosen)} faults of {package.path}")
    if arguments.sample is not None and arguments.sample < len(picked):
        picked = random.Random(arguments.seed).sample(picked, arguments.sample)
    return Plan(package, picked, "generic" in groups and len(picked) == len(chosen), cases.excused(package))


def _judged(console: Console, plan: Plan, arguments: argparse.Namespace) -> Summary:
    """Judge faults, a line each as they come."""
    from ..harness.faults import matrix, summary

    package, picked = plan.package, plan.picked
    profile, output = _profile(arguments), arguments.output or _kept(package)
    _say(
        console,
        f"{len(picked)} faults put into copies of {package.environment.id} ({package.path}), {profile.name} profile, "
        f"seed {profile.seed}\nResults, as they come: {output}",
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
    return summary.Summary(package.environment.id, results, plan.excused, plan.whole)


def _write(told: list[Summary], arguments: argparse.Namespace) -> None:
    """The page: what the figures mean, then those of each package."""
    from ..harness.faults import summary

    profile = _profile(arguments)
    every = " --all-checks" if arguments.all_checks else ""
    targets = " ".join(shlex.quote(target) for target in arguments.targets)
    made = (
        f"Made by `simulacrum faults {targets}{every}{' --quick' if arguments.quick else ''} --markdown "
        f"{arguments.markdown}`: {profile.name} profile, seed {profile.seed}."
    )
    head = files("simulacrum.harness.faults").joinpath(PAGE).read_text("utf-8")
    parts = [head.rstrip(), made, *(summary.markdown(one, arguments.all_checks).rstrip() for one in told)]
    arguments.markdown.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _profile(arguments: argparse.Namespace) -> Profile:
    return PROFILES["quick" if arguments.quick else "default"].seeded(arguments.seed)


def _picked(expression: str | None, name: str) -> bool:
    return not expression or matches(ast.parse(expression.strip(), mode="eval").body, name)


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
