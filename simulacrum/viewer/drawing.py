"""``Drawer``: shots as text and as images, by a package's renderer."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .. import render
from ..errors import SimulacrumError
from ..render.captions import FIRST, LATER, Picture, side_by_side
from ..render.text import BETWEEN, beside, cut, fitted, width
from .shots import Panel, Shot

NOTHING = "(no state was shown)"


class Drawer:
    """Draws the shots of one package.

    Args:
        renderer: the package's ``render`` module.
        image: ``rgb_array`` or ``figure``: which form images have.
        colour: whether text has ANSI colours.
        options: keywords of the package's functions: ``around``, ``cell``.
    """

    def __init__(
        self,
        renderer: ModuleType,
        image: str = "rgb_array",
        colour: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        self._renderer, self._form, self._colour, self._options = renderer, image, colour, options or {}

    def text(self, shot: Shot) -> str:
        """A shot as lines of text; its words above, and the first difference marked below."""
        if len(shot.panels) == 1:
            return f"{shot.title}\n{self._text(shot.panels[0])}"
        blocks = ["\n".join([panel.heading, *panel.lines, self._text(panel)]) for panel in shot.panels]
        return "\n".join([*([shot.title] if shot.title else []), beside(blocks[0], blocks[1]), *note(shot)])

    def fitted(self, shot: Shot, rows: int, columns: int) -> list[str]:
        """The boards of a shot as lines, at most so many and so wide where the renderer can show a part."""
        if len(shot.panels) == 1:
            return self._text(shot.panels[0], rows, columns).split("\n")[:rows]
        half = (columns - len(BETWEEN)) // 2
        blocks = ["\n".join([panel.heading, *panel.lines, self._text(panel, rows - 3, half)]) for panel in shot.panels]
        return _set_out(blocks, rows, columns)[:rows]

    def image(self, shot: Shot) -> np.ndarray:
        """A shot as uint8 [H, W, 3]: the renderer's own image, or two with captions and the difference marked."""
        if len(shot.panels) == 1:
            return self._pixels(shot.panels[0].state)
        pictures = [
            Picture(None if panel.state is None else self._pixels(panel.state), panel.heading, panel.lines)
            for panel in shot.panels
        ]
        border = None if not shot.differs else FIRST if shot.first else LATER
        words = [f"first difference: {shot.where}", shot.difference] if shot.difference else ["", ""]
        return side_by_side(pictures, words, border)

    def check(self, mode: str) -> None:
        """Raise SimulacrumError for an option that the renderer does not take, PackageError for a form it lacks."""
        takes = render.options_of(self._renderer, mode)
        for name in self._options:
            if name not in takes:
                raise SimulacrumError(f"--{name}: {self._renderer.__file__} does not take it for {mode} frames")

    def _text(self, panel: Panel, rows: int | None = None, columns: int = 0) -> str:
        if panel.state is None:
            return NOTHING
        options = {render.COLOUR: self._colour, **self._options}
        if rows is None:
            return str(self._told(lambda: render.frame(self._renderer, panel.state, "ansi", **options)))
        return str(self._told(lambda: fitted(self._renderer, panel.state, rows, columns, **options)))

    def _pixels(self, state: Any) -> np.ndarray:
        image: np.ndarray = self._told(lambda: render.frame(self._renderer, state, self._form, **self._options))
        return image

    def _told(self, draw: Any) -> Any:
        """What a renderer draws; what it does not accept, as a SimulacrumError."""
        try:
            return draw()
        except ValueError as error:
            raise SimulacrumError(f"{self._renderer.__file__}: {error}") from None


def note(shot: Shot) -> list[str]:
    """The first difference in a line; none while there is none."""
    if not shot.difference:
        return []
    when = "<- the first difference, at" if shot.first else "the first difference was at"
    return [f"{when} {shot.where}: {shot.difference}"]


def _set_out(blocks: Sequence[str], rows: int, columns: int) -> list[str]:
    """Two blocks beside each other, or, where only that fits, one above the other."""
    lines = beside(blocks[0], blocks[1]).split("\n")
    if max(map(width, lines)) <= columns:
        return lines
    above = [*blocks[0].split("\n"), "", *blocks[1].split("\n")]
    if len(above) <= rows:
        return above
    half = (columns - len(BETWEEN)) // 2
    left, right = ("\n".join(cut(line, half) for line in block.split("\n")) for block in blocks)
    return beside(left, right).split("\n")
