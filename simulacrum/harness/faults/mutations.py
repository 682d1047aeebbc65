"""Generic mutations of a package's Python files, one small change each, by AST.

Of our own, since mutmut and cosmic-ray change files on the disk and run a test suite on them; these apply to a package
in memory, to both sides of a pair at once, and know slots and draws.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...spec import Package
from .source import MODULE, Site, Source, inner

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
DRAWS = {"bits", "uniform", "randint", "bernoulli", "categorical", "permutation"}
COMMUTATIVE = {"min", "max", "minimum", "maximum"}
SCALE = 1.1  # what floats are multiplied by


@dataclass(frozen=True)
class Mutant:
    """A change of some files of a package that nobody meant.

    Attributes:
        name: a stable ID: file, function, the old text and the new one, and its number among equals.
        kind: ``generic``, or ``both sides``.
        files: the new bytes of each changed file.
    """

    name: str
    kind: str
    files: Mapping[str, bytes]


def mutants(package: Package, file: str) -> list[Mutant]:
    """The mutants of one file of a package. Raises :class:`~simulacrum.errors.PackageError` if it does not import."""
    source = Source(package, file)
    found: list[Mutant] = []
    known, equals = {source.data}, Counter[str]()
    for site in sites(source):
        data = source.edited([site])
        equals[site.title] += 1
        if data not in known:
            known.add(data)
            found.append(Mutant(f"{file} {site.title} #{equals[site.title]}", "generic", {file: data}))
    return found


def sites(source: Source) -> Iterator[Site]:
    """All that can be changed in a file, in the order of the text, function by function."""
    for function, statements, arguments in source.functions():
        parents = {child: node for node in inner(statements) for child in ast.iter_child_nodes(node)}
        for node in inner(statements):
            if isinstance(node, ast.expr):
                shown = _shown(node, parents)
                for new in _expressions(node, source):
                    changed = copy.deepcopy(shown, {id(node): new})
                    yield Site(function, node, node, new, ast.unparse(shown), ast.unparse(changed))
                if isinstance(node, ast.Call):
                    yield from _keywords(function, node, source)
            elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
                swapped = _with(node, op=OPERATORS[type(node.op)]())
                yield Site(function, node, node, swapped, ast.unparse(node), ast.unparse(swapped))
        if function != MODULE:
            yield from _drops(function, statements, set(arguments))


def variants(node: ast.expr, value: Any) -> Iterator[ast.expr]:
    """Expressions near one that has a value: an int one more and one less, a float scaled, a bool flipped, a list
    reversed."""
    if isinstance(value, bool):
        yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(value, int):
        yield from (ast.BinOp(node, operator, ast.Constant(1)) for operator in (ast.Add(), ast.Sub()))
    elif isinstance(value, float):
        yield ast.BinOp(node, ast.Mult(), ast.Constant(SCALE)) if value else ast.Constant(1.0)
    elif isinstance(value, (list, tuple)) and list(value) != list(value)[::-1]:
        backwards = ast.Slice(step=ast.UnaryOp(ast.USub(), ast.Constant(1)))
        yield ast.Subscript(node, backwards, ast.Load())


def draw_shifted(call: ast.Call) -> ast.Call:
    """A draw with its index one higher."""
    one = ast.Constant(1)
    shifted = [
        ast.keyword("index", ast.BinOp(word.value, ast.Add(), one)) if word.arg == "index" else word
        for word in call.keywords
    ]
    if not any(word.arg == "index" for word in call.keywords):
        shifted.append(ast.keyword("index", one))
    return _with(call, keywords=shifted)


def is_draw(node: ast.AST) -> bool:
    """Whether a node draws: ``draw.randint(...)``, say."""
    called = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(called, ast.Attribute)
        and called.attr in DRAWS
        and isinstance(called.value, ast.Name)
        and called.value.id == "draw"
    )


def other_slot(node: ast.expr, source: Source, alike: bool = False) -> ast.Attribute | None:
    """The next slot of the same phase (and, where ``alike``, of the same distribution) after ``Slots.X``; None where
    the node is no slot, or there is no other."""
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return None
    slots = source.package.spec.slots
    if source.names.get(node.value.id) is not source.package.environment.slots or node.attr not in slots:
        return None
    own, names = slots[node.attr], list(slots)
    turned = names[names.index(node.attr) + 1 :] + names[: names.index(node.attr)]
    for name in turned:
        other = slots[name]
        same = (other.distribution, other.arguments, other.count) == (own.distribution, own.arguments, own.count)
        if other.phase == own.phase and (same or not alike):
            return _with(node, attr=name)
    return None


def _shown(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> ast.AST:
    """What an ID shows of a changed expression: of a name or a number the expression in which it stands."""
    shown: ast.AST = node
    while isinstance(shown, (ast.Name, ast.Constant, ast.UnaryOp, ast.keyword, ast.Slice, ast.comprehension)):
        above = parents.get(shown)
        if not isinstance(above, (ast.expr, ast.keyword, ast.Slice, ast.comprehension)):
            break
        shown = above
    return shown if isinstance(shown, ast.expr) else node


def _expressions(node: ast.expr, source: Source) -> Iterator[ast.expr]:
    """What an expression may be replaced by."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield _with(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield _with(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield node.operand
    elif isinstance(node, ast.Call):
        yield from _swapped(node)
        if is_draw(node):
            yield draw_shifted(node)
    elif isinstance(node, ast.IfExp):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Attribute):
        slot = other_slot(node, source)
        if slot is not None:
            yield slot
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in source.constants:
        yield from variants(node, source.constants[node.id])
    elif isinstance(node, ast.Constant):
        yield from _constants(node.value)


