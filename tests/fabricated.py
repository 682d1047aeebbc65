"""Packages with a report that no battery made: for tests of what comes after it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edited import drop_kernel

from simulacrum.harness import checks
from simulacrum.harness.finding import Finding
from simulacrum.harness.profile import DEFAULT, Profile
from simulacrum.harness.report import CheckResult, Report, new_report
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parent.parent / "envs"
COVERS = (("tensor", "eager", "cpu"), ("tensor", "compiled", "cpu"))


def copy_package(folder: Path, identifier: str = "tests/toywalk-v0", kernel: bool = False) -> Path:
    """A copy of toywalk in ``folder`` under another ID (the checkout's own is known already), by default without its
    kernel."""
    ignored = shutil.ignore_patterns("__pycache__", "validation_report.*", "failures", "corpus", "trace.json")
    shutil.copytree(ENVS / "toywalk", folder, ignore=ignored)
    if not kernel:
        drop_kernel(folder)
    for name in ("__init__.py", "spec.md"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace("simulacrum/toywalk-v0", identifier))
    return folder.resolve()


def results(failed: Sequence[str] = (), covers: Sequence[Any] = COVERS) -> list[CheckResult]:
    """A result for every check; those in ``failed`` have a finding."""
    made = []
    for name in checks.NAMES:
        findings = [Finding(name, "the sides differ", seed=3, step=7, field="state.position")] if name in failed else []
        covering = name in ("differential", "benchmark_factory_parity")
        facts = {"covers": [list(one) for one in covers]} if covering else {}
        counts = {"transitions": 100, "episodes": 3} if name in ("differential", "replay") else {}
        made.append(CheckResult(name, "failed" if findings else "passed", 0.5, counts, [], findings, facts))
    return made


def fabricated_report(folder: Path, profile: Profile = DEFAULT, **options: Any) -> Report:
    """A whole report of the package in ``folder``; ``options`` as :func:`results` takes them."""
    report = new_report(Package.read(folder), profile, checks.NAMES)
    report.checks.extend(results(**options))
    return report


def validated(folder: Path, **options: Any) -> Path:
    """Write such a report; returns the folder."""
    fabricated_report(folder, **options).write()
    return folder


def with_result(report: Report, name: str, **values: Any) -> Report:
    """The report with one check's result changed."""
    report.checks = [replace(check, **values) if check.name == name else check for check in report.checks]
    return report
