"""Which environments there are, and what a path, a bare name or an ID means. Nothing of a package is imported.

``import simulacrum`` runs :func:`known`, so this module imports little, and no package makes it raise.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib.util
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..errors import PackageError
from .places import has_report, state_folder, write_atomically

GROUP = "simulacrum.envs"
NAMESPACE = "simulacrum"
ROOT = Path(__file__).resolve().parents[2]  # of a source checkout, if it is one
ENTRY_POINT, VALIDATED, CHECKOUT = "entry point", "validated here", "source checkout"
ID = re.compile(r"(?:[\w-]+/)?[\w.-]+?-v\d+")


@dataclass(frozen=True)
class Known:
    """An environment that was found.

    Attributes:
        id: its full ID; None where none could be read.
        path: its folder, absolute; None where an entry point leads nowhere.
        source: ``entry point``, ``validated here`` or ``source checkout``.
        problem: what is wrong with it, in words; empty where nothing is.
    """

    id: str | None
    path: Path | None
    source: str
    problem: str = ""


def known() -> list[Known]:
    """All known environments, each folder once: entry points, packages validated on this machine, ``envs/`` of a source
    checkout, in this order. Folders that claim one ID, or that have none, say so in ``problem``."""
    found: dict[Path | None, Known] = {}
    lost: list[Known] = []
    sources: tuple[tuple[str, Iterable[Path | str]], ...] = (
        (ENTRY_POINT, _installed()),
        (VALIDATED, _validated()),
        (CHECKOUT, _checked_out()),
    )
    for source, folders in sources:
        for folder in folders:
            if isinstance(folder, str):
                lost.append(Known(None, None, source, folder))
            elif folder not in found:
                found[folder] = _look(folder, source)
    return [*_with_conflicts(list(found.values())), *lost]


def resolve(target: str | os.PathLike[str]) -> Path:
    """The folder that a path, a bare name (``forager``) or an ID (``simulacrum/forager-v0``) means, in this order.

    Raises :class:`PackageError`: nothing is found (what was looked for, what is known), or two folders answer.
    """
    text = os.fspath(target)
    folder = Path(os.path.expanduser(text))
    is_path = not isinstance(target, str) or os.sep in text or text in (".", "..")
    if (folder / "spec.md").is_file() or (is_path and folder.is_dir()):
        return folder.resolve()
    here = [one for one in known() if one.path is not None]
    for what, chosen in (
        ("name", [one for one in here if _folder_name(one) == text]),
        ("name", [one for one in here if _id_name(one) == text]),
        ("ID", [one for one in here if ID.fullmatch(text) and one.id == full_id(text)]),
    ):
        paths = [one.path for one in chosen if one.path is not None]
        if len(paths) > 1:
            listed = "\n".join(f"  {one.path} ({one.source})" for one in chosen)
            raise PackageError(
                f"{len(paths)} packages claim the {what} {text!r}:\n{listed}\nGive one of them another {what}, or name "
                "its folder. One that was only validated here is forgotten with its validation_report.json."
            )
        if paths:
            return paths[0]
    raise PackageError(_not_found(text, folder, here))


def read_id(source: bytes) -> str:
    """The full ID in the source of a package's ``__init__.py``: the literal ``id`` of its ``Environment(...)``.

    Raises :class:`PackageError` where there is none, or none of the form ``<namespace>/<name>-v<k>``.
    """
    return _read_id(source)


def full_id(identifier: str) -> str:
    """An ID with its namespace: ``simulacrum`` where it has none."""
    return identifier if "/" in identifier else f"{NAMESPACE}/{identifier}"


def remember(package: Path) -> None:
    """Add a package to those validated on this machine: one small file each, so that writers never meet."""
    name = hashlib.sha256(str(package).encode()).hexdigest()[:24]
    write_atomically(_index() / f"{name}.path", os.fsencode(package))


def _index() -> Path:
    return state_folder() / "validated"


@lru_cache(maxsize=256)
def _read_id(source: bytes) -> str:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise PackageError(f"__init__.py cannot be read: {error}") from None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "Environment"]
    for call in calls:
        values = [word.value for word in call.keywords if word.arg == "id"] or call.args[:1]
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                if not ID.fullmatch(value.value):
                    raise PackageError(f"__init__.py: expected an ID <namespace>/<name>-v<k>, got {value.value!r}")
                return full_id(value.value)
    raise PackageError(
        '__init__.py: expected ENVIRONMENT = simulacrum.Environment(id="<namespace>/<name>-v<k>", ...), '
        "with the ID as a literal"
    )


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))


def _look(folder: Path, source: str) -> Known:
    try:
        return Known(read_id((folder / "__init__.py").read_bytes()), folder, source)
    except (OSError, PackageError) as error:
        return Known(None, folder, source, str(error))


def _with_conflicts(listed: list[Known]) -> list[Known]:
    claims: dict[str | None, list[Path]] = defaultdict(list)
    for one in listed:
        if one.path is not None:
            claims[one.id].append(one.path)
    return [
        one
        if one.id is None or len(claims[one.id]) == 1
        else replace(
            one,
            problem="its ID is claimed by "
            + ", ".join(str(path) for path in claims[one.id] if path != one.path)
            + " as well",
        )
        for one in listed
    ]


def _folder_name(one: Known) -> str:
    return "" if one.path is None else one.path.name


def _id_name(one: Known) -> str:
    """``forager`` of ``simulacrum/forager-v0``."""
    return (one.id or "").rpartition("/")[2].rpartition("-v")[0]


def _not_found(text: str, folder: Path, here: list[Known]) -> str:
    ids = sorted({one.id for one in here if one.id is not None})
    names = [name for one in here for name in (_folder_name(one), _id_name(one)) if name]
    close = difflib.get_close_matches(text, [*ids, *names], 1, 0.5)
    there = " (it is there, without a spec.md)" if folder.is_dir() else ""
    return (
        f"no environment {text!r}: looked for a package in the folder {folder.absolute()}{there}, then for a known "
        f"name, then for a known ID\nknown: {', '.join(ids) or 'none'}{f'; did you mean {close[0]}?' if close else ''}"
        "\nsee: simulacrum list; begin one: simulacrum new NAME; make one known: simulacrum validate PATH"
    )


def _installed() -> Iterator[Path | str]:
    """Folders behind the entry points; a text where one leads nowhere."""
    for name, module in entry_points(GROUP, tuple(sys.path)):
        places = _folders_of(module)
        packages = [package for place in places for package in _packages_at(place)]
        yield from packages
        if not packages:
            yield f"entry point {name}: no package with a spec.md in {module!r}"


@lru_cache(maxsize=8)
def entry_points(group: str, places: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(name, module) of a group's entry points in the metadata folders of the places of ``sys.path``.

    ``importlib.metadata`` tells the same; importing it takes a tenth of the time that Gymnasium takes.
    """
    found = []
    for place in dict.fromkeys(places):
        try:
            names = sorted(name for name in os.listdir(place or ".") if name.endswith((".dist-info", ".egg-info")))
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(place, name, "entry_points.txt"), encoding="utf-8") as file:
                    found += _points(file.read(), group)
            except (OSError, ValueError):
                continue
    return tuple(dict.fromkeys(found))


