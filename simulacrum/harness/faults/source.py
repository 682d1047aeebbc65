"""A module's source as what can be changed in it: sites, each a node or some statements and what replaces them.

Positions are those of the AST, so the rest of the text stays as it is, comments and all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...spec import Package

MODULE = "module"  # what stands in the place of a function's name for statements outside of functions
ATOMS = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Pass)


@dataclass(frozen=True)
class Site:
    """One change of a source.

    Attributes:
        function: the function in which it stands, or ``module``.
        first, last: the nodes from the beginning of the one to the end of the other are replaced.
        new: by what.
        old_text, new_text: both in words, free of layout; no new text where something is dropped.
    """

    function: str
    first: ast.stmt | ast.expr
    last: ast.stmt | ast.expr
    new: ast.AST
    old_text: str
    new_text: str

    @property
    def title(self) -> str:
        """The change in words, as the ID of a mutant holds it."""
        change = f"`{self.old_text}` -> `{self.new_text}`" if self.new_text else f"`{self.old_text}` dropped"
        return f"{self.function}: {change}"


class Source:
    """One Python file of a package.

    Attributes:
        package, file: where it is.
        data: its bytes; ``tree``: its AST.
    """

    def __init__(self, package: Package, file: str) -> None:
        self.package, self.file = package, file
        self.data = package.files[file]
        self.tree = ast.parse(self.data)
        self._starts = [0]
        for line in self.data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    @cached_property
    def names(self) -> Mapping[str, Any]:
        """The module's names and their values."""
        return vars(self.package.module(self.file.removesuffix(".py")))

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The constants that the module imports from its package: bools, numbers, and lists of them."""
        imported = [
            alias.asname or alias.name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.level == 1 and not node.module
            for alias in node.names
        ]
        return {
            name: self.names[name]
            for name in imported
            if name.isupper() and isinstance(self.names[name], (bool, int, float, list, tuple))
        }

    def functions(self) -> Iterator[tuple[str, Sequence[ast.stmt], frozenset[str]]]:
        """(name, statements, names of the arguments) of the module's own statements and of each function.

        Imports, docstrings and the class statements that are no functions are left out.
        """
        yield MODULE, [node for node in self.tree.body if isinstance(node, (ast.Assign, ast.If, ast.For))], frozenset()
        classes = [node for node in self.tree.body if isinstance(node, ast.ClassDef)]
        for node in (*self.tree.body, *(part for one in classes for part in one.body)):
            if isinstance(node, ast.FunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                yield node.name, node.body, frozenset(one.arg for one in arguments)

    def edited(self, sites: Sequence[Site]) -> bytes:
        """The file with all the sites changed; they must not overlap."""
        data = self.data
        for site in sorted(sites, key=lambda site: self._start(site.first), reverse=True):
            text = ast.unparse(site.new)
            text = text if isinstance(site.new, ATOMS) else f"({text})"
            data = data[: self._start(site.first)] + text.encode() + data[self._end(site.last) :]
        return data

    def text(self, node: ast.stmt | ast.expr) -> str:
        """What stands in the file from the beginning of a node to its end."""
        return self.data[self._start(node) : self._end(node)].decode()

    def _start(self, node: ast.stmt | ast.expr) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.stmt | ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset


def inner(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and all below them, but annotations, the arguments' definitions and what is below a string."""
    for node in nodes:
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or isinstance(value, ast.arguments):
                continue
            children = value if isinstance(value, list) else [value]
            if not isinstance(node, ast.JoinedStr):
                yield from inner([child for child in children if isinstance(child, ast.AST)])
