"""Findings: what was expected and what came, how to see it again, and frames of both sides beside each other."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .markup import Markup, clip, some, tag
from .markup import table as table_of
from .verdict import Content, command

MOST = 60  # findings shown
OPEN = 3  # of a check that are not folded
LARGEST = float(np.finfo(np.float32).max)
ROOM = 1_500_000  # characters of all findings but their images
VALUE, TEXT = 300, 6000  # characters of a field's value, of a frame as text
FIELDS = 40  # of a moment, shown at most
SIDES = ("reference", "fast")
AT = (("With", "setting"), ("Row", "instance"), ("Seed", "seed"), ("Episode", "episode"), ("Step", "step"))
VALUES = (("Field", "field"), ("Action", "action"), ("Reference", "reference"), ("Fast", "fast"))
WORDS = (("How it was reached", "reached"), ("Hint", "hint"), ("Rule of the spec", "rule"))


@dataclass(frozen=True)
class Frame:
    """A side's state, drawn: a PNG's bytes, a text, or why there is none of them."""

    image: bytes | None = None
    size: tuple[int, int] = (0, 0)
    text: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Moment:
    """A moment of a finding: what led to it, both sides' frames, and (name, reference, fast, differs) of each value."""

    title: str
    frames: dict[str, Frame]
    fields: list[tuple[str, Any, Any, bool]] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        """Whether the sides differ in it."""
        return any(differs for *_, differs in self.fields)


@dataclass(frozen=True)
class Pictures:
    """The moments of a finding, and what is to be said of them (what was left out, why there are none)."""

    moments: list[Moment] = field(default_factory=list)
    remark: str = ""


def section(report: Content, pictures: Mapping[str, Pictures]) -> Markup | None:
    """The findings of each check, as far as there is room; None where there are none."""
    found = [(place, finding) for place, check in enumerate(report["checks"]) for finding in check["findings"]]
    if not found:
        return None
    room = ROOM
    parts: dict[int, list[Markup]] = {}
    for number, (place, finding) in enumerate(found[:MOST], 1):
        shown = pictures.get(finding.get("file", ""), Pictures())
        part = _finding(number, finding, shown)
        room -= len(part) - sum(
            len(one.image or b"") * 4 // 3 for moment in shown.moments for one in moment.frames.values()
        )
        if room < 0:
            break
        parts.setdefault(place, []).append(part)
    left = len(found) - sum(map(len, parts.values()))
    return tag(
        "section",
        tag("h2", "Findings", id="findings"),
        [_of_check(place, report["checks"][place]["name"], listed) for place, listed in parts.items()],
        tag("p", f"{left:,} more left out of this page: validation_report.json has all.", class_="quiet")
        if left
        else None,
        aria_labelledby="findings",
    )


def _of_check(place: int, name: str, listed: list[Markup]) -> Markup:
    """A check's findings: the first few, and the others folded."""
    more = listed[OPEN:]
    folded = tag("details", tag("summary", f"{len(more)} more of {clip(name, 100)}"), more) if more else None
    return tag("div", tag("h3", clip(name, 100), id=f"found-{place}"), listed[:OPEN], folded, class_="found")


def _finding(number: int, finding: Content, pictures: Pictures) -> Markup:
    message, _, rest = finding["message"].partition("\n")
    at = [(name, finding[key]) for name, key in AT if finding.get(key) not in (None, "")]
    return tag(
        "article",
        tag("h4", clip(message, 600), id=f"finding-{number}"),
        tag("pre", clip(rest)) if rest else None,
        _pairs(at, "facts"),
        _values(finding),
        _pictures(number, pictures),
        [
            tag("div", tag("h5", name), tag("p", clip(finding[key]), class_="lines"))
            for name, key in WORDS
            if finding.get(key)
        ],
        _commands(finding),
        class_="finding",
        aria_labelledby=f"finding-{number}",
    )


def _values(finding: Content) -> Markup | None:
    shown = [(name, tag("code", clip(finding[key], 1500))) for name, key in VALUES if finding.get(key)]
    return _pairs(shown, "values")


