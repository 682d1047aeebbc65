"""What a static read knows of expressions, and the rules that these may break."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import operations, rules
from .modules import Module
from .values import ROWS, SETTING, STATIC, Value, floats, join, of_literal

if TYPE_CHECKING:
    from .flow import Reader

READINGS = (
    *("torch.compiler.is_", "torch.jit.is_", "torch._dynamo.", "torch.is_grad_enabled", "torch.is_inference_mode"),
    *("torch.get_", "torch.are_deterministic", "torch.is_deterministic", "torch.is_autocast", "torch.cuda.is_"),
    *("torch.cuda.device_count", "torch.backends.", "torch.version", "torch.__version__", "numpy.geterr"),
    *("os.cpu_count", "sys.flags", "sys.platform", "platform.", "os.name", "os.getcwd", "os.getpid", "locale.get"),
    "threading.",
)
HIDDEN = {
    *("expose_state", "resets", "validate_actions", "first_instance", "training", "is_closed", "instance_seeds"),
    *("instance_episodes", "get_state", "_carry", "_next_seeds", "_compile_options", "_core", "_set_seed_called"),
}
CONSTANTS = {"float32": True, "float64": True, "int32": False}
MUTATORS = {"append", "extend", "insert", "update", "add", "pop", "remove", "clear", "setdefault", "discard"}
CONVERSIONS = {"bool", "int", "float", "complex", "round", "str", "repr", "hash", "print", "format"}
ITERATORS = {"list", "tuple", "set", "iter", "next", "sorted", "reversed", "enumerate", "zip", "any", "all"}
COMPARERS = {"max", "min"}


class Expressions:
    """The part of a frame that reads expressions."""

    reader: Reader
    module: Module
    cls: ast.ClassDef | None
    scope: dict[str, Value]

    def problem(self, node: ast.AST, rule: rules.Rule, what: str) -> None:
        """Note that a node breaks a rule."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind a target's names."""
        raise NotImplementedError

    # ------------------------------------------------------------------ rules

    def branch(self, node: ast.AST, value: Value, what: str) -> None:
        """A truth that Python asks for."""
        text = f"{what} {ast.unparse(node)}"
        if value.nature == "tensor":
            self.problem(node, rules.BRANCH, text)
        elif value.nature in ("rows", "shape"):
            self.problem(node, rules.ROWS, text)
        elif value.nature == "setting":
            self.problem(node, rules.SETTING, text)

    def iterated(self, node: ast.AST, value: Value) -> Value:
        """What Python gets when it iterates over a value."""
        if value.nature == "tensor":
            self.problem(node, rules.ITERATED, ast.unparse(node))
        return value.element()

    def written(self, node: ast.AST, base: Value) -> None:
        """A part of ``base`` is written."""
        if base.nature == "self" or (base.lent and not base.is_tensor and base.nature != "state"):
            self.problem(node, rules.KEPT, ast.unparse(node))
        elif base.lent:
            self.problem(node, rules.WRITTEN, ast.unparse(node))

    # ------------------------------------------------------------------ expressions

    def value(self, node: ast.AST | None) -> Value:
        """What is known of an expression."""
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is not None:
            found: Value = read(node)
            return found
        for child in ast.iter_child_nodes(node) if node is not None else ():
            self.value(child)
        return STATIC

    def _constant(self, node: ast.Constant) -> Value:
        return of_literal(node)

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.scope:
            return self.scope[node.id]
        return self._global(self.module, node.id)

    def _global(self, module: Module, name: str) -> Value:
        """A top-level name of the package; static what comes from elsewhere."""
        if name in module.functions:
            return Value("function", code=(module.functions[name], module, None, {}))
        if name in module.classes:
            return STATIC
        if name in module.imports:
            place = self.reader.sources.find(module.imports[name])
            return STATIC if place is None else self._global(*place)
        return self.reader.constants(module).get(name, STATIC)

    def _attribute(self, node: ast.Attribute) -> Value:
        self._reads(node, self.module.dotted(node))
        base = self.value(node.value)
        if base.nature == "self":
            return self._of_self(node)
        if base.nature == "state":
            return Value("tensor", self.reader.fields.get(node.attr, False if node.attr == "t" else None), lent=True)
        if base.nature == "draw":
            if node.attr.startswith("_"):
                self.problem(node, rules.HIDDEN, ast.unparse(node))
            return ROWS if node.attr == "rows" else STATIC
        if base.is_tensor:
            found = operations.attribute(node.attr, base)
            return found if base.nature == "tensor" or found.is_tensor else STATIC
        if base.nature == "container":
            return base.part(node.attr)
        return SETTING if base.nature == "setting" else Value(lent=base.lent)

    def _of_self(self, node: ast.Attribute) -> Value:
        if node.attr in HIDDEN:
            self.problem(node, rules.HIDDEN, ast.unparse(node))
        if node.attr in ("_rows", "batch_size", "num_envs", "shape", "batch_dims"):
            return ROWS if node.attr == "_rows" else Value("shape")
        return SETTING if node.attr == "device" else Value(lent=True)

    def _reads(self, node: ast.AST, dotted: str) -> None:
        if dotted.startswith(READINGS):
            self.problem(node, rules.SETTING, ast.unparse(node))

    def _subscript(self, node: ast.Subscript) -> Value:
        base, index = self.value(node.value), self.value(node.slice)
        if base.nature == "shape":
            if isinstance(node.slice, ast.Slice):
                return base if node.slice.lower is None else STATIC
            return ROWS if isinstance(node.slice, ast.Constant) and node.slice.value == 0 else STATIC
        if base.nature == "container":
            if index.nature == "tensor":
                self.problem(node, rules.LEFT, f"an index of {ast.unparse(node.value)}")
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(key, int) and not base.names and -len(base.parts) <= key < len(base.parts):
                return base.parts[key]
            return base if isinstance(node.slice, ast.Slice) else base.part(str(key))
        if index.nature == "tensor":
            return Value("tensor", base.floats)
        return base

    def _slice(self, node: ast.Slice) -> Value:
        return join(self.value(part) for part in (node.lower, node.upper, node.step) if part is not None)

    def _tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        parts: list[Value] = []
        for one in node.elts:
            if isinstance(one, ast.Starred):
                parts.append(self.iterated(one.value, self.value(one.value)))
            else:
                parts.append(self.value(one))
        return Value("container", parts=tuple(parts))

    _list = _set = _tuple

    def _dict(self, node: ast.Dict) -> Value:
        names: list[str] = []
        parts: list[Value] = []
        for key, one in zip(node.keys, node.values, strict=True):
            value = self.value(one)
            if key is None:
                names.extend(value.names)
                parts.extend(value.parts)
            else:
                names.append(str(key.value) if isinstance(key, ast.Constant) else ast.unparse(key))
                parts.append(value)
        return Value("container", parts=tuple(parts), names=tuple(names) if len(names) == len(parts) else ())

    def _listcomp(self, node: Any) -> Value:
        before = dict(self.scope)
        for generator in node.generators:
            self.assign(generator.target, self.iterated(generator.iter, self.value(generator.iter)))
            for test in generator.ifs:
                self.branch(test, self.value(test), "if")
        made = self.value(node.value if isinstance(node, ast.DictComp) else node.elt)
        self.scope.clear()
        self.scope.update(before)
        return Value("container", parts=(made,))

    _generatorexp = _setcomp = _dictcomp = _listcomp

    def _lambda(self, node: ast.Lambda) -> Value:
        return Value("function", code=(node, self.module, self.cls, self.scope))

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.assign(node.target, value)
        return value

    def _ifexp(self, node: ast.IfExp) -> Value:
        self.branch(node.test, self.value(node.test), "if")
        return join([self.value(node.body), self.value(node.orelse)])

    def _boolop(self, node: ast.BoolOp) -> Value:
        values = [self.value(one) for one in node.values]
        for one, value in zip(node.values[:-1], values, strict=False):
            self.branch(one, value, "and" if isinstance(node.op, ast.And) else "or")
        return join(values)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            self.branch(node.operand, value, "not")
            return STATIC
        return value.own()

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.value(one) for one in (node.left, *node.comparators)]
        natures = {value.nature for value in values}
        if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            return STATIC
        member = any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
        if "tensor" in natures and (member or len(node.ops) > 1):
            self.problem(node, rules.BRANCH, ast.unparse(node))
        elif "tensor" not in natures and "setting" in natures:
            self.problem(node, rules.SETTING, ast.unparse(node))
        elif "rows" in natures and "tensor" not in natures and not natures <= {"rows", "shape"}:
            self.problem(node, rules.ROWS, ast.unparse(node))
        if natures & {"tensor", "constant"}:
            return Value("tensor" if "tensor" in natures else "constant", False)
        return STATIC

    def _binop(self, node: ast.BinOp) -> Value:
        return self.operation(node, node.op, self.value(node.left), self.value(node.right))

    def operation(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """Arithmetic of two values."""
        both = [left, right]
        if {left.nature, right.nature} == {"tensor", "rows"}:
            self.problem(node, rules.ROWS, ast.unparse(node))
        if not (left.is_tensor or right.is_tensor):
            kind = True if isinstance(op, ast.Div) else floats(both)
            return join(both) if "container" in (left.nature, right.nature) else Value(join(both).nature, kind)
        exact = floats(both) is False
        if isinstance(op, ast.Pow):
            if not exact and (right.is_tensor or right.floats is not False):
                self._library(node, ast.unparse(node), operations.SAFE)
        elif isinstance(op, (ast.Mod, ast.FloorDiv)) and not exact:
            self._library(node, ast.unparse(node), operations.SAFE)
        elif isinstance(op, ast.MatMult) and not exact:
            self._library(node, ast.unparse(node), operations.ORDER)
        nature = "tensor" if "tensor" in (left.nature, right.nature) else "constant"
        return Value(nature, True if isinstance(op, ast.Div) else floats(both))

    def _library(self, node: ast.AST, what: str, remedy: str) -> None:
        self.problem(node, rules.LIBRARY._replace(remedy=remedy), what)

    # ------------------------------------------------------------------ calls

    def _call(self, node: ast.Call) -> Value:
        from .calls import called

        return called(self, node)

    def call_function(self, function: Value, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """A function of the package, or one that was defined on the spot."""
        code, module, cls, outer = function.code
        return self.reader.call(module, cls, code, arguments, keywords, outer)
