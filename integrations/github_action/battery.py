"""The step ``battery``: ``simulacrum validate`` on each package, then the gate. Findings fail the step ``verdict``."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

from simulacrum.errors import SimulacrumError
from simulacrum.harness import require_fresh_report
from simulacrum.harness.places import writable_folder
from simulacrum.spec import Package

from . import results
from .results import Result
from .workflow import folder, variable

KEPT = 20_000  # characters of the output, from its end


def main() -> int:
    """Validate the packages that ``changes`` chose, with the further ``$ARGUMENTS``; the exit code."""
    arguments = shlex.split(variable("ARGUMENTS"))
    gate = variable("GATE") != "false"
    chosen = json.loads((folder() / "changes.json").read_text())["packages"]
    results.write([validated(package, arguments, gate) for package in chosen])
    return 0


def validated(package: str, arguments: list[str], gate: bool) -> Result:
    """Run the battery on a package, and ask the gate."""
    print(f"::group::simulacrum validate {package} {shlex.join(arguments)}", flush=True)
    began, start = time.time_ns(), time.perf_counter()
    command = [sys.executable, "-m", "simulacrum", "validate", f"./{package}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    print("::endgroup::", flush=True)
    seconds = time.perf_counter() - start
    written = [str(file) for file in reports(Path(package)) if file.stat().st_mtime_ns >= began]
    refusal = refused(Path(package)) if gate else ""
    return Result(package, process.returncode, seconds, "".join(lines)[-KEPT:], written, refusal)


def reports(package: Path) -> list[Path]:
    """The reports of a package, one for each configuration."""
    return sorted(writable_folder(package.resolve()).glob("validation_report*.json"))


def refused(package: Path) -> str:
    """Why the gate refuses a package, in the first of its configurations that it refuses; empty where it admits all."""
    try:
        configurations: list[str | None] = [*Package.read(package).spec.configurations]
        for config in configurations or [None]:
            require_fresh_report(package, config=config)
    except SimulacrumError as error:
        return str(error)
    return ""
