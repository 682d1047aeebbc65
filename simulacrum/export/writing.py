"""Writes a pack."""

from __future__ import annotations

import os
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from ..trajectory import End, First, Metadata, create
from ..trajectory.writing import naming
from . import manifest
from .columns import MISSING, Parquet, pyarrow
from .errors import PackError
from .flat import Flat
from .folder import replaced, strangers
from .names import stem, unlike
from .pack import Pack
from .source import Part, Rules, judged

COLUMNS = ("auto", "parquet", "none")

Progress = Callable[[int, int], None]


def export(
    schema: str | os.PathLike[str],
    files: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    columns: str = "auto",
    progress: Progress | None = None,
    tell: Callable[[str], None] = warnings.warn,
) -> Pack:
    """Write trajectories of one environment into a folder that any tool can read, and replace the pack that was there.

    Args:
        schema: the ``schema.json`` that states and actions are judged by. Where it lies in a package, dtypes are those
            of its ``spec.md``; else those that the bounds in the schema allow.
        files: trajectory files: ``.json`` or ``.jsonl``, or either with ``.gz``.
        folder: the pack's; empty, a pack, or not there yet.
        columns: ``parquet`` for a columnar form of each, which needs pyarrow; ``none``; ``auto``: where pyarrow is.
        progress: called with how many files are done, and how many there are.
        tell: called with what is worth knowing: an input that was cut off, or was given twice.

    The same inputs give the same bytes, in whatever order they come. Raises :class:`PackError` and
    :class:`~simulacrum.trajectory.TrajectoryError`, which name file and place, and OSError; nothing is left behind.

    Example:
        >>> from simulacrum.export import export, read
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import Recorder
        >>> with Recorder(Package.read("envs/toywalk").reference(), "exported.jsonl") as env:
        ...     _ = env.reset(seed=7), env.step(1), env.step(1)
        >>> pack = export("envs/toywalk/schema.json", ["exported.jsonl"], "exported", columns="none")
        >>> sorted(file.name for file in pack.folder.iterdir())
        ['flat', 'manifest.json', 'schema.json', 'trajectories']
        >>> read("exported").entries["exported"].flat()["reward"]
        [-1.0, -1.0]
    """
    if columns not in COLUMNS:
        raise PackError(f"columns: expected one of {', '.join(COLUMNS)}, got {columns!r}")
    if columns == "parquet" and pyarrow() is None:
        raise PackError(MISSING)
    inputs = _once(files, tell)
    builder = _Builder(Path(schema), columns != "none" and pyarrow() is not None, tell)
    with replaced(Path(folder), _may_be_replaced) as work:
        builder.begin(work)
        for number, file in enumerate(inputs):
            builder.add(file, number)
            if progress is not None:
                progress(number + 1, len(inputs))
        content = builder.finish()
    return Pack(Path(folder), content)


