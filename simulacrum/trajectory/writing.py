"""Writers: a JSON file, whole or not at all, and JSON Lines, line by line as it happens; either may be ``.gz``."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

from .metadata import Metadata
from .records import First, Step, Trajectory, TrajectoryError
from .values import dumps, plain

SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


class Sink(Protocol):
    """What episodes are written into: a :class:`Trajectory`, what :func:`create` gives, or a class of one's own."""

    def begin(self, first: First) -> None:
        """Begin an episode."""

    def add(self, step: Step) -> None:
        """Add a step to the latest episode."""


def kind_of(file: str | os.PathLike[str]) -> str:
    """``json`` or ``jsonl``, by a file's name. Raises :class:`TrajectoryError` for another name."""
    name = Path(file).name
    if Path(file).is_dir():
        raise TrajectoryError(
            f"{os.fspath(file)}: expected a trajectory file, got a folder (simulacrum pick lists one)"
        )
    for suffix in SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return suffix.split(".")[1]
    raise TrajectoryError(f"{os.fspath(file)}: expected a file name that ends with {', '.join(SUFFIXES)}")


def named(error: OSError, place: Path, file: Path) -> OSError:
    """An error of the system (a full disk says no name) as one of ``file``, which is being written at ``place``."""
    name, text = error.filename, os.fspath(place)
    if name is None:
        name = os.fspath(file)
    elif isinstance(name, str) and (name == text or name.startswith(text + os.sep)):
        name = os.fspath(file) + name[len(text) :]
    error.strerror = os.strerror(error.errno) if error.errno else error.strerror or str(error)
    error.filename = name
    return error


@contextlib.contextmanager
def naming(place: Path, file: Path | None = None) -> Iterator[None]:
    """In it, errors of the system are :func:`named`."""
    try:
        yield
    except OSError as error:
        raise named(error, place, file or place) from None


def create(file: str | os.PathLike[str], metadata: Metadata) -> Writer:
    """A writer into a file, by its name: ``.jsonl`` grows line by line, ``.json`` appears when it is closed.

    A file of that name is written over. The writer has ``begin``, ``add``, ``close`` and ``abandon``, and is a context
    manager. Raises :class:`TrajectoryError` for another name, and OSError for a file that cannot be opened.
    """
    return (Lines if kind_of(file) == "jsonl" else Whole)(Path(file), metadata)


def write(trajectory: Trajectory, file: str | os.PathLike[str]) -> None:
    """Write a trajectory atomically: a reader sees the old file or the new one.

    Raises :class:`TrajectoryError` for another name than :func:`read` takes, a folder that is not there, and a value
    that JSON cannot hold; OSError where the system does not write it.
    """
    copy(trajectory.metadata, trajectory.parts(), file)


def copy(metadata: Metadata, parts: Iterable[First | Step], file: str | os.PathLike[str]) -> None:
    """The same as :func:`write` of what comes one by one, for what is too long to be held.

    Raises :class:`TrajectoryError` and OSError as that does, and whatever ``parts`` raises: nothing is left behind.
    """
    kind_of(file)
    target = Path(file)
    if not target.parent.is_dir():
        raise TrajectoryError(f"{target}: there is no folder {target.parent}")
    work = target.with_name(f".{os.getpid()}-{os.urandom(4).hex()}-{target.name}")
    try:
        writer = create(work, metadata)
        try:
            for part in parts:
                writer.begin(part) if isinstance(part, First) else writer.add(part)
        except BaseException:
            writer.abandon()
            raise
        writer.close()
        os.replace(work, target)
    except OSError as error:
        raise named(error, work, target) if error.filename is not None else error from None
    finally:
        work.unlink(missing_ok=True)


