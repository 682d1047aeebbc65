"""``Run``: what a check is given, and what came of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import SimulacrumError
from .case import Case, Difference, Finding
from .errors import CompareError
from .pair import Pair
from .shrink import Probe, shrink

PASSED, FAILED, INTENDED, NOT_APPLICABLE = "passed", "failed", "intended", "not_applicable"
RAISED = "raised"


class NotApplicable(Exception):
    """A check cannot be made of these two; the reason is its text."""


@dataclass
class CheckResult:
    """What came of a check: ``passed``, ``failed``, ``intended`` (all it found was declared as meant) or
    ``not_applicable``, with the reason first among the notes."""

    name: str
    outcome: str = PASSED
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "outcome": self.outcome,
            "counts": {name: number for name, number in self.counts.items() if number},
            "notes": list(self.notes),
            "findings": [finding.as_dict() for finding in self.findings],
            "seconds": round(self.seconds, 2),
        }


class Run:
    """One check on one pair; ``shared`` is kept from check to check."""

    def __init__(self, pair: Pair, seed: int, quick: bool, probes: Mapping[str, Probe], shared: dict[str, Any]) -> None:
        self.pair, self.seed, self.quick, self.probes, self.shared = pair, seed, quick, probes, shared
        self.result = CheckResult("")
        self.progress: Callable[[float], None] = lambda share: None

    def check(self, name: str, function: Callable[[Run], None]) -> CheckResult:
        """Run a check; an error of a candidate or reference in a case is a finding of its own.

        Raises :class:`~simulacrum.compare.CompareError` for one beside the cases."""
        self.result = CheckResult(name)
        began = time.monotonic()
        try:
            function(self)
        except NotApplicable as reason:
            self.result.notes.insert(0, str(reason))
            if not self.result.findings:
                self.result.outcome = NOT_APPLICABLE
        except SimulacrumError:
            raise
        except (Exception, SystemExit) as error:
            raise CompareError(f"{name}: {raised(self.pair, error)}") from error
        if self.result.findings:
            self.result.outcome = FAILED
        self.result.seconds = time.monotonic() - began
        return self.result

    def rng(self, salt: int) -> np.random.Generator:
        """Randomness of the comparison's own, from its seed."""
        return np.random.default_rng([self.seed, salt])

    def case(self, probe: str, rows: int, steps: int, salt: int, limit: int | None = None, **extra: Any) -> Case:
        """A case with random actions and a random seed."""
        rng = self.rng(salt)
        actions = self.pair.actions(rng, steps, rows)
        return Case(probe, rows, int(rng.integers(1 << 16)), actions, limit, extra)

    def differences(self, case: Case) -> list[Difference]:
        """What a case shows."""
        return tried(self.probes[case.probe], self.pair, case)

    def probe(self, case: Case, least: int = 1) -> None:
        """Run a case, and record what it shows, made small."""
        self.result.counts["cases"] += 1
        self.result.counts["steps of rows"] += int(case.extra.get("length", case.steps)) * case.rows
        self.record(case, self.differences(case), least=least)

    def record(
        self, case: Case, found: Iterable[Difference], subjects: Iterable[str] | None = None, least: int = 1
    ) -> None:
        """Record differences of a case, one of each subject (of those named), made small."""
        for each in found:
            told = any(finding.difference.subject == each.subject for finding in self.result.findings)
            if told or (subjects is not None and each.subject not in subjects):
                continue
            small, shown = case, each
            if case.steps and (least < case.rows or case.rows == 1):
                small, shown = shrink(self.pair, self._tried, case, each, least)
            self.result.findings.append(Finding(self.result.name, shown, small))

    def _tried(self, pair: Pair, case: Case) -> list[Difference]:
        return tried(self.probes[case.probe], pair, case)

    def note(self, text: str) -> None:
        """Say something beside the outcome."""
        if text not in self.result.notes:
            self.result.notes.append(text)


def raised(pair: Pair, error: BaseException) -> str:
    """An error of one of the two, in words."""
    return (
        f"{pair.candidate.text} or {pair.reference.text} raised {type(error).__name__}: {str(error)[:300]}; expected "
        "what Gymnasium's and TorchRL's environments return, of the rows asked for"
    )


def tried(probe: Probe, pair: Pair, case: Case) -> list[Difference]:
    """What a probe shows; an error that a candidate raises is a difference too."""
    try:
        return probe(pair, case)
    except (SimulacrumError, NotApplicable):
        raise
    except (Exception, SystemExit) as error:
        return [Difference(RAISED, f"{type(error).__name__}: {str(error)[:300]}")]
