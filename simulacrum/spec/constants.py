"""Other values for a package's constants: the bytes of ``__init__.py`` and ``spec.md`` with some of them replaced."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from ..errors import PackageError
from .document import Spec

CELL_END = re.compile(r"(?<!\\)\|")


def with_values(files: Mapping[str, bytes], spec: Spec, values: Mapping[str, Any]) -> dict[str, bytes]:
    """A package's files with constants replaced, in both places where a constant stands.

    Raises :class:`PackageError` for a name that is no row of the constant table, or that ``__init__.py`` does not set
    by a plain ``NAME = literal`` of its own.
    """
    unknown = [name for name in values if name not in spec.constants]
    if unknown:
        raise PackageError(f"no constants {unknown}: spec.md has {list(spec.constants)}")
    return {
        **files,
        "__init__.py": _in_module(files["__init__.py"], values),
        "spec.md": _in_table(files["spec.md"].decode(), spec, values).encode(),
    }


def _in_module(source: bytes, values: Mapping[str, Any]) -> bytes:
    """The literals of top-level assignments replaced, by their places in the source; the rest stays byte for byte."""
    literals: dict[str, ast.expr] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            literals[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            literals[node.target.id] = node.value
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    places: dict[int, tuple[int, bytes]] = {}
    for name, value in values.items():
        literal = literals.get(name)
        old = None if literal is None else _literal(literal)
        if literal is None or old is None:
            raise PackageError(f"constant {name}: expected {name} = a plain literal at the top level of __init__.py")
        assert literal.end_lineno is not None
        assert literal.end_col_offset is not None
        start, end = starts[literal.lineno - 1] + literal.col_offset, starts[literal.end_lineno - 1]
        new = tuple(value) if isinstance(old, tuple) else value
        places[start] = (end + literal.end_col_offset, repr(new).encode())
    for start, (end, text) in sorted(places.items(), reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _literal(node: ast.expr) -> Any:
    """The value of a literal; None for what is none."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _in_table(text: str, spec: Spec, values: Mapping[str, Any]) -> str:
    """The ``value`` cells of the constant table replaced."""
    table = spec.table("constant")
    column = table.header.index("value")
    lines = text.split("\n")
    for number, name in enumerate(table.column("constant"), table.line + 1):  # below the header and its rule
        if name in values:
            cells = CELL_END.split(lines[number])
            at = column + lines[number].lstrip().startswith("|")
            cells[at] = f" {values[name]!r} "
            lines[number] = "|".join(cells)
    return "\n".join(lines)
