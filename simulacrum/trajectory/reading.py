"""Readers: a file's parts one by one, each checked, or the whole of it."""

from __future__ import annotations

import gzip
import os
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..errors import SimulacrumError
from ..spec.package import Package
from . import bounded, schema
from .metadata import FORMAT, Metadata
from .records import Episode, First, Step, Trajectory, TrajectoryError
from .values import loads
from .writing import kind_of

Find = Callable[[Metadata], Package]


class End(NamedTuple):
    """The end of a file; ``cut_off`` says in words where one ends that is not whole, and is empty for a whole one."""

    cut_off: str = ""


def read(file: str | os.PathLike[str], package: Package | Find | None = None) -> Trajectory:
    """The trajectory in a file.

    Args:
        file: ``.json`` or ``.jsonl``, or either with ``.gz``.
        package: whose ``schema.json`` states and actions are checked by; or what finds it from the metadata; None
            checks only what every trajectory file has, and leaves integers beyond 2**53 in states and actions as texts.

    A JSON Lines file that was cut off is read up to its last whole step: it warns (``UserWarning``), and ``cut_off``
    tells. Raises :class:`TrajectoryError` (file, line, JSON pointer) for what is no trajectory, or not of the package,
    and OSError for a file that cannot be opened.

    Example:
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import Recorder, read
        >>> package = Package.read("envs/toywalk")
        >>> with Recorder(package.reference(), "read.jsonl") as env:
        ...     _ = env.reset(seed=7), env.step(1), env.step(0)
        >>> [(step.action, step.state["position"]) for step in read("read.jsonl", package).steps]
        [(1, 2), (0, 1)]
    """
    found: Trajectory | None = None
    for part in events(file, package):
        if isinstance(part, Metadata):
            found = Trajectory(part)
            continue
        assert found is not None
        if isinstance(part, First):
            found.begin(part)
        elif isinstance(part, Step):
            found.add(part)
        elif part.cut_off:
            found.cut_off = part.cut_off
            warnings.warn(part.cut_off, UserWarning, stacklevel=2)
    assert found is not None
    return found


def events(
    file: str | os.PathLike[str], package: Package | Find | None = None
) -> Iterator[Metadata | First | Step | End]:
    """What a file holds, part by part: its metadata, how each episode begins, its steps, and the end.

    JSON Lines are read as they are asked for, so that any length can be gone through. Raises as :func:`read`, when it
    comes to what is wrong: :class:`TrajectoryError`, also for what is no regular file or too long (``bounded.py``), and
    OSError for a file that cannot be opened.

    Example:
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import Recorder, events
        >>> with Recorder(Package.read("envs/toywalk").reference(), "events.jsonl") as env:
        ...     _ = env.reset(seed=7), env.step(1)
        >>> [type(part).__name__ for part in events("events.jsonl")]
        ['Metadata', 'First', 'Step', 'End']
    """
    kind, path = kind_of(file), Path(file)
    with bounded.opened(path) as stream:
        reader = _Reader(str(path), package)
        parts = (_lines if kind == "jsonl" else _whole)(stream, reader)
        while True:
            try:
                part = next(parts)
            except StopIteration:
                return
            except MemoryError:
                raise TrajectoryError(f"{path}: it is too large for the memory that there is") from None
            yield part  # out of the try: a MemoryError of who takes it is not ours to tell


class _Reader:
    """Checks what comes out of a file, one part after another."""

    def __init__(self, file: str, package: Package | Find | None) -> None:
        self.file = file
        self._package = package
        self._own = {name: schema.own(name) for name in ("metadata", "first", "step", "end", "file")}
        self._state: schema.Definition | None = None
        self._action: schema.Definition | None = None
        self._agents: int | None = None
        self._seed: int | None = None  # of the metadata, until the first episode
        self._episode: Episode | None = None
        self._t = 0
        self._over = False

    def own(self, name: str, value: Any, where: str) -> Any:
        """A value that the file format has a definition of."""
        return self._own[name].take(value, f"{self.file}: {where}")

    def metadata(self, value: Any, where: str) -> Metadata:
        """The metadata, and with them the package."""
        given = value.get("format", FORMAT) if isinstance(value, dict) else FORMAT
        if given != FORMAT:
            raise self.error(where + "/format", f"this version of simulacrum reads format {FORMAT}, got {given!r}")
        found = Metadata(**self.own("metadata", value, where))
        package = self._found(found, where)
        self._agents, self._seed = found.agents, found.seed
        if package is not None:
            self._fits(found, package, where)
            self._state, self._action = (
                schema.of_package(package.files["schema.json"], name) for name in ("state", "action")
            )
        return found

    def _found(self, metadata: Metadata, where: str) -> Package | None:
        if not callable(self._package):
            return self._package
        try:
            return self._package(metadata)
        except SimulacrumError as error:
            raise TrajectoryError(f"{self.file}: {where}: {error}") from error

    def _fits(self, found: Metadata, package: Package, where: str) -> None:
        expected = {
            "id": package.environment.id,
            "configuration": package.config,
            "agents": package.environment.agents,
        }
        for name, value in expected.items():
            if getattr(found, name) != value:
                raise self.error(
                    f"{where}/{name}", f"expected {value!r} of {package.name}, got {getattr(found, name)!r}"
                )

    def first(self, value: Any, where: str) -> First:
        """How an episode begins."""
        begun = First(**self.own("first", value, where))
        if self._seed is not None and begun.seed != self._seed:
            raise self.error(f"{where}/seed", f"expected {self._seed}, the seed of the metadata, got {begun.seed}")
        self._seed = None
        begun = begun._replace(state=self._state_of(begun.state, where))
        self._episode, self._over = Episode(*begun), False
        self._t = begun.state.get("t", 0) if isinstance(begun.state, dict) else 0
        return begun

    def step(self, value: Any, where: str) -> Step:
        """A step, which follows the one before it."""
        step = Step(**self.own("step", value, where))
        if self._episode is None:
            raise self.error(where, "expected the first state of an episode before its steps")
        if self._over:
            raise self.error(where, "expected the first state of the next episode: the one before ended")
        for name, expected in (("episode", self._episode.episode), ("t", self._t)):
            if getattr(step, name) != expected:
                raise self.error(f"{where}/{name}", f"expected {expected}, got {getattr(step, name)}")
        # A state says itself which one it is: the counter that the base classes keep is a field of every package's.
        if step.state.__class__ is dict and step.state.get("t", step.t + 1) != step.t + 1:
            got = f"expected {step.t + 1}, the state after step t = {step.t}, got {step.state['t']!r}"
            raise self.error(f"{where}/state/t", got)
        self._check_agents(step, where)
        self._t, self._over = step.t + 1, step.terminated or step.truncated
        action = step.action if self._action is None else self._action.take(step.action, f"{self.file}: {where}/action")
        return step._replace(action=action, reward=_floats(step.reward), state=self._state_of(step.state, where))

    def error(self, where: str, message: str) -> TrajectoryError:
        """An error that names file and place."""
        return TrajectoryError(f"{self.file}: {schema.place(where)}: {schema.short(message)}")

    def _state_of(self, value: Any, where: str) -> Any:
        return value if self._state is None else self._state.take(value, f"{self.file}: {where}/state")

    def _check_agents(self, step: Step, where: str) -> None:
        for name in ("reward", "died"):
            value = getattr(step, name)
            if self._agents is None:
                if isinstance(value, list):
                    raise self.error(f"{where}/{name}", "expected none of several agents: the environment has one")
            elif not isinstance(value, list) or len(value) != self._agents:
                got = f"a list of {len(value)}" if isinstance(value, list) else repr(value)
                raise self.error(f"{where}/{name}", f"expected a list of {self._agents}, one an agent, got {got}")


