"""A report as one HTML page that needs nothing else: no network, no file beside it, no script to be read.

Every text of a report or of a package goes through :mod:`.markup`, which escapes it; the page's own style and script
are named in its Content-Security-Policy by their hashes, and nothing else may run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any

from ...spec.package import Package
from . import checks, findings, kills, source, speed, verdict, vouched
from .findings import Pictures
from .markup import Markup, join, tag, text
from .verdict import Refusal

__all__ = ["Beside", "Pictures", "Refusal", "illustrated", "page"]

FOLDER = Path(__file__).parent
LARGEST = 4_500_000  # characters of the parts of a page
LINKS = {
    "compared": "Compared",
    "findings": "Findings",
    "checks": "Checks",
    "coverage": "Coverage",
    "throughput": "Throughput",
    "kills": "Kill matrix",
    "vouched": "Vouches for",
}


@dataclass(frozen=True)
class Beside:
    """What a page shows beside the report itself.

    Attributes:
        source: the package's ``reference.py`` as it is now; None where it is not there.
        refusal: why the gate refuses the report now; None where it does not, or where nobody asked.
        pictures: frames of findings, by their files.
        faults: a :class:`~simulacrum.harness.faults.summary.Summary`, and what is to be said of it.
        bench: what ``simulacrum bench --json`` wrote.
    """

    source: bytes | None = None
    refusal: Refusal | None = None
    pictures: Mapping[str, Pictures] = field(default_factory=dict)
    faults: tuple[Any, str] | None = None
    bench: dict[str, Any] | None = None


def page(report: dict[str, Any], beside: Beside | None = None) -> str:
    """The page of a report's JSON."""
    beside = beside or Beside()
    parts = _fitted(
        {
            "verdict": verdict.head(report, beside.refusal),
            "compared": verdict.totals(report),
            "findings": findings.section(report, beside.pictures),
            "checks": checks.section(report),
            "coverage": source.section(report, beside.source),
            "throughput": speed.section(report, beside.bench),
            "kills": kills.section(*beside.faults) if beside.faults is not None else None,
            "vouched": vouched.section(report),
        }
    )
    template, style, script = _files()
    title = f"{verdict.name_of(report)}: {verdict.word_of(report, beside.refusal)}"
    return template.substitute(
        title=text(title),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        links=join(tag("li", tag("a", LINKS[name], href=f"#{name}")) for name in parts if name in LINKS),
        body=join(parts.values(), "\n"),
        foot=text(f"Report format {report['format']}. The page says what was so when it was written."),
    )


def illustrated(package: Package, report: dict[str, Any], seconds: float) -> Beside:
    """The package's source, and the frames of the findings where there are any (which takes torch)."""
    pictures: Mapping[str, Pictures] = {}
    if any(finding.get("file") for check in report["checks"] for finding in check["findings"]):
        from .frames import pictures as drawn

        pictures = drawn(package, report, seconds)
    return Beside(source=package.files.get(source.FILE), pictures=pictures)


def _fitted(parts: Mapping[str, Markup | None]) -> dict[str, Markup]:
    """The parts that there are; the largest ones are left out, which they say, until the page has its size."""
    fitted = {name: part for name, part in parts.items() if part is not None}
    while sum(map(len, fitted.values())) > LARGEST:
        name = max(fitted, key=lambda one: len(fitted[one]))
        said = (
            f"Left out: {len(fitted[name]) / 1e6:.1f} MB would be too much for a page. validation_report.json has it."
        )
        title = tag("h2", LINKS.get(name, name), id=name)
        fitted[name] = tag("section", title, tag("p", said), aria_labelledby=name)
    return fitted


@lru_cache(maxsize=1)
def _files() -> tuple[Template, str, str]:
    page, style, script = ((FOLDER / name).read_text("utf-8") for name in ("page.html", "style.css", "script.js"))
    return Template(page), style, script


def _hash(content: str) -> Markup:
    """How a Content-Security-Policy names a style or a script."""
    return Markup(f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}")
