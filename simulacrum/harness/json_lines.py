"""JSON lines that a long run adds to as it goes, and from which a later one goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file; a line that was cut short, or is none, is passed over, and so is a file that is none."""
    for line in file.read_bytes().splitlines() if file.is_file() else ():
        try:
            content = json.loads(line.decode())
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            yield content


def add_line(file: Path, content: dict[str, Any]) -> None:
    """Add an object as a line of its own, whatever was cut short before it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as opened:
        if opened.tell():
            opened.seek(-1, 2)
            if opened.read() != b"\n":
                opened.write(b"\n")
        opened.write(json.dumps(content).encode() + b"\n")
