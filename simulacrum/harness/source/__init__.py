"""A static read of a package's sources: what cannot be right, found without running anything.

``problems(files, fields, action, constants)`` gives them all; the rules are in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import classes, forbidden, literals, process
from .flow import Reader
from .modules import Problem, Sources
from .rules import BATCH

__all__ = ["Problem", "Sources", "problems"]

SIDES = ("reference.py", "fast.py")


def problems(
    sources: Sources,
    fields: Mapping[str, bool],
    action_floats: bool,
    constants: Mapping[str, Any] | None = None,
    adopts: str | None = None,
) -> list[Problem]:
    """Everything that is wrong with the sources, by file and line; at most one problem a line and reason.

    Args:
        sources: the ``.py`` files of a package.
        fields: the state's fields; whether each holds floats.
        action_floats: whether actions are floats.
        constants: the values of the spec's constants by name.
        adopts: the distribution of an adopted environment, which ``reference.py`` may import.
    """
    found: dict[tuple[str, int, str], Problem] = {}
    for problem in _all(sources, fields, action_floats, constants or {}, adopts):
        found.setdefault((problem.file, problem.line, problem.kind), problem)
    other = {(file, line) for file, line, kind in found if kind != BATCH.kind}  # tell it better
    return sorted(one for one in found.values() if one.kind != BATCH.kind or (one.file, one.line) not in other)


def _all(
    sources: Sources,
    fields: Mapping[str, bool],
    action_floats: bool,
    constants: Mapping[str, Any],
    adopts: str | None,
) -> Iterator[Problem]:
    for module in sources.modules.values():
        yield from forbidden.problems(module, adopts if module.file == "reference.py" else None)
        yield from process.problems(module)
        yield from classes.problems(module)
        if module.file in SIDES:
            yield from literals.problems(module, constants)
    if "fast.py" in sources.modules:
        yield from Reader(sources, fields, action_floats).problems("fast.py")
