"""The deep profile: shards of the battery with ever new seeds until it is stopped, on all cores or on a Ray cluster.

A shard is one check with one seed. Finished shards go into a ledger, from which a later run goes on; a shard whose
process died is run again.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..errors import SimulacrumError
from ..spec import Package
from . import fingerprint
from .evidence import evidence
from .json_lines import add_line, read_lines
from .places import state_folder
from .profile import Profile
from .report import CheckResult
from .workers import end, leave_interrupts

CHECKS = (  # those that see more with another seed
    "transitions",
    "guided_search",
    "differential",
    "auto_reset",
    "seeds_and_horizons",
    "batch_independence",
    "invariant_sweep",
    "constants",
    "symmetries",
    "forms",
)
OUTCOMES = ("passed", "failed", "not_applicable")


class Shard(NamedTuple):
    """One check with one seed; ``number`` counts from 0."""

    number: int
    check: str
    seed: int


class Done(NamedTuple):
    """A finished shard, as the ledger keeps it."""

    shard: Shard
    outcome: str
    seconds: float
    counts: dict[str, int]
    findings: list[dict[str, Any]]


def shard(number: int, seed: int) -> Shard:
    """The shard of a number, in a run that began with ``seed``."""
    return Shard(number, CHECKS[number % len(CHECKS)], (seed + number // len(CHECKS)) % 2**32)


class Ledger:
    """What shards came to, a JSON line each, kept per package, framework, machine and first seed.

    Args:
        package: what is checked.
        seed: the first seed; None takes that of the latest run on the same package, or ``fresh``.
        fresh: the seed where there is none to go on with.
    """

    def __init__(self, package: Package, seed: int | None, fresh: int) -> None:
        taken = json.dumps(fingerprint.take(package), sort_keys=True).encode()
        folder = state_folder() / "deep" / f"{package.name}-{hashlib.sha256(taken).hexdigest()[:16]}"
        latest = max(filter(_is_run, folder.glob("*.jsonl")), key=lambda file: file.stat().st_mtime, default=None)
        if seed is None:
            seed = fresh if latest is None else int(latest.stem)
        self.seed, self.file = seed, folder / f"{seed}.jsonl"
        read = (_done(content, seed) for content in read_lines(self.file))
        self.done: dict[int, Done] = {done.shard.number: done for done in read if done is not None}

    def add(self, done: Done) -> None:
        """Keep a finished shard."""
        add_line(self.file, done._asdict())
        self.done[done.shard.number] = done

    def missing(self) -> Iterator[Shard]:
        """The shards that are not done, without end."""
        number = 0
        while True:
            if number not in self.done:
                yield shard(number, self.seed)
            number += 1

    def totals(self) -> dict[str, dict[str, Any]]:
        """By check: shards, those with findings, counts, and how sure all of them together are."""
        found: dict[str, dict[str, Any]] = {}
        for check in CHECKS:
            mine = [done for done in self.done.values() if done.shard.check == check]
            counts: Counter[str] = Counter()
            for done in mine:
                counts.update(done.counts)
            failed = sum(done.outcome == "failed" for done in mine)
            outcome = "failed" if failed else "passed"
            found[check] = {
                "shards": len(mine),
                "failed": failed,
                "transitions": counts["transitions"],
                "evidence": evidence(check, outcome, counts),
            }
        return found


def _is_run(file: Path) -> bool:
    """Whether a file's name is a first seed, so that it is no stray one."""
    return bool(re.fullmatch("0|[1-9][0-9]{0,9}", file.stem)) and int(file.stem) < 2**32 and file.is_file()


def _done(content: dict[str, Any], seed: int) -> Done | None:
    """What a line of a ledger tells; None where it is none of this run, or of another form: its shard is run again."""
    if content.keys() != set(Done._fields):
        return None
    done = Done(**content)
    number = done.shard[0] if isinstance(done.shard, list) and done.shard else None
    if type(number) is not int or number < 0 or done.shard != list(shard(number, seed)):
        return None
    counts, seconds = done.counts, done.seconds
    sound = (
        done.outcome in OUTCOMES
        and type(seconds) in (int, float)
        and isinstance(counts, dict)
        and all(type(count) is int and count >= 0 for count in counts.values())
        and isinstance(done.findings, list)
    )
    return done._replace(shard=shard(number, seed)) if sound else None


