"""What can be said of an episode in a line: its length, return, end, termination causes, and broken invariants."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..spec.package import Package
from . import bounded
from .metadata import Metadata
from .reading import Find, events
from .records import First, Step, TrajectoryError
from .values import loads, stacked
from .writing import SUFFIXES, kind_of

CHUNK = 256  # states whose invariants are checked together
MARKS = {
    "json": {"metadata", "episodes"},
    "jsonl": {"metadata", "first", "end", "t"},
}  # keys that trajectories begin by


class Broken(NamedTuple):
    """The first state of an episode in which an invariant does not hold: its name, and the step counter there."""

    invariant: str
    t: int


@dataclass(frozen=True)
class Summary:
    """An episode of a file.

    Attributes:
        file: where it is.
        number: the how manieth episode of the file it is, from 0 on.
        id: the environment's ID.
        seed: its instance seed.
        episode: its number of that seed.
        steps: how many steps of it are in the file.
        return_: the sum of its rewards, in float64 and in order; of many agents the sum of theirs.
        returns: of many agents each one's, empty before the first step; of one agent None.
        terminated, truncated: how it ended; neither where the file ends before it.
        causes: the termination causes of ``checks.py`` that are there in its last state, if it terminated.
        broken: where it first breaks an invariant of ``checks.py``; None where it does not, or without a package.
        cut_off: in words, where its file is cut off; else empty.
        score: what it was given by :func:`~simulacrum.trajectory.picker.scored`.
        note: what named it, as a finding does; else empty.
    """

    file: Path
    number: int
    id: str
    seed: int
    episode: int
    steps: int
    return_: float
    returns: tuple[float, ...] | None
    terminated: bool
    truncated: bool
    causes: tuple[str, ...] = ()
    broken: Broken | None = None
    cut_off: str = ""
    score: float | None = None
    note: str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The ways in which it ended, by name.

        Its termination causes (``terminated`` where none is known) and ``truncated``, or else ``unfinished``.
        """
        found = self.causes or (("terminated",) if self.terminated else ())
        return (*found, "truncated") if self.truncated else found or ("unfinished",)


def summaries(
    paths: Iterable[str | os.PathLike[str]],
    package: Package | Find | None = None,
    progress: Callable[[int, int], None] | None = None,
    passed: Callable[[Path], None] | None = None,
) -> Iterator[Summary]:
    """One summary for each episode of trajectory files, in the order of the paths, read as they are asked for.

    Args:
        paths: files, and folders: of a folder every ``.json`` and ``.jsonl`` file in it (or either with ``.gz``), by
            name, but hidden ones, those in its own folders, pipes and devices. A file is read once, however often it
            is named.
        package: as of :func:`~simulacrum.trajectory.read`; without one no causes and no invariants are known.
        progress: called with the number of files that were read and of all: at the beginning, and after each.
        passed: called with each file in a folder that is JSON of another kind (a report, a finding, a schema): its
            content is JSON, and has none of the keys that a trajectory begins by.

    Raises :class:`~simulacrum.trajectory.TrajectoryError`, which names the file, for a path that is not there, and for
    what else is no whole trajectory. JSON Lines that are cut off are read up to their last whole step, and ``cut_off``
    tells.

    Example:
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import Recorder
        >>> from simulacrum.trajectory.picker import summaries
        >>> package = Package.read("envs/toywalk")
        >>> with Recorder(package.reference(), "walk.jsonl") as env:
        ...     _ = env.reset(seed=7), env.step(1), env.step(1), env.step(1), env.step(1)
        >>> [(one.seed, one.steps, one.return_, one.causes) for one in summaries(["walk.jsonl"], package)]
        [(7, 4, 7.0, ('goal',))]
    """
    listed = _files(paths)
    report = progress or (lambda done, count: None)
    report(0, len(listed))
    for number, (file, named) in enumerate(listed.items(), 1):
        try:
            yield from _episodes(file, package)
        except TrajectoryError:
            if named or not _is_another(file):
                raise
            if passed is not None:
                passed(file)
        report(number, len(listed))


def _files(paths: Iterable[str | os.PathLike[str]]) -> dict[Path, bool]:
    """The files that paths mean, in order, and whether each was named itself."""
    found: dict[Path, bool] = {}
    places: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise TrajectoryError(f"{path}: expected a trajectory file, or a folder of them: it is not there")
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in inside:
            if file is not path and not _taken(file):
                continue
            place = places.setdefault(file.resolve(), file)
            found[place] = found.get(place, False) or file is path
    return found


def _taken(file: Path) -> bool:
    """Whether a file of a folder is read: a regular one, or a link to nothing, which is an error."""
    named = file.name.endswith(SUFFIXES) and not file.name.startswith(".")
    return named and (file.is_file() or not file.exists())


