"""The kill matrix: which check finds which fault, and what no check finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .markup import Markup, clip, hidden, some, tag
from .markup import table as table_of

ROWS, SURVIVORS = 400, 400  # shown at most


def section(summary: Any, remark: str = "") -> Markup:
    """Shares, survivors, and faults by finders.

    Args:
        summary: a :class:`~simulacrum.harness.faults.summary.Summary`.
        remark: what else is to be said of it.
    """
    every = any(len(result.found_by) > 1 for result in summary.counted)
    checks = [name for name, *_ in summary.finders()]
    named = [result for result in summary.counted if result.group != "generic"]
    generic = summary.of("generic")
    first = "" if every else " Each fault was put to the checks until one found it, so a row has one mark."
    return tag(
        "section",
        tag("h2", "Kill matrix", id="kills"),
        tag("p", f"Faults put into copies of the package on purpose, and which check found them.{first}"),
        tag("p", remark, class_="quiet") if remark else None,
        _shares(summary),
        _survivors(summary),
        [tag("h3", "Faults by check"), *_matrix(named, checks)] if named else None,
        [tag("h3", "Generic mutants by kind and check"), _kinds(generic, checks)] if generic else None,
        aria_labelledby="kills",
    )


def _shares(summary: Any) -> Markup:
    rows = [
        (
            tag("span", clip(title, 100), class_="kind" if title.startswith(" ") else None),
            number,
            found,
            aside,
            f"{found / (number - aside) if number > aside else 1:.1%}",
        )
        for title, number, found, aside in summary.shares()
    ]
    return table_of("Faults put in and found", ("Faults", "Put in", "Found", "Set aside", "Share of the others"), rows)


def _survivors(summary: Any) -> Markup:
    groups = dict.fromkeys(result.group for result in summary.results)
    lost = [result for group in groups for result in summary.survivors(group)]
    shown, left = some(lost, SURVIVORS)
    listed = [
        tag(
            "li",
            tag("strong", clip(one.name, 300)),
            f" ({one.group}): ",
            clip(summary.excused.get(one.name, "no reason is written"), 600),
        )
        for one in shown
    ]
    return tag(
        "div",
        tag("h3", "Not found"),
        tag("ul", listed, class_="notes") if listed else tag("p", "Every fault was found."),
        tag("p", left, class_="quiet") if left else None,
        _remarks(summary.remarks()),
    )


def _remarks(lines: Sequence[str]) -> Markup | None:
    shown, left = some(lines, SURVIVORS)
    listed = [tag("li", clip(line, 600)) for line in shown] + ([tag("li", left)] if left else [])
    if not lines:
        return None
    name = f"{len(lines)} remark{'' if len(lines) == 1 else 's'}"
    return tag("details", tag("summary", name), tag("ul", listed, class_="notes"), class_="files")


def _matrix(results: Sequence[Any], checks: Sequence[str]) -> list[Markup | None]:
    shown, left = some(results, ROWS)
    rows = [
        (
            clip(one.name, 300),
            *(_dot(name, one.found_by) for name in checks),
            "" if one.steps is None else str(one.steps),
        )
        for one in shown
    ]
    head = ("Fault", *(tag("span", clip(name, 60), class_="upright") for name in checks), "Steps")
    note = tag("p", left, class_="quiet") if left else None
    return [table_of("Which check found which fault", head, rows, "matrix"), note]


def _dot(check: str, found_by: Sequence[str]) -> Markup:
    if check not in found_by:
        return Markup("")
    return tag("span", tag("span", "●", aria_hidden="true"), hidden("found"), class_="dot")


def _kinds(results: Sequence[Any], checks: Sequence[str]) -> Markup:
    """Of each kind of mutant, how many each check found."""
    rows = []
    for kind in dict.fromkeys(result.kind for result in results):
        mine = [result for result in results if result.kind == kind]
        found = Counter(name for result in mine for name in result.found_by)
        lost = sum(not result.found_by for result in mine)
        rows.append((clip(kind, 100), *(str(found[name] or "") for name in checks), str(lost or ""), str(len(mine))))
    head = ("Kind", *(tag("span", clip(name, 60), class_="upright") for name in checks), "Not found", "All")
    return table_of("How many mutants of each kind each check found", head, rows, "matrix")
