"""The small arithmetic of ``spec.md``'s cells: numbers, constants, ``+ - * / // **``, lists, and ``sums([...])``, the
sums of a list from its first number on. Never ``eval``."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import SpecError

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
LIMIT = 2**64  # of integers: a spec has no use for greater ones
ELEMENTS = 1 << 20  # of a repeated list
UNREADABLE = (SyntaxError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError)
WORDS = {"true": True, "false": False, "inf": float("inf"), "none": None}


def evaluate(text: str, constants: Mapping[str, Any], dtype: np.dtype[Any] | None = None) -> Any:
    """The value of a cell. With a float dtype every number is cast first, so that each operation is done in it."""
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, constants, dtype)
    except UNREADABLE as error:
        raise SpecError(f"cannot read {text!r}: {error}") from None


def parse_call(text: str, constants: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """``name(argument, ...)`` as its name and the values of its arguments; a bare name stays a string."""
    try:
        return _call(ast.parse(text.strip(), mode="eval").body, constants)
    except UNREADABLE as error:
        raise SpecError(f"cannot read {text!r}: {error}") from None


def _call(node: ast.expr, constants: Mapping[str, Any]) -> tuple[str, list[Any]]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise ValueError("expected a call such as randint(5)")
    names = (argument.id if isinstance(argument, ast.Name) else None for argument in node.args)
    return node.func.id, [
        name if name is not None and name not in constants and name not in WORDS else _value(argument, constants, None)
        for name, argument in zip(names, node.args, strict=True)
    ]


def assignments(text: str) -> dict[str, str]:
    """``a = 1; b = [2, 3]`` as ``{"a": "1", "b": "[2, 3]"}``; an empty cell or a dash as ``{}``."""
    if text.strip() in ("", "-", "none"):
        return {}
    parts = [part.split("=", 1) for part in text.split(";") if part.strip()]
    if any(len(part) != 2 for part in parts):
        raise SpecError(f"cannot read {text!r}: expected 'name = value; name = value'")
    values = {name.strip(): value.strip() for name, value in parts}
    if len(values) < len(parts):
        raise SpecError(f"{text!r} gives one name twice")
    return values


def _value(node: ast.expr, constants: Mapping[str, Any], dtype: np.dtype[Any] | None) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return _cast(node.value, dtype)
    if isinstance(node, ast.Name):
        if node.id in constants:
            return _cast(constants[node.id], dtype)
        if node.id.lower() in WORDS:
            return _cast(WORDS[node.id.lower()], dtype)
        raise ValueError(f"unknown name {node.id!r}")
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(element, constants, dtype) for element in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        operand = _value(node.operand, constants, dtype)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        return _operation(node.op, _value(node.left, constants, dtype), _value(node.right, constants, dtype))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "sums" and len(node.args) == 1 and not node.keywords:
        return list(itertools.accumulate(_value(node.args[0], constants, dtype)))
    if isinstance(node, ast.Subscript):
        return _value(node.value, constants, dtype)[_value(node.slice, constants, None)]
    raise ValueError(f"unexpected {ast.unparse(node)!r}")


def _operation(kind: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(kind, ast.Mult) and isinstance(left, list) and type(right) is int and len(left) * right <= ELEMENTS:
        return left * right  # [4] * 3 is [4, 4, 4]
    if isinstance(left, list) or isinstance(right, list):
        raise TypeError("a list in arithmetic")
    if isinstance(kind, ast.Pow) and abs(right) > 64:
        raise ValueError(f"expected an exponent of at most 64, got {right}")
    value = BINARY[type(kind)](left, right)
    if isinstance(value, int) and abs(value) > LIMIT:
        raise ValueError("an integer beyond 2**64")
    return value


def _cast(value: Any, dtype: np.dtype[Any] | None) -> Any:
    if dtype is None or value is None or dtype.kind != "f":
        return value
    return [_cast(element, dtype) for element in value] if isinstance(value, (list, tuple)) else dtype.type(value)
