"""``simulacrum check``: the spec against the code, and a static read, in seconds; pre-commit runs it."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import SimulacrumError
from ..registry import resolve
from ..spec import Package
from .codes import FINDINGS, PASSED, complain
from .validate import load, read

BESIDE = ("reference.py", "fast.py", "checks.py", "schema.json")  # a spec.md without any of them is another's


def check(arguments: argparse.Namespace) -> int:
    """Check each package that is named, or that a named file lies in, once; the exit code is the greatest of them.

    Files that lie in no package are passed over, and nothing heavy is imported where all do. A package that is broken
    is told, and the others are checked. Raises :class:`~simulacrum.errors.PackageError` for a target that is not found.
    """
    folders = _folders(arguments.targets)
    if not folders:
        print(f"Nothing to check: {' '.join(arguments.targets)}: in no environment package")
        return PASSED
    with _uncollected():
        return max(_check(folder) for folder in folders)


def package_around(file: Path) -> Path | None:
    """The folder of the environment package that a file lies in, whether or not the file is there; None where it lies
    in none. A package is a folder with a ``spec.md`` and one other of its files, so that a broken one counts."""
    for folder in file.absolute().parents:
        if (folder / "spec.md").is_file() and any((folder / name).is_file() for name in BESIDE):
            return folder
    return None


def _folders(targets: Iterable[str]) -> list[Path]:
    found = [package_around(Path(target)) if Path(target).is_file() else resolve(target) for target in targets]
    return list(dict.fromkeys(folder.resolve() for folder in found if folder is not None))


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage is collected: it takes a quarter of the time in which torch and torchrl are imported."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _check(folder: Path) -> int:
    try:
        package = read(str(folder))  # as it stands: configurations have the same code
        load(package)
    except SimulacrumError as error:
        return complain(str(error))
    return _told(package)


def _told(package: Package) -> int:
    """Run the checks and print what they found, or what they looked at."""
    from ..harness.static_checks import run_static

    name = f"{package.environment.id} ({package.path})"
    contexts = run_static(package)
    findings = [finding for context in contexts for finding in context.findings]
    for finding in findings:
        print(finding.text())
    if findings:
        print(f"{name}: {len(findings)} finding{'s' if len(findings) > 1 else ''}")
        return FINDINGS
    counted = [f"{number:,} {what}" for context in contexts for what, number in context.counts.items()]
    print(f"{name}: passed: {', '.join(counted)}")
    return PASSED
