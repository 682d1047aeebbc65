"""Reads what a page is made from, a report and what ``simulacrum bench --json`` wrote, each against a schema."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import IO, Any

from ...errors import PackageError

FOLDER = Path(__file__).parent
LARGEST = 64 << 20  # bytes of a file that is read
HEAD = 2048  # bytes of a page in which it says what wrote it
GENERATOR = b'<meta name="generator" content="simulacrum">'


def report(file: Path) -> dict[str, Any]:
    """A report's JSON. Raises :class:`PackageError` that names file and place where it is none."""
    return _read(file, "report.schema.json", "a report, as simulacrum validate writes it")


def bench(file: Path) -> dict[str, Any]:
    """The JSON of a sweep. Raises :class:`PackageError` that names file and place where it is none."""
    return _read(file, "bench.schema.json", "a sweep, as simulacrum bench --json writes it (not that of --layers)")


def is_page(file: Path) -> bool:
    """Whether a file is a page that simulacrum wrote: a regular file, and no link, whose head says so."""
    if not stat.S_ISREG(file.lstat().st_mode):
        return False
    with opened(file) as stream:
        return GENERATOR in stream.read(HEAD)


class IrregularError(ValueError):
    """What has no end, or nothing to read: a device, a pipe, a folder."""


def opened(file: Path) -> IO[bytes]:
    """A regular file, or what a link to one leads to, opened. Raises IrregularError for all else; it waits for none."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IrregularError("it is no regular file")
    return os.fdopen(descriptor, "rb")


def _read(file: Path, schema: str, what: str) -> dict[str, Any]:
    from jsonschema import Draft202012Validator

    try:
        with opened(file) as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes, which are read at most")
        content = json.loads(data, parse_constant=_no_constant)
    except OSError as error:
        raise PackageError(f"{file}: expected {what}: {error.strerror}") from None
    except RecursionError:
        raise PackageError(f"{file}: expected {what}: it is nested too deep") from None
    except MemoryError:
        raise PackageError(f"{file}: expected {what}: it takes more memory than there is") from None
    except ValueError as error:
        raise PackageError(f"{file}: expected {what}: {error}") from None
    validator = Draft202012Validator(json.loads((FOLDER / schema).read_bytes()))
    wrong = min(validator.iter_errors(content), key=lambda error: len(error.absolute_path), default=None)
    if wrong is not None:
        place = "".join(f"/{part}" for part in wrong.absolute_path) or "/"
        raise PackageError(f"{file}: {place}: expected {what}: {wrong.message[:300]}")
    found: dict[str, Any] = content
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"JSON has no {text}")