def _is_another(file: Path) -> bool:
    """Whether a file is JSON of another kind: there is no more than a doubt that it was to be a trajectory."""
    kind = kind_of(file)
    try:
        with bounded.opened(file) as stream:
            if kind == "jsonl":
                value = loads(next(bounded.lines(stream, file), b""))
            else:
                value = loads(bounded.whole(stream, file))
    except (OSError, EOFError, MemoryError, zlib.error, ValueError):
        return False
    return not (isinstance(value, dict) and value.keys() & MARKS[kind])


def _episodes(file: Path, package: Package | Find | None) -> Iterator[Summary]:
    """The episodes of a file."""
    found: list[Package] = []

    def find(metadata: Metadata) -> Package:
        assert package is not None
        found.append(package(metadata) if callable(package) else package)
        return found[0]

    count, current = 0, None
    for part in events(file, None if package is None else find):
        if isinstance(part, Metadata):
            metadata = part
        elif isinstance(part, Step):
            assert current is not None
            current.add(part)
        else:
            cut_off = "" if isinstance(part, First) else part.cut_off
            if current is not None:
                yield current.summary(cut_off)
            if isinstance(part, First):
                current = _Episode(file, count, metadata, part, found[0] if found else None)
                count += 1


class _Episode:
    """An episode that is being read."""

    def __init__(self, file: Path, number: int, metadata: Metadata, first: First, package: Package | None) -> None:
        self._file, self._number, self._id, self._first, self._package = file, number, metadata.id, first, package
        self._steps, self._last = 0, None
        self._totals: list[float] = []  # of each agent, from the first step on: a file may claim any number of agents
        self._many = metadata.agents is not None
        self._states, self._broken = [first.state], None

    _last: Step | None
    _broken: Broken | None

    def add(self, step: Step) -> None:
        """Add a step."""
        self._steps, self._last = self._steps + 1, step
        rewards = step.reward if self._many else [step.reward]
        self._totals = self._totals or [0.0] * len(rewards)
        self._totals = [total + reward for total, reward in zip(self._totals, rewards, strict=True)]
        if self._package is not None and self._broken is None:
            self._states.append(step.state)
            if len(self._states) >= CHUNK:
                self._check()

    def summary(self, cut_off: str) -> Summary:
        """What can be said of it."""
        total = 0.0
        for one in self._totals:
            total += one
        if not math.isfinite(total):
            raise TrajectoryError(f"{self._file}: episode {self._number}: the sum of its rewards is beyond float64")
        self._check()
        last = self._last
        return Summary(
            self._file,
            self._number,
            self._id,
            self._first.seed,
            self._first.episode,
            self._steps,
            total,
            tuple(self._totals) if self._many else None,
            last is not None and last.terminated,
            last is not None and last.truncated,
            self._causes(),
            self._broken,
            cut_off,
        )

    def _causes(self) -> tuple[str, ...]:
        if self._package is None or self._last is None or not self._last.terminated:
            return ()
        state = self._arrays([self._last.state])
        return tuple(
            cause.__name__ for cause in self._package.checks.TERMINATIONS if _holds(cause, state, 1, self._package)[0]
        )

    def _check(self) -> None:
        """Look for the first of the states that wait whose invariants do not all hold."""
        if self._package is None or self._broken is not None or not self._states:
            return
        state, rows = self._arrays(self._states), len(self._states)
        for invariant in self._package.checks.INVARIANTS:
            holds = _holds(invariant, state, rows, self._package)
            if not holds[:rows].all():
                rows = int(np.argmin(holds))
                self._broken = Broken(invariant.__name__, int(state.t[rows]))
        self._states = []

    def _arrays(self, states: list[dict[str, Any]]) -> SimpleNamespace:
        assert self._package is not None
        try:
            return stacked(self._package, states)
        except TrajectoryError as error:
            raise TrajectoryError(f"{self._file}: episode {self._number}: {error}") from None


def _holds(law: Any, state: SimpleNamespace, rows: int, package: Package) -> np.ndarray:
    """In which of the states a law of ``checks.py`` holds: bool [rows]. One that raises does not hold there, as the
    battery has it: laws may look up what a state points at, and it may point anywhere."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(law(state), np.bool_)
    except Exception:
        if rows == 1:
            return np.zeros(1, np.bool_)
    else:
        if found.shape != state.t.shape:
            raise TrajectoryError(
                f"{package.path / 'checks.py'}: {law.__name__}: expected bool {list(state.t.shape)}, one a state, got "
                f"{list(found.shape)}"
            )
        return found
    each = [SimpleNamespace(**{name: values[k : k + 1] for name, values in vars(state).items()}) for k in range(rows)]
    return np.concatenate([_holds(law, one, 1, package) for one in each])
