"""Copies of the packages in ``envs`` and ``tests/packages`` with texts replaced: known faults, for tests of what finds,
shrinks and tells them. The copies have the tensor form alone, unless they are made with their kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

from environments import ENVS

from simulacrum.harness.faults.cases import without_kernel
from simulacrum.spec import Package

PACKAGES = Path(__file__).resolve().parent / "packages"
IGNORED = ("__pycache__", "validation_report.*", "failures", "corpus", "trace.json")
# Toywalk's observation, fast side
SEEN = "torch.stack([state.position / self.float32(L), state.t / self.float32(MAX_STEPS)], -1)"

Change = tuple[str, str, str]  # a file's name, an old text that stands in it, the new one


def edited(folder: Path, base: str, *changes: Change, count: int = -1) -> Package:
    """A copy in ``folder/<base>`` with old texts replaced: everywhere, or the first ``count`` times."""
    return edited_as(folder / base, base, *changes, count=count)


def edited_as(made: Path, base: str, *changes: Change, count: int = -1, kernel: bool = False) -> Package:
    """The same as the folder ``made``."""
    source = ENVS / base if (ENVS / base).is_dir() else PACKAGES / base
    shutil.copytree(source, made, ignore=shutil.ignore_patterns(*IGNORED))
    if not kernel:
        drop_kernel(made)
    for name, old, new in changes:
        text = (made / name).read_text()
        assert old in text, f"{name} has no {old!r}"
        (made / name).write_text(text.replace(old, new, count))
    return Package.read(made)


def drop_kernel(folder: Path) -> None:
    """Leave a package in ``folder`` its tensor form alone."""
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    kept = without_kernel(files)
    for name in files:
        if name in kept:
            (folder / name).write_bytes(kept[name])
        else:
            (folder / name).unlink()


def changed(folder: Path, old: str = "", new: str = "", *, base: str = "toywalk", file: str = "fast.py") -> Package:
    """A copy as ``folder``, with ``old`` replaced once."""
    return edited_as(folder, base, (file, old, new), count=1)


def broken(folder: Path, base: str, **changes: tuple[str, str]) -> Package:
    """A copy as ``folder``, with one text replaced once in each named file (``fast``, ``init``, ``spec`` ...)."""
    others = {"spec": "spec.md", "schema": "schema.json", "init": "__init__.py"}
    edits = [(others.get(name, f"{name}.py"), old, new) for name, (old, new) in changes.items()]
    return edited_as(folder, base, *edits, count=1)


def method(body: str) -> tuple[str, str]:
    """A change of toywalk's fast.py that overrides a method of the base class."""
    return "    environment = ENVIRONMENT\n", f"    environment = ENVIRONMENT\n\n{body}\n"
