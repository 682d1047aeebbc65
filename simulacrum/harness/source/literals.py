"""Numbers that are written where a constant of the spec is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from .modules import Module, Problem

SMALL = 5  # whole numbers below it stand for themselves


def problems(module: Module, constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Literals with the value of a constant (or its negative), but for small whole numbers.

    What a rule takes from a literal does not change with the constant, on neither side where both write it.
    """
    named = {abs(value): name for name, value in constants.items() if type(value) in (int, float)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
            continue
        value: Any = node.value
        if value in named and not (value < SMALL and value == int(value)):
            reason = f"{ast.unparse(node)} is the value of {named[value]}"
            yield Problem(module.file, node.lineno, "literal", reason, "name the constant")
