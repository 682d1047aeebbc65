"""The deep profile: shards of the battery with ever new seeds until it is stopped, on all cores or on a Ray cluster.

A shard is one check with one seed. Finished shards go into a ledger, from which a later run goes on. An executor
(:mod:`.executors`) runs them, and runs a shard again whose process died.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..spec import Package
from . import fingerprint
from .evidence import evidence
from .finding import Finding
from .json_lines import add_line, read_lines
from .places import state_folder
from .report import CheckResult

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
NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?")


class Shard(NamedTuple):
    """One check with one seed; ``number`` counts from 0."""

    number: int
    check: str
    seed: int


class Merged(NamedTuple):
    """A finding, and the numbers of the shards that found it or one of the same :func:`kind`, in order."""

    finding: Finding
    shards: list[int]


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


def kind(finding: Finding) -> tuple[str, ...]:
    """What findings of one fault share: the check, the field, the rule, and their words, without the numbers in them,
    which are others with every seed."""
    words = (re.sub(r"\s", "", NUMBER.sub("#", text)) for text in (finding.message, finding.hint))
    return finding.check, finding.field, finding.rule, *words


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

    def merged(self) -> list[Merged]:
        """The findings of all shards, one of each kind: in the order of the shards, whichever ended first."""
        found: dict[tuple[str, ...], Merged] = {}
        for number in sorted(self.done):
            for finding in (Finding(**content) for content in self.done[number].findings):
                merged = found.setdefault(kind(finding), Merged(finding, []))
                if number not in merged.shards:
                    merged.shards.append(number)
        return list(found.values())


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
        and all(map(_is_finding, done.findings))
    )
    return done._replace(shard=shard(number, seed)) if sound else None


def _is_finding(content: Any) -> bool:
    """Whether it is what :meth:`Finding.as_dict` gives: texts, and whole numbers where the default is None."""
    kinds = {one.name: int if one.default is None else str for one in fields(Finding)}
    return (
        isinstance(content, dict)
        and {"check", "message"} <= content.keys() <= kinds.keys()
        and all(type(value) is kinds[name] for name, value in content.items())
    )


class Executor(Protocol):
    """Runs shards somewhere."""

    @property
    def width(self) -> int:
        """How many shards may be begun and not finished."""

    def submit(self, shard: Shard) -> None:
        """Begin a shard."""

    def finished(self) -> tuple[Shard, CheckResult]:
        """Wait for any shard; one whose process died is begun again meanwhile."""

    def close(self) -> None:
        """End what still runs."""


def run_deep(ledger: Ledger, executor: Executor, finished: Callable[[Done], None], limit: int | None = None) -> None:
    """Run the shards that a ledger lacks, until interrupted (or ``limit`` of them are done)."""
    waiting, running, done = ledger.missing(), 0, 0
    try:
        while limit is None or done < limit:
            while running < executor.width and (limit is None or done + running < limit):
                executor.submit(next(waiting))
                running += 1
            part, result = executor.finished()
            running, done = running - 1, done + 1
            findings = [finding.as_dict() for finding in result.findings]
            ledger.add(Done(part, result.outcome, result.seconds, result.counts, findings))
            finished(ledger.done[part.number])
    finally:
        executor.close()
