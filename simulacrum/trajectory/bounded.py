"""Reads files that anyone may have made: regular ones alone, and no more of one than memory can be expected to hold.

A pipe never ends, a device has no end, and a few compressed megabytes can hold terabytes.
"""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .records import TrajectoryError

WHOLE = 1 << 30  # bytes of a whole file, decompressed
LINE = 1 << 28  # bytes of a line, decompressed
KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
)


def opened(file: Path) -> IO[bytes]:
    """A regular file (or a link to one), decompressed where its name ends with ``.gz``.

    Raises :class:`TrajectoryError` for what is none, and OSError for what cannot be opened.
    """
    mode = os.stat(file).st_mode
    if not stat.S_ISREG(mode):
        got = next((name for test, name in KINDS if test(mode)), "something else")
        raise TrajectoryError(f"{file}: expected a regular file, got {got}")
    return gzip.open(file, "rb") if file.name.endswith(".gz") else file.open("rb")  # type: ignore[return-value]


def whole(stream: IO[bytes], file: str | Path) -> bytes:
    """All of a stream. Raises :class:`TrajectoryError` for more than ``WHOLE``."""
    data = stream.read(WHOLE + 1)
    if len(data) > WHOLE:
        raise TrajectoryError(f"{file}: expected at most {WHOLE:,} bytes in one piece, got more: long runs are .jsonl")
    return data


def lines(stream: IO[bytes], file: str | Path) -> Iterator[bytes]:
    """The lines of a stream. Raises :class:`TrajectoryError` for one longer than ``LINE``."""
    number = 0
    while line := stream.readline(LINE + 1):
        number += 1
        if len(line) > LINE:
            raise TrajectoryError(f"{file}: line {number}: expected a line of at most {LINE:,} bytes, got more")
        yield line


def content(file: Path) -> bytes:
    """All of a file, as :func:`opened` and :func:`whole` take it."""
    with opened(file) as stream:
        return whole(stream, file)
