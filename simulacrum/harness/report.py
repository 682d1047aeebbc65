"""The report of a battery: what it found, on what, and a signature that says it was made here."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checkout import commit
from ..errors import PackageError
from ..spec.package import Package
from . import checks, fingerprint, keys, report_page, report_views
from .discovery import read_id, remember
from .evidence import evidence
from .finding import Finding
from .places import report_path, write_atomically
from .profile import DEFAULT, Profile

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = 1
TOTALS = ("transitions", "episodes", "states injected", "terminations", "truncations")
OF_AGENTS = ("agent transitions", "deaths")  # totals where there are many agents
FRAMES = 0.8  # seconds for the frames of findings on the page that is written beside the report
CAUSE = "cause "  # a count's name begins with it where the count is of one termination cause


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

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "outcome": self.outcome,
            "seconds": self.seconds,
            "counts": self.counts,
            "evidence": evidence(self.name, self.outcome, self.counts),
            "notes": self.notes,
            "findings": [finding.as_dict() for finding in self.findings],
            "facts": self.facts,
        }


@dataclass
class Report:
    """A battery's results on one package.

    Attributes:
        package, profile, names: what was checked, how far, and which checks were asked for.
        checks: the results so far.
        started: when the battery began (UTC).
        fingerprint: what the report vouches for, taken when the battery began: the gate finds a change in the middle.
        git: the commit of the package's checkout, ``-dirty`` where the folder differs from it; None outside of one.
    """

    package: Package
    profile: Profile
    names: tuple[str, ...]
    checks: list[CheckResult] = field(default_factory=list)
    started: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    fingerprint: dict[str, Any] = field(default_factory=dict)
    git: str | None = None

    @property
    def passed(self) -> bool:
        """Whether every check that was asked for ran and none failed."""
        return len(self.checks) == len(self.names) and all(check.outcome != "failed" for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON holds it: plain dictionaries, lists, texts and numbers (no NaN, no infinity)."""
        counts: Counter[str] = Counter()
        for check in self.checks:
            counts.update(check.counts)
        now = datetime.now(timezone.utc)
        return _plain(
            {
                "format": FORMAT,
                "package": {"id": _id(self.package), "name": self.package.name, "path": str(self.package.path)}
                | ({"config": self.package.config} if self.package.config else {}),
                "outcome": "passed" if self.passed else "failed",
                "profile": self.profile.name,
                "seed": self.profile.seed,
                "started": self.started.isoformat(timespec="seconds"),
                "finished": now.isoformat(timespec="seconds"),
                "seconds": round((now - self.started).total_seconds(), 3),
                "totals": {
                    **{name: counts[name] for name in TOTALS},
                    **{name: counts[name] for name in OF_AGENTS if name in counts},
                    "causes": {
                        name.removeprefix(CAUSE): n for name, n in sorted(counts.items()) if name.startswith(CAUSE)
                    },
                },
                "combinations": self._combinations(),
                "throughput": next((check.facts for check in self.checks if check.name == "throughput"), {}),
                "checks": [check.as_dict() for check in self.checks],
                "git": self.git,
                "fingerprint": self.fingerprint,
            }
        )

    def write(self) -> Path:
        """Write the report beside the package (in the state folder where that is read-only), as JSON and as HTML, sign
        it, and add the package to those validated on this machine. Returns the JSON's path.

        A failing report is written as well, so that the gate can say so. A report of fewer than all checks, or of
        another profile than the default, is not: it raises ValueError and names what is missing.
        """
        missing = self._missing()
        if missing:
            raise ValueError(
                f"no report of {self.package.path} is written: {'; '.join(missing)} (run: simulacrum validate "
                f"{self.package.target})"
            )
        content = self.as_dict()
        data = (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()
        path = report_path(self.package.path, self.package.config)
        write_atomically(path, data)
        write_atomically(path.with_suffix(".sig"), keys.sign(data, keys.account_key()).to_bytes())
        write_atomically(path.with_suffix(".html"), self._page(content).encode())
        remember(self.package.path)
        return path

    def text(self) -> str:
        """The report as plain text, for logs."""
        return report_views.text(self.as_dict())

    def table(self) -> Table:
        """The report as a table for a terminal."""
        return report_views.table(self.as_dict())

    def html(self) -> str:
        """The report as one HTML page that needs nothing else."""
        return self._page(self.as_dict())

    def _page(self, content: dict[str, Any]) -> str:
        return report_page.page(content, report_page.illustrated(self.package, content, FRAMES))

    def _combinations(self) -> list[dict[str, str]]:
        """What passing checks say they covered, each once, in order."""
        covers = [
            tuple(str(part) for part in covered)
            for check in self.checks
            if check.outcome == "passed"
            for covered in check.facts.get("covers", ())
        ]
        return [dict(zip(("form", "mode", "device"), covered, strict=True)) for covered in dict.fromkeys(covers)]

    def _missing(self) -> list[str]:
        missing = []
        extent = replace(self.profile, seed=DEFAULT.seed, devices=DEFAULT.devices)
        if extent != DEFAULT:
            missing.append(f"the profile is {self.profile.name!r}, not the whole {DEFAULT.name!r} one")
        done = {check.name for check in self.checks}
        lacking = [name for name in checks.NAMES if name not in done]
        if lacking:
            missing.append(f"these checks did not run: {', '.join(lacking)}")
        if not self.fingerprint:
            missing.append("it has no fingerprint (begin it with new_report)")
        return missing


def new_report(package: Package, profile: Profile, names: Any) -> Report:
    """An empty report, with the fingerprint (that of the kernel's binary too) and the commit of now."""
    taken = fingerprint.take(package)
    taken["native"] |= fingerprint.kernel_binary(package)
    return Report(package, profile, tuple(names), fingerprint=taken, git=commit(package.path))


def read(data: bytes) -> dict[str, Any]:
    """A report's JSON. Raises ValueError where the bytes hold none; the format's number is for the caller to judge."""
    try:
        content = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(content, dict) or "format" not in content:
        raise ValueError("expected a JSON object with a format number")
    return content


def _id(package: Package) -> str:
    try:
        return read_id(package.files["__init__.py"])
    except PackageError:
        return ""


def _plain(value: Any) -> Any:
    """Facts may hold NumPy values, tuples and infinities; JSON holds none of them."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)
