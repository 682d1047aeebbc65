"""Where the shards of a deep run are run: in processes on this machine, or as tasks of a Ray cluster.

A shard whose process died is run again, up to ``TRIES`` times in all; that it died every time is a finding.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import SimulacrumError
from ..spec import Package
from . import fingerprint
from .deep import Shard
from .finding import Finding
from .places import writable_folder, write_atomically
from .profile import Profile
from .report import CheckResult
from .workers import end, leave_interrupts

TRIES = 3
SECONDS = 5.0  # to reach a cluster


def _code() -> dict[str, str]:
    """What the same shard must find wherever it runs: the framework's files, and the versions of what computes."""
    return {**fingerprint.framework(), **fingerprint.versions()}


@dataclass(frozen=True)
class Work:
    """What a process needs to run shards: the package, whose bytes go with it, so that it sees what was read here.

    Attributes:
        package: what is checked.
        profile: how much, and where; a shard brings its own seed.
        code: the framework's files and the versions here; a process that has others refuses.
    """

    package: Package
    profile: Profile
    code: Mapping[str, str] = field(default_factory=_code)

    def __call__(self, shard: Shard) -> CheckResult:
        """Run a shard. Raises :class:`~simulacrum.errors.SimulacrumError` where the framework is another."""
        from .runner import run_check

        differences = fingerprint.differences(self.code, _code())
        if differences:
            raise SimulacrumError(
                f"{socket.gethostname()} has another simulacrum, or other versions, than the machine that began the "
                f"run ({', '.join(differences[:5])}): install the same on both"
            )
        return run_check(shard.check, self.package, self.profile.seeded(shard.seed))

    def died(self, shard: Shard) -> CheckResult:
        """The result of a shard whose process died at every try."""
        command = f"simulacrum validate {self.package.target} -k {shard.check} --seed {shard.seed}"
        message = (
            f"the process that ran it died, {TRIES} times out of {TRIES}: a kernel that reads or writes beyond its "
            "arrays does so, and so does a machine that runs out of memory"
        )
        return CheckResult(shard.check, "failed", 0.0, {}, [], [Finding(shard.check, message, replay=command)])


class Local:
    """Spawned processes, one a core, each a pool of its own: one that dies breaks no other's."""

    def __init__(self, work: Work, width: int | None = None) -> None:
        self.work = work
        self.width = width or (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
        self._running: dict[Future[CheckResult], tuple[ProcessPoolExecutor, Shard, int]] = {}
        self._idle = [_process() for _ in range(self.width)]

    def submit(self, shard: Shard) -> None:
        """Begin a shard; at most ``width`` of them at a time."""
        self._begin(self._idle.pop(), shard, 1)

    def _begin(self, pool: ProcessPoolExecutor, shard: Shard, tries: int) -> None:
        try:
            future = pool.submit(self.work, shard)
        except BrokenProcessPool:  # its process was killed while it had nothing to do
            pool = _process()
            future = pool.submit(self.work, shard)
        self._running[future] = pool, shard, tries

    def finished(self) -> tuple[Shard, CheckResult]:
        """Wait for any shard; one whose process died is begun again in a new one meanwhile."""
        while True:
            future = next(iter(wait(self._running, return_when=FIRST_COMPLETED).done))
            pool, shard, tries = self._running.pop(future)
            try:
                result = future.result()
            except BrokenProcessPool:
                pool = _process()
                if tries < TRIES:
                    self._begin(pool, shard, tries + 1)
                    continue
                result = self.work.died(shard)
            self._idle.append(pool)
            return shard, result

    def close(self) -> None:
        """End what still runs."""
        for pool in [*self._idle, *(pool for pool, _, _ in self._running.values())]:
            end(pool)


def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), leave_interrupts)


