"""What the battery came to, package by package, as the steps hand it on: ``results.json``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .workflow import folder

FILE = "results.json"
WORDS = {0: "passed", 1: "findings", 2: "could not run", 130: "interrupted"}


@dataclass
class Result:
    """One package.

    Attributes:
        package: its folder, relative.
        code: the exit code of ``simulacrum validate``.
        seconds: how long that took.
        output: what it printed, the end of it.
        reports: the paths of the reports that it wrote, one for each configuration.
        refusal: why the gate refuses the package; empty where it loads, or was not asked.
    """

    package: str
    code: int
    seconds: float
    output: str
    reports: list[str] = field(default_factory=list)
    refusal: str = ""

    @property
    def passed(self) -> bool:
        """Whether the battery passed, and the gate admits the package."""
        return self.code == 0 and not self.refusal

    @property
    def verdict(self) -> str:
        """``passed``, ``findings``, ``could not run``, ``refused`` or another end, in words."""
        if self.code == 0 and self.refusal:
            return "refused"
        return WORDS.get(self.code, f"exit code {self.code}")

    def contents(self) -> list[dict[str, Any]]:
        """Its reports, read."""
        return [json.loads(Path(path).read_text(encoding="utf-8")) for path in self.reports]


def write(results: list[Result]) -> None:
    """Hand them on."""
    (folder() / FILE).write_text(json.dumps([asdict(result) for result in results], indent=1))


def read() -> list[Result]:
    """What :func:`write` wrote."""
    return [Result(**one) for one in json.loads((folder() / FILE).read_text())]
