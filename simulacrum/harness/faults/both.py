"""Misreadings of a spec put into ``reference.py`` and ``fast.py`` alike: the two sides agree, and both are wrong.

Three sources, each of changes that mean the same on both sides: constants, all of whose uses change; draws that each
side makes once; and mutations of expressions that are equal, function by function, when constants are replaced by their
values and conversions are taken away (``energy <= ZERO`` and ``energy <= 0``).
"""

from __future__ import annotations

import ast
import copy
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...spec import Package
from .mutations import Mutant, draw_shifted, is_draw, other_slot, sites, variants
from .source import Site, Source, inner

FILES = ("reference.py", "fast.py")
CONVERSIONS = {"float32", "float64", "int32", "int64", "float", "int", "bool", "to"}
Pair = tuple[str, list[list[Site]]]  # what is changed, and the sites of each file


def both(package: Package) -> list[Mutant]:
    """The misreadings of a package. Raises :class:`~simulacrum.errors.PackageError` if it does not import."""
    sources = [Source(package, file) for file in FILES]
    found: list[Mutant] = []
    known = [{source.file: source.data for source in sources}]
    for make in (_constants, _draws, _expressions):
        for title, changes in make(sources):
            edits = zip(sources, changes, strict=True)
            files = {source.file: source.edited(sites) for source, sites in edits}
            if files not in known:
                known.append(files)
                found.append(Mutant(f"both {title}", "both sides", files))
    return found


# ---------------------------------------------------------------------- constants


def _constants(sources: list[Source]) -> Iterator[Pair]:
    """Each constant that both import, changed wherever it is used: to a value near it, and to another constant."""
    shared = {name: value for name, value in sources[0].constants.items() if name in sources[1].constants}
    for name, value in shared.items():
        others = [one for one, other in shared.items() if type(other) is type(value) and other != value]
        for new in (*variants(ast.Name(name), value), *map(ast.Name, others)):
            yield (
                f"constant: `{name}` -> `{ast.unparse(new)}`",
                [[_site(node, new) for node in _uses(source, name)] for source in sources],
            )


def _uses(source: Source, name: str) -> list[ast.Name]:
    return [
        node
        for _, statements, _ in source.functions()
        for node in inner(statements)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


# ---------------------------------------------------------------------- draws


def _draws(sources: list[Source]) -> Iterator[Pair]:
    """Each slot that either side draws in one place: from another slot, with the next index, with another argument."""
    drawn = [_by_slot(source) for source in sources]
    for slot in sorted(drawn[0].keys() & drawn[1].keys()):
        calls = [by_slot[slot] for by_slot in drawn]
        if any(len(found) != 1 for found in calls):
            continue
        pair = [found[0] for found in calls]
        others = [other_slot(call.args[0], source, alike=True) for call, source in zip(pair, sources, strict=True)]
        if others[0] is not None:
            title = f"draw: `{slot}` -> `{ast.unparse(others[0])}`"
            yield title, [[_site(call.args[0], other)] for call, other in zip(pair, others, strict=True) if other]
        yield f"draw: `{slot}` with the next index", [[_site(call, draw_shifted(call))] for call in pair]
        if all(len(call.args) > 1 for call in pair):
            yield from _arguments(slot, [call.args[1] for call in pair], sources)
    yield from _exchanged(sources, drawn)


def _arguments(slot: str, arguments: list[ast.expr], sources: list[Source]) -> Iterator[Pair]:
    """The argument of a distribution near the one that it is, where both sides write it alike."""
    texts = {ast.unparse(argument) for argument in arguments}
    if len(texts) > 1:
        return
    (text,) = texts
    value = eval(text, dict(sources[0].names))
    for news in zip(*(variants(argument, value) for argument in arguments), strict=True):
        title = f"draw: `{slot}`, `{text}` -> `{ast.unparse(news[0])}`"
        yield title, [[_site(argument, new)] for argument, new in zip(arguments, news, strict=True)]


def _exchanged(sources: list[Source], drawn: list[dict[str, list[ast.Call]]]) -> Iterator[Pair]:
    """Two slots of one distribution exchanged, wherever they are drawn."""
    for slot in sorted(drawn[0].keys() & drawn[1].keys()):
        other = other_slot(drawn[0][slot][0].args[0], sources[0], alike=True)
        if other is None or ast.unparse(other) not in drawn[1] or ast.unparse(other) not in drawn[0]:
            continue
        name = ast.unparse(other)
        turned = {slot: other, name: drawn[0][slot][0].args[0]}
        changes = [
            [_site(call.args[0], turned[one]) for one in (slot, name) for call in by_slot[one]] for by_slot in drawn
        ]
        yield f"draw: `{slot}` and `{name}` exchanged", changes


def _by_slot(source: Source) -> dict[str, list[ast.Call]]:
    """The draws of a file by the text of their slot."""
    found: dict[str, list[ast.Call]] = defaultdict(list)
    for _, statements, _ in source.functions():
        for node in inner(statements):
            if is_draw(node) and isinstance(node, ast.Call) and node.args:
                found[ast.unparse(node.args[0])].append(node)
    return found


# ---------------------------------------------------------------------- expressions


def _expressions(sources: list[Source]) -> Iterator[Pair]:
    """Mutations with the same function, normal old text and normal new text on both sides, all of them at once where
    both have as many."""
    grouped = [_by_meaning(source) for source in sources]
    for meaning, first in grouped[0].items():
        second = grouped[1].get(meaning, [])
        if len(first) == len(second):
            title = first[0].title + (f", {len(first)} times" if len(first) > 1 else "")
            yield title, [first, second]


def _by_meaning(source: Source) -> dict[tuple[str, str, str], list[Site]]:
    found: dict[tuple[str, str, str], list[Site]] = defaultdict(list)
    for site in sites(source):
        old, new = site.first, site.new
        if isinstance(old, ast.expr) and isinstance(new, ast.expr) and not isinstance(old, (ast.Name, ast.Constant)):
            found[site.function, _normal(old, source), _normal(new, source)].append(site)
    return found


def _normal(node: ast.expr, source: Source) -> str:
    """An expression's text with constants as float32 values and without conversions."""
    return ast.unparse(_Normal(source.names).visit(copy.deepcopy(node)))


class _Normal(ast.NodeTransformer):
    def __init__(self, names: Any) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.names.get(node.id)
        return _number(value) if node.id.isupper() and _is_number(value) else node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return _number(node.value) if _is_number(node.value) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in CONVERSIONS and not node.keywords:
            of_tensor = name == "to" or not node.args  # value.to(dtype), value.float()
            if of_tensor and isinstance(node.func, ast.Attribute):
                return self.visit(node.func.value)
            if len(node.args) == 1:
                return self.visit(node.args[0])
        return self.generic_visit(node)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)


def _number(value: Any) -> ast.Constant:
    return ast.Constant(float(np.float32(value)))


def _site(node: ast.expr, new: ast.expr) -> Site:
    return Site("", node, node, new, ast.unparse(node), ast.unparse(new))
