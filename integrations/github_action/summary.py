"""Results as Markdown, for the summary of the job: a table of packages, then each finding with its commands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .junit import commands
from .results import Result

SHOWN = 10  # findings of a package
LINES = 30  # of the output of one that has no report
MARKS = {"passed": "✅", "findings": "❌", "refused": "⛔"}


def markdown(results: list[Result], why: str) -> str:
    """The whole text; ``why`` says how the packages were chosen."""
    lines = ["## simulacrum", "", f"Validated: {why}.", ""]
    if not results:
        return "\n".join([*lines, "No package is touched.", ""])
    lines += ["| package | verdict | findings | transitions compared | seconds |", "|---|---|---:|---:|---:|"]
    for result in results:
        found, compared = len(findings(result)), transitions(result)
        mark = MARKS.get(result.verdict, "⚠️")
        cells = f"{found} | {f'{compared:,}' if result.reports else 'no report'} | {result.seconds:.0f}"
        lines.append(f"| `{result.package}` | {mark} {result.verdict} | {cells} |")
    for result in results:
        lines += _detail(result)
    return "\n".join([*lines, ""]).replace(f"{Path.cwd()}{os.sep}", "")  # commands for any checkout


def findings(result: Result) -> list[dict[str, Any]]:
    """What all reports of a package found."""
    return [one for content in result.contents() for check in content["checks"] for one in check["findings"]]


def transitions(result: Result) -> int:
    """How many transitions all reports of a package compared."""
    return sum(int(content["totals"]["transitions"]) for content in result.contents())


def _detail(result: Result) -> Iterator[str]:
    """What is wrong with a package; nothing where nothing is."""
    if result.passed:
        return
    yield from ("", f"### `{result.package}`: {result.verdict}", "")
    found = findings(result)
    for finding in found[:SHOWN]:
        yield from (f"**{finding['check']}**", "", *_fenced(finding["message"], "text"), "")
        yield from (*_fenced("\n".join(commands(finding)), "bash"), "")
    if len(found) > SHOWN:
        yield from (f"And {len(found) - SHOWN} more: see the report among the artifacts.", "")
    if not found and result.code:
        yield from (*_fenced("\n".join(result.output.strip().splitlines()[-LINES:]), "text"), "")
    if result.refusal:
        yield from ("The gate:", "", *_fenced(result.refusal, "text"))


def _fenced(text: str, language: str) -> Iterator[str]:
    """A block that nothing in the text can end."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    yield from (f"{ticks}{language}", text, ticks)
