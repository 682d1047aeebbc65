"""The rules of ``spec.md`` that the sources name where they set a field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..spec import Package

NAMED = re.compile(r"spec, (reset|transition)s? (\d+(?:(?:, | and |, and )\d+)*)", re.IGNORECASE)
ITEM = re.compile(r"^(\d+)\. ")
NEAR = 12  # how many lines above an assignment its comment may stand


def rules(package: Package, field: str, section: str) -> list[str]:
    """The rules that set a record's field (``state.x``, ``reward``), as ``transition 2: ...``, in order.

    ``section`` is ``reset`` or ``transition``. A rule is found by the comment nearest to an assignment or a keyword
    of the field's name: ``# spec, transition 2``. Without one there is nothing to tell.
    """
    items, numbers = _items(package, section), set()
    for source in ("reference.py", "fast.py"):
        numbers |= _numbers(package.files[source].decode(), field.removeprefix("state."), section)
    return [f"{section} {number}: {items[number]}" for number in sorted(numbers) if number in items]


def _numbers(source: str, name: str, section: str) -> set[int]:
    """The numbers in the comments nearest to where ``name`` is set, on its line or above it."""
    lines, found = source.splitlines(), set()
    for number in _settings(ast.parse(source), name):
        for line in reversed(lines[max(0, number - NEAR) : number]):
            comment = NAMED.search(line.partition("#")[2])
            if comment is not None and comment[1].lower() == section:
                found |= {int(word) for word in re.findall(r"\d+", comment[2])}
            if comment is not None or line.lstrip().startswith("def "):
                break
    return found


def _settings(tree: ast.AST, name: str) -> Iterator[int]:
    """The lines of the assignments and keywords of that name; not those that only hand its value on (``x=state.x``)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = [leaf.id for target in node.targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)]
        elif isinstance(node, ast.AugAssign):
            names = [leaf.id for leaf in ast.walk(node.target) if isinstance(leaf, ast.Name)]
        elif isinstance(node, ast.keyword):
            names = [node.arg or ""]
        else:
            continue
        handed_on = ast.unparse(node.value).removesuffix(".copy()").rpartition(".")[2] == name
        if name in names and not handed_on:
            yield node.lineno


def _items(package: Package, section: str) -> dict[int, str]:
    """The numbered items of a section of ``spec.md``, each as one line."""
    text = package.files["spec.md"].decode()
    part = re.search(rf"^## {section}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    items: dict[int, list[str]] = {}
    current: list[str] | None = None
    for line in part[1].splitlines() if part else ():
        begins = ITEM.match(line)
        if begins:
            current = items.setdefault(int(begins[1]), [])
            line = line[begins.end() :]
        elif not line.startswith(" "):
            current = None  # an item goes on in indented lines
        if current is not None:
            current.append(line.strip())
    return {number: " ".join(lines) for number, lines in items.items()}
