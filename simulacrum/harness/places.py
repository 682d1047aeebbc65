"""Where reports, keys and the list of validated packages lie. Imports nothing heavy: the gate needs it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

REPORT = "validation_report"  # and the name of a configuration, and the suffix


def state_folder() -> Path:
    """``$XDG_STATE_HOME/simulacrum`` (``~/.local/state/simulacrum``)."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "simulacrum"


def writable_folder(package: Path) -> Path:
    """The package's own folder, or, where that is read-only, one for it in the state folder."""
    if os.access(package, os.W_OK):
        return package
    name = f"{package.name}-{hashlib.sha256(str(package).encode()).hexdigest()[:16]}"
    return state_folder() / "packages" / name


def report_path(package: Path, config: str | None = None) -> Path:
    """Where the report of a package lies, in a configuration if it has any. Its signature lies beside it."""
    return writable_folder(package) / report_name(config)


def report_name(config: str | None) -> str:
    """The file name of a report."""
    return f"{REPORT}.{config}.json" if config else f"{REPORT}.json"


def has_report(package: Path) -> bool:
    """Whether there is a report of a package in any configuration."""
    return any(writable_folder(package).glob(f"{REPORT}*.json"))


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, never a part. Folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        work.write_bytes(data)
        os.replace(work, path)
    finally:
        work.unlink(missing_ok=True)
