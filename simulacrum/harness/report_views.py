"""A report's JSON for people: plain text, and a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .evidence import CAVEAT, words
from .finding import Finding

if TYPE_CHECKING:
    from rich.table import Table

Content = dict[str, Any]
STYLES = {"passed": "green", "failed": "bold red", "not_applicable": "dim"}


def text(report: Content) -> str:
    """Lines for a log: a line a check with its notes and findings under it, then what was compared and covered."""
    lines = [headline(report), ""]
    for check in report["checks"]:
        lines.append(f"{check['outcome']:<15} {check['name']:<26} {check['seconds']:8.1f} s  {counted(check)}".rstrip())
        lines += [f"{'':<16}{line}" for line in said(check)]
        for finding in findings(check):
            lines += ["", *(f"    {line}" for line in finding.splitlines()), ""]
    lines.append("")
    lines += [f"{name:<16}{value}" for name, value in summary(report)]
    return "\n".join(lines) + "\n"


def table(report: Content) -> Table:
    """A row a check, what was compared and covered beneath."""
    from rich.table import Table
    from rich.text import Text

    beneath = Text("\n".join(f"{name}: {value}" for name, value in summary(report)))
    made = Table(title=Text(headline(report)), caption=beneath, title_justify="left", caption_justify="left")
    for name in ("check", "outcome"):
        made.add_column(name, no_wrap=True)
    made.add_column("seconds", justify="right")
    made.add_column("what")
    for check in report["checks"]:
        what = "\n".join([*filter(None, [counted(check)]), *said(check), *findings(check)])
        outcome = Text(check["outcome"], STYLES.get(check["outcome"], ""))
        made.add_row(check["name"], outcome, f"{check['seconds']:.1f}", Text(what))
    return made


def headline(report: Content) -> str:
    """The ID, the outcome, and when."""
    package = report["package"]
    return (
        f"{package['id'] or package['name']}: {report['outcome']} ({report['profile']} profile, seed {report['seed']}, "
        f"{report['seconds']:.0f} s, {report['finished']})"
    )


def summary(report: Content) -> list[tuple[str, str]]:
    """What was compared and covered, in words."""
    totals = report["totals"]
    pairs = [
        ("package", report["package"]["path"]),
        ("compared", _numbers(totals)),
        ("causes", _numbers(totals["causes"]) or "none counted"),
        ("covers", "; ".join(" ".join(one.values()) for one in report["combinations"]) or "nothing"),
    ]
    speeds = {name: value for name, value in report["throughput"].items() if isinstance(value, (int, float, str))}
    if speeds:
        pairs.append(("throughput", _numbers(speeds)))
    if any(check.get("evidence") for check in report["checks"]):
        pairs.append(("how sure", CAVEAT))
    return [*pairs, ("commit", report["git"] or "none")]


def counted(check: Content) -> str:
    """A check's counts in words."""
    return _numbers(check["counts"])


def said(check: Content) -> list[str]:
    """How sure a check is, and its notes."""
    sure = words(check["name"], check["outcome"], check.get("evidence"))
    return [*filter(None, [sure]), *(f"note: {note}" for note in check["notes"])]


def findings(check: Content) -> list[str]:
    """A check's findings, each as lines."""
    return [Finding(**finding).text() for finding in check["findings"]]


def _numbers(values: dict[str, Any]) -> str:
    shown = {
        name: f"{value:,}" if isinstance(value, (int, float)) else value
        for name, value in values.items()
        if not isinstance(value, dict)
    }
    return ", ".join(f"{name} {value}" for name, value in shown.items())
