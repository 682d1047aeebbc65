"""Exit codes, and how a command says that it could not run."""

from __future__ import annotations

import sys

PASSED, FINDINGS, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130


def complain(message: str) -> int:
    """Say on stderr why a command could not run; its exit code."""
    print(f"simulacrum: {message}", file=sys.stderr)
    return COULD_NOT_RUN
