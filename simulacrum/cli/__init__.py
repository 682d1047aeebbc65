"""The command line: ``simulacrum COMMAND``; what there is, :mod:`.parsers` and :mod:`.viewing` declare.

Exit codes: 0 passed (or done), 1 findings, 2 it could not run, 130 interrupted. The arguments are read before anything
heavy is imported, and each command imports what it needs.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from ..errors import SimulacrumError
from .codes import COULD_NOT_RUN, FINDINGS, INTERRUPTED, PASSED, complain, say
from .parsers import parser

__all__ = ["COULD_NOT_RUN", "FINDINGS", "INTERRUPTED", "PASSED", "complain", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command (``sys.argv`` without arguments) and return its exit code; argparse itself exits with 2."""
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.command(arguments)
        sys.stdout.flush()
        return code
    except (SimulacrumError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output is gone: nothing more can be said to it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return COULD_NOT_RUN
        return complain(_told(error))
    except MemoryError:
        named = getattr(arguments, "file", None) or getattr(arguments, "target", None)
        return complain(f"{named or arguments.command.__name__}: it takes more memory than there is")
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except Exception:  # a fault of ours: told whole, and not taken for findings
        say(traceback.format_exc().rstrip("\n"))
        return COULD_NOT_RUN


def _told(error: Exception) -> str:
    """An error in words; one of the system by its file."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
