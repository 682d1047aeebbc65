"""Copies of the example packages in which some texts are replaced: known faults, for tests of the checks."""

from __future__ import annotations

import shutil
from pathlib import Path

from environments import ENVS

from simulacrum.spec import Package

Change = tuple[str, str, str]  # a file's name, an old text that stands in it, the new one


def edited(folder: Path, base: str, *changes: Change) -> Package:
    """A copy of ``envs/<base>`` in ``folder/<base>`` with every old text replaced."""
    ignored = shutil.ignore_patterns("__pycache__", "validation_report.*", "failures", "corpus", "trace.json")
    made = shutil.copytree(ENVS / base, folder / base, ignore=ignored)
    for name, old, new in changes:
        text = (made / name).read_text()
        assert old in text, f"{name} has no {old!r}"
        (made / name).write_text(text.replace(old, new))
    return Package.read(made)
