"""Names of a pack's entries: portable on every file system, each once, and the same in whatever order inputs come."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from ..trajectory.writing import SUFFIXES

LONGEST = 200  # bytes: file systems take 255, with the suffix
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # by Windows
NAME = re.compile(r"[\w+-](?:[\w .+-]*[\w+-])?")  # no slash, no drive, no dot at either end


def stem(file: Path) -> str:
    """A file's name without its suffix, each character that is not portable replaced by ``_``."""
    name = next((file.name[: -len(suffix)] for suffix in reversed(SUFFIXES) if file.name.endswith(suffix)), file.name)
    name = re.sub(r"[^\w .+-]|^[. ]|[. ]$", "_", unicodedata.normalize("NFC", name))
    name = name.encode()[:LONGEST].decode(errors="ignore").rstrip(". ")
    return f"{name}_" if RESERVED.fullmatch(name) else name


def unlike(stems: Iterable[str]) -> list[str]:
    """A name for each stem: itself for the first of a stem, then ``stem-2``, ``stem-3`` ..., passing over those taken.

    Names that differ in case alone are alike: some file systems take them for one.
    """
    stems = list(stems)
    taken = {_folded(one) for one in stems}
    seen: set[str] = set()
    names = []
    for one in stems:
        name, number = one, 1
        if _folded(one) in seen:
            while _folded(name) in taken:
                number += 1
                name = f"{one}-{number}"
        seen.add(_folded(one))
        taken.add(_folded(name))
        names.append(name)
    return names


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())
