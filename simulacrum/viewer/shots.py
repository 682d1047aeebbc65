"""``Shot``: what one frame shows, one state or two beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Panel(NamedTuple):
    """One state with its words.

    Attributes:
        heading: whose it is.
        lines: which state it is, and what led to it.
        state: as renderers take it; None where a side did not show it.
    """

    heading: str
    lines: Sequence[str]
    state: Any


class Shot(NamedTuple):
    """What one frame shows.

    Attributes:
        panels: one, or two beside each other.
        title: both panels' episode, or the words before the text of one alone.
        where: at which moment the first difference is, in words.
        difference: the first difference up to here, in words; empty while there is none.
        differs: whether the two differ here.
        first: whether here is the first difference.
    """

    panels: tuple[Panel, ...]
    title: str = ""
    where: str = ""
    difference: str = ""
    differs: bool = False
    first: bool = False
