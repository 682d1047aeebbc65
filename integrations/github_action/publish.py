"""The step ``publish``: ``junit.xml``, a page and the log of each package, its findings' files, and the summary."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from . import results
from .junit import xml
from .results import Result
from .summary import markdown
from .workflow import folder, output, summarise


def main() -> int:
    """Write all that is published into one folder, the output ``folder``; the exit code."""
    target = folder() / "published"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    found = results.read()
    for result in found:
        publish(result, target)
    (target / "junit.xml").write_bytes(xml(found))
    why = json.loads((folder() / "changes.json").read_text())["why"]
    summarise(markdown(found, why))
    output("folder", str(target))
    output("junit", str(target / "junit.xml"))
    output("passed", str(all(result.passed for result in found)).lower())
    return 0


def publish(result: Result, target: Path) -> None:
    """The files of one package: ``envs-ladder.log``, ``envs-ladder.html`` and ``.json``, ``envs-ladder-failures/``."""
    name = result.package.replace("/", "-")
    (target / f"{name}.log").write_text(result.output, encoding="utf-8")
    for report, content in zip(result.reports, result.contents(), strict=True):
        config = content["package"].get("config")
        stem = f"{name}-{config}" if config else name
        shutil.copyfile(report, target / f"{stem}.json")
        page(result.package, config, target / f"{stem}.html")
        failures = Path(report).parent / "failures"
        if failures.is_dir():
            shutil.copytree(failures, target / f"{name}-failures", dirs_exist_ok=True)


def page(package: str, config: str | None, file: Path) -> None:
    """The report as a page. It is the same report where no page can be made, so that says it, and fails nothing."""
    options = ["--config", config] if config else []
    command = [sys.executable, "-m", "simulacrum", "report", f"./{package}", *options, "--output", str(file)]
    if subprocess.run(command).returncode:
        print(f"::warning::no page of {package}: simulacrum report failed; the report is beside it as JSON")
