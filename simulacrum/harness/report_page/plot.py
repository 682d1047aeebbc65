"""Lines over two logarithmic axes, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .markup import Markup, clip, tag

WIDTH, HEIGHT = 620, 360
LEFT, RIGHT, TOP, BOTTOM = 78, 132, 16, 56
APART = 22  # between two labels
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
SHAPES = (  # of the points, so that colour is not all that tells lines apart
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "M-4.5-4.5h9v9h-9z",
    "M0-5.5l5.5 9.5h-11z",
    "M0-6l6 6l-6 6l-6-6z",
    "M0 5.5l5.5-9.5h-11z",
)
Points = Mapping[int, float]
End = tuple[float, float, str, str]  # of a line: y, x, its name, its class


def plot(lines: Mapping[str, Points], level: tuple[str, float] | None, title: str) -> Markup:
    """An SVG image of positive values over batch sizes, each line labelled at its end.

    Args:
        lines: by name the values by batch size.
        level: a name and a value that is the same everywhere, drawn dashed.
        title: what it shows, for who does not see it.
    """
    sizes = sorted({size for points in lines.values() for size in points})
    values = [value for points in lines.values() for value in points.values()] + ([level[1]] if level else [])
    x, y = _Axis(sizes, LEFT, WIDTH - RIGHT), _Axis(values, HEIGHT - BOTTOM, TOP, whole=True)
    ends = [
        (y(points[max(points)]), x(max(points)), name, f"series-{number % len(SHAPES)}")
        for number, (name, points) in enumerate(lines.items())
    ]
    ends += [(y(level[1]), WIDTH - RIGHT, level[0], "level-label")] if level else []
    return tag(
        "svg",
        tag("title", title),
        [_across(value, y(value)) for value in y.decades()],
        [_beneath(size, x(size)) for size in sizes],
        tag("text", "batch size N", x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 6, text_anchor="middle", class_="axis"),
        _dashed(y(level[1])) if level else None,
        [_line(points, x, y, number) for number, points in enumerate(lines.values())],
        [_label(*end) for end in _spread(ends)],
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        class_="plot",
        focusable="false",
    )


def short(value: float) -> str:
    """A number with a prefix, three digits of it."""
    for size, prefix in PREFIXES:
        if value >= size:
            return f"{value / size:.3g} {prefix}" if value / size < 1000 else f"{value / size:,.0f} {prefix}"
    return f"{value:.3g}"


class _Axis:
    """Places of values between two ends of a logarithmic axis; ``whole`` widens it to whole decades."""

    def __init__(self, values: list[Any], start: float, end: float, whole: bool = False) -> None:
        low, high = math.log10(min(values)), math.log10(max(values))
        self.low: float = math.floor(low) if whole else low
        self.high: float = math.ceil(high) if whole else high
        if self.high <= self.low:
            self.low, self.high = self.low - 0.5, self.low + 0.5
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def decades(self) -> list[float]:
        """The powers of ten on it."""
        return [10.0**power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]


def _across(value: float, y: float) -> list[Markup]:
    return [
        tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"),
        tag("text", short(value), x=LEFT - 8, y=y + 4, text_anchor="end", class_="axis"),
    ]


def _beneath(size: int, x: float) -> list[Markup]:
    return [
        tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_="grid"),
        tag("text", f"{size:,}", x=x, y=HEIGHT - BOTTOM + 22, text_anchor="middle", class_="axis"),
    ]


def _dashed(y: float) -> Markup:
    return tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="level")


def _line(points: Points, x: _Axis, y: _Axis, number: int) -> Markup:
    places = [(x(size), y(value)) for size, value in sorted(points.items())]
    path = "M" + "L".join(f"{across} {up}" for across, up in places)
    shape = SHAPES[number % len(SHAPES)]
    return tag(
        "g",
        tag("path", d=path, class_="curve") if len(places) > 1 else None,
        [tag("path", d=shape, transform=f"translate({across} {up})", class_="point") for across, up in places],
        class_=f"series-{number % len(SHAPES)}",
    )


def _spread(ends: list[End]) -> list[End]:
    """Labels moved apart, from the top down, and back up where they run out of room."""
    placed: list[End] = []
    for y, x, name, kind in sorted(ends):
        placed.append((max(y, placed[-1][0] + APART) if placed else y, x, name, kind))
    room: float = HEIGHT - BOTTOM
    for place in reversed(range(len(placed))):
        y, x, name, kind = placed[place]
        placed[place] = (min(y, room), x, name, kind)
        room = min(y, room) - APART
    return placed


def _label(y: float, x: float, name: str, kind: str) -> Markup:
    return tag("text", clip(name, 18), x=x + 12, y=y + 4, class_=f"label {kind}")
