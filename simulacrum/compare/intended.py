"""Differences that are meant: declared by the caller, or documented by those who made the candidate."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .errors import CompareError
from .run import FAILED, INTENDED, CheckResult

DOCUMENTED = Path(__file__).with_name("intended.json")
KEYS = {"candidate", "check", "subject", "reason", "source"}


@dataclass(frozen=True)
class Intended:
    """A meant difference: patterns (``*``, ``?``) of a candidate's text, a check and a subject; why; who says so."""

    candidate: str
    check: str
    subject: str
    reason: str
    source: str

    def covers(self, candidate: str, check: str, subject: str) -> bool:
        """Whether it is this one."""
        pairs = ((candidate, self.candidate), (check, self.check), (subject, self.subject))
        return all(fnmatchcase(text, pattern) for text, pattern in pairs)


def documented() -> list[Intended]:
    """Those that the makers of libraries document, each with where."""
    return read(DOCUMENTED)


def read(file: Path) -> list[Intended]:
    """Those of a JSON file, a list of objects with the fields of :class:`Intended`. Raises CompareError."""
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise CompareError(f"{file}: expected a JSON list of intended differences: {error}") from None
    entries = content if isinstance(content, list) else [content]
    return [_entry(entry, str(file)) for entry in entries]


def stated(text: str) -> list[Intended]:
    """Those of a command line's argument: a JSON file, or ``CHECK/SUBJECT: REASON``. Raises CompareError."""
    if text.endswith(".json"):
        return read(Path(text))
    where, colon, reason = text.partition(":")
    check, slash, subject = where.strip().partition("/")
    if not (colon and slash and reason.strip() and subject):
        raise CompareError(f"--intended: expected FILE.json or 'CHECK/SUBJECT: REASON', got {text!r}")
    return [Intended("*", check, subject, reason.strip(), "the caller")]


def applied(result: CheckResult, candidate: str, known: Iterable[Intended]) -> None:
    """Mark what is meant among a check's findings; the outcome is ``intended`` where all of them are."""
    known = list(known)
    for number, finding in enumerate(result.findings):
        for one in known:
            if one.covers(candidate, finding.check, finding.difference.subject):
                result.findings[number] = replace(finding, intended=f"{one.reason} ({one.source})")
                break
    if result.outcome == FAILED and all(finding.intended for finding in result.findings):
        result.outcome = INTENDED


def _entry(entry: Any, file: str) -> Intended:
    if (
        not isinstance(entry, dict)
        or entry.keys() != KEYS
        or not all(isinstance(value, str) for value in entry.values())
    ):
        raise CompareError(f"{file}: expected objects with the texts {', '.join(sorted(KEYS))}, got {entry!r}")
    return Intended(**entry)
