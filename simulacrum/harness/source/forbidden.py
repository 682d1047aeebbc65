"""What no file of a package may use: global generators, clocks, files, and modules that are neither in the package nor
in the report's list of versions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from ..fingerprint import DISTRIBUTIONS
from .modules import Module, Problem

DRAW = "draw with the draw argument (a slot of the spec)"
MODULES = ("random", "secrets", "time", "datetime", "uuid")
GENERATORS = (
    *("numpy.random", "os.urandom", "torch.random", "torch.manual_seed", "torch.seed", "torch.Generator"),
    *("torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.rand_like", "torch.randn_like"),
    *("torch.randint_like", "torch.bernoulli", "torch.multinomial", "torch.normal", "torch.poisson"),
)
READS = ("os.environ", "os.getenv", "os.environb")
METHODS = ("random_", "uniform_", "normal_", "bernoulli_", "exponential_", "geometric_", "cauchy_", "log_normal_")
KNOWN = {*(name.lower() for name in DISTRIBUTIONS), "simulacrum", "__future__", "typing_extensions"}


def problems(module: Module) -> Iterator[Problem]:
    """Every import and use of what a package's results must not depend on."""
    other = {"reference.py": ":fast", "fast.py": ":reference"}.get(module.file, "")
    for node in ast.walk(module.tree):
        line = getattr(node, "lineno", 0)
        for reason, remedy in _found(module, node, other):
            yield Problem(module.file, line, "source", reason, remedy)


def _found(module: Module, node: ast.AST, other: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _imported(alias.name)
    elif isinstance(node, ast.ImportFrom):
        if not node.level:
            yield from _imported(node.module or "")
        elif other and any(name == other or name.startswith(f"{other}.") for name in _targets(module, node)):
            yield f"imports {other[1:]}.py", "the two sides never import each other; write each from the spec"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
        yield "opens a file, which the report does not cover", "read it with pkgutil.get_data(__package__, name)"
    elif isinstance(node, (ast.Attribute, ast.Name)):
        dotted = module.dotted(node)
        if dotted in GENERATORS:
            yield f"uses {dotted}", DRAW
        elif dotted in READS:
            yield f"reads {dotted}, which the report does not cover", "make it a constant"
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield f"uses .{node.attr}", DRAW


def _targets(module: Module, node: ast.ImportFrom) -> Iterator[str]:
    """The modules that ``from .a import b`` may stand for: ``:a`` and ``:a.b``; of ``from . import b``, ``:b``."""
    for alias in node.names:
        dotted = module.imports[alias.asname or alias.name]
        yield dotted.replace(":__init__.", ":")


def _imported(name: str) -> Iterator[tuple[str, str]]:
    top = name.split(".")[0]
    if top in MODULES or name == "numpy.random":
        yield f"imports {name}", DRAW
    elif top.lower() not in KNOWN and top not in sys.stdlib_module_names:
        yield (
            f"imports {name}, whose version and files the report does not cover",
            "put what it needs into the package",
        )
