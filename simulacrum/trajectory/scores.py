"""Scores of episodes from outside, as a learner's TD errors: a JSON file that names trajectory files."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import bounded
from .records import TrajectoryError
from .schema import short, token
from .summaries import Summary
from .values import loads

Scores = Mapping[str, Any]
DIGITS = 18  # of the number of an episode


def read_scores(file: str | os.PathLike[str]) -> dict[str, float | list[float]]:
    """The scores in a JSON file: ``{"run.json": 0.3}``, ``{"run.json": [0.1, 0.4]}`` or ``{"run.json#1": 0.4}``.

    Raises :class:`~simulacrum.trajectory.TrajectoryError` (file, JSON pointer) for anything else, NaN and infinities
    among it.

    Example:
        >>> from pathlib import Path
        >>> from simulacrum.trajectory.picker import read_scores
        >>> _ = Path("scores.json").write_text('{"run.json": [0.1, 0.4], "game.jsonl#1": 2}')
        >>> read_scores("scores.json")
        {'run.json': [0.1, 0.4], 'game.jsonl#1': 2}
    """
    path = Path(file)
    try:
        content = loads(bounded.content(path))
    except TrajectoryError:
        raise
    except MemoryError:
        raise TrajectoryError(f"{path}: it is too large for the memory that there is") from None
    except OSError as error:
        raise TrajectoryError(f"{path}: expected a file of scores: {error.strerror or error}") from None
    except (ValueError, EOFError, zlib.error) as error:
        raise TrajectoryError(f"{path}: expected a file of scores: {error}") from None
    if not isinstance(content, dict):
        raise TrajectoryError(f"{path}: /: expected an object of scores by file, got {short(repr(content))}")
    for name, value in content.items():
        for number, one in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if type(one) not in (int, float) or not math.isfinite(one):
                place = f"/{token(name)}" + ("" if number is None else f"/{number}")
                raise TrajectoryError(f"{path}: {place}: expected a number, got {short(repr(one))}")
    return content


def scored(found: Sequence[Summary], scores: Scores, where: str = "scores") -> list[Summary]:
    """Summaries with their scores.

    Args:
        found: of whole files.
        scores: as :func:`read_scores` gives them. A name is the end of a file's path (``run.json``, ``a/run.json``),
            of one file alone. A number is the score of each episode of the file, a list has one for each, in order; a
            name with ``#1`` is that of the file's episode 1, from 0 on.
        where: what an error calls them.

    Raises :class:`~simulacrum.trajectory.TrajectoryError` for names of no file or of several, for episodes with no
    score or with two, and for lists of another length.
    """
    files: dict[Path, list[Summary]] = {}
    for one in found:
        files.setdefault(one.file, []).append(one)
    given: dict[tuple[Path, int], float] = {}
    for name, value in scores.items():
        file, number = _named(name, files, where)
        episodes = files[file] if number is None else [one for one in files[file] if one.number == number]
        if not episodes:
            raise TrajectoryError(f"{where}: {name!r}: {file} has {len(files[file])} episodes, from 0 on")
        if not isinstance(value, list):
            value = [value] * len(episodes)
        if len(value) != len(episodes):
            raise TrajectoryError(f"{where}: {name!r}: expected {len(episodes)} scores, got {len(value)}")
        for one, score in zip(episodes, value, strict=True):
            if (file, one.number) in given:
                raise TrajectoryError(f"{where}: {name!r}: episode {one.number} of {file} has two scores")
            given[file, one.number] = float(score)
    for one in found:
        if (one.file, one.number) not in given:
            raise TrajectoryError(f"{where}: expected a score of {one.file}, episode {one.number}: there is none")
    return [replace(one, score=given[one.file, one.number]) for one in found]


def _named(name: str, files: Mapping[Path, Any], where: str) -> tuple[Path, int | None]:
    """The file that a name means, and the number of its episode if it says one."""
    for text, number in ((name, ""), name.rpartition("#")[::2]):
        parts = Path(text).parts
        fitting = [file for file in files if parts and file.parts[-len(parts) :] == parts]
        if len(fitting) > 1:
            raise TrajectoryError(f"{where}: {text!r}: names {fitting[0]} and {fitting[1]}: write more of the path")
        if fitting and (not number or (number.isdecimal() and len(number) <= DIGITS)):
            return fitting[0], int(number) if number else None
    raise TrajectoryError(f"{where}: {short(repr(name))}: names none of the {len(files)} files that were read")