class OnRay:
    """Tasks of a Ray cluster, two for each of its CPUs waiting at most. Ray itself runs a task again whose worker died.

    The workers need the framework and its dependencies as they are here; the package goes with the tasks, and the cases
    of findings come back with the results.

    Args:
        work: what to run.
        address: of the cluster, as ``ray.init`` takes it (``auto`` finds a running one, ``local`` starts one).

    Raises :class:`~simulacrum.errors.SimulacrumError` where Ray is not installed, or no cluster answers.
    """

    def __init__(self, work: Work, address: str) -> None:
        self.work = work
        self._ray, self._own = _connected(address)
        self._task = self._ray.remote(num_cpus=1, max_retries=TRIES - 1)(_with_files)
        self._work = self._ray.put(work)
        self._running: dict[Any, Shard] = {}

    @property
    def width(self) -> int:
        """Two for each CPU that the cluster has now: nodes may join it and leave it."""
        return 2 * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, shard: Shard) -> None:
        """Begin a shard."""
        task = self._task.options(name=f"shard {shard.number}: {shard.check}, seed {shard.seed}")
        self._running[task.remote(self._work, shard)] = shard

    def finished(self) -> tuple[Shard, CheckResult]:
        """Wait for any shard. Raises :class:`~simulacrum.errors.SimulacrumError` where the cluster cannot run it."""
        errors = self._ray.exceptions
        (reference,), _ = self._ray.wait(list(self._running), num_returns=1)
        shard = self._running.pop(reference)
        try:
            result, files = self._ray.get(reference)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError, errors.ObjectLostError):
            return shard, self.work.died(shard)
        except errors.RayError as error:
            cause = str(getattr(error, "cause", None) or error).strip().splitlines()[-1]
            raise SimulacrumError(
                f"--ray: expected the cluster to run shard {shard.number} ({shard.check}, seed {shard.seed}), got: "
                f"{cause}. Its workers need simulacrum, installed as it is here; the same command goes on from here"
            ) from error
        return shard, _at_home(self.work.package, result, files)

    def close(self) -> None:
        """Leave the cluster, which ends this driver's tasks; where the caller was there before, end them alone."""
        if self._own:
            self._ray.shutdown()  # tasks that were cancelled just before it make Ray abort the process
            return
        for reference in self._running:
            self._ray.cancel(reference, force=True)


def _connected(address: str) -> tuple[Any, bool]:
    """Ray, with a connection to a cluster, and whether it was made here."""
    try:
        import ray
    except ImportError:
        raise SimulacrumError(
            "--ray: expected Ray to be installed; install it with: pip install 'simulacrum[ray]'"
        ) from None
    if ray.is_initialized():
        return ray, False
    try:
        host, _, port = address.rpartition(":")
        if host and "/" not in address and port.isdecimal():  # Ray itself tries for minutes
            socket.create_connection((host, int(port)), SECONDS).close()
        ray.init(address=address, log_to_driver=False)
    except (OSError, RuntimeError, ValueError, OverflowError, ray.exceptions.RayError) as error:
        raise SimulacrumError(
            f"--ray {address}: expected the address of a running Ray cluster, got: {error}. `ray start --head` starts "
            "one, which --ray auto finds; --ray local starts one for this run alone; one that asks for a token wants "
            "RAY_AUTH_MODE=token here"
        ) from error
    return ray, True


def _with_files(work: Work, shard: Shard) -> tuple[CheckResult, list[bytes]]:
    """On a worker: a shard's result, and the bytes of each finding's file (none where it has no file)."""
    result = work(shard)
    return result, [Path(finding.file).read_bytes() if finding.file else b"" for finding in result.findings]


def _at_home(package: Package, result: CheckResult, files: list[bytes]) -> CheckResult:
    """The result with the files of its findings on this machine, where the package is."""
    folder = writable_folder(package.path) / "failures"
    findings = []
    for finding, content in zip(result.findings, files, strict=True):
        if finding.file:
            finding = replace(finding, file=str(folder / Path(finding.file).name))
            write_atomically(Path(finding.file), content)
        findings.append(finding)
    return replace(result, findings=findings)
