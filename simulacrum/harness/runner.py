"""``run(package, profile)``: the battery as a library call."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..spec import Package
from . import checks, variants
from .context import CheckFailed, Context, NotApplicable, Progress
from .finding import Finding
from .profile import DEFAULT, Profile
from .report import CheckResult, Report, new_report
from .surroundings import generator_states, single_threaded
from .workers import run_beside

SAMPLES = ("standard_api", "benchmark_factory_parity")  # run checkers that sample actions globally


def run_check(name: str, package: Package, profile: Profile = DEFAULT, progress: Progress | None = None) -> CheckResult:
    """Run one check by name: its outcome, counts, notes and findings. What it raises is a finding.

    Example:
        >>> from simulacrum.harness.runner import run_check
        >>> from simulacrum.spec import Package
        >>> result = run_check("worked_examples", Package.read("envs/toywalk"))
        >>> result.outcome, result.findings
        ('passed', [])
    """
    context = Context(name, package, profile, progress)
    start = time.perf_counter()
    try:
        with (
            seldom_collected(),
            single_threaded(),
        ):  # the batches are small; other thread counts are the determinism check's
            before = generator_states()
            (variants.check_of(name, package) if package.is_variant else checks.load(name))(context)
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
        context.problem(context.raised(error))
    return CheckResult(
        name,
        outcome,
        round(time.perf_counter() - start, 3),
        dict(context.counts),
        context.notes,
        context.findings,
        context.facts,
    )


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Garbage collected seldom: a check gathers many small objects in no cycles, which take a third of its time."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def run(
    package: Package | str | Path,
    profile: Profile = DEFAULT,
    *,
    names: Sequence[str] = checks.NAMES,
    progress: Progress | None = None,
    finished: Callable[[CheckResult], None] | None = None,
    workers: int = 1,
) -> Report:
    """Run a battery on a package and return its report; nothing is written (see :meth:`Report.write`).

    Args:
        package: a package, or its folder.
        profile: how much is done.
        names: which checks; a report of fewer than all cannot be written.
        progress: called with a check's name and its share done.
        finished: called with each result as it comes, so that an interruption loses nothing.
        workers: how many processes run checks; with more than one, the caller's main module must be importable
            without running anything (``if __name__ == "__main__":``).

    Raises :class:`~simulacrum.errors.PackageError` for a folder that is no package.

    Example:
        >>> from simulacrum.harness import run
        >>> from simulacrum.harness.profile import QUICK
        >>> report = run("envs/toywalk", QUICK, names=["spec_contract", "worked_examples"])
        >>> report.passed, [check.outcome for check in report.checks]
        (True, ['passed', 'passed'])
    """
    package = package if isinstance(package, Package) else Package.read(package)
    report = new_report(package, profile, names)
    if workers > 1 and len(names) > 1:
        results = run_beside(package, profile, names, workers, progress)
    else:
        results = (run_check(name, package, profile, progress) for name in names)
    for result in results:
        report.checks.append(result)
        if finished is not None:
            finished(result)
    report.checks.sort(key=lambda result: names.index(result.name))
    return report


__all__ = ["Finding", "run", "run_check"]
