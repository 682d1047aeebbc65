"""The checkout that a package is part of."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def commit(folder: Path) -> str | None:
    """The commit of the checkout that a folder is part of, ``-dirty`` where the folder differs; None outside of one."""
    if not _git(folder, "ls-files", "--", "."):
        return None
    found = _git(folder, "rev-parse", "HEAD")
    return f"{found}-dirty" if found and _git(folder, "status", "--porcelain", "--", ".") else found


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says; None where it fails or is not there. A hook's variables would lead it to another repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=60, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
