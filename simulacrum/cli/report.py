"""``simulacrum report``: the latest report of a package as one HTML page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ..errors import GateError, PackageError, SimulacrumError
from ..harness.gate import Refusal as Reason
from ..harness.gate import admit, find_report
from ..harness.places import report_path, write_atomically
from ..harness.report_page import Beside, Refusal, illustrated, page, reading
from ..registry import resolve
from ..render.text import printable
from ..spec import Package
from .codes import PASSED
from .signals import interruptible

SECONDS = 20.0  # for the frames of findings
WORDS: dict[object, str] = {  # for the verdict, where it is not that the report is stale
    Reason.UNSIGNED: "unsigned",
    Reason.OTHER_ACCOUNT: "of another account",
    Reason.EDITED: "edited",
    Reason.OTHER_PACKAGE: "of another package",
    Reason.FAILED: "failed",
}


def report(arguments: argparse.Namespace) -> int:
    """Write the page; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a package that is not found or has no report, and for a file
    that is of another form than it should be.
    """
    package = Package.read(resolve(arguments.target)).configured(arguments.config)
    config = f"-{package.config}" if package.config else ""
    output: Path = arguments.output or Path(f"{package.path.name}{config}-report.html")
    _check(output)
    with interruptible():
        data = _page(package, arguments).encode()
        try:
            write_atomically(output, data)
        except OSError as error:
            raise SimulacrumError(f"{output}: {error.strerror or error}") from None
    print(printable(f"{output} ({len(data) / 1e6:.1f} MB)"))
    return PASSED


def _page(package: Package, arguments: argparse.Namespace) -> str:
    """The page of the very report that the gate was asked about."""
    file = _file(package)
    content = reading.report(file)
    refusal = _refusal(package)
    if reading.report(file) != content:
        raise PackageError(f"{file}: it changed while it was read\nrun: simulacrum report {package.target}")
    beside = illustrated(package, content, SECONDS)
    beside = Beside(
        source=beside.source,
        refusal=refusal,
        pictures=beside.pictures,
        faults=None if arguments.faults is None else _faults(package, arguments.faults),
        bench=None if arguments.bench is None else reading.bench(arguments.bench),
    )
    return page(content, beside)


def _check(output: Path) -> None:
    """Raise SimulacrumError for a place where no page may be written: only an earlier page is written over."""
    if output.is_dir():
        raise SimulacrumError(f"{output} is a folder: name a file by --output FILE.html")
    if os.path.lexists(output) and not reading.is_page(output):
        raise SimulacrumError(
            f"{output} exists already, and is no page of simulacrum report: name another file by --output FILE.html"
        )
    if (output.resolve().parent / "spec.md").exists():
        raise SimulacrumError(
            f"{output}: in a package's folder, which would change the package: name another place by --output FILE.html"
        )


def _file(package: Package) -> Path:
    """Where the report is. Raises :class:`PackageError` where there is none."""
    place = find_report(package)
    if place.is_file():
        return place
    raise PackageError(
        f"{package.path.name} ({package.path}) has no validation report (looked for "
        f"{report_path(package.path, package.config)})\n"
        f"run: simulacrum validate {package.target}"
    )


def _refusal(package: Package) -> Refusal | None:
    """Why the gate refuses the report now; None where it admits the package."""
    try:
        admit(package.path, form=None, config=package.config)
    except GateError as error:
        return Refusal(WORDS.get(error.reason, "stale"), str(error))
    return None


def _faults(package: Package, file: Path) -> tuple[Any, str]:
    """The results of a file that are of faults of this package, the last of each, and words for the others."""
    from ..harness.faults import cases, matrix, summary

    if not file.is_file():
        raise PackageError(f"{file}: expected the results that simulacrum faults --output wrote: no such file")
    results = {result.name: result for result in matrix.read(file).values() if result.name != matrix.CONTROL}
    known = {case.name for case in cases.cases(package, cases.GROUPS)}
    mine = [result for name, result in results.items() if name in known]
    if not mine:
        raise PackageError(
            f"{file}: expected results of faults of {package.path.name}, as simulacrum faults --output writes them: "
            f"none of its {len(results)} results is one\nrun: simulacrum faults {package.target} --output {file}"
        )
    others = len(results) - len(mine)
    left = (
        f"{others} results in {file.name} are of other packages, or of faults that there are no more." if others else ""
    )
    whole = sum(name in results for name in known)
    remark = f"{whole} of {len(known)} faults of this package have a result. {left}".strip()
    return summary.Summary(package.environment.id, mine, cases.excused(package), whole == len(known)), remark
