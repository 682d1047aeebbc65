"""The environment packages of a checkout."""

from __future__ import annotations

from pathlib import Path

from simulacrum.cli.check import BESIDE

from .workflow import listed, variable


def packages() -> list[str]:
    """The folders, relative, of the committed packages that a pattern of ``$PACKAGES`` fits: one or more, with blanks
    between them, as git's glob takes them (``envs/*``, ``**``). Raises ``RuntimeError`` where none does."""
    patterns = variable("PACKAGES").split() or ["**"]
    specs = listed("ls-files", "-z", "--", *(f":(glob){pattern.rstrip('/')}/spec.md" for pattern in patterns))
    found = sorted({Path(spec).parent.as_posix() for spec in specs})
    found = [folder for folder in found if any((Path(folder) / name).is_file() for name in BESIDE)]
    if not found:
        raise RuntimeError(
            f"packages: {' '.join(patterns)}: expected folders with a committed spec.md and a reference.py, found none"
        )
    return found