class _Builder:
    """Builds a pack in a folder."""

    def __init__(self, schema: Path, columns: bool, tell: Callable[[str], None]) -> None:
        self._schema, self._tell = schema, tell
        self._kinds = [kind for kind in manifest.FOLDERS if columns or kind != "columns"]
        self._rules: Rules | None = None
        self._entries: list[dict[str, Any]] = []

    def begin(self, work: Path) -> None:
        """Begin in an empty folder."""
        self._work = work
        for kind in self._kinds:
            (work / manifest.FOLDERS[kind]).mkdir()

    def add(self, file: Path, number: int) -> None:
        """Write a trajectory in its forms, under a number in place of a name."""

        def rules_of(metadata: Metadata) -> Rules:
            if self._rules is None:
                self._rules = Rules.of_file(self._schema, metadata, file)
            return self._rules

        with closing(judged(file, rules_of)) as parts:
            self._write(file, number, parts)

    def _write(self, file: Path, number: int, parts: Iterator[tuple[str, Part]]) -> None:
        _, metadata = next(parts)
        assert isinstance(metadata, Metadata)
        assert self._rules is not None
        places = {kind: self._place(kind, f".{number}") for kind in self._kinds}  # no name begins with a dot
        flat = Flat(self._rules.layout, metadata)
        cut_off = False
        with _as_entry(places, stem(file)), ExitStack() as opened:
            whole = create(places["trajectory"], metadata)
            opened.callback(whole.abandon)
            sinks: list[Any] = [flat, whole]
            if "columns" in places:
                sinks.append(opened.enter_context(Parquet(self._rules.layout, metadata, places["columns"])))
            for where, part in parts:
                if isinstance(part, End):
                    cut_off = bool(part.cut_off)
                    if cut_off:
                        self._tell(part.cut_off)
                    flat.cut_off = cut_off
                    continue
                for sink in sinks:
                    _give(sink, part, where)
            whole.close()
            flat.write(places["flat"])
        self._entries.append(
            {
                "name": stem(file),
                "source": metadata.source,
                "seed": str(metadata.seed),
                "instance": metadata.instance,
                "episodes": flat.counts["episodes"],
                "steps": flat.counts["steps"],
                "cut_off": cut_off,
                **{kind: self._described(places.get(kind)) for kind in manifest.FOLDERS},
            }
        )

    def finish(self) -> dict[str, Any]:
        """Name the entries, and write schema and manifest; the manifest's content."""
        assert self._rules is not None
        # By name, then by content: the order of the arguments and the folders they lie in change nothing.
        self._entries.sort(key=_order)
        names = unlike(entry["name"] for entry in self._entries)
        for entry, name in zip(self._entries, names, strict=True):
            entry["name"] = name
            for kind in self._kinds:
                final = self._place(kind, name)
                os.rename(self._work / entry[kind]["file"], final)
                entry[kind]["file"] = final.relative_to(self._work).as_posix()
        schema = self._work / manifest.SCHEMA
        with naming(schema):
            schema.write_bytes(self._rules.schema.source)
        content = manifest.made(
            self._rules.identity, self._rules.layout, manifest.described(schema, manifest.SCHEMA), self._entries
        )
        with naming(self._work / manifest.NAME):
            (self._work / manifest.NAME).write_bytes(manifest.dumped(content))
        return content

    def _described(self, file: Path | None) -> dict[str, Any] | None:
        return None if file is None else manifest.described(file, file.relative_to(self._work).as_posix())

    def _place(self, kind: str, name: str) -> Path:
        return self._work / manifest.FOLDERS[kind] / (name + manifest.SUFFIXES[kind])


@contextmanager
def _as_entry(places: dict[str, Path], name: str) -> Iterator[None]:
    """In it, errors of the system name the files as the pack will, not by the numbers that they have until then."""
    try:
        yield
    except OSError as error:
        final = {str(place): place.with_name(name + manifest.SUFFIXES[kind]) for kind, place in places.items()}
        error.filename = str(final.get(error.filename, error.filename)) if error.filename else None
        raise


def _give(sink: Any, part: Any, where: str) -> None:
    try:
        sink.begin(part) if isinstance(part, First) else sink.add(part)
    except ValueError as error:
        raise PackError(f"{where}: {error}") from None


def _once(files: Iterable[str | os.PathLike[str]], tell: Callable[[str], None]) -> list[Path]:
    """The files, each once."""
    found: dict[str, Path] = {}
    for file in map(Path, files):
        if found.setdefault(os.path.realpath(file), file) is not file:
            tell(f"{file} was given twice: it is taken once")
    if not found:
        raise PackError("files: expected at least one trajectory file, got none")
    return list(found.values())


def _order(entry: dict[str, Any]) -> Any:
    name = unicodedata.normalize("NFC", entry["name"].casefold())
    return name, entry["name"], entry["trajectory"]["sha256"], entry["cut_off"]


def _may_be_replaced(folder: Path) -> None:
    """Raises :class:`PackError` for a folder that is neither empty nor a pack and nothing else."""
    wanted = "expected an empty folder or a pack; name another folder by --output DIR"
    if not folder.exists():
        return
    if not folder.is_dir():
        raise PackError(f"{folder} is no folder: {wanted}")
    if not any(folder.iterdir()):
        return
    try:
        listed = manifest.paths_of(manifest.read(folder / manifest.NAME))
    except PackError as error:
        raise PackError(f"{folder} is not empty: {wanted} ({error})") from None
    # All that is there is removed, so that all must be known: folders that are empty, and links, are no pack's.
    others = strangers(folder, listed, manifest.FOLDERS.values(), links=False)
    if others:
        raise PackError(f"{folder} holds {others[0]}, which is no part of its pack: {wanted}")
