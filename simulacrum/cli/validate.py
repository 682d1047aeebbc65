"""``simulacrum validate``: the battery on one package, with progress, a table, the findings, and the report's place."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import forkserver, get_context

from rich.console import Console

from ..harness import checks, report_views
from ..harness.profile import PROFILES, Profile
from ..harness.report import CheckResult, Report
from ..registry import resolve
from ..spec import Package
from .arguments import some_seed
from .codes import FINDINGS, INTERRUPTED, PASSED, complain
from .progress import display

WORKERS = 2  # processes that run checks: each holds torch, and more would gain little
FEW = 3  # checks that are done before a second process has started


def validate(
    target: str,
    expression: str | None = None,
    *,
    seed: int | None = None,
    quick: bool = False,
    devices: Sequence[str] | None = None,
    config: str | None = None,
) -> int:
    """Run the battery and print what came of it; the exit code, of several configurations the greatest.

    Args:
        target: a path, a bare name or an ID.
        expression: which checks, as pytest's ``-k``; a subset writes no report.
        seed: of what the battery draws at random, 0..2**32-1; None draws one and prints it.
        quick: the quick profile, which writes no report.
        devices: where the fast side runs; the CPU by default.
        config: one of the package's configurations; None is each of them in turn.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a package that cannot be found or loaded.
    """
    try:
        names = checks.selected(expression)
    except ValueError as error:
        return complain(str(error))
    package = read(target)
    profile = PROFILES["quick" if quick else "default"].seeded(some_seed() if seed is None else seed)
    configs: list[str | None] = [config] if config is not None else [*package.spec.configurations]
    code = PASSED
    for one in configs or [None]:
        code = max(code, _validate(package.configured(one), profile, names, devices, quick))
        if code > FINDINGS:
            break
    return code


def _validate(
    package: Package, profile: Profile, names: tuple[str, ...], devices: Sequence[str] | None, quick: bool
) -> int:
    """The battery on a package in one configuration."""
    console = Console(file=sys.stdout, highlight=False, emoji=False)
    _say(console, _opening(package, profile, names))

    beside = len(names) > FEW and (os.cpu_count() or 1) > 1
    if beside:
        _prepare_workers()
    load(package)  # from here on with torch, which takes its time
    from ..harness.runner import run

    if devices:
        problem = next(filter(None, map(_unusable, devices)), None)
        if problem is not None:
            return complain(problem)
        profile = replace(profile, devices=tuple(dict.fromkeys(device.split(":")[0] for device in devices)))
    done: list[CheckResult] = []
    try:
        with display(console, names) as shown:

            def finished(result: CheckResult) -> None:
                done.append(result)
                shown.finished(result)

            report = run(
                package,
                profile,
                names=names,
                progress=shown.progress,
                finished=finished,
                workers=WORKERS if beside else 1,
            )
    except KeyboardInterrupt:
        _show(console, Report(package, profile, names, done), interrupted=True)
        _say(console, f"Interrupted: {len(done)} of {len(names)} checks ran, and no report was written.")
        return INTERRUPTED
    _show(console, report)
    _end(console, report, whole=len(names) == len(checks.NAMES) and not quick)
    return PASSED if report.passed else FINDINGS


def _prepare_workers() -> None:
    """Let the server from which the battery's processes are forked import what they need, while this one does."""
    get_context("forkserver").set_forkserver_preload(["simulacrum.harness.runner"])
    forkserver.ensure_running()


def read(target: str) -> Package:
    """The package behind a path, a bare name or an ID, its tables and its declaration read; torch is not imported.

    Raises :class:`~simulacrum.errors.SimulacrumError` that says what of it is broken.
    """
    package = Package.read(resolve(target))
    for name in ("spec", "environment"):
        getattr(package, name)
    return package


def load(package: Package) -> None:
    """Import each module of a package, so that a broken one is told once and not by every check.

    Raises :class:`~simulacrum.errors.SimulacrumError`.
    """
    for name in ("reference", "fast", "checks"):
        getattr(package, name)
    package.module("render")


def _unusable(device: str) -> str | None:
    """Why torch cannot use a device here; None where it can."""
    import torch

    try:
        torch.zeros(1, device=device)
    except Exception as error:  # torch raises RuntimeError, AssertionError, NotImplementedError
        return f"--device {device}: expected a device that torch can use here ({str(error).splitlines()[0]})"
    return None


def _opening(package: Package, profile: Profile, names: Sequence[str]) -> str:
    """What is about to run, and the seed."""
    number = len(checks.NAMES)
    which = f"{number} checks" if len(names) == number else f"{len(names)} of {number} checks"
    config = f", configuration {package.config}" if package.config else ""
    return (
        f"Validating {package.environment.id} ({package.path}){config}\n"
        f"{which}, {profile.name} profile, seed {profile.seed} (--seed {profile.seed} runs the same again)"
    )


def _show(console: Console, report: Report, interrupted: bool = False) -> None:
    """The table, then the findings, unwrapped, so that paths and commands can be copied: in full, but for those that
    look like one before."""
    content = report.as_dict()
    if interrupted:
        content["outcome"] = "interrupted"
    findings = [finding for check in report.checks for finding in check.findings]
    for check in content["checks"]:
        check["findings"] = []  # they follow
    if console.is_terminal:
        console.print(report_views.table(content))
    else:
        _say(console, f"\n{report_views.text(content)}")
    told = set()
    for finding in findings:
        kind = (finding.field, finding.hint, finding.rule) if finding.hint or finding.rule else finding
        _say(console, f"\n{finding.brief() if kind in told else finding.text()}")
        told.add(kind)
    transitions = sum(check.counts.get("transitions", 0) for check in report.checks)
    agents = sum(check.counts.get("agent transitions", 0) for check in report.checks)
    each = f" ({agents:,} of agents)" if agents else ""
    _say(console, f"\n{transitions:,} transitions{each} compared with the reference, bit by bit.")
    if findings:
        failed = ", ".join(check.name for check in report.checks if check.outcome == "failed")
        _say(console, f"{len(findings)} finding{'s' if len(findings) > 1 else ''} in {failed}.")


def _end(console: Console, report: Report, whole: bool) -> None:
    """Where the report is, and what to do next."""
    package = report.package
    identifier, config = package.environment.id, f', config="{package.config}"' if package.config else ""
    if not whole:
        what = f"simulacrum validate {package.target}"
        _say(console, f"No report was written: it takes all checks in the default profile: {what}")
        return
    written = report.write()
    _say(console, f"Report: {written}\nPage:   {written.with_suffix('.html')}")
    if report.passed:
        _say(console, "Load it, after import gymnasium, simulacrum:")
        _say(console, f'  gymnasium.make("{identifier}"{config})')
        size = 4096 if package.environment.agents is None else 16
        _say(console, f'  simulacrum.make_fast("{identifier}", batch_size=[{size}]{config})')
    else:
        _say(console, f"{identifier} does not load until it passes.")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