class Writer:
    """The common part of both forms; a context manager."""

    def __init__(self, file: Path, metadata: Metadata) -> None:
        self.file, self.metadata = file, metadata
        self._place, self._episodes, self._steps = self._opened_at(), 0, 0
        try:
            with naming(self._place, self.file):
                self._stream = self._open()
            self._put(self._head())
        except BaseException:
            self.abandon()
            raise

    def begin(self, first: First) -> None:
        """Begin an episode."""
        content = {**first._asdict(), "seed": plain(first.seed), "state": plain(first.state)}
        self._put(self._first(content, self._episodes))
        self._episodes, self._steps_of_episode = self._episodes + 1, 0

    def add(self, step: Step) -> None:
        """Add a step to the latest episode. Raises :class:`TrajectoryError` for NaN, naming the place."""
        if not self._episodes:
            raise TrajectoryError("a step was added before an episode began: call begin first")
        self._put(self._step(dumps(plain(step.as_json())), self._steps_of_episode))
        self._steps, self._steps_of_episode = self._steps + 1, self._steps_of_episode + 1

    def close(self) -> None:
        """Finish the file; may be called again."""
        if self._stream is not None:
            try:
                self._put(self._tail())
                with naming(self._place, self.file):
                    self._shut()
                    self._finished()
            except BaseException:
                self.abandon()
                raise

    def abandon(self) -> None:
        """Close the file as it is, unfinished."""
        with contextlib.suppress(OSError):  # a full disk: what there is was flushed, or never will be
            self._shut()

    def _shut(self) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            stream.close()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self.close()

    def _put(self, text: str) -> None:
        if self._stream is None:
            raise TrajectoryError(f"{self.file}: it is closed, nothing more can be written to it")
        try:
            self._stream.write(text.encode())
            self._stream.flush()
        except OSError as error:
            raise named(error, self._place, self.file) from None

    def _opened_at(self) -> Path:
        return self.file

    def _open(self) -> IO[bytes]:
        return _opened(self._place)

    def _finished(self) -> None:
        pass

    _stream: IO[bytes] | None = None
    _steps_of_episode = 0

    def _head(self) -> str:
        raise NotImplementedError

    def _first(self, content: dict[str, Any], number: int) -> str:
        raise NotImplementedError

    def _step(self, content: str, number: int) -> str:
        raise NotImplementedError

    def _tail(self) -> str:
        raise NotImplementedError


class Lines(Writer):
    """JSON Lines: metadata, then each episode's first state and its steps, and a last line with their numbers.

    Every line is whole when the next one begins: what was written before an interruption can be read.
    """

    def _head(self) -> str:
        return dumps({"metadata": _metadata(self.metadata)}) + "\n"

    def _first(self, content: dict[str, Any], number: int) -> str:
        return dumps({"first": content}) + "\n"

    def _step(self, content: str, number: int) -> str:
        return content + "\n"

    def _tail(self) -> str:
        return dumps({"end": {"episodes": self._episodes, "steps": self._steps}}) + "\n"


class Pieces(Lines):
    """JSON Lines whose file is open only while :meth:`flush` writes a piece of it: there may be more such files than a
    process may hold open. The file appears with the first piece."""

    def flush(self) -> None:
        """Write what was added since the last piece."""
        if self._stream is not None:
            with naming(self.file), _opened(self._place, "ab") as file:
                file.write(self._piece.getbuffer())
            self._stream = self._open()

    def close(self) -> None:
        """Finish the file; may be called again."""
        if self._stream is not None:
            self._put(self._tail())
            self.flush()
            self.abandon()

    def _open(self) -> IO[bytes]:
        self._piece = io.BytesIO()
        return self._piece


class Whole(Writer):
    """One JSON object, with a line for each step. The file of that name appears when it is closed."""

    def abandon(self) -> None:
        """Drop what was written."""
        super().abandon()
        self._place.unlink(missing_ok=True)  # once it is finished it is there no more

    def _opened_at(self) -> Path:
        return self.file.with_name(f".{os.getpid()}-{os.urandom(4).hex()}-{self.file.name}")

    def _finished(self) -> None:
        os.replace(self._place, self.file)

    def _head(self) -> str:
        return f'{{"metadata":{dumps(_metadata(self.metadata))},\n"episodes":['

    def _first(self, content: dict[str, Any], number: int) -> str:
        return f'{"]}," if number else ""}\n{dumps(content)[:-1]},"steps":['

    def _step(self, content: str, number: int) -> str:
        return f"{',' if number else ''}\n{content}"

    def _tail(self) -> str:
        return f"{']}' if self._episodes else ''}]}}\n"


def _metadata(metadata: Metadata) -> dict[str, Any]:
    content: dict[str, Any] = plain(metadata.as_json())
    return content


def _opened(place: Path, mode: str = "wb") -> IO[bytes]:
    if place.name.endswith(".gz"):
        return gzip.open(place, mode, compresslevel=1)  # type: ignore[return-value]
    return place.open(mode)  # type: ignore[return-value]
