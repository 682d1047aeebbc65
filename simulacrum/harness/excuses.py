"""What a package excuses: ``EXCUSES`` in its ``checks.py``, each with a reason that the report repeats."""

from __future__ import annotations

from .context import Context


class Excuses:
    """The excuses for one check: those whose names begin with a prefix."""

    def __init__(self, context: Context, prefix: str) -> None:
        self.context, self.prefix = context, prefix
        given = getattr(context.package.checks, "EXCUSES", {})
        self.reasons = {name: reason for name, reason in given.items() if name.startswith(prefix)}
        self.used: set[str] = set()

    def name(self, what: str) -> str:
        """The name under which something is excused."""
        return f"{self.prefix}{what}"

    def accepts(self, what: str) -> bool:
        """Whether something is excused with a reason; the report repeats it."""
        name = self.name(what)
        reason = self.reasons.get(name)
        if not isinstance(reason, str) or not reason.strip():
            return False
        self.used.add(name)
        self.context.note(f"excused: {what}: {reason}")
        return True

    def finish(self) -> None:
        """A finding for each excuse that nothing needed."""
        for name in self.reasons:
            if name not in self.used:
                self.context.problem(f"EXCUSES[{name!r}] in checks.py excuses nothing: remove it")
