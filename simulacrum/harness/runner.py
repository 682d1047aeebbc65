"""``run(package, profile)``: the battery as a library call."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from ..spec import Package
from . import checks
from .context import CheckFailed, Context, NotApplicable, Progress
from .finding import Finding
from .profile import DEFAULT, Profile
from .report import CheckResult, Report, new_report
from .surroundings import generator_states, single_threaded

SAMPLES = ("standard_api", "benchmark_factory_parity", "determinism")  # run checkers that sample actions globally


def run_check(name: str, package: Package, profile: Profile = DEFAULT, progress: Progress | None = None) -> CheckResult:
    """Run one check by name."""
    context = Context(name, package, profile, progress)
    start = time.perf_counter()
    try:
        with single_threaded():  # the batches are small; other thread counts are the determinism check's
            before = generator_states()
            checks.load(name)(context)
            touched = [side for side, state in generator_states().items() if state != before[side]]
            if touched and name not in SAMPLES:
                context.problem(f"the global generator of {', '.join(touched)} was used while the environment ran")
        outcome = "failed" if context.findings else "passed"
    except CheckFailed:
        outcome = "failed"
    except NotApplicable:
        outcome = "not_applicable"
    except (Exception, SystemExit) as error:
        outcome = "failed"
        place = _place(error, package)
        context.problem(f"{type(error).__name__}: {error}{place}")
    return CheckResult(
        name,
        outcome,
        round(time.perf_counter() - start, 3),
        dict(context.counts),
        context.notes,
        context.findings,
        context.facts,
    )


def run(
    package: Package | str | Path,
    profile: Profile = DEFAULT,
    *,
    names: Sequence[str] = checks.NAMES,
    progress: Progress | None = None,
    finished: Callable[[CheckResult], None] | None = None,
) -> Report:
    """Run a battery on a package and return its report; nothing is written (see :meth:`Report.write`).

    Args:
        package: a package, or its folder.
        profile: how much is done.
        names: which checks; a report of fewer than all cannot be written.
        progress: called with a check's name and its share done.
        finished: called with each result as it comes, so that an interruption loses nothing.
    """
    package = package if isinstance(package, Package) else Package.read(package)
    report = new_report(package, profile, names)
    for name in names:
        result = run_check(name, package, profile, progress)
        report.checks.append(result)
        if finished is not None:
            finished(result)
    return report


def _place(error: BaseException, package: Package) -> str:
    """Where in the package an exception came from, if it did; else the innermost frames."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(str(package.path))]
    chosen = own[-1:] or frames[-3:]
    return "".join(f"\n    {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in chosen)


__all__ = ["Finding", "run", "run_check"]
