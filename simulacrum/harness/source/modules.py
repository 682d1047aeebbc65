"""The ``.py`` files of a package, and what their names stand for."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Mapping
from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that is wrong: where, which kind of rule it breaks, the reason, and what to do instead."""

    file: str
    line: int
    kind: str
    reason: str
    remedy: str

    @property
    def text(self) -> str:
        """``file:line: reason; remedy``; without a line where that is not known (0)."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}; {self.remedy}"


class Module:
    """One file: its tree, its lines, and its top-level names.

    Attributes:
        imports: what an imported name stands for: ``np`` is ``numpy``, and of the package's own files, whose names
            begin with a colon, ``L`` is ``:__init__.L`` and ``turned`` is ``:helpers.turned``.
        functions, classes: by name.
    """

    def __init__(self, file: str, data: bytes) -> None:
        self.file = file
        self.tree = ast.parse(data)
        self.lines = data.decode(errors="replace").splitlines()
        self.imports: dict[str, str] = {}
        body = self.tree.body
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    self.imports[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom):
                origin = self._origin(node)
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = f"{origin}.{alias.name}"

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        folder = posixpath.dirname(self.file)
        for _ in range(node.level - 1):
            folder = posixpath.dirname(folder)
        parts = [part for part in (*folder.split("/"), *(node.module or "").split(".")) if part]
        return ":" + (".".join(parts) or "__init__")

    def dotted(self, node: ast.AST) -> str:
        """The whole name of what a name or an attribute of an import stands for; "" of anything else."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, "")
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else ""
        return ""

    def line(self, number: int) -> str:
        """A line of the source, stripped."""
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""


class Sources:
    """The modules of a package by file name."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.modules = {name: Module(name, data) for name, data in files.items() if name.endswith(".py")}

    def find(self, dotted: str) -> tuple[Module, str] | None:
        """The module and the top-level name that ``:helpers.turned`` stands for; None of what is not the package's."""
        if not dotted.startswith(":"):
            return None
        place, _, name = dotted[1:].rpartition(".")
        stem = place.replace(".", "/")
        for file in (f"{stem}.py", f"{stem}/__init__.py"):
            if file in self.modules:
                module = self.modules[file]
                return self.find(module.imports[name]) if name in module.imports else (module, name)
        return None
