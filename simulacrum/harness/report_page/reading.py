"""Reads what a page is made from, a report and what ``simulacrum bench --json`` wrote, each against a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import PackageError

FOLDER = Path(__file__).parent
LARGEST = 64 << 20  # bytes of a file that is read


def report(file: Path) -> dict[str, Any]:
    """A report's JSON. Raises :class:`PackageError` that names file and place where it is none."""
    return _read(file, "report.schema.json", "a report, as simulacrum validate writes it")


def bench(file: Path) -> dict[str, Any]:
    """The JSON of a sweep. Raises :class:`PackageError` that names file and place where it is none."""
    return _read(file, "bench.schema.json", "a sweep, as simulacrum bench --json writes it (not that of --layers)")


def _read(file: Path, schema: str, what: str) -> dict[str, Any]:
    from jsonschema import Draft202012Validator

    try:
        size = file.stat().st_size
        if size > LARGEST:
            raise ValueError(f"it has {size:,} bytes, {LARGEST:,} at most are read")
        content = json.loads(file.read_bytes(), parse_constant=_no_constant)
    except OSError as error:
        raise PackageError(f"{file}: expected {what}: {error.strerror}") from None
    except RecursionError:
        raise PackageError(f"{file}: expected {what}: it is nested too deep") from None
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
