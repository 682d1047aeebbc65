"""What GitHub gives a step and takes from it: outputs, variables of later steps, the summary, annotations."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def variable(name: str) -> str:
    """An environment variable without blanks around it; empty where it is not set."""
    return os.environ.get(name, "").strip()


def folder() -> Path:
    """Where the steps leave their files, ``$RUNNER_TEMP/simulacrum``; it is made."""
    made = Path(os.environ["RUNNER_TEMP"]) / "simulacrum"
    made.mkdir(parents=True, exist_ok=True)
    return made


def output(name: str, value: str) -> None:
    """Set an output of this step; ``value`` may have several lines."""
    _add("GITHUB_OUTPUT", name, value)


def export(name: str, value: str) -> None:
    """Set an environment variable of the steps that follow."""
    _add("GITHUB_ENV", name, value)


def summarise(text: str) -> None:
    """Add Markdown to the summary of the job."""
    with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as file:
        file.write(text)


def annotate(title: str, message: str) -> None:
    """An error that GitHub shows beside the change."""
    print(f"::error title={_escaped(title, ',:')}::{_escaped(message)}", flush=True)


def git(*arguments: str) -> str | None:
    """What git prints in the checkout; None where it fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def listed(*arguments: str) -> list[str]:
    """The paths that git prints with ``-z``. Raises ``RuntimeError`` where it fails."""
    told = git(*arguments)
    if told is None:
        raise RuntimeError(f"git {' '.join(arguments)} failed in {Path.cwd()}: expected a git checkout")
    return [path for path in told.split("\0") if path]


def _add(file: str, name: str, value: str) -> None:
    mark = f"end-{os.urandom(8).hex()}"  # that no value holds
    with open(os.environ[file], "a", encoding="utf-8") as target:
        target.write(f"{name}<<{mark}\n{value}\n{mark}\n")


def _escaped(text: str, more: str = "") -> str:
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
