"""``simulacrum validate``: the battery on one package, with progress, a table, the findings, and where the report is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from rich.console import Console

from ..harness import checks, report_views, run
from ..harness.profile import PROFILES, Profile
from ..harness.report import CheckResult, Report
from ..registry import resolve
from ..spec import Package
from . import FINDINGS, INTERRUPTED, PASSED, complain
from .arguments import some_seed
from .progress import display


def validate(
    target: str, expression: str | None = None, *, seed: int | None = None, quick: bool = False,
    devices: Sequence[str] = (),
) -> int:
    """Run the battery and print what came of it; the exit code.

    Args:
        target: a path, a bare name or an ID.
        expression: which checks, as pytest's ``-k``; a subset writes no report.
        seed: of what the battery draws at random, 0..2**32-1; None draws one and prints it.
        quick: the quick profile, which writes no report.
        devices: further devices, beside the CPU.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a package that cannot be found or loaded.
    """
    try:
        names = checks.selected(expression)
        further = [_device(device) for device in devices if device != "cpu"]
    except ValueError as error:
        return complain(str(error))
    package = load(target)
    profile = PROFILES["quick" if quick else "default"].seeded(some_seed() if seed is None else seed)
    profile = replace(profile, devices=("cpu", *further))
    whole = len(names) == len(checks.NAMES) and not quick
    console = Console(highlight=False)
    console.print(_opening(package, profile, names), markup=False, soft_wrap=True)

    done: list[CheckResult] = []
    try:
        with display(console, names) as shown:

            def finished(result: CheckResult) -> None:
                done.append(result)
                shown.finished(result)

            report = run(package, profile, names=names, progress=shown.progress, finished=finished)
    except KeyboardInterrupt:
        ran = tuple(result.name for result in done)
        _show(console, Report(package, profile, ran, done))
        _say(console, f"Interrupted: {len(done)} of {len(names)} checks ran, and no report was written.")
        return INTERRUPTED
    _show(console, report)
    _end(console, report, whole)
    return PASSED if report.passed else FINDINGS


def load(target: str) -> Package:
    """The package behind a path, a bare name or an ID, with each of its modules imported.

    Raises :class:`~simulacrum.errors.SimulacrumError` that says what of it is broken, so that it is told once and not
    by every check.
    """
    package = Package.read(resolve(target))
    for name in ("spec", "environment", "reference", "fast", "checks"):
        getattr(package, name)
    package.module("render")
    return package


def _device(name: str) -> str:
    """A device that works here. Raises ValueError."""
    try:
        torch.zeros(1, device=name)
    except Exception as error:  # torch raises RuntimeError, AssertionError, NotImplementedError
        reason = str(error).splitlines()[0]
        raise ValueError(f"--device {name}: expected a device that torch can use here ({reason})") from None
    return name


def _opening(package: Package, profile: Profile, names: Sequence[str]) -> str:
    """What is about to run, and the seed."""
    which = f"{len(checks.NAMES)} checks" if len(names) == len(checks.NAMES) else f"{len(names)} of {len(checks.NAMES)} checks"
    return (
        f"Validating {package.environment.id} ({package.path})\n"
        f"{which}, {profile.name} profile, seed {profile.seed} (--seed {profile.seed} runs the same again)"
    )


def _show(console: Console, report: Report) -> None:
    """The table, then the findings in full and unwrapped, so that paths and commands can be copied."""
    if not report.checks:
        return
    content: dict[str, Any] = report.as_dict()
    findings = [finding for check in report.checks for finding in check.findings]
    if console.is_terminal:
        for check in content["checks"]:
            check["findings"] = []  # they follow
        console.print(report_views.table(content))
        for finding in findings:
            _say(console, f"\n{finding.text()}")
    else:
        _say(console, f"\n{report.text()}")
    transitions = sum(check.counts.get("transitions", 0) for check in report.checks)
    _say(console, f"\n{transitions:,} transitions compared with the reference, bit by bit.")
    if findings:
        _say(console, f"{len(findings)} finding{'s' if len(findings) > 1 else ''} in {_failed(report)}.")


def _end(console: Console, report: Report, whole: bool) -> None:
    """Where the report is, and what to do next."""
    path, identifier = shlex.quote(str(report.package.path)), report.package.environment.id
    if not whole:
        _say(console, f"No report was written: it takes all checks in the default profile (simulacrum validate {path}).")
        return
    _say(console, f"Report: {report.write()}")
    if report.passed:
        _say(console, "Load it, after import gymnasium, simulacrum:")
        _say(console, f'  gymnasium.make("{identifier}")')
        _say(console, f'  simulacrum.make_fast("{identifier}", batch_size=[4096])')
    else:
        _say(console, f"{identifier} does not load until it passes.")


def _failed(report: Report) -> str:
    return ", ".join(check.name for check in report.checks if check.outcome == "failed")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
