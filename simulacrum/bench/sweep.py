"""Forms x batch sizes x thread counts, the reference and the yardstick beside them."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product

import torch

from ..spec import Package
from . import sides
from .measure import Progress, Timing, by_turns
from .memory import Weight, weigh

SIZES = tuple(4**power for power in range(11))  # 1 .. 1,048,576
QUICK_SIZES = (1, 1024, 8192)
QUICK_BOARDS = (1, 16)  # where many agents share an instance
MOST = 1 << 30  # bytes of the states of a batch, beyond which a size is no size by default
GROWTH = (1024, 1_048_576)


def fitting(sizes: tuple[int, ...], package: Package) -> tuple[int, ...]:
    """The batch sizes of which the states of a package fit into ``MOST`` bytes; 1 at least."""
    return tuple(size for size in sizes if size == 1 or size * package.spec.state_bytes <= MOST)


@dataclass(frozen=True)
class Plan:
    """What is measured, and for how long.

    Attributes:
        forms: names of :data:`~simulacrum.bench.sides.FORMS`.
        sizes, threads: batch sizes and thread counts; every one with every other.
        seconds, rounds: of each side, see :func:`~simulacrum.bench.measure.by_turns`.
        weighs: whether the memory of an instance is measured, in processes of their own.
        seed: of environments and actions.
    """

    forms: tuple[str, ...]
    sizes: tuple[int, ...] = SIZES
    threads: tuple[int, ...] = (1,)
    seconds: float = 0.1
    rounds: int = 9
    weighs: bool = True
    seed: int = 0

    @property
    def parts(self) -> list[str]:
        """The names of its parts, in the order in which they are measured."""
        copies = [_copy_name(count) for count in self.threads]
        groups = [_group_name(size, count) for count, size in product(self.threads, self.sizes)]
        return [*copies, *groups, *(_weight_name(form, max(self.sizes)) for form in self.forms if self.weighs)]


@dataclass
class Group:
    """What ran by turns at one batch size and thread count: timings by side, bytes a row's step by form, and why a form
    is missing."""

    batch_size: int
    threads: int
    timings: dict[str, Timing]
    step_bytes: dict[str, int]
    missing: dict[str, str]


@dataclass
class Results:
    """All that was measured; ``complete`` is false where it was interrupted."""

    plan: Plan
    copies: dict[int, Timing] = field(default_factory=dict)  # by thread count: bytes read and written
    groups: list[Group] = field(default_factory=list)
    weights: dict[str, Weight | str] = field(default_factory=dict)  # by form, at the largest N; or why there is none
    complete: bool = False

    def share(self, group: Group, form: str) -> float:
        """The bytes that a form's step has to move, as a share of what a plain copy moves in the same time."""
        return group.step_bytes[form] * group.timings[form].rate / self.copies[group.threads].rate

    def growth(self, form: str, threads: int) -> float | None:
        """What a row's step costs at the larger size of :data:`GROWTH` over the smaller, each against the yardstick
        that ran beside it; None where one was not measured."""
        speeds = {
            group.batch_size: group.timings[form].over(group.timings["yardstick"])
            for group in self.groups
            if group.threads == threads and group.batch_size in GROWTH and form in group.timings
        }
        return speeds[GROWTH[0]] / speeds[GROWTH[1]] if len(speeds) == len(GROWTH) else None

    @property
    def missing(self) -> dict[str, str]:
        """Why forms could not be measured, by form: the first reason of each."""
        found: dict[str, str] = {}
        for group in self.groups:
            for form, why in group.missing.items():
                found.setdefault(form, f"{why} (N = {group.batch_size:,})")
        return found


class Watch:
    """What is told while a sweep runs; a caller overrides what it shows."""

    def progress(self, name: str, share: float) -> None:
        """How much of a part is done, 0 to 1."""

    def finished(self, name: str, seconds: float) -> None:
        """A part has ended."""


def sweep(package: Package, plan: Plan, watch: Watch | None = None) -> Results:
    """Measure a package. Interrupted (``KeyboardInterrupt``), it returns what was measured, and says so."""
    results, told = Results(plan), watch or Watch()
    try:
        for count in plan.threads:
            with part(told, _copy_name(count)) as progress, sides.threads(count):
                results.copies[count] = by_turns({"copy": sides.copying()}, plan.seconds, plan.rounds, progress)["copy"]
        for count, size in product(plan.threads, plan.sizes):
            with part(told, _group_name(size, count)) as progress, sides.threads(count):
                results.groups.append(_measured(package, plan, size, count, progress))
        for form in plan.forms if plan.weighs else ():
            with part(told, _weight_name(form, max(plan.sizes))):
                results.weights[form] = weigh(package, form, max(plan.sizes))
        results.complete = True
    except KeyboardInterrupt:
        pass
    return results


def _measured(package: Package, plan: Plan, size: int, threads: int, progress: Progress) -> Group:
    """One group; what the forms leave behind is given back."""
    runners = {"reference": sides.reference(package, plan.seed), "yardstick": sides.yardstick(plan.seed)}
    step_bytes, missing = {}, {}
    for form in plan.forms:
        try:
            env = sides.make(package, form, size, plan.seed)
            runner = sides.stepping(env, plan.seed)
            runner.run(1)  # compiles
            step_bytes[form] = sides.step_bytes(env)
            runners[form] = runner
        except sides.UNUSABLE as error:
            missing[form] = reason(error)
    timings = by_turns(runners, plan.seconds, plan.rounds, progress)
    del runners
    gc.collect()
    if "compiled" in plan.forms:
        torch.compiler.reset()  # the graphs of this size
    return Group(size, threads, timings, step_bytes, missing)


def reason(error: BaseException) -> str:
    """An error in one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


@contextmanager
def part(watch: Watch, name: str) -> Iterator[Progress]:
    """A part of a measurement: tells its beginning, its progress, and its end unless it was interrupted."""
    start = time.perf_counter()
    watch.progress(name, 0.0)
    yield lambda share: watch.progress(name, share)
    watch.finished(name, time.perf_counter() - start)


def _copy_name(threads: int) -> str:
    return f"copying memory, {threads_name(threads)}"


def _group_name(size: int, threads: int) -> str:
    return f"N = {size:,}, {threads_name(threads)}"


def _weight_name(form: str, size: int) -> str:
    return f"memory, {form}, N = {size:,}"


def threads_name(count: int) -> str:
    """``1 thread``, ``2 threads``."""
    return f"{count} thread{'s' if count > 1 else ''}"
