"""The report of a battery: JSON for machines, a table for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..spec import Package
from .finding import Finding
from .profile import Profile


@dataclass(frozen=True)
class CheckResult:
    """What one check came to. ``outcome``: ``passed``, ``failed`` or ``not_applicable``."""

    name: str
    outcome: str
    seconds: float
    counts: dict[str, int]
    notes: list[str]
    findings: list[Finding]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Report:
    """A battery's results on one package."""

    package: Package
    profile: Profile
    names: tuple[str, ...]
    checks: list[CheckResult] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every check that was asked for ran and none failed."""
        return len(self.checks) == len(self.names) and all(check.outcome != "failed" for check in self.checks)

    def write(self) -> Path:
        """Sign and write the report."""
        raise NotImplementedError


def new_report(package: Package, profile: Profile, names: Any) -> Report:
    """An empty report."""
    return Report(package, profile, tuple(names))
