"""Frames of both sides at the moments of findings: from the files in ``failures/``, by the package's renderer.

A renderer may raise on a state that no rule allows, and may be slow: what it could not draw is said, and nothing else
of the page depends on it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import SimulacrumError
from ...render import frame
from ...render.png import png
from ...spec import Package
from ..findings import read
from ..places import writable_folder
from ..playback import AFTER_STEP, NEXT_FIRST
from ..scenes import SIDES, Scene, scenes
from .findings import Frame, Moment, Pictures
from .verdict import Content

MOMENTS = 8  # of a finding, the last ones
IMAGE, IMAGES = 300_000, 2_000_000  # bytes of an image, of all of them
PIXELS = 4_000_000  # of an image
SECONDS = 20.0  # for all frames


def pictures(package: Package, report: Content, seconds: float = SECONDS) -> dict[str, Pictures]:
    """The moments of each finding that has a file, by the file's name in the report.

    Only files in the package's own ``failures/`` are read, whatever a report names.
    """
    artist = _Artist(seconds)
    found = {}
    for check in report["checks"]:
        for finding in check["findings"]:
            if finding.get("file"):
                try:
                    found[finding["file"]] = _of(package, finding, artist)
                except (SimulacrumError, OSError, ValueError, MemoryError) as error:  # a name too long, a huge file
                    found[finding["file"]] = Pictures(remark=f"Its moments cannot be shown: {error}")
    return found


def _of(package: Package, finding: Content, artist: _Artist) -> Pictures:
    file = writable_folder(package.path) / "failures" / Path(finding["file"]).name
    if not file.is_file():
        return Pictures(remark=f"Its file is no longer there: {file.name}")
    saved = read(file)
    if saved.finding.message != finding["message"] or saved.finding.step != finding.get("step"):
        return Pictures(remark=f"{file.name} holds another finding now: a later run wrote it.")
    try:
        world, found = scenes(package, saved, file)
        renderer = world.module("render")
    except SimulacrumError:
        raise
    except Exception as error:  # whatever a broken package raises when it is imported
        raise SimulacrumError(f"{type(error).__name__}: {error}") from error
    shown = list(_worth_a_look(found))
    moments = [
        Moment(
            _title(scene),
            {side: artist.draw(renderer, getattr(scene, side)) for side in SIDES},
            [(one.name, one.reference, one.fast, one.differs) for one in scene.fields],
        )
        for scene in shown[-MOMENTS:]
    ]
    left = len(shown) - len(moments)
    return Pictures(moments, f"The {left} moments before these are left out." if left else "")


def _worth_a_look(found: list[Scene]) -> Iterator[Scene]:
    """All but the first states of next episodes where none had ended, which repeat the state before."""
    ended = True
    for scene in found:
        if scene.when != NEXT_FIRST or ended or scene.differs:
            yield scene
        if scene.when == AFTER_STEP:
            flags = [one for one in scene.fields if one.name in ("terminated", "truncated")]
            ended = any(one.reference or one.fast for one in flags)


def _title(scene: Scene) -> str:
    words = f"after step {scene.step}" if scene.when == AFTER_STEP else scene.when
    words += f" of step {scene.step}" if scene.when == NEXT_FIRST else ""
    action = json.dumps(scene.action)
    return words if scene.action is None or len(action) > 60 else f"{words}, action {action}"


class _Artist:
    """Draws frames until its time or its room is used up."""

    def __init__(self, seconds: float) -> None:
        self.until = time.perf_counter() + seconds
        self.room = IMAGES

    def draw(self, renderer: Any, state: Any) -> Frame:
        """A state as text and as an image, or why not."""
        if state is None:
            return Frame(problem="This form did not show its state.")
        if time.perf_counter() > self.until:
            return Frame(problem="Not drawn: the time for frames was used up.")
        text, problem = _attempt(renderer, state, "ansi")
        array, no_image = _attempt(renderer, state, "rgb_array")
        made = Frame(text=text if isinstance(text, str) else "", problem=problem or no_image)
        if made.problem:
            return made
        return self._with_image(made, array)

    def _with_image(self, made: Frame, array: Any) -> Frame:
        try:
            height, width = array.shape[:2]
            image = png(array) if height * width <= PIXELS else b""
        except (AttributeError, TypeError, ValueError) as error:
            return Frame(text=made.text, problem=f"render_rgb gave no image: {error}")
        if not image or len(image) > min(IMAGE, self.room):
            return Frame(text=made.text, problem="Its image is left out: there is no room for it on this page.")
        self.room -= len(image)
        return Frame(image, (width, height), made.text)


def _attempt(renderer: Any, state: Any, mode: str) -> tuple[Any, str]:
    """A frame, or why the renderer gave none."""
    try:
        return frame(renderer, state, mode), ""
    except (Exception, SystemExit) as error:
        name = "render_text" if mode == "ansi" else "render_rgb"
        return None, f"{name} raised {type(error).__name__}: {error}"
