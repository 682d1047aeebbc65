"""HTML as Python expressions: whatever is not HTML already is escaped, so a hostile text stays a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TypeVar

T = TypeVar("T")
VOID = {"img", "line", "path", "circle", "rect"}  # elements without an end tag, or with one that says nothing
UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
LONGEST = 4000  # characters of a text that is shown


class Markup(str):
    """HTML."""

    __slots__ = ()


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element.

    Args:
        name: its name.
        children: texts (escaped), :class:`Markup`, lists of both; None is left out.
        attributes: ``class_`` is ``class``, ``aria_label`` is ``aria-label``; True stands alone, None and False are
            left out.
    """
    shown = "".join(
        f" {_attribute(key)}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Markup(f"<{name}{shown}>" if name == "img" else f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{join(children)}</{name}>")


def join(children: Iterable[Any], between: str = "") -> Markup:
    """Children beside each other."""
    return Markup(between.join(_child(child) for child in children if child is not None))


def text(value: Any) -> Markup:
    """A text, escaped; what cannot be printed is shown as a replacement character."""
    return value if isinstance(value, Markup) else Markup(escape(UNPRINTED.sub("\ufffd", str(value))))


def clip(value: Any, longest: int = LONGEST) -> str:
    """A text, cut off where it is too long for a page, which it says."""
    whole = str(value)
    return whole if len(whole) <= longest else f"{whole[:longest]} … ({len(whole) - longest:,} characters left out)"


def some(items: Sequence[T], most: int) -> tuple[Sequence[T], str]:
    """At most so many items, and words for how many were left out (empty for none)."""
    more = len(items) - most
    return items[:most], f"{more:,} more left out of this page" if more > 0 else ""


def hidden(words: str) -> Markup:
    """Words for a screen reader alone."""
    return tag("span", words, class_="unseen")


def table(caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]], class_: str = "") -> Markup:
    """A table that scrolls in itself: the first cell of a row is its header; columns of numbers stand to the right.

    The caption is for screen readers: the heading above says it to the others.
    """
    listed = [list(row) for row in rows]
    numbers = [all(isinstance(row[place], (int, float)) for row in listed) for place in range(len(head))]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption, class_="unseen"),
            tag("thead", tag("tr", [_cell("th", *one, scope="col") for one in zip(head, numbers, strict=True)])),
            tag("tbody", [_row(row, numbers) for row in listed]),
            class_=class_ or None,
        ),
        class_="scrolls",
        role="region",
        tabindex="0",
        aria_label=caption,
    )


def _row(row: Sequence[Any], numbers: Sequence[bool]) -> Markup:
    cells = [_cell("td", *one) for one in zip(row[1:], numbers[1:], strict=True)]
    return tag("tr", tag("th", row[0], scope="row"), cells)


def _cell(name: str, content: Any, number: bool, **attributes: Any) -> Markup:
    return tag(name, _number(content), class_="number" if number else None, **attributes)


def _number(cell: Any) -> Any:
    return f"{cell:,}" if isinstance(cell, int) else cell


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _child(child: Any) -> str:
    return join(child) if isinstance(child, (list, tuple)) else text(child)