def _floats(reward: Any) -> Any:
    """A reward, or the rewards of many agents, as floats: another program may write them as whole numbers."""
    return [float(one) for one in reward] if reward.__class__ is list else float(reward)


def _lines(stream: IO[bytes], reader: _Reader) -> Iterator[Metadata | First | Step | End]:
    """The parts of JSON Lines. A line that cannot be parsed is an error, unless nothing follows it."""
    number = steps = episodes = 0
    broken: tuple[int, str] | None = None
    for number, line in enumerate(_until_cut(stream, reader.file), 1):
        if broken is not None:
            raise reader.error(f"line {broken[0]}", f"expected JSON: {broken[1]}")
        try:
            value = loads(line)
        except ValueError as error:
            broken = number, str(error)
            continue
        where = f"line {number}, "
        if not isinstance(value, dict):
            raise reader.error(where, f"expected an object, got {type(value).__name__}")
        if number == 1:
            yield reader.metadata(value.get("metadata"), where + "/metadata")
        elif "first" in value:
            yield reader.first(value["first"], where + "/first")
            episodes += 1
        elif "end" in value:
            end = reader.own("end", value["end"], where + "/end")
            if end != {"episodes": episodes, "steps": steps}:
                raise reader.error(where + "/end", f"expected {episodes} episodes and {steps} steps, got {end}")
            if next(_until_cut(stream, reader.file), b""):
                raise reader.error(f"line {number + 1}", "expected nothing after the line with the end")
            yield End()
            return
        else:
            yield reader.step(value, where)
            steps += 1
    if number == 0 or (number == 1 and broken is not None):
        raise reader.error("line 1", "expected the metadata, got " + (f"no JSON: {broken[1]}" if broken else "nothing"))
    rest = f" (line {broken[0]} is not whole)" if broken else ""
    yield End(f"{reader.file}: cut off: it has no end, and was read up to its last whole step, {steps} in all{rest}")


def _whole(stream: IO[bytes], reader: _Reader) -> Iterator[Metadata | First | Step | End]:
    """The parts of a JSON file."""
    try:
        value = loads(bounded.whole(stream, reader.file))
    except EOFError:
        raise reader.error("/", "expected a whole file: it was cut off") from None
    except TrajectoryError:
        raise
    except (ValueError, zlib.error, gzip.BadGzipFile) as error:
        raise reader.error("/", f"expected JSON: {error}") from None
    if not isinstance(value, dict) or "metadata" not in value or not isinstance(value.get("episodes"), list):
        raise reader.error("/", "expected an object with metadata and a list of episodes")
    if value.keys() > {"metadata", "episodes"}:
        raise reader.error("/", f"expected metadata and episodes alone, got {sorted(value)}")
    yield reader.metadata(value["metadata"], "/metadata")
    for number, episode in enumerate(value["episodes"]):
        where = f"/episodes/{number}"
        steps = episode.pop("steps", None) if isinstance(episode, dict) else None
        yield reader.first(episode, where)
        if not isinstance(steps, list):
            raise reader.error(f"{where}/steps", f"expected a list, got {type(steps).__name__}")
        for index, step in enumerate(steps):
            yield reader.step(step, f"{where}/steps/{index}")
    yield End()


def _until_cut(stream: IO[bytes], file: str) -> Iterator[bytes]:
    """The lines of a file, which may be compressed and cut off."""
    try:
        yield from bounded.lines(stream, file)
    except EOFError:  # of gzip: it was cut off
        return
    except (zlib.error, gzip.BadGzipFile) as error:
        yield f"not gzip: {error}".encode()
