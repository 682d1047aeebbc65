"""The folder of a pack: replaced as a whole, and paths that stay inside of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import sys
from collections.abc import Callable, Container, Iterator
from pathlib import Path

from ..trajectory.writing import named
from .errors import PackError

EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
HERE = -100  # AT_FDCWD: paths as they are


@contextlib.contextmanager
def replaced(folder: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """A hidden folder to build in, which takes the place of ``folder`` when all went well, and is gone else.

    ``check`` raises where something lies there that may not be replaced. A reader sees the old folder or the new one.
    """
    target = Path(os.path.realpath(folder))
    check(target)
    missing = [parent for parent in target.parents if not parent.exists()]
    work = _sibling(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir()
        yield work
        check(target)
        _swap(work, target)
    except OSError as error:
        raise named(error, work, target) if error.filename is not None else error from None
    finally:
        shutil.rmtree(work, ignore_errors=True)  # what was built, or what it took the place of
        if not target.exists():
            for parent in missing:
                with contextlib.suppress(OSError):
                    parent.rmdir()


def inside(folder: Path, text: str, where: str) -> Path:
    """The file that a pack's path names. Raises :class:`PackError` (``where`` names the place) for a path that is not
    relative, not portable, leads out of the folder, or names no file."""
    parts = text.split("/")
    if "\0" in text or "\\" in text or re.match(r"[A-Za-z]:", text) or not {"", ".", ".."}.isdisjoint(parts):
        raise PackError(f"{where}: expected a relative path inside the pack, with / between names, got {text!r}")
    try:
        found = (folder / text).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise PackError(f"{where}: expected a file of the pack, got {text!r}: {_reason(error)}") from None
    if not found.is_relative_to(folder.resolve()):
        raise PackError(f"{where}: expected a file inside the pack, got {text!r}, a link that leads out of it")
    if not found.is_file():
        raise PackError(f"{where}: expected a file, got {text!r}, which is none")
    return found


def strangers(folder: Path, files: Container[str], folders: Container[str], *, links: bool) -> list[str]:
    """What lies in a folder beside some files (paths from it on) and folders (names): the paths, in order.

    ``links``: whether a link may stand for a file or a folder; else each is a stranger.
    """
    found = []
    for place in sorted(folder.iterdir()):
        inner = sorted(place.iterdir()) if _is(place.is_dir, place, links) and place.name in folders else [place]
        for one in inner:
            path = one.relative_to(folder).as_posix()
            if path not in files or not _is(one.is_file, one, links):
                found.append(path)
    return found


def _is(test: Callable[[], bool], place: Path, links: bool) -> bool:
    return test() and (links or not place.is_symlink())


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def _sibling(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


def _swap(work: Path, target: Path) -> None:
    """Put ``work`` in the place of ``target``; what lay there comes into the place of ``work``."""
    if not target.exists():
        os.rename(work, target)
    elif not _exchanged(work, target):  # no such call here: two renames, the first taken back if the second fails
        old = _sibling(target)
        os.rename(target, old)
        try:
            os.rename(work, target)
        except BaseException:
            os.rename(old, target)
            raise
        os.rename(old, work)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system and the file system can."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(library.renamex_np(*names, ctypes.c_uint(EXCHANGE)) == 0)
        return bool(library.renameat2(HERE, names[0], HERE, names[1], ctypes.c_uint(EXCHANGE)) == 0)
    except (OSError, AttributeError, TypeError):
        return False
