"""Follows the values of ``fast.py`` through its functions, and those of the package that they call, without running
them: which depend on the rows' data, and whose memory they lie in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import rules
from .classes import base_of
from .expressions import Expressions
from .modules import Module, Problem, Sources
from .values import STATIC, Value, join

ROOTS = {
    "initial": ("self", "draw"),
    "transition": ("self", "state", "action", "draw"),
    "observation": ("self", "state"),
    "action_mask": ("self", "state"),
    "info": ("self", "state"),
}
MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)  # as a default
DEPTH = 20  # calls of the package's own functions within one another
Scope = dict[str, Value]


class Reader:
    """Reads the contract's functions of a module with what they are given, then what these did not reach."""

    def __init__(self, sources: Sources, fields: Mapping[str, bool], action_floats: bool) -> None:
        self.sources, self.fields, self.action_floats = sources, fields, action_floats
        self.found: list[Problem] = []
        self.results: dict[Any, Value] = {}
        self.reached: set[ast.AST] = set()
        self.depth = 0
        self._constants: dict[str, Scope] = {}

    def problems(self, file: str) -> list[Problem]:
        """What is wrong in the functions of a file, and in the package's functions that they call."""
        module = self.sources.modules[file]
        classes = [node for node in module.classes.values() if base_of(module, node) == "FastEnv"]
        methods = [(cls, node) for cls in classes for node in cls.body if isinstance(node, ast.FunctionDef)]
        for cls, node in methods:
            if node.name in ROOTS:
                self.call(module, cls, node, [self.given(kind) for kind in ROOTS[node.name]], {})
        for owner, node in [*methods, *((None, node) for node in module.functions.values())]:
            if node not in self.reached:
                self.call(module, owner, node, [self._annotated(owner, one) for one in node.args.args], {})
        return self.found

    def given(self, kind: str) -> Value:
        """What the contract gives a function under this name."""
        if kind == "action":
            return Value("tensor", self.action_floats, lent=True)
        return Value(kind, lent=kind == "state")

    def _annotated(self, owner: ast.ClassDef | None, argument: ast.arg) -> Value:
        text = "" if argument.annotation is None else ast.unparse(argument.annotation).strip("'\"").rpartition(".")[2]
        kinds = {"Tensor": Value("tensor", lent=True), "State": self.given("state"), "Draw": self.given("draw")}
        if argument.arg == "self" and owner is not None:
            return self.given("self")
        return kinds.get(text, STATIC)

    def constants(self, module: Module) -> Scope:
        """The values that a module's top-level names get by assignments; their memory outlives every call."""
        if module.file not in self._constants:
            scope = self._constants[module.file] = {}
            frame = Frame(self, module, None, scope, silent=True)
            for node in module.tree.body:
                if isinstance(node, (ast.Assign, ast.AnnAssign)):
                    frame.statement(node)
            for name, value in scope.items():
                scope[name] = join([value, Value(value.nature, value.floats, lent=True)])
        return self._constants[module.file]

    def call(
        self,
        module: Module,
        cls: ast.ClassDef | None,
        node: ast.FunctionDef | ast.Lambda,
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
        outer: Scope | None = None,
    ) -> Value:
        """What a function of the package returns for these arguments; read once for each kind of arguments."""
        key = (node, tuple(arguments), tuple(sorted(keywords.items(), key=lambda item: item[0])))
        if key in self.results or self.depth >= DEPTH:
            return self.results.get(key, Value("tensor"))
        self.results[key] = Value("tensor")  # of a recursion
        self.reached.add(node)
        self.depth += 1
        frame = Frame(self, module, cls, {**(outer or {}), **_bound(node.args, arguments, keywords)})
        if isinstance(node, ast.Lambda):
            frame.returned.append(frame.value(node.body))
        else:
            frame.block(node.body)
        self.depth -= 1
        self.results[key] = join(frame.returned)
        return self.results[key]