def _pairs(pairs: list[tuple[str, Any]], class_: str) -> Markup | None:
    if not pairs:
        return None
    cells = [
        tag("div", tag("dt", name), tag("dd", value if isinstance(value, Markup) else clip(value, 600)))
        for name, value in pairs
    ]
    return tag("dl", cells, class_=class_)


def _commands(finding: Content) -> Markup | None:
    """How to see it again: its case, where it has a file; the check with the same seed."""
    file, again = finding.get("file"), finding.get("replay")
    lines = [f"simulacrum {how} {shlex.quote(file)}" for how in ("explain", "render")] if file else []
    lines += [again] if again else []
    return tag("div", [command(line) for line in lines], class_="commands") if lines else None


def _pictures(number: int, pictures: Pictures) -> Markup | None:
    moments = pictures.moments
    remark = tag("p", clip(pictures.remark, 600), class_="quiet") if pictures.remark else None
    if not moments:
        return remark
    first = next((place for place, moment in enumerate(moments) if moment.differs), len(moments) - 1)
    name = f"Moments of finding {number}"
    return tag(
        "div",
        tag("h5", "Both sides, moment by moment"),
        remark,
        _buttons(),
        tag("ol", [_moment(moment, place, len(moments)) for place, moment in enumerate(moments, 1)]),
        class_="stepper",
        role="group",
        aria_label=name,
        data_first=str(first),
    )


def _buttons() -> Markup:
    """What steps through the moments, where a script can; the arrow keys do so as well."""
    return tag(
        "div",
        tag("button", tag("span", "←", aria_hidden="true"), " Back", type="button", data_step="-1"),
        tag("span", class_="place", role="status"),
        tag("button", "On ", tag("span", "→", aria_hidden="true"), type="button", data_step="1"),
        tag("span", "arrow keys step too", class_="quiet keys"),
        class_="tools",
        hidden=True,
    )


def _moment(moment: Moment, place: int, of: int) -> Markup:
    differing = [one for one in moment.fields if one[3]]
    same = [one for one in moment.fields if not one[3]]
    return tag(
        "li",
        tag("h6", f"{place} of {of}: ", moment.title, tag("strong", " ≠ the sides differ") if differing else None),
        tag(
            "div",
            [_drawn(side, moment.frames[side], moment.title) for side in SIDES if side in moment.frames],
            class_="pair",
        ),
        _fields("What differs", differing) if differing else None,
        tag("details", tag("summary", f"{len(same)} values alike"), _fields("What is alike", same)) if same else None,
        class_="moment differs" if differing else "moment",
    )


def _drawn(side: str, frame: Frame, title: str) -> Markup:
    image = None
    if frame.image is not None:
        width, height = frame.size
        data = base64.b64encode(frame.image).decode()
        alternative = f"The {side} side, {title}. " + (clip(frame.text, 1200) or "No text describes it.")
        image = tag("img", src=f"data:image/png;base64,{data}", alt=alternative, width=width, height=height)
    as_text = tag("pre", clip(frame.text, TEXT)) if frame.text else None
    return tag(
        "figure",
        tag("figcaption", side),
        image,
        tag("details", tag("summary", f"{side} as text"), as_text) if as_text and image else as_text,
        tag("p", clip(frame.problem, 600), class_="problem") if frame.problem else None,
    )


def _fields(caption: str, fields: list[tuple[str, Any, Any, bool]]) -> Markup:
    shown, left = some(fields, FIELDS)
    rows = [(clip(name, 200), _value(one), _value(other)) for name, one, other, _ in shown]
    found = table_of(caption, ("Field", "Reference", "Fast"), rows, "fields")
    return tag("div", found, tag("p", left, class_="quiet")) if left else found


def _value(value: Any) -> Markup:
    return tag("code", "not shown" if value is None else clip(json.dumps(_shortest(value)), VALUE))


def _shortest(value: Any) -> Any:
    """A value whose floats, where they are a float32's, have as few digits as tell it from others."""
    if isinstance(value, list):
        return [_shortest(one) for one in value]
    if isinstance(value, float) and abs(value) < LARGEST and float(np.float32(value)) == value:
        return float(str(np.float32(value)))
    return value
