"""Checks run side by side in processes of their own; what needs a quiet machine runs after them, alone."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import Queue
from typing import Any

from ..spec import Package
from .context import Progress
from .finding import Finding
from .profile import Profile
from .report import CheckResult

FIRST = ("spec_contract", "static_read", "worked_examples")  # seconds in all, and what they find is told soon
LONG = ("transitions", "differential", "forms", "purity", "benchmark_factory_parity")  # early, so that none is last
ALONE = ("throughput",)
PATIENCE = 5.0  # seconds that an idle process may take to leave

_package: Package | None = None
_shares: Queue[tuple[str, float]] | None = None


def run_beside(
    package: Package, profile: Profile, names: Sequence[str], workers: int, progress: Progress | None
) -> Iterator[CheckResult]:
    """The results of checks as they come, from processes; where one dies, those that had not ended have failed.

    The caller's main module is imported by each process, as ``multiprocessing`` demands: it must be importable without
    running anything.
    """
    from .runner import run_check

    early, long = ([name for name in group if name in names] for group in (FIRST, LONG))
    rest = [name for name in names if name not in (*early, *long, *ALONE)]
    context = multiprocessing.get_context("forkserver")  # whose children begin with what it has imported
    shares: Queue[tuple[str, float]] = context.Queue()
    told = threading.Thread(target=_tell, args=(shares, progress), daemon=True)
    told.start()
    pool = ProcessPoolExecutor(workers, context, _begin, (package, shares))
    died, patience = False, 0.0
    try:
        futures = {pool.submit(_run, name, profile): name for name in (*early, *long, *rest)}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool:  # of all that had not ended; which one it was nobody can tell
                died = True
                yield _died(futures[future], package)
        patience = PATIENCE
    finally:
        end(pool, patience)
        shares.put(("", 0.0))
        told.join()
    for name in names:
        if name in ALONE:
            yield _died(name, package) if died else run_check(name, package, profile, progress)


def _died(name: str, package: Package) -> CheckResult:
    """The result of a check whose process, or one beside it, died."""
    message = (
        "a process of the battery died while this check ran or waited: a kernel that reads or writes beyond its arrays "
        f"does so. Run the checks one by one to see which: simulacrum validate {package.target} -k {name}"
    )
    return CheckResult(name, "failed", 0.0, {}, [], [Finding(name, message)])


def end(pool: ProcessPoolExecutor, patience: float = 0.0) -> None:
    """End a pool at once: a check that is running has nothing to finish.

    Processes that have nothing to do may take so many seconds to leave by themselves: then they give back what they
    hold, such as semaphores.
    """
    pool.shutdown(wait=False, cancel_futures=True)
    for process in multiprocessing.active_children():
        process.join(patience)
        process.terminate()


def leave_interrupts() -> None:
    """In a process of a pool: the parent is interrupted, and ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tell(shares: Queue[tuple[str, float]], progress: Progress | None) -> None:
    while (news := shares.get())[0]:
        if progress is not None:
            progress(*news)


def _begin(package: Package, shares: Queue[tuple[str, float]]) -> None:
    """In a process: the package from the bytes that the report vouches for."""
    global _package, _shares
    leave_interrupts()
    _package, _shares = package, shares


def _run(name: str, profile: Profile) -> CheckResult:
    from .runner import run_check

    assert _package is not None
    return run_check(name, _package, profile, _say)


def _say(name: str, share: float) -> Any:
    assert _shares is not None
    _shares.put((name, share))
