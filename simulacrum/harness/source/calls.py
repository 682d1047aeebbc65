"""What a static read knows of calls: of the draw, of tensors' methods, of torch, of builtins, of the package's own."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from . import operations, rules
from .expressions import COMPARERS, CONSTANTS, CONVERSIONS, ITERATORS, MUTATORS
from .values import ROWS, STATIC, Value, join

if TYPE_CHECKING:
    from .expressions import Expressions

Keywords = Mapping[str, Value]


def called(frame: Expressions, node: ast.Call) -> Value:
    """What a call gives."""
    function = node.func
    base = frame.value(function.value) if isinstance(function, ast.Attribute) else None
    arguments = [_argument(frame, one) for one in node.args]
    keywords = {one.arg or "**": frame.value(one.value) for one in node.keywords}
    if "out" in keywords and keywords["out"].lent:
        frame.problem(node, rules.WRITTEN, f"out= of {ast.unparse(function)}")
    if isinstance(function, ast.Attribute) and base is not None:
        if base.nature == "self":
            return _own(frame, node, function, arguments, keywords)
        if base.nature == "draw":
            return _drawn(frame, function)
        if base.is_tensor:
            return _torch(frame, node, function.attr, base, arguments, keywords)
        if base.nature == "container" or base.lent:
            return _kept(frame, node, function, base, arguments)
    dotted = frame.module.dotted(function)
    frame._reads(function, dotted)
    if isinstance(function, ast.Name):
        value = frame.value(function)
        if value.nature == "function":
            return frame.call_function(value, arguments, keywords)
        if not dotted and function.id in frame.module.classes:
            return _made(frame, function.id, arguments, keywords)
        if not dotted:
            return _builtin(frame, node, function.id, arguments, keywords)
    place = frame.reader.sources.find(dotted)
    if place is not None:
        value = frame._global(*place)
        return frame.call_function(value, arguments, keywords) if value.nature == "function" else join(arguments)
    return _imported(frame, node, dotted, arguments, keywords)


def _argument(frame: Expressions, node: ast.expr) -> Value:
    if isinstance(node, ast.Starred):
        return frame.iterated(node.value, frame.value(node.value))
    return frame.value(node)


def _own(
    frame: Expressions, node: ast.Call, function: ast.Attribute, arguments: list[Value], keywords: Keywords
) -> Value:
    """A method of the environment: a constant, or a helper, which is read."""
    name = function.attr
    if name in CONSTANTS or name == "constant":
        if any(one.nature == "rows" for one in arguments):
            frame.problem(node, rules.ROWS, ast.unparse(node))
        return Value("constant", CONSTANTS.get(name, _cast(frame, node)), lent=True)
    frame.value(function)
    for part in frame.cls.body if frame.cls is not None else ():
        if isinstance(part, ast.FunctionDef) and part.name == name:
            plain = any(ast.unparse(one) == "staticmethod" for one in part.decorator_list)
            given = arguments if plain else [frame.reader.given("self"), *arguments]
            return frame.reader.call(frame.module, frame.cls, part, given, keywords)
    return join([*arguments, *keywords.values()]).own()


def _drawn(frame: Expressions, function: ast.Attribute) -> Value:
    frame.value(function)
    return Value("tensor", function.attr == "uniform")


def _torch(
    frame: Expressions, node: ast.Call, name: str, base: Value, arguments: list[Value], keywords: Keywords
) -> Value:
    """A method of a tensor, or a function of torch whose first argument is ``base``."""
    text = ast.unparse(node.func)
    if name in operations.LEAVES and base.nature == "tensor":
        frame.problem(node, rules.LEFT, text)
        return STATIC
    if name.endswith("_") and not name.endswith("__") and base.lent:
        frame.problem(node, rules.WRITTEN, text)
    over_all = not arguments and not {"dim", "axis"} & {*keywords}
    if name in operations.REDUCTIONS and base.nature == "tensor" and over_all:
        frame.problem(node, rules.BATCH, ast.unparse(node))
    cast = _cast(frame, node)
    given = [one for one in (base, *arguments, *keywords.values()) if one.is_tensor or one.nature == "container"]
    values = [part for one in given for part in (one.parts if one.nature == "container" else (one,))]
    power = name == "pow" and bool(arguments) and arguments[0].floats is False and not arguments[0].is_tensor
    remedy = "" if power else operations.outside_the_float_rule(name, values, cast)
    if remedy and any(one.is_tensor for one in values):
        frame._library(node, text, remedy)
    return operations.result(name, base, arguments, keywords, cast)


def _cast(frame: Expressions, node: ast.Call) -> bool | None:
    """Whether a call names a dtype of floats, by ``dtype=`` or, in ``.to(...)``, as an argument."""
    for one in (*(keyword.value for keyword in node.keywords if keyword.arg == "dtype"), *node.args):
        if isinstance(one, ast.Attribute) and frame.module.dotted(one).startswith(("torch.", "numpy.")):
            found = operations.dtype_of(one.attr)
            if found is not None:
                return found
    return None


def _kept(frame: Expressions, node: ast.Call, function: ast.Attribute, base: Value, arguments: list[Value]) -> Value:
    """A method of a container, which may grow, or of something that outlives the call."""
    name = function.attr
    if name in MUTATORS:
        frame.written(node, base)
        if isinstance(function.value, ast.Name) and not base.lent:
            frame.scope[function.value.id] = Value("container", parts=(*base.parts, *arguments))
        return base.element()
    if name == "items":
        return Value("container", parts=(Value("container", parts=(STATIC, base.element())),))
    if name in ("values", "copy"):
        return Value("container", parts=base.parts, names=base.names if name == "copy" else ())
    return base.element().own() if base.nature == "container" and name == "get" else STATIC


def _made(frame: Expressions, name: str, arguments: list[Value], keywords: Keywords) -> Value:
    """An instance of a class of the file, which holds what it is given."""
    declared = [part.target for part in frame.module.classes[name].body if isinstance(part, ast.AnnAssign)]
    fields = [target.id for target in declared if isinstance(target, ast.Name)]
    given = {**dict(zip(fields, arguments, strict=False)), **keywords}
    return Value("container", parts=tuple(given.values()), names=tuple(given))


def _builtin(frame: Expressions, node: ast.Call, name: str, arguments: list[Value], keywords: Keywords) -> Value:
    text = ast.unparse(node)
    tensors = [value for value in arguments if value.nature == "tensor"]
    first = arguments[0] if arguments else STATIC
    if name == "len":
        return ROWS if first.nature == "tensor" else STATIC
    if name in ("isinstance", "hasattr", "type", "id", "callable", "super", "issubclass"):
        return STATIC
    if name == "getattr":
        return first.own()
    if name == "setattr":
        frame.written(node, first)
        return STATIC
    if name in CONVERSIONS:
        if tensors:
            frame.problem(node, rules.LEFT, text)
        return STATIC
    if name in COMPARERS and len(arguments) > 1:
        if tensors:
            frame.problem(node, rules.BRANCH, text)
        return join(arguments)
    if name in (*ITERATORS, *COMPARERS, "sum"):
        return _iterating(frame, node, name, arguments)
    if name in ("map", "filter") and len(arguments) > 1:
        elements = [frame.iterated(node, one) for one in arguments[1:]]
        made = frame.call_function(first, elements, {}) if first.nature == "function" else join(elements)
        return Value("container", parts=(made if name == "map" else elements[0],))
    if name == "range":
        if tensors:
            frame.problem(node, rules.LEFT, text)
        elif any(value.nature == "rows" for value in arguments):
            frame.problem(node, rules.ROWS, text)
        return Value("container", parts=(Value("static", False),))
    if name == "dict":
        return Value("container", parts=tuple(keywords.values()), names=tuple(keywords))
    return join(arguments).own()


def _iterating(frame: Expressions, node: ast.Call, name: str, arguments: list[Value]) -> Value:
    elements = [frame.iterated(node, one) for one in arguments]
    element = join(elements)
    if name in ("any", "all", *COMPARERS):
        frame.branch(node, element, "asks")
        return element
    if name in ("sum", "next"):
        return element.own()
    if name == "enumerate":
        element = Value("container", parts=(STATIC, elements[0]))
    if name == "zip":
        element = Value("container", parts=tuple(elements))
    return Value("container", parts=(element,))


def _imported(frame: Expressions, node: ast.Call, dotted: str, arguments: list[Value], keywords: Keywords) -> Value:
    """A function of torch or of another library."""
    top, name = dotted.split(".")[0], dotted.rpartition(".")[2]
    given = [*arguments, *keywords.values()]
    if top == "math" and any(one.nature == "tensor" for one in given):
        frame.problem(node, rules.LEFT, ast.unparse(node))
        return STATIC
    if top == "functools" and name == "reduce" and len(arguments) > 1 and arguments[0].nature == "function":
        element = frame.iterated(node, arguments[1])
        return frame.call_function(arguments[0], [element.own(), element], {})
    if top in ("torch", "numpy"):
        base = next((one for one in given if one.is_tensor or one.nature == "container"), STATIC)
        rest = [one for one in arguments if one is not base]
        return _torch(frame, node, name, base, rest, keywords)
    return join(given).own()