class Executor(Protocol):
    """Runs shards somewhere."""

    width: int

    def submit(self, shard: Shard) -> None:
        """Begin a shard."""

    def finished(self) -> tuple[Shard, CheckResult | None]:
        """Wait for any shard; without a result where its process died."""

    def close(self) -> None:
        """End what still runs."""


@dataclass(frozen=True)
class Work:
    """What a process needs to run shards: the package, whose bytes go with it, so that it sees what was read here."""

    package: Package
    profile: Profile

    def __call__(self, shard: Shard) -> CheckResult:
        """Run a shard."""
        from .runner import run_check

        return run_check(shard.check, self.package, self.profile.seeded(shard.seed))


class Local:
    """Spawned processes, one a core."""

    def __init__(self, work: Work, width: int | None = None) -> None:
        self.work = work
        self.width = width or (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
        self._running: dict[Future[CheckResult], Shard] = {}
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.width, context, leave_interrupts)

    def submit(self, shard: Shard) -> None:
        """Begin a shard."""
        try:
            future = self._pool.submit(self.work, shard)
        except BrokenProcessPool:  # a process was killed, and its pool is of no more use
            self._pool = self._new_pool()
            future = self._pool.submit(self.work, shard)
        self._running[future] = shard

    def finished(self) -> tuple[Shard, CheckResult | None]:
        """Wait for any shard; without a result where its process died, which costs what ran beside it as well."""
        future = next(iter(wait(self._running, return_when=FIRST_COMPLETED).done))
        shard = self._running.pop(future)
        try:
            return shard, future.result()
        except BrokenProcessPool:
            return shard, None

    def close(self) -> None:
        """End what still runs."""
        end(self._pool)


class OnRay:
    """Tasks of a Ray cluster, two for each of its CPUs waiting at most. Ray itself runs a task again whose worker died.

    Args:
        work: what to run.
        address: of the cluster, as ``ray.init`` takes it (``auto`` finds a running one).
    """

    def __init__(self, work: Work, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise SimulacrumError(
                "--ray: expected Ray to be installed; install it with: pip install 'simulacrum[ray]'"
            ) from None
        self._ray: Any = ray
        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
        self._task = ray.remote(num_cpus=1, max_retries=3)(Work.__call__)
        self._work = ray.put(work)
        self.width = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._running: dict[Any, Shard] = {}

    def submit(self, shard: Shard) -> None:
        """Begin a shard."""
        self._running[self._task.remote(self._work, shard)] = shard

    def finished(self) -> tuple[Shard, CheckResult | None]:
        """Wait for any shard; without a result where its worker died again and again."""
        (reference,), _ = self._ray.wait(list(self._running), num_returns=1)
        shard = self._running.pop(reference)
        try:
            result: CheckResult = self._ray.get(reference)
        except self._ray.exceptions.RayError:
            return shard, None
        return shard, result

    def close(self) -> None:
        """Leave the cluster; its tasks end with this driver."""
        self._ray.shutdown()


def run_deep(ledger: Ledger, executor: Executor, finished: Callable[[Done], None], limit: int | None = None) -> None:
    """Run the shards that a ledger lacks, until interrupted (or ``limit`` of them are done)."""
    waiting, running, done = ledger.missing(), 0, 0
    lost: list[Shard] = []
    try:
        while limit is None or done < limit:
            while running < executor.width and (limit is None or done + running < limit):
                executor.submit(lost.pop() if lost else next(waiting))
                running += 1
            part, result = executor.finished()
            running -= 1
            if result is None:
                lost.append(part)
                continue
            findings = [finding.as_dict() for finding in result.findings]
            ledger.add(Done(part, result.outcome, result.seconds, result.counts, findings))
            finished(ledger.done[part.number])
            done += 1
    finally:
        executor.close()