def _points(text: str, group: str) -> list[tuple[str, str]]:
    section, found = "", []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == group and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            found.append((name.strip(), re.split(r"[:\[]", value)[0].strip()))
    return found


def _folders_of(module: str) -> list[Path]:
    """The folders of a module by its dotted name, without importing any part of it."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except Exception:  # whatever a foreign finder raises
        return []
    places = [] if spec is None else spec.submodule_search_locations or []
    return [Path(place, *rest) for place in places]


def _packages_at(folder: Path) -> list[Path]:
    """The folder where it is a package, else the packages in it."""
    if (folder / "spec.md").is_file():
        return [folder.resolve()]
    try:
        return sorted(entry.parent.resolve() for entry in folder.glob("*/spec.md"))
    except OSError:
        return []


def _validated() -> Iterator[Path]:
    """Packages in the index whose report is still there."""
    try:
        files = sorted(_index().glob("*.path"))
    except (OSError, RuntimeError):  # RuntimeError: an account without a home
        return
    for file in files:
        try:
            folder = Path(os.fsdecode(file.read_bytes()))
            present = folder.is_absolute() and (folder / "spec.md").is_file() and has_report(folder)
        except OSError:
            continue
        if present:
            yield folder


def _checked_out() -> list[Path]:
    return _packages_at(ROOT / "envs") if (ROOT / "pyproject.toml").is_file() else []
