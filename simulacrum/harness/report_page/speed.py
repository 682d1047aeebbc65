"""Steps per second over the batch size: what the throughput check measured, or a sweep of ``simulacrum bench``."""

from __future__ import annotations

from typing import Any, NamedTuple

from .markup import Markup, clip, tag
from .markup import table as table_of
from .plot import plot, short
from .verdict import Content

UNIT = " steps per second"
LEAST = 1e-300  # a rate's powers of ten, above and below it, are numbers


class Curve(NamedTuple):
    """Rates by form and batch size, measured by one number of threads, and the reference's."""

    threads: int
    forms: dict[str, dict[int, float]]
    reference: float | None


def section(report: Content, bench: Content | None) -> Markup:
    """A plot and a table for each number of threads."""
    curves = measured(report["throughput"]) if bench is None else swept(bench)
    said = _said(report["throughput"]) if bench is None else _swept_said(bench)
    return tag(
        "section",
        tag("h2", "Throughput", id="throughput"),
        tag("p", said) if said else None,
        [_curve(curve, several=len(curves) > 1) for curve in curves],
        tag("p", "Nothing was measured.") if not curves else None,
        aria_labelledby="throughput",
    )


def measured(facts: Content) -> list[Curve]:
    """What the check measured: a curve where it recorded several sizes, else a point for each form."""
    rates = {name.removesuffix(UNIT): value for name, value in facts.items() if name.endswith(UNIT) and _real(value)}
    reference = rates.pop("reference", None)
    forms = {
        name: {int(size): rate for size, rate in sizes.items() if _real(rate)}
        for name, sizes in facts.get("by batch size", {}).items()
    }
    size = facts.get("batch size")
    for name, rate in rates.items():
        if not forms.get(name) and isinstance(size, int):
            forms[name] = {size: rate}
    forms = {name: sizes for name, sizes in forms.items() if sizes}
    return [Curve(int(facts.get("threads", 1)), forms, reference)] if forms else []


def swept(bench: Content) -> list[Curve]:
    """What ``simulacrum bench --json`` wrote, by threads."""
    curves = []
    for threads in sorted({group["threads"] for group in bench["groups"]}):
        groups = [group for group in bench["groups"] if group["threads"] == threads]
        forms: dict[str, dict[int, float]] = {}
        for group in groups:
            for form, timing in group["forms"].items():
                forms.setdefault(form, {})[group["batch size"]] = timing["steps per second"]
        references = sorted(group["reference"]["steps per second"] for group in groups)
        if forms:
            curves.append(Curve(threads, forms, references[len(references) // 2]))
    return curves


def _said(facts: Content) -> str:
    if not _real(facts.get("ratio")):
        return ""
    ratio = f"{facts['ratio']:,.0f}" if facts["ratio"] >= 100 else f"{facts['ratio']:,.1f}"
    return (
        f"The fastest form, {clip(facts.get('fastest form', '?'), 40)}, makes {ratio} times the reference's steps per "
        f"second at N = {facts.get('batch size', 0):,}. That size is measured in rounds by turns, the others roughly. "
        "A compiled form is measured at one size."
    )


def _swept_said(bench: Content) -> str:
    rest = "" if bench.get("complete", True) else " It was interrupted: sizes are missing."
    return f"A sweep of simulacrum bench: medians of rounds by turns.{rest}"


def _curve(curve: Curve, several: bool) -> Markup:
    threads = f"{curve.threads} thread{'' if curve.threads == 1 else 's'}"
    title = f"Steps per second by batch size, {threads}"
    level = ("reference", curve.reference) if curve.reference else None
    sizes = sorted({size for points in curve.forms.values() for size in points})
    rows: list[Any] = [(f"{size:,}", *(_rate(points.get(size)) for points in curve.forms.values())) for size in sizes]
    if level:
        rows.append(("reference, one instance", _rate(level[1]), *[""] * (len(curve.forms) - 1)))
    forms = {clip(name, 40): points for name, points in curve.forms.items()}
    return tag(
        "div",
        tag("h3", f"By {threads}") if several else None,
        tag(
            "div",
            tag(
                "figure",
                tag("div", plot(forms, level, title), class_="scrolls", role="region", tabindex="0", aria_label=title),
                tag("figcaption", f"{title}; both axes are logarithmic. The table has the same figures."),
            ),
            table_of(title, ("N", *forms), rows, "figures"),
            class_="beside",
        ),
    )


def _rate(value: float | None) -> Markup:
    return tag(
        "span", "" if value is None else short(value), class_="figure", title=None if value is None else f"{value:,.0f}"
    )


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and LEAST <= value <= 1 / LEAST