def _constants(value: Any) -> Iterator[ast.expr]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, float):
        yield ast.Constant(value * SCALE if value else 1.0)


def _swapped(call: ast.Call) -> Iterator[ast.expr]:
    """The call with two neighbouring positional arguments swapped."""
    arguments = call.args
    if ast.unparse(call.func).rpartition(".")[2] in COMMUTATIVE:
        return
    for place in range(len(arguments) - 1):
        one, other = arguments[place : place + 2]
        starred = isinstance(one, ast.Starred) or isinstance(other, ast.Starred)
        if not starred and ast.unparse(one) != ast.unparse(other):
            yield _with(call, args=[*arguments[:place], other, one, *arguments[place + 2 :]])


def _keywords(function: str, call: ast.Call, source: Source) -> Iterator[Site]:
    """A keyword argument dropped; not of a class of the module, such as State, whose fields have no defaults."""
    if isinstance(call.func, ast.Name) and isinstance(source.names.get(call.func.id), type):
        return
    for word in call.keywords:
        if word.arg is not None:
            kept = [other for other in call.keywords if other is not word]
            text = f"{ast.unparse(call.func)}(..., {word.arg}={ast.unparse(word.value)})"
            yield Site(function, call, call, _with(call, keywords=kept), text, f"{ast.unparse(call.func)}(...)")


def _drops(function: str, statements: Any, bound: set[str]) -> Iterator[Site]:
    """Statements that can be dropped: calls, writes, assignments to names that have a value already (without it every
    later line would raise, which tests nothing), and the bodies of ``if``."""
    for node in statements:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {name for target in targets for name in _stored(target)}
            if names <= bound:
                yield _dropped(function, node, node, ast.unparse(node))
            bound |= names
        elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            yield _dropped(function, node, node, ast.unparse(node))
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.With)):
            if isinstance(node, ast.For):
                bound |= _stored(node.target)
            for body in (node.body, getattr(node, "orelse", [])):
                if body and isinstance(node, ast.If):
                    head = "if" if body is node.body else "else of if"
                    yield _dropped(function, body[0], body[-1], f"{head} {ast.unparse(node.test)}: ...")
                yield from _drops(function, body, bound)


def _stored(target: ast.AST) -> set[str]:
    """The names that an assignment to a target gives a value."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _dropped(function: str, first: ast.stmt, last: ast.stmt, text: str) -> Site:
    return Site(function, first, last, ast.Pass(), text, "")


def _with(node: Any, **fields: Any) -> Any:
    """A copy of a node with some fields replaced."""
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made
