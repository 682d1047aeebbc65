"""Reads docs/cookbook.md: an idiom is a heading of the third level, a form of it a fence that its first line names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cookbook.md"
FORMS = ("reference", "tensor", "kernel", "trap")  # that every idiom has, in this order
ROW_FORM = "kernel, block = 1"  # that some have after the kernel
FENCE = re.compile(r"^```(\w+)\n# ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(#([^)]+)\)")


class Snippet(NamedTuple):
    """One form of an idiom: its language (``python``, ``cython``), and its text without the line that names it."""

    language: str
    text: str


class Idiom(NamedTuple):
    """An idiom: its heading, its name in code, the text around its fences, and its forms in order."""

    title: str
    name: str
    prose: str
    forms: dict[str, Snippet]


def anchor(title: str) -> str:
    """What GitHub and MyST make of a heading in a link."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def read_idioms(text: str) -> dict[str, Idiom]:
    """The idioms of a page by their names: the heading's anchor, with underscores."""
    _, *parts = re.split(r"^### ", text, flags=re.MULTILINE)
    found = {}
    for part in parts:
        title, body = part.split("\n", 1)
        body = re.split(r"^## ", body, flags=re.MULTILINE)[0]
        fences = [(label, Snippet(language, code)) for language, label, code in FENCE.findall(body)]
        assert len(dict(fences)) == len(fences) == body.count("```") / 2, f"{title}: a fence without a form's name"
        name = anchor(title).replace("-", "_")
        found[name] = Idiom(title, name, FENCE.sub("", body), dict(fences))
    return found


TEXT = PAGE.read_text()
IDIOMS = read_idioms(TEXT)
