"""Each check: outcome, time, counts, how sure it is, notes."""

from __future__ import annotations

from typing import Any

from ..evidence import CAVEAT, words
from .markup import Markup, clip, some, tag
from .verdict import WORDS, Content, bar, mark

NOTES, COUNTS, BRIEF = 60, 120, 2  # shown at most; counts in a summary


def section(report: Content) -> Markup:
    """All checks, each to open; those that failed are open."""
    outcomes = [check["outcome"] for check in report["checks"]]
    slowest = max([check["seconds"] for check in report["checks"]], default=1)
    kinds = [name for name in WORDS if name in outcomes]
    filters = [_filter("all", f"All {len(outcomes)}", True)]
    filters += [_filter(name, f"{WORDS[name].capitalize()} {outcomes.count(name)}", False) for name in kinds]
    return tag(
        "section",
        tag("h2", "Checks", id="checks"),
        tag(
            "div",
            tag("div", filters, role="group", aria_label="Show checks by outcome", class_="filters"),
            tag("button", "Open all", type="button", class_="open-all", data_for="check-list", aria_pressed="false"),
            class_="tools",
            hidden=True,
        ),
        tag("div", [_check(*one, slowest) for one in enumerate(report["checks"])], id="check-list"),
        tag("p", CAVEAT, class_="quiet") if any(check.get("evidence") for check in report["checks"]) else None,
        tag("p", class_="unseen", role="status", id="filter-status"),
        aria_labelledby="checks",
    )


def _filter(name: str, label: str, pressed: bool) -> Markup:
    shown = "true" if pressed else "false"
    return tag("button", label, type="button", class_="filter", data_outcome=name, aria_pressed=shown)


def _check(place: int, check: Content, slowest: float) -> Markup:
    failed = check["outcome"] == "failed"
    brief = ", ".join(f"{name} {value:,}" for name, value in list(check["counts"].items())[:BRIEF])
    return tag(
        "details",
        tag(
            "summary",
            mark(check["outcome"]),
            tag("span", clip(check["name"], 100), class_="name"),
            tag("span", clip(brief, 120), class_="brief"),
            tag("span", f"{check['seconds']:.1f} s", class_="time"),
            bar(check["seconds"], slowest),
        ),
        tag("div", _inside(place, check), class_="inside"),
        class_="check",
        data_outcome=check["outcome"],
        open=failed,
    )


def _inside(place: int, check: Content) -> list[Any]:
    sure = words(check["name"], check["outcome"], check.get("evidence"))
    counts, fewer = some(list(check["counts"].items()), COUNTS)
    notes, less = some(check["notes"], NOTES)
    number = len(check["findings"])
    link = tag("a", f"{number} finding{'' if number == 1 else 's'}", href=f"#found-{place}") if number else None
    return [
        tag("p", sure[0].upper() + sure[1:] + ".") if sure else None,
        tag("p", link, ", above") if link else None,
        tag(
            "dl",
            [tag("div", tag("dt", clip(name, 200)), tag("dd", f"{value:,}")) for name, value in counts],
            class_="counts",
        )
        if counts
        else None,
        tag("ul", [tag("li", clip(note, 2000)) for note in notes], class_="notes") if notes else None,
        tag("p", " ".join(filter(None, (fewer, less))), class_="quiet") if fewer or less else None,
        tag("p", "It counts nothing and notes nothing.", class_="quiet")
        if not (counts or notes or sure or link)
        else None,
    ]
