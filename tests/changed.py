"""Copies of the examples with one text replaced: for tests of what finds, shrinks and tells faults."""

from __future__ import annotations

import shutil
from pathlib import Path

from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parent.parent / "envs"
IGNORED = ("__pycache__", "validation_report.*", "failures", "corpus", "trace.json")
SEEN = "counts / self.float32([L, MAX_STEPS])"  # toywalk's observation, fast side


def changed(folder: Path, old: str = "", new: str = "", *, base: str = "toywalk", file: str = "fast.py") -> Package:
    """A copy of an example in ``folder``, with ``old`` replaced once."""
    shutil.copytree(ENVS / base, folder, ignore=shutil.ignore_patterns(*IGNORED))
    text = (folder / file).read_text()
    assert old in text, f"{file} has no {old!r}"
    (folder / file).write_text(text.replace(old, new, 1))
    return Package.read(folder)


def method(body: str) -> tuple[str, str]:
    """A change of toywalk's fast.py that overrides a method of the base class."""
    return "    environment = ENVIRONMENT\n", f"    environment = ENVIRONMENT\n\n{body}\n"
