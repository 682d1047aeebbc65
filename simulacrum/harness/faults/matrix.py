"""Which check finds which fault: faults put into copies of a package one at a time, and the checks run on each copy."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PackageError
from ...spec import Package
from .. import checks, fingerprint
from ..context import Context
from ..json_lines import add_line, read_lines
from ..lockstep import Lockstep
from ..profile import DEFAULT, QUICK, Profile
from ..runner import run_check
from ..sources import Actions, seeds
from ..surroundings import single_threaded
from .cases import KERNEL as KERNEL_GROUP
from .cases import Case, contents, put
from .workers import CRASHED, HUNG, run_jobs

# What finds most in the least time first; those that this list does not know come after it.
ORDER = (
    "worked_examples",
    "spec_contract",
    "static_read",
    "symmetries",
    "small_worlds",
    "coverage",
    "constants",
    "differential",
    "auto_reset",
    "seeds_and_horizons",
    "determinism",
    "purity",
    "batch_independence",
    "replay",
    "invariant_sweep",
    "benchmark_factory_parity",
    "forms",
    "guided_search",
    "transitions",
    "scripted_policies",
    "standard_api",
)
# What can find a misreading that both sides share: oracles from outside the pair.
ORACLES = (
    "worked_examples",
    "spec_contract",
    "symmetries",
    "small_worlds",
    "constants",
    "invariant_sweep",
    "scripted_policies",
)
KERNEL = ("spec_contract", "static_read", "forms", "constants")  # what looks at a kernel beside another form
STATIC = "static_read"  # refuses every override of a base class's method, whatever it does: no finder of these faults
SPEED = "throughput"  # measures, and would find no fault but slowness: it does not run here
CONTROL = "no fault"
LOAD = "load"  # finds a package that cannot be imported
ROWS, STEPS = 33, 200  # how far the two sides are compared before a fault counts as one misreading of both
LIMIT = 6.0  # a mutant may take that many times as long as the package itself
UNRELATED = ("cli/", "templates/", "pytest_plugin.py", "harness/faults/")  # of the framework: no check depends on them


@dataclass(frozen=True)
class Result:
    """What came of one fault.

    Attributes:
        name, group, kind, files: of the fault; the changed files' names.
        found_by: the checks that found it (all of them where all ran, else the first), or ``load``, ``time limit`` or
            ``crash``.
        steps: the length of the first finder's shortest finding, in steps; None where it does not tell.
        transitions: how many the first finder had compared.
        seconds: until it was found, or until the checks ended.
        message: the first finding's.
        alike: False where the two sides differ or do not run, so that a fault meant for both is not one misreading.
        key: what the result holds for; see :func:`key_of`.
    """

    name: str
    group: str
    kind: str
    files: list[str]
    found_by: list[str] = field(default_factory=list)
    steps: int | None = None
    transitions: int = 0
    seconds: float = 0.0
    message: str = ""
    alike: bool = True
    key: str = ""


FORMS: dict[str, Any] = {  # of a result's attributes in a file, which are texts but for these
    "files": list,
    "found_by": list,
    "steps": (int, type(None)),
    "transitions": int,
    "seconds": (int, float),
    "alike": bool,
}


@dataclass(frozen=True)
class Job:
    """A case, and how it is judged: by which checks, whether to go on after the first finder."""

    path: str
    case: Case
    names: tuple[str, ...]
    profile: Profile
    every: bool
    key: str


def key_of(package: Package, case: Case, names: Sequence[str], profile: Profile, every: bool) -> str:
    """A digest of what a result depends on: the faulty package, the framework, the checks, the profile, the mode."""
    files = contents(package, case)
    framework = {name: digest for name, digest in fingerprint.framework().items() if not name.startswith(UNRELATED)}
    content = [fingerprint.hashes(files), framework, list(names), asdict(profile), every, case.name]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def ordered(names: Iterable[str] | None = None) -> tuple[str, ...]:
    """The checks in the order in which they run: cheap ones first."""
    places = {name: place for place, name in enumerate(ORDER)}
    chosen = [name for name in (checks.NAMES if names is None else names) if name != SPEED]
    return tuple(sorted(chosen, key=lambda name: places.get(name, len(places))))


def run(
    package: Package,
    chosen: Sequence[Case],
    profile: Profile = DEFAULT,
    *,
    every: bool = False,
    workers: int = 2,
    limit: float | None = None,
    names: Sequence[str] | None = None,
    output: Path | None = None,
) -> Iterator[Result]:
    """Judge faults, and yield the results as they come: those that ``output`` (JSON lines) holds already first.

    Args:
        chosen: the faults; see :func:`~simulacrum.harness.faults.cases.cases`.
        every: whether all checks run on each, or none after the first that finds it.
        workers: processes.
        limit: seconds a fault; by default six times what the package itself takes, at least two minutes.
        names: which checks; all but ``throughput`` by default.
        output: where results are kept, so that an interrupted run goes on where it stopped.

    Raises :class:`~simulacrum.errors.PackageError` when the package without a fault does not pass: nothing that a check
    finds in a faulty copy would count then.
    """
    order = ordered(names)
    oracles = tuple(name for name in order if name in ORACLES)

    def job(case: Case) -> Job:
        used = oracles if case.group == "both" else order
        if case.group == KERNEL_GROUP and "tensor" in package.forms:
            used = tuple(name for name in KERNEL if name in order)
        used = tuple(name for name in used if name != STATIC or not case.override)
        return Job(str(package.path), case, used, profile, every, key_of(package, case, used, profile, every))

    kept = read(output)
    only_both = all(case.group == "both" for case in chosen) and len(chosen) > 0
    nothing = replace(job(Case(CONTROL, "both" if only_both else "", "", {})), every=True)
    (control,) = _judged([nothing], kept, 1, limit or 3600.0, output)
    if control.found_by:
        raise PackageError(
            f"{package.path}: the package itself does not pass {', '.join(control.found_by)}, so that what is found in "
            f"faulty copies of it says nothing: {control.message}\nrun: simulacrum validate {package.path}"
        )
    limit = limit or max(120.0, LIMIT * control.seconds)
    yield from _judged([job(case) for case in chosen], kept, workers, limit, output)


def read(output: Path | None) -> dict[str, Result]:
    """The results that a file holds, by key; a line that was not written whole, or is no result, is passed over."""
    lines = () if output is None else read_lines(output)
    results = (_result(content) for content in lines)
    return {result.key: result for result in results if result is not None}


def _result(content: dict[str, Any]) -> Result | None:
    """What a line tells; None where it is of another form."""
    if content.keys() != set(Result.__dataclass_fields__):
        return None
    sound = all(isinstance(value, FORMS.get(name, str)) for name, value in content.items())
    return Result(**content) if sound and all(isinstance(name, str) for name in content["found_by"]) else None


def _judged(
    jobs: Sequence[Job], kept: dict[str, Result], workers: int, limit: float, output: Path | None
) -> Iterator[Result]:
    yield from (kept[job.key] for job in jobs if job.key in kept)
    for job, outcome in run_jobs(judge, [job for job in jobs if job.key not in kept], workers, limit):
        result = outcome if isinstance(outcome, Result) else _lost(job, outcome, limit)
        if output is not None:
            add_line(output, asdict(result))
        yield result


def _lost(job: Job, what: str, limit: float) -> Result:
    said = {HUNG: f"it ran for more than {limit:.0f} seconds", CRASHED: "it ended its process"}
    return replace(_blank(job), found_by=[what], seconds=limit if what == HUNG else 0.0, message=said[what])


def _blank(job: Job) -> Result:
    return Result(job.case.name, job.case.group, job.case.kind, sorted(job.case.files), key=job.key)


def judge(job: Job) -> Result:
    """Put a fault into a copy of its package and run the checks on it; what a worker does."""
    import torch

    with tempfile.TemporaryDirectory(prefix="simulacrum-fault-") as folder:
        try:
            package = put(job.path, job.case, Path(folder))
            for name in ("spec", "environment", "reference", "fast", "checks"):
                getattr(package, name)
        except Exception as error:  # whatever a broken package raises when it is imported
            return replace(_blank(job), found_by=[LOAD], message=_line(f"{type(error).__name__}: {error}"))
        try:
            return _checked(job, package)
        finally:
            torch._dynamo.reset()


def _checked(job: Job, package: Package) -> Result:
    result = _blank(job)
    if job.case.group == "both":  # one misreading only if the two sides agree
        result = replace(result, alike=_alike(package, job.profile.seed))
    seconds = 0.0
    for name in job.names:
        done = run_check(name, package, job.profile)
        if not result.found_by:
            seconds += done.seconds
            result = replace(result, seconds=round(seconds, 2))
        if done.outcome != "failed":
            continue
        if not result.found_by:
            lengths = [
                steps for steps in (getattr(found, "steps", None) for found in done.findings) if steps is not None
            ]
            result = replace(
                result,
                steps=min(lengths, default=None),
                transitions=done.counts.get("transitions", 0),
                message=_line(done.findings[0].message),
            )
        result = replace(result, found_by=[*result.found_by, name])
        if not job.every:
            break
    return result


def _alike(package: Package, seed: int) -> bool:
    """Whether both sides run, and agree for some episodes: no demand that these reach what the spec declares."""
    context = Context("differential", package, QUICK.seeded(seed))
    instance_seeds = seeds(context.rng, ROWS)
    try:
        with single_threaded():
            lockstep = Lockstep(context, context.env(ROWS, instance_seeds), np.arange(ROWS))
            actions = Actions(package, context.rng, ROWS)
            now = lockstep.reset(instance_seeds)
            for _ in range(STEPS):
                _, now = lockstep.step(actions.next(now))
    except Exception:  # a difference, or what either side raises
        return False
    return True


def _line(text: str) -> str:
    return text.replace("\n", " ").replace(tempfile.gettempdir(), "")[:300]
