"""What a package excuses: ``EXCUSES`` in its ``checks.py``, each with a reason that the report repeats."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .context import Context

PREFIXES = ("coverage ", "constant ", "static ", "invariant ")  # of the names: the check that takes the excuse


class Excuses:
    """The excuses for one check: those whose names begin with a prefix."""

    def __init__(self, context: Context, prefix: str) -> None:
        self.context, self.prefix = context, prefix
        given = getattr(context.package.checks, "EXCUSES", {})
        if not isinstance(given, dict):
            context.problem(_no_dict(given))
            given = {}
        mine = {name: reason for name, reason in given.items() if isinstance(name, str) and name.startswith(prefix)}
        self.reasons: dict[str, Any] = mine
        self.used: set[str] = set()

    def name(self, what: str) -> str:
        """The name under which something is excused."""
        return f"{self.prefix}{what}"

    def offer(self, what: str) -> str:
        """How something is excused, for a finding."""
        return f"if it is right, excuse it in checks.py: EXCUSES = {{{self.name(what)!r}: 'why'}}"

    def accepts(self, what: str) -> bool:
        """Whether something is excused with a reason; the report repeats it."""
        name = self.name(what)
        if name not in self.reasons or not _is_reason(self.reasons[name]):
            return False
        self.used.add(name)
        self.context.note(f"excused: {what}: {self.reasons[name]}")
        return True

    def finish(self) -> None:
        """A finding for each excuse that nothing needed."""
        for name, reason in self.reasons.items():
            if name not in self.used and _is_reason(reason):
                self.context.problem(f"EXCUSES[{name!r}] in checks.py excuses nothing: remove it")
            elif name not in self.used:
                self.context.problem(_no_reason(name, reason))


def problems(checks: ModuleType) -> list[str]:
    """What is wrong with the form of ``EXCUSES`` in a package's ``checks.py``."""
    given = getattr(checks, "EXCUSES", {})
    if not isinstance(given, dict):
        return [_no_dict(given)]
    found = []
    for name, reason in given.items():
        if not isinstance(name, str) or not name.startswith(PREFIXES):
            known = f"expected the name that a finding tells, which begins with one of {PREFIXES}"
            found.append(f"EXCUSES[{name!r}] in checks.py: {known}")
        if not _is_reason(reason):
            found.append(_no_reason(name, reason))
    return found


def _is_reason(reason: Any) -> bool:
    return isinstance(reason, str) and bool(reason.strip())


def _no_reason(name: Any, reason: Any) -> str:
    return f"EXCUSES[{name!r}] in checks.py: expected a reason, a text that is not empty, got {reason!r}"


def _no_dict(given: Any) -> str:
    return (
        "EXCUSES in checks.py: expected a dict of reasons by the names that findings tell, such as "
        f"{{'coverage ...': 'why'}}, got {given!r}"
    )
