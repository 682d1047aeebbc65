"""``manifest.json``: what a pack says about itself, and its check."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..trajectory import TrajectoryError, bounded
from ..trajectory.schema import Definition
from ..trajectory.values import loads
from .errors import PackError
from .folder import inside
from .layout import Identity, Layout, Typed

FORMAT = 1
KIND = "simulacrum pack"
NAME, SCHEMA = "manifest.json", "schema.json"
FOLDERS = {"trajectory": "trajectories", "flat": "flat", "columns": "columns"}
SUFFIXES = {"trajectory": ".json", "flat": ".json", "columns": ".parquet"}

_OWN: dict[str, Any] = json.loads(Path(__file__).with_name("manifest.schema.json").read_bytes())


def made(
    identity: Identity, layout: Layout, schema: dict[str, Any], entries: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    """The content of the manifest of some entries; ``schema`` is what :func:`described` says of its file."""
    return {
        "format": FORMAT,
        "kind": KIND,
        **identity._asdict(),
        "schema": schema,
        **_fields(layout),
        "columns": [column._asdict() for column in layout.columns()],
        "skipped": [{**one._asdict(), "shape": list(one.shape)} for one in layout.skipped()],
        "entries": sorted(entries, key=lambda entry: str(entry["name"])),
    }


def dumped(content: dict[str, Any]) -> bytes:
    """A manifest as its file holds it."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def described(file: Path, path: str) -> dict[str, Any]:
    """What a manifest says of a file: its path in the pack, its size, and its digest."""
    total = hashlib.sha256()
    with file.open("rb") as stream:
        while part := stream.read(1 << 20):
            total.update(part)
        return {"file": path, "size": stream.tell(), "sha256": total.hexdigest()}


def read(file: Path) -> dict[str, Any]:
    """The content of a manifest. Raises :class:`PackError` for what is none of this format."""
    try:
        content = loads(bounded.content(file))
    except TrajectoryError as error:
        raise PackError(str(error)) from None
    except ValueError as error:
        raise PackError(f"{file}: /: expected JSON: {error}") from None
    except OSError as error:
        raise PackError(f"{file}: expected the manifest of a pack: {error.strerror}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise PackError(f'{file}: /kind: expected "{KIND}": this is no pack of simulacrum export-pack')
    if content.get("format") != FORMAT:
        raise PackError(f"{file}: /format: this version reads packs of format {FORMAT}, got {content.get('format')!r}")
    try:
        Definition(_OWN, "manifest").take(content, f"{file}: ")
    except TrajectoryError as error:
        raise PackError(str(error)) from None
    return content


def files_of(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What a manifest says of each file, by its pointer."""
    found = {"/schema": content["schema"]}
    for number, entry in enumerate(content["entries"]):
        for kind in FOLDERS:
            if entry[kind] is not None:
                found[f"/entries/{number}/{kind}"] = entry[kind]
    return found


def paths_of(content: dict[str, Any]) -> set[str]:
    """The paths of all files that a pack has, of the manifest too."""
    return {NAME, *(one["file"] for one in files_of(content).values())}


def check_file(folder: Path, said: dict[str, Any], where: str) -> Path:
    """A file of the pack in a folder. Raises :class:`PackError` where it lies outside, or is not the one of that size
    and digest."""
    found = inside(folder, said["file"], f"{where}/file")
    size = found.stat().st_size
    if size != said["size"]:
        raise PackError(f"{where}/size: {said['file']} has {size} bytes, expected {said['size']}")
    if described(found, "")["sha256"] != said["sha256"]:
        raise PackError(f"{where}/sha256: {said['file']} is not the file that was packed: its digest differs")
    return found


def identity_of(content: dict[str, Any]) -> Identity:
    """Of which environment a pack is."""
    return Identity(*(content[name] for name in Identity._fields))


def typed_of(content: dict[str, Any]) -> Typed:
    """The dtypes of a pack."""
    state = {field["name"]: (field["dtype"], tuple(field["shape"])) for field in content["fields"]}
    action = content["action"]
    return Typed(state, (action["dtype"], tuple(action["shape"])), content["reward"]["dtype"])


def _fields(layout: Layout) -> dict[str, Any]:
    return {
        "fields": [
            {"name": name, "dtype": field.dtype, "shape": list(field.shape)} for name, field in layout.state.items()
        ],
        "action": {"dtype": layout.action.dtype, "shape": list(layout.action.shape)},
        "reward": {"dtype": layout.reward},
    }
