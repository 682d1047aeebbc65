"""What a subclass of ``FastEnv``, ``KernelEnv``, ``ReferenceEnv`` or ``AdoptedEnv`` may define: the functions of the
contract, and names of its own."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from ...fast import FastEnv
from ...kernel import KernelEnv
from ...originals import AdoptedEnv
from ...reference import ReferenceEnv
from .modules import Module, Problem

CONTRACT = {"initial", "transition", "observation", "action_mask", "info", "environment"}
PLAIN = {
    *("__doc__", "__module__", "__qualname__", "__slots__", "__annotations__", "__repr__", "__str__", "__dict__"),
    *("__weakref__", "__orig_bases__", "__parameters__", "__abstractmethods__", "_abc_impl"),
    *("__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__"),
}
RULES = "initial, transition, observation, action_mask, info, and helpers of other names"
INSTEAD = {
    "KernelEnv": "environment and shows; the rules are kernel.pyx's",
    "AdoptedEnv": "environment and adopts; the rules are the original's",
}
DECLARED = {"_state_class", "_field_names", "_converters"}  # which the base class itself sets on a subclass
BASES: dict[str, tuple[type, set[str]]] = {
    "FastEnv": (FastEnv, {*CONTRACT, *PLAIN, "t_dtype"}),
    "KernelEnv": (KernelEnv, {"environment", "shows", "rows_per_thread", "block", *PLAIN}),
    "AdoptedEnv": (AdoptedEnv, {"environment", "adopts", "metadata", "render", "close", *PLAIN}),
    "ReferenceEnv": (ReferenceEnv, {*CONTRACT, *PLAIN, "metadata", "render", "close"}),
}


def problems(module: Module) -> Iterator[Problem]:
    """Names of a base class that a subclass defines anew, though the contract does not list them."""
    for node in module.classes.values():
        base = base_of(module, node)
        if base is None:
            continue
        taken = _taken(base)
        for name, line in _defined(node):
            if name in taken:
                yield _problem(module.file, line, node.name, name, base)


def overrides(side: type[Any], base: str) -> Iterator[tuple[str, Problem]]:
    """The same of a class as it is when it is made, whatever put the names there: a base class of any file, a
    decorator, a statement in its body. Each with ``Class.name``; the file is that of the class, without a line."""
    ours, taken = set(BASES[base][0].__mro__), _taken(base) - DECLARED
    for cls in side.__mro__:
        if cls not in ours:
            file = cls.__module__.partition(".")[2].replace(".", "/") + ".py"
            for name in sorted(taken.intersection(vars(cls))):
                yield f"{cls.__name__}.{name}", _problem(file, 0, cls.__name__, name, base)


def _taken(base: str) -> set[str]:
    """The names that a base class has, or that its instances have, but for those of the contract."""
    cls, allowed = BASES[base]
    start: Any = cls.__init__  # type: ignore[misc]
    made = set(start.__code__.co_names) - set(start.__globals__) - set(dir(builtins))  # the attributes that it sets
    return {*dir(cls), *made} - allowed


def _problem(file: str, line: int, cls: str, name: str, base: str) -> Problem:
    reason = f"{cls}.{name} overrides what {base} does by itself"
    allowed = INSTEAD.get(base, RULES)
    remedy = f"define {allowed}"
    return Problem(file, line, "override", reason, remedy)


def base_of(module: Module, node: ast.ClassDef) -> str | None:
    """Which of ``BASES`` a class descends from, perhaps by way of another class of the file; None of others."""
    for base in node.bases:
        base = base.value if isinstance(base, ast.Subscript) else base
        name = module.dotted(base).rpartition(".")[2] or (base.id if isinstance(base, ast.Name) else "")
        if name in BASES:
            return name
        if name in module.classes and module.classes[name] is not node:
            found = base_of(module, module.classes[name])
            if found:
                return found
    return None


def _defined(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """The names that a class body defines, with their lines."""
    for part in node.body:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield part.name, part.lineno
        elif isinstance(part, (ast.Assign, ast.AnnAssign)):
            for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
                if isinstance(target, ast.Name):
                    yield target.id, part.lineno
