"""Reads a pack, and checks all of it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from ..trajectory import End, First, Metadata, TrajectoryError
from ..trajectory.values import loads
from . import manifest
from .columns import Columns, pyarrow
from .errors import PackError
from .flat import Flat
from .folder import inside, strangers
from .names import NAME, unlike
from .pack import Entry, Pack
from .source import Part, judged


def read(folder: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> Pack:
    """The pack in a folder, every file of it checked: the manifest by its schema, sizes and digests, trajectories by
    the pack's schema, and that flat files, and columns where pyarrow is installed, hold what the trajectories do. There
    must be no other file in it.

    ``progress`` is called with how many entries are done, and how many there are. Raises :class:`PackError`, which
    names file and JSON pointer.

    Example:
        >>> from simulacrum.export import read
        >>> read("nowhere")
        Traceback (most recent call last):
            ...
        simulacrum.export.errors.PackError: nowhere/manifest.json: expected the manifest of a pack: No such file or ...
    """
    place = Path(folder)
    file = place / manifest.NAME
    try:
        if file.is_symlink():  # by a link it could lie anywhere
            inside(place, manifest.NAME, str(file))
        pack = Pack(place, manifest.read(file))
        _check_names(pack, file)
        for where, described in manifest.files_of(pack.content).items():
            manifest.check_file(place, described, f"{file}: {where}")
        _check_strangers(pack, file)
        _check_layout(pack, file)
        for number, entry in enumerate(pack.entries.values()):
            _check_entry(entry, f"{file}: /entries/{number}")
            if progress is not None:
                progress(number + 1, len(pack.entries))
    except TrajectoryError as error:
        raise PackError(str(error)) from None
    except OSError as error:
        raise PackError(f"{error.filename or file}: {error.strerror or error}") from None
    return pack


def _check_names(pack: Pack, file: Path) -> None:
    """Entries have portable names, each once, and files of those names."""
    names = [entry["name"] for entry in pack.content["entries"]]
    for number, entry in enumerate(pack.content["entries"]):
        where = f"{file}: /entries/{number}"
        if not NAME.fullmatch(entry["name"]):
            raise PackError(f"{where}/name: expected letters, digits, '_', '-', '+', '.', ' ', got {entry['name']!r}")
        for kind, folder in manifest.FOLDERS.items():
            expected = f"{folder}/{entry['name']}{manifest.SUFFIXES[kind]}"
            if entry[kind] is not None:
                _inside_by(entry[kind]["file"], expected, pack.folder, f"{where}/{kind}/file")
    _inside_by(pack.content["schema"]["file"], manifest.SCHEMA, pack.folder, f"{file}: /schema/file")
    if names != sorted(names) or unlike(names) != names:
        raise PackError(f"{file}: /entries: expected names in order, each once")


def _inside_by(text: str, expected: str, folder: Path, where: str) -> None:
    inside(folder, text, where)
    if text != expected:
        raise PackError(f"{where}: expected {expected!r}, got {text!r}")


def _check_strangers(pack: Pack, file: Path) -> None:
    """There is nothing in the folder that the manifest does not list."""
    others = strangers(pack.folder, manifest.paths_of(pack.content), manifest.FOLDERS.values(), links=True)
    if others:
        raise PackError(f"{file}: /entries: expected all files of the pack, but {others[0]!r} is not listed")


def _check_layout(pack: Pack, file: Path) -> None:
    """The manifest lists the columns that its schema and its dtypes make."""
    made = manifest.made(pack.identity, pack.rules.layout, pack.content["schema"], pack.content["entries"])
    names = ("fields", "action", "reward", "columns", "skipped")
    found = differs({name: made[name] for name in names}, {name: pack.content[name] for name in names})
    if found is not None:
        raise PackError(f"{file}: {found} (by the pack's {manifest.SCHEMA})")


def _check_entry(entry: Entry, where: str) -> None:
    """A trajectory is as the manifest describes it, and its other forms hold the same."""
    with closing(judged(entry.file, lambda metadata: entry.pack.rules)) as parts:
        _check_parts(entry, parts, where)


def _check_parts(entry: Entry, parts: Iterable[tuple[str, Part]], where: str) -> None:
    batches: list[Any] = []
    flat: Flat | None = None
    columns: Columns | None = None
    for place, part in parts:
        if isinstance(part, Metadata):
            flat = Flat(entry.pack.rules.layout, part)
            if entry.columns is not None and pyarrow() is not None:
                columns = Columns(entry.pack.rules.layout, part, batches.append)
            _check_described(entry, {"source": part.source, "seed": str(part.seed), "instance": part.instance}, where)
        elif not isinstance(part, End):
            for sink in (flat, columns):
                _give(sink, part, place)
    assert flat is not None
    _check_described(entry, {name: flat.counts[name] for name in ("episodes", "steps")}, where)
    _check_flat(entry, flat)
    if columns is not None:
        columns.finish()
        _check_columns(entry, columns.schema, batches)


def _give(sink: Any, part: Any, place: str) -> None:
    try:
        if sink is not None:
            sink.begin(part) if isinstance(part, First) else sink.add(part)
    except ValueError as error:
        raise PackError(f"{place}: {error}") from None


def _check_described(entry: Entry, expected: dict[str, Any], where: str) -> None:
    for name, value in expected.items():
        if entry.content[name] != value:
            raise PackError(f"{where}/{name}: expected {value!r} of {entry.file.name}, got {entry.content[name]!r}")


def _check_flat(entry: Entry, flat: Flat) -> None:
    file = entry.pack.folder / entry.content["flat"]["file"]
    try:
        got = loads(file.read_bytes())
    except ValueError as error:
        raise PackError(f"{file}: /: expected JSON: {error}") from None
    flat.cut_off = entry.content["cut_off"]  # what no trajectory says: flat file and manifest must say the same
    found = differs(flat.content(), got)
    if found is not None:
        raise PackError(f"{file}: {found} as {entry.content['trajectory']['file']} has it")


def _check_columns(entry: Entry, schema: Any, batches: list[Any]) -> None:
    """The Parquet file holds what the trajectory does."""
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(entry.columns) as stored:
            got = stored.read()
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise PackError(f"{entry.columns}: expected Parquet: {str(error).splitlines()[0]}") from None
    expected = pyarrow.Table.from_batches(batches, schema)
    if got.schema != schema or (got.schema.metadata or {}) != schema.metadata:
        raise PackError(f"{entry.columns}: expected the columns, dtypes and metadata of the pack")
    for name in schema.names:
        if not got[name].equals(expected[name]):
            raise PackError(f"{entry.columns}: column {name}: expected what {entry.file.name} has")


def differs(expected: Any, got: Any, where: str = "") -> str | None:
    """Where JSON values differ (by pointer, with both), None where they do not; 1 and 1.0 are the same number."""
    if isinstance(expected, dict) and isinstance(got, dict):
        if expected.keys() != got.keys():
            return f"{where or '/'}: expected {sorted(expected)}, got {sorted(map(str, got))}"
        found = (differs(part, got[name], f"{where}/{name}") for name, part in expected.items())
        return next((one for one in found if one is not None), None)
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return f"{where or '/'}: expected {len(expected)} items, got {len(got)}"
        found = (differs(one, other, f"{where}/{n}") for n, (one, other) in enumerate(zip(expected, got, strict=True)))
        return next((one for one in found if one is not None), None)
    return None if _same(expected, got) else f"{where or '/'}: expected {expected!r}, got {str(got)[:80]!r}"


def _same(expected: Any, got: Any) -> bool:
    numbers = {int, float}
    if expected.__class__ is got.__class__ or {expected.__class__, got.__class__} == numbers:
        zeros = expected.__class__ is float and expected == 0 and math.copysign(1, expected) != math.copysign(1, got)
        return bool(expected == got) and not zeros
    return False
