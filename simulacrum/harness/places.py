"""Where reports, keys and the list of validated packages lie. Imports nothing heavy: the gate needs it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

REPORT = "validation_report.json"
SIGNATURE = "validation_report.sig"


def state_folder() -> Path:
    """``$XDG_STATE_HOME/simulacrum`` (``~/.local/state/simulacrum``)."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "simulacrum"


def writable_folder(package: Path) -> Path:
    """The package's own folder, or, where that is read-only, one for it in the state folder."""
    if os.access(package, os.W_OK):
        return package
    name = f"{package.name}-{hashlib.sha256(str(package).encode()).hexdigest()[:16]}"
    return state_folder() / "packages" / name


def report_path(package: Path) -> Path:
    """Where a package's report lies."""
    return writable_folder(package) / REPORT


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, never a part. Folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        work.write_bytes(data)
        os.replace(work, path)
    finally:
        work.unlink(missing_ok=True)