def _bound(parameters: ast.arguments, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Scope:
    """The values of a function's parameters; what is not given has its default, which lives as long as the function."""
    named = [*parameters.posonlyargs, *parameters.args]
    scope = {one.arg: STATIC for one in (*named, *parameters.kwonlyargs)}
    without = [None] * (len(named) - len(parameters.defaults))
    defaults = [*without, *parameters.defaults, *parameters.kw_defaults]
    for one, default in zip((*named, *parameters.kwonlyargs), defaults, strict=True):
        if isinstance(default, MUTABLE):
            scope[one.arg] = Value(lent=True)
    scope.update(zip((one.arg for one in named), arguments, strict=False))
    if parameters.vararg is not None:
        scope[parameters.vararg.arg] = Value("container", parts=tuple(arguments[len(named) :]))
    rest = {name: value for name, value in keywords.items() if name not in scope}
    if parameters.kwarg is not None:
        scope[parameters.kwarg.arg] = Value("container", parts=tuple(rest.values()), names=tuple(rest))
    scope.update({name: value for name, value in keywords.items() if name in scope})
    return scope


class Frame(Expressions):
    """One run through a function's statements; ``scope`` holds what is known of its local names."""

    def __init__(
        self, reader: Reader, module: Module, cls: ast.ClassDef | None, scope: Scope, silent: bool = False
    ) -> None:
        self.reader, self.module, self.cls, self.scope, self.silent = reader, module, cls, scope, silent
        self.returned: list[Value] = []

    def problem(self, node: ast.AST, rule: rules.Rule, what: str) -> None:
        """Note that a node breaks a rule."""
        if not self.silent:
            line = getattr(node, "lineno", 0)
            self.reader.found.append(Problem(self.module.file, line, rule.kind, rule.reason.format(what), rule.remedy))

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Statements one after the other."""
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """One statement; those that neither branch nor bind are read for the expressions in them."""
        if isinstance(node, ast.FunctionDef):
            self.scope[node.name] = Value("function", code=(node, self.module, self.cls, self.scope))
        elif isinstance(node, ast.Return):
            self.returned.append(STATIC if node.value is None else self.value(node.value))
        elif isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self._augmented(node)
        elif isinstance(node, ast.If):
            self.branch(node.test, self.value(node.test), "if")
            self._either(node.body, node.orelse)
        elif isinstance(node, (ast.While, ast.For)):
            self._loop(node)
        elif isinstance(node, ast.Assert):
            self.branch(node.test, self.value(node.test), "assert")
        elif isinstance(node, ast.Match):
            self.branch(node.subject, self.value(node.subject), "match")
            for case in node.cases:
                self._either(case.body, [])
        elif isinstance(node, ast.Global):
            self.problem(node, rules.KEPT, f"global {', '.join(node.names)}")
        elif isinstance(node, ast.Try):
            self.block([*node.body, *(one for handler in node.handlers for one in handler.body)])
            self.block([*node.orelse, *node.finalbody])
        elif isinstance(node, ast.With):
            for item in node.items:
                value = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, value)
            self.block(node.body)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if not isinstance(target, ast.Name):
                    self.written(target, self.value(target.value))  # type: ignore[attr-defined]
        elif isinstance(node, ast.Expr):
            self.value(node.value)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind a target's names; a part of something is written."""
        if isinstance(target, ast.Name):
            self.scope[target.id] = value
        elif isinstance(target, ast.Starred):
            self.assign(target.value, Value("container", parts=(value,)))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for one, part in zip(target.elts, self._unpacked(target, value), strict=True):
                self.assign(one, part)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            if isinstance(target, ast.Subscript):
                self.value(target.slice)
            self.written(target, self.value(target.value))

    def _unpacked(self, target: ast.Tuple | ast.List, value: Value) -> Iterator[Value]:
        if value.nature == "shape":
            return iter([Value("rows", False), *(STATIC for _ in target.elts[1:])])
        if value.nature == "container" and len(value.parts) == len(target.elts):
            return iter(value.parts)
        self.iterated(target, value)
        return iter([value.element()] * len(target.elts))

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        before = self.value(target)
        after = self.operation(node, node.op, before, self.value(node.value))
        if isinstance(target, ast.Name):
            if before.is_tensor and before.lent:
                self.problem(node, rules.WRITTEN, ast.unparse(node))
            self.scope[target.id] = after
        else:
            self.written(target, self.value(target.value))

    def _either(self, *branches: Sequence[ast.stmt]) -> None:
        """Branches of which one runs: afterwards a name may have the value of any."""
        before, after = dict(self.scope), []
        for body in branches:
            self.scope.clear()
            self.scope.update(before)
            self.block(body)
            after.append(dict(self.scope))
        names = {name for scope in after for name in scope}
        self.scope.update({name: join([scope[name] for scope in after if name in scope]) for name in names})

    def _loop(self, node: ast.While | ast.For) -> None:
        """Twice through the body, so that what the first round binds is seen by the second."""
        for _ in range(2):
            if isinstance(node, ast.While):
                self.branch(node.test, self.value(node.test), "while")
            else:
                self.assign(node.target, self.iterated(node.iter, self.value(node.iter)))
            self._either(node.body, [])
        self.block(node.orelse)
