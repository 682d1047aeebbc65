"""Nanoseconds a row's step over N, as a picture. Needs Matplotlib: ``pip install "simulacrum[viz]"``."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from ..errors import SimulacrumError
from .sweep import Results, threads_name

SUFFIXES = (".png", ".svg", ".pdf")
COLOURS = {"eager": "#0072B2", "compiled": "#D55E00", "kernel": "#009E73"}  # told apart by colour-blind eyes too
MARKERS = {"eager": "o", "compiled": "s", "kernel": "D"}
STYLES = ("-", "--", ":", "-.")  # by thread count
GREY = "#555555"


def require() -> Any:
    """Matplotlib's ``Figure``. Raises :class:`~simulacrum.errors.SimulacrumError` where Matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SimulacrumError(
            f'a plot needs Matplotlib, which could not be imported ({error}): pip install "simulacrum[viz]"'
        ) from None
    return Figure


def draw(results: Results, title: str, file: Path) -> None:
    """Write a picture, log-log: one line a form and thread count, the yardstick and the reference marked."""
    figure = require()(figsize=(8, 6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for form in results.plan.forms:
        for number, count in enumerate(results.plan.threads):
            groups = [one for one in results.groups if one.threads == count and form in one.timings]
            points = sorted((one.batch_size, one.timings[form].nanoseconds) for one in groups)
            if points:
                axes.plot(
                    *zip(*points, strict=True),
                    color=COLOURS[form],
                    marker=MARKERS[form],
                    markersize=5,
                    linewidth=1.8,
                    linestyle=STYLES[number % len(STYLES)],
                    label=f"{form}, {threads_name(count)}",
                )
    for name, words, style in (
        ("yardstick", "yardstick: Gymnasium's vector CartPole, N = 8,192", (0, (6, 3))),
        ("reference", "reference, one instance", (0, (1, 2))),
    ):
        every = [group.timings[name].nanoseconds for group in results.groups]
        if every:
            level = statistics.median(every)
            axes.axhline(level, color=GREY, linewidth=1.2, linestyle=style, label=f"{words} ({level:,.0f} ns)")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted(results.plan.sizes)
    axes.set_xticks(sizes, [_short(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("batch size N (instances)")
    axes.set_ylabel("time a row's step (ns)")
    axes.set_title(title if results.complete else f"{title} (interrupted: incomplete)", loc="left")
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if results.groups:
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, handlelength=3.5)
    figure.savefig(file)


def _short(size: int) -> str:
    """1,048,576 as 1Mi, 4,096 as 4Ki; others as they are."""
    for power, sign in ((20, "Mi"), (10, "Ki")):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power}{sign}"
    return f"{size:,}"
