"""Jobs in worker processes that may hang, crash or grow: each has a time limit, and a new process takes over."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

TASKS = 40  # jobs after which a process is replaced, so that memory does not grow
GRACE = 10.0  # seconds that a job has to notice its time limit, before its process is killed
START = 120.0  # seconds that a new process has to import what it needs
HUNG, CRASHED = "time limit", "crash"


class TimeLimit(BaseException):
    """A job ran out of time; not an Exception, so that a check does not take it for a finding."""


def run_jobs(
    function: Callable[[Any], Any], jobs: Iterable[Any], workers: int, limit: float
) -> Iterator[tuple[Any, Any]]:
    """(job, ``function(job)``) as they end, in processes of one torch thread each.

    In the place of a result stands ``"time limit"`` for a job that took more than ``limit`` seconds, and ``"crash"``
    for one that ended its process. The function, jobs and results must pickle.
    """
    waiting = deque(jobs)
    running: list[_Worker] = [_Worker(function) for _ in range(min(workers, len(waiting)))]
    try:
        while waiting or any(worker.job is not None for worker in running):
            for worker in running:
                if worker.job is None and waiting:
                    worker.give(waiting.popleft(), limit)
            busy = [worker for worker in running if worker.job is not None]
            ready = wait([worker.connection for worker in busy], timeout=0.5)
            for worker in busy:
                outcome = worker.take(worker.connection in ready)
                if outcome is not None:
                    yield outcome
    finally:
        for worker in running:
            worker.stop()


@dataclass
class _Worker:
    function: Callable[[Any], Any]
    job: Any = None
    deadline: float = 0.0
    done: int = 0
    process: Any = None
    connection: Connection = field(init=False)

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.function), daemon=False)
        self.process.start()
        theirs.close()
        self.done = 0

    def give(self, job: Any, limit: float) -> None:
        """Send a job, in a new process where this one has had its share."""
        if self.done >= TASKS:
            self.stop()
            self._start()
        self.job = job
        self.deadline = time.monotonic() + limit + GRACE + (0 if self.done else START)
        with suppress(OSError):  # a process that is dead already shows when its result is asked for
            self.connection.send((job, limit))

    def take(self, ready: bool) -> tuple[Any, Any] | None:
        """The job with its result, if there is one; a process that hangs or died is replaced."""
        if not ready and time.monotonic() < self.deadline:
            return None
        try:
            result = self.connection.recv() if ready else HUNG
        except (EOFError, OSError):
            result, ready = CRASHED, False
        job, self.job = self.job, None
        self.done += 1
        if not ready:
            self.stop()
            self._start()
        return job, result

    def stop(self) -> None:
        """End the process, and what it started."""
        self.connection.close()
        if self.job is None:
            self.process.join(2.0)  # it ends by itself where it waits for a job
        if self.process.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()  # should it not have become the leader of its group yet
            self.process.join()


def _serve(connection: Connection, function: Callable[[Any], Any]) -> None:
    """What a worker process does: one job after the other, until the other end closes."""
    os.setsid()  # a group of its own: a hard kill reaches what the job started, an interrupt does not reach it
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            job, limit = connection.recv()
        except EOFError:
            return
        try:
            with time_limit(limit):
                result = function(job)
        except TimeLimit:
            result = HUNG
        with suppress(BrokenPipeError):
            connection.send(result)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeLimit` in the main thread when that many seconds have passed."""

    def ring(number: int, frame: Any) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again each second: a bare except may have swallowed it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
