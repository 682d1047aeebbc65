"""Which episodes are worth a look: picks from summaries of trajectory files, and each pick as a file of its own.

::

    found = list(summaries(["runs"], package))
    for one in worst(found, 5):
        print(one.file, one.number, one.return_)
    split(broken(found), "broken")

A pick takes summaries and gives some of them. Where two are alike, the one that came first comes first: ``summaries``
gives them in the order of the files, and in a file from its beginning on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..rng import Draw
from .metadata import Metadata
from .reading import events
from .records import First, Step, TrajectoryError
from .scores import read_scores, scored
from .summaries import Broken, Summary, summaries
from .writing import SUFFIXES, Writer, create, named

__all__ = [
    "Broken",
    "Mark",
    "Summary",
    "best",
    "broken",
    "causes",
    "highest",
    "longest",
    "marked",
    "read_scores",
    "sample",
    "scored",
    "shortest",
    "split",
    "summaries",
    "worst",
]

STEM = 50  # characters of a file's name that the name of a pick keeps


class Mark(NamedTuple):
    """What names an episode, as a finding does: the environment's ID, the instance seed, the episode, and a note."""

    id: str
    seed: int
    episode: int
    note: str = ""


def worst(found: Iterable[Summary], count: int | None = None) -> list[Summary]:
    """Those with the lowest returns, the lowest first; ``count`` of them, or all in that order."""
    return sorted(found, key=lambda one: one.return_)[:count]


def best(found: Iterable[Summary], count: int | None = None) -> list[Summary]:
    """Those with the highest returns, the highest first."""
    return sorted(found, key=lambda one: -one.return_)[:count]


def longest(found: Iterable[Summary], count: int | None = None) -> list[Summary]:
    """Those with the most steps, the longest first."""
    return sorted(found, key=lambda one: -one.steps)[:count]


def shortest(found: Iterable[Summary], count: int | None = None) -> list[Summary]:
    """Those with the fewest steps, the shortest first."""
    return sorted(found, key=lambda one: one.steps)[:count]


def highest(found: Iterable[Summary], count: int | None = None) -> list[Summary]:
    """Those with the highest scores, the highest first.

    Raises :class:`~simulacrum.trajectory.TrajectoryError` where one has no score.
    """
    listed = list(found)
    for one in listed:
        if one.score is None:
            raise TrajectoryError(
                f"{one.file}: episode {one.number} has no score: call scored(summaries, scores) first"
            )
    return sorted(listed, key=lambda one: -(one.score or 0.0))[:count]


def sample(found: Iterable[Summary], count: int, seed: int = 0) -> list[Summary]:
    """``count`` of them at random, each set alike, in their order; ``seed`` (0..2**64-1) says which.

    Raises :class:`~simulacrum.errors.SeedError` for another seed.
    """
    listed = list(found)
    if not listed:
        return []
    chosen = Draw.at(seed, 0, 0).permutation(0, len(listed))[:count]
    return [listed[number] for number in sorted(chosen.tolist())]


def causes(found: Iterable[Summary]) -> list[Summary]:
    """The first of each kind of end: each termination cause, truncated, unfinished (see :attr:`Summary.kinds`)."""
    listed, seen = [], set[str]()
    for one in found:
        if not seen.issuperset(one.kinds):
            seen.update(one.kinds)
            listed.append(one)
    return listed


def broken(found: Iterable[Summary]) -> list[Summary]:
    """Those that break an invariant; :attr:`Summary.broken` says which."""
    return [one for one in found if one.broken is not None]


def marked(found: Iterable[Summary], marks: Iterable[Mark]) -> list[Summary]:
    """Those that marks name, each with the note of the first mark that does."""
    notes: dict[tuple[str, int, int], str] = {}
    for mark in marks:
        notes.setdefault((mark.id, mark.seed, mark.episode), mark.note)
    keyed = ((one, (one.id, one.seed, one.episode)) for one in found)
    return [replace(one, note=notes[key]) for one, key in keyed if key in notes]


def split(picked: Sequence[Summary], folder: str | os.PathLike[str]) -> list[Path]:
    """Write each episode into a file of its own, in the form of the file that it is from.

    Args:
        picked: what to write; a pick's place among them begins its file's name: ``002-run-episode-17.json``.
        folder: a new folder, which appears when all files are in it, or an empty one.

    Returns the files in that order. Raises :class:`~simulacrum.trajectory.TrajectoryError` for a folder in use, and for
    a file that has changed since it was summed up; OSError where the system does not write them.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise TrajectoryError(f"{target} is not empty: name another folder")
    whole = Path(os.path.abspath(target))
    work = whole.with_name(f".{os.getpid()}-{os.urandom(4).hex()}-{whole.name}")
    digits = max(3, len(str(len(picked))))
    names = [_name(f"{place:0{digits}d}", one) for place, one in enumerate(picked)]
    by_file: dict[Path, dict[int, list[str]]] = {}
    for one, name in zip(picked, names, strict=True):
        by_file.setdefault(one.file, {}).setdefault(one.number, []).append(name)
    work.mkdir(parents=True)
    try:
        for file, wanted in by_file.items():
            _extract(file, wanted, work)
        if target.exists():  # and is empty
            for name in names:
                os.replace(work / name, target / name)
        else:
            os.replace(work, target)
    except OSError as error:
        raise named(error, work, target) if error.filename is not None else error from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return [target / name for name in names]


def _extract(file: Path, wanted: dict[int, list[str]], folder: Path) -> None:
    """Copy some episodes of a file, by number, into files of those names."""
    number, left = -1, dict(wanted)
    writers: list[Writer] = []
    try:
        for part in events(file):
            if isinstance(part, Metadata):
                metadata = part
            elif isinstance(part, Step):
                for writer in writers:
                    writer.add(part)
            else:
                _finish(writers)
                number += 1
            if isinstance(part, First):
                begun = replace(metadata, seed=part.seed)
                writers += [create(folder / name, begun) for name in left.pop(number, ())]
                for writer in writers:
                    writer.begin(part)
    finally:
        for writer in writers:
            writer.abandon()
    if left:
        raise TrajectoryError(f"{file}: expected an episode {min(left)}: the file has changed since it was read")


def _finish(writers: list[Writer]) -> None:
    while writers:
        writers.pop().close()


def _name(place: str, one: Summary) -> str:
    suffix = next(suffix for suffix in reversed(SUFFIXES) if one.file.name.endswith(suffix))
    return f"{place}-{one.file.name.removesuffix(suffix)[:STEM]}-episode-{one.number}{suffix}"
