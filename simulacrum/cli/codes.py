"""Exit codes, and how a command says that it could not run."""

from __future__ import annotations

import sys

PASSED, FINDINGS, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130


def complain(message: str) -> int:
    """Say on stderr why a command could not run; its exit code."""
    say(f"simulacrum: {message}")
    return COULD_NOT_RUN


def say(text: str) -> None:
    """Print a text on stderr; a file's own words, or its name, move no cursor in it."""
    from ..render.text import printable

    print(printable(text), file=sys.stderr)
