"""Writes rules.js: what the article takes from the specs of toywalk and forager, so that nothing is typed twice.

``python docs/article/rules.py`` reads envs/*/spec.md and writes docs/article/rules.js: constants, slots, worked
examples, scripted policies. A test fails when the file is not what this writes.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from simulacrum.spec import Package

HERE = Path(__file__).resolve().parent
ENVS = HERE.parent.parent / "envs"
NAMES = ("toywalk", "forager")
HEAD = "// Made from envs/*/spec.md by `python docs/article/rules.py`. Do not edit.\n"


def text() -> str:
    """The content of rules.js."""
    rules = ",\n".join(f"{name}: {{\n{_lines(_rules(Package.read(ENVS / name)))}\n}}" for name in NAMES)
    return f"{HEAD}(globalThis.Article = globalThis.Article || {{}}).rules = {{\n{rules},\n}};\n"


def _lines(rules: dict[str, Any]) -> str:
    """A table a line, an example a line."""
    return ",\n".join(
        f"{name}: {_list(value) if isinstance(value, list) else json.dumps(value)}" for name, value in rules.items()
    )


def _list(values: list[Any]) -> str:
    return "[\n" + "".join(f"  {json.dumps(value)},\n" for value in values) + "]"


def _rules(package: Package) -> dict[str, Any]:
    spec = package.spec
    return {
        "id": package.environment.id,
        "constants": {name: _plain(value) for name, value in spec.constants.items()},
        "slots": {name: slot.number for name, slot in spec.slots.items()},
        "examples": [_plain(dataclasses.asdict(example)) for example in spec.examples],
        "resets": [_plain(dataclasses.asdict(example)) for example in spec.reset_examples],
        "policies": {policy.name: _plain(dataclasses.asdict(policy)) for policy in spec.policies.values()},
    }


def _plain(value: Any) -> Any:
    """JSON; a float32 as the shortest decimal of the float64 that it is, so that it comes back with its bits."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    return int(value) if isinstance(value, bool) else value


if __name__ == "__main__":
    (HERE / "rules.js").write_text(text())
