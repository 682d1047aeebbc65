"""The checks, one file each, in the order in which a battery runs them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..context import Context

NAMES = (
    "spec_contract",
    "static_read",
    "worked_examples",
    "standard_api",
    "adoption",
    "differential",
    "transitions",
    "small_worlds",
    "constants",
    "symmetries",
    "batch_independence",
    "invariant_sweep",
    "auto_reset",
    "determinism",
    "purity",
    "seeds_and_horizons",
    "replay",
    "scripted_policies",
    "guided_search",
    "coverage",
    "benchmark_factory_parity",
    "forms",
    "throughput",
)


def load(name: str) -> Callable[[Context], None]:
    """The function of a check."""
    function: Callable[[Context], None] = importlib.import_module(f".{name}", __name__).check
    return function


def selected(expression: str | None) -> tuple[str, ...]:
    """The names that a ``-k`` expression picks: parts of names with ``and``, ``or``, ``not``, as pytest's. All without
    one. Raises ValueError for an expression that cannot be read or picks nothing."""
    if not expression:
        return NAMES
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        names = tuple(name for name in NAMES if matches(tree, name))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        names = ()
    if not names:
        raise ValueError(
            f"-k {expression!r}: expected parts of check names with and, or, not; the checks: {', '.join(NAMES)}"
        )
    return names


def matches(tree: ast.expr, name: str) -> bool:
    """Whether a name fits a parsed ``-k`` expression; raises SyntaxError for what is none."""
    if isinstance(tree, ast.Name):
        return tree.id in name
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return not matches(tree.operand, name)
    if isinstance(tree, ast.BoolOp):
        return (all if isinstance(tree.op, ast.And) else any)(matches(value, name) for value in tree.values)
    raise SyntaxError(ast.unparse(tree))
