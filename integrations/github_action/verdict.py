"""The step ``verdict``: fails where a package has findings, could not run, or does not load."""

from __future__ import annotations

from . import results
from .workflow import annotate


def main() -> int:
    """Say which packages do not pass; 1 where there is one."""
    failed = [result for result in results.read() if not result.passed]
    for result in failed:
        why = result.refusal or result.output.strip().rpartition("\n")[2] or f"exit code {result.code}"
        annotate(f"{result.package}: {result.verdict}", why)
    return 1 if failed else 0
