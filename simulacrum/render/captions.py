"""Images beside each other, with captions in Pillow's own font, and a border where they differ."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import SimulacrumError
from .film import BACKGROUND

MISSING = "captions in images need the extra viz: pip install 'simulacrum[viz]'"
NARROWEST = 260  # pixels of a panel: what a caption needs
LETTERS, LINE = 14, 20  # pixels
MARGIN, BORDER = 12, 4
COLUMNS, WIDEST = 3, 110  # of words below an image, and pixels of one at most
SHADES = 8  # of a letter's edge: so few that a GIF's palette holds them beside the images' own colours

Colour = tuple[int, int, int]
INK: Colour = (24, 26, 30)
FAINT: Colour = (86, 90, 98)
FIRST: Colour = (196, 28, 52)  # the first difference
LATER: Colour = (232, 150, 158)  # a difference after it
NOTE: Colour = (252, 228, 228)  # behind the words of a difference


class Picture(NamedTuple):
    """An image, uint8 [H, W, 3] or None where there is none, with a heading above it and lines below it."""

    image: np.ndarray | None
    heading: str
    lines: Sequence[str]


def side_by_side(pictures: Sequence[Picture], note: Sequence[str], border: Colour | None) -> np.ndarray:
    """Pictures beside each other, a border around each where a colour is given, and a note below them all.

    Texts are cut to the room there is, so that the layout stays the same from one image to the next: as uint8
    [H, W, 3]. The note's room is there also while it has no words.
    """
    height = max(1 if picture.image is None else picture.image.shape[0] for picture in pictures)
    panels = [_panel(picture, height, border) for picture in pictures]
    row = np.concatenate(panels, axis=1)
    foot = np.full((LINE * len(note) + MARGIN, row.shape[1], 3), NOTE if any(note) else BACKGROUND, np.uint8)
    for number, line in enumerate(note):
        _write(foot, MARGIN, MARGIN // 2 + LINE * number, line, FIRST)
    return np.concatenate([row, foot])


def _panel(picture: Picture, height: int, border: Colour | None) -> np.ndarray:
    """A picture as high as the others."""
    inner = NARROWEST if picture.image is None else max(NARROWEST, picture.image.shape[1])
    wide = inner + 2 * MARGIN
    top = MARGIN // 2 + LINE + BORDER
    canvas = np.full((top + height + BORDER + LINE * len(picture.lines) + MARGIN, wide, 3), BACKGROUND, np.uint8)
    _write(canvas, MARGIN, MARGIN // 2 - 2, picture.heading, INK)
    if picture.image is not None:
        high, broad = picture.image.shape[:2]
        left = (wide - broad) // 2
        if border is not None:
            canvas[top - BORDER : top + high + BORDER, left - BORDER : left + broad + BORDER] = border
        canvas[top : top + high, left : left + broad] = picture.image
    for number, line in enumerate(picture.lines):
        _columns(canvas, top + height + BORDER + 2 + LINE * number, line)
    return canvas


def _columns(canvas: np.ndarray, top: int, line: str) -> None:
    """Write what two spaces set apart in columns, so that it stays in its place; in a row where one is too wide."""
    parts = line.split("  ")
    room = min(WIDEST, (canvas.shape[1] - 2 * MARGIN) // COLUMNS)
    if len(parts) > COLUMNS or any(_font().getlength(part) > room - 4 for part in parts):
        parts, room = [" · ".join(parts)], 0
    for number, part in enumerate(parts):
        _write(canvas, MARGIN + number * room, top, part, FAINT)


def _write(canvas: np.ndarray, left: int, top: int, text: str, colour: Colour) -> None:
    """Write a line in place, cut to the canvas."""
    mask = _letters(_cut(text, canvas.shape[1] - left - MARGIN))[: canvas.shape[0] - top]
    part = canvas[top : top + mask.shape[0], left : left + mask.shape[1]]
    blended = part + (np.asarray(colour, np.float64) - part) * mask[:, : part.shape[1], None]
    part[...] = np.rint(blended).astype(np.uint8)


@functools.lru_cache(maxsize=256)
def _letters(text: str) -> np.ndarray:
    """How much of each pixel the letters cover, [LINE, W] in SHADES steps of 0..1."""
    from PIL import Image, ImageDraw

    font = _font()
    wide = max(1, int(font.getlength(text)) + 2)
    image = Image.new("L", (wide, LINE), 0)
    ImageDraw.Draw(image).text((0, 1), text, 255, font)
    return np.rint(np.asarray(image, np.float64) / 255 * SHADES) / SHADES


@functools.lru_cache(maxsize=1024)
def _cut(text: str, room: int) -> str:
    font = _font()
    if font.getlength(text) <= room:
        return text
    while text and font.getlength(text + "…") > room:
        text = text[:-1]
    return text + "…"


@functools.cache
def _font() -> Any:
    try:
        from PIL import ImageFont
    except ImportError:
        raise SimulacrumError(MISSING) from None
    return ImageFont.load_default(LETTERS)
