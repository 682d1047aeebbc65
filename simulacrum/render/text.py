"""Frames of text: how wide they are with their colours, cut, set beside each other, fitted to a terminal."""

from __future__ import annotations

import re
from itertools import zip_longest
from types import ModuleType
from typing import Any

from . import frame, options_of

UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
STYLE = re.compile(r"\x1b\[[0-9;]*m")
RESET = "\x1b[0m"
BETWEEN = "   "


def printable(text: str, lines: bool = True) -> str:
    """A text that moves no cursor and sets no style, whatever file it came from: without control characters, of which
    tabs and ends of lines are kept where it may have ``lines``."""
    shown = UNPRINTED.sub("\ufffd", text)
    return shown if lines else re.sub("[\t\n]", "\ufffd", shown)


def width(line: str) -> int:
    """How many columns a line takes; ANSI styles take none."""
    return len(STYLE.sub("", line))


def cut(line: str, columns: int) -> str:
    """The line, at most so wide; where it is cut, it ends with ``…`` and without a style."""
    if width(line) <= columns:
        return line
    kept, room, styled = [], max(0, columns - 1), False
    for part in re.split(f"({STYLE.pattern})", line):
        style = bool(STYLE.fullmatch(part))
        styled |= style
        kept.append(part if style else part[:room])
        room -= 0 if style else min(room, len(part))
    return "".join([*kept, RESET if styled else "", "…" if columns > 0 else ""])


def beside(left: str, right: str, least: int = 0) -> str:
    """Two blocks of lines beside each other, the left one at least so wide."""
    rows = list(zip_longest(left.split("\n"), right.split("\n"), fillvalue=""))
    wide = max(least, *(width(one) for one, _ in rows))
    return "\n".join(f"{one}{' ' * (wide - width(one))}{BETWEEN}{other}".rstrip() for one, other in rows)


def fitted(module: ModuleType, state: Any, rows: int, columns: int, **options: Any) -> str:
    """The text frame of a state; at most so large where the package's renderer can show a part (``view``)."""
    text = str(frame(module, state, "ansi", **options))
    if "view" in options_of(module, "ansi") and "view" not in options:
        lines = text.split("\n")
        if len(lines) > rows or max(map(width, lines)) > columns:
            view = max(3, min(rows - 1, columns // 2))
            text = str(frame(module, state, "ansi", view=view, **options))
    return text
