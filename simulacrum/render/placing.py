"""``placed``: a file or a folder that is there as a whole or not at all, and never in the place of another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import SimulacrumError

TAKEN = "{} exists already: name another file by --output FILE"


@contextmanager
def placed(target: Path) -> Iterator[Path]:
    """A hidden path beside ``target``; what is written to it is at ``target`` when the block has ended.

    Raises SimulacrumError, which names ``target``, where something is there by then, and where the system does not
    write it (a full disk). Then, as after whatever else the block raises, nothing is left behind.
    """
    work = target.with_name(f".{os.getpid()}-{os.urandom(4).hex()}-{target.name}")
    try:
        yield work
        _put(work, target)
    except OSError as error:
        ours = error.filename is None or str(error.filename).startswith(str(work))
        if not ours or isinstance(error, BrokenPipeError):  # of what is read, or of who reads what is printed
            raise
        raise SimulacrumError(f"{target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        work.unlink(missing_ok=True)


def _put(work: Path, target: Path) -> None:
    """Give it its name, which nobody else may have taken since it was looked at."""
    if work.is_dir():
        if target.is_dir():
            target.rmdir()  # not where it is no longer empty
        os.replace(work, target)
        return
    try:
        os.link(work, target)
    except FileExistsError:
        raise SimulacrumError(TAKEN.format(target)) from None
    except OSError:  # a file system without hard links
        _take(target)
        os.replace(work, target)


def _take(target: Path) -> None:
    """An empty file of that name, which is ours alone."""
    try:
        target.touch(exist_ok=False)
    except FileExistsError:
        raise SimulacrumError(TAKEN.format(target)) from None
