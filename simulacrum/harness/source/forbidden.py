"""What no file of a package may use: global generators, clocks, files, what tells one process from another, and modules
that are neither in the package nor in the report's list of versions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import metadata
from types import ModuleType

from ..fingerprint import DISTRIBUTIONS
from .modules import Module, Problem

DRAW = "draw with the draw argument (a slot of the spec)"
FILE = "make it a constant, or read a file with pkgutil.get_data(__package__, name)"
MODULES = ("random", "secrets", "time", "datetime", "uuid")
GENERATORS = (
    *("numpy.random", "os.urandom", "torch.random", "torch.manual_seed", "torch.seed", "torch.Generator"),
    *("torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.rand_like", "torch.randn_like"),
    *("torch.randint_like", "torch.bernoulli", "torch.multinomial", "torch.normal", "torch.poisson"),
)
# Of the standard library: what computes from its arguments alone.
STANDARD = {
    *("__future__", "abc", "base64", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal"),
    *("enum", "fractions", "functools", "hashlib", "heapq", "itertools", "json", "math", "numbers", "operator"),
    *("pkgutil", "re", "string", "struct", "types", "typing", "zlib"),
}
READS = (
    *("numpy.fromfile", "numpy.load", "numpy.genfromtxt", "numpy.fromregex", "numpy.memmap", "numpy.open_memmap"),
    *("numpy.ctypeslib", "numpy.lib.format", "numpy.lib.npyio", "numpy.DataSource", "torch.load", "torch.from_file"),
    *("torch.jit.load", "torch.hub", "torch.ops.load_library", "torch.classes.load_library", "pkgutil.resolve_name"),
    *("os.environ", "os.getenv"),
)
BUILTINS = {
    "open": ("opens a file, which the report does not cover", FILE),
    "id": ("takes an address, which is another in every process", "compare with ==, or take it out"),
    **{
        name: (f"calls {name}, which the static read cannot follow", "write it out")
        for name in ("__import__", "eval", "exec", "compile", "globals", "input")
    },
}
METHODS = ("random_", "uniform_", "normal_", "bernoulli_", "exponential_", "geometric_", "cauchy_", "log_normal_")
OUTSIDE = f"take it out; of the standard library packages use {', '.join(sorted(STANDARD))}"
KNOWN = {*(name.lower() for name in DISTRIBUTIONS), "simulacrum", "__future__", "typing_extensions"}


def problems(module: Module, adopts: str | None = None) -> Iterator[Problem]:
    """Every import and use of what a package's results must not depend on; ``adopts``: a distribution that is imported
    rightly."""
    known = KNOWN | modules_of(adopts) if adopts else KNOWN
    other = {"reference.py": ":fast", "fast.py": ":reference"}.get(module.file, "")
    passed = set(_annotations(module.tree)) if module.file == "checks.py" else set()  # rng: np.random.Generator
    if module.file == "render.py":
        passed = set(_drawing(module))
    for node in ast.walk(module.tree):
        if node in passed:
            continue
        line = getattr(node, "lineno", 0)
        for reason, remedy in _found(module, node, other, known):
            yield Problem(module.file, line, "source", reason, remedy)


def _drawing(module: Module) -> Iterator[ast.AST]:
    """The imports of Matplotlib in ``render_figure``, which draws a state and nothing else."""
    figure = module.functions.get("render_figure")
    for node in ast.walk(figure) if figure is not None else ():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if names and all(name.split(".")[0] == "matplotlib" for name in names):
            yield node


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """The names in annotations of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield from (part for part in ast.walk(node.annotation) if isinstance(part, (ast.Attribute, ast.Name)))


def modules_of(distribution: str) -> set[str]:
    """The names, in lower case, of the modules that a distribution brings; none where it is not installed."""
    return {module.lower() for module, names in metadata.packages_distributions().items() if distribution in names}


def _found(module: Module, node: ast.AST, other: str, known: set[str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _imported(alias.name, known)
    elif isinstance(node, ast.ImportFrom):
        if not node.level:
            yield from _imported(node.module or "", known)
        elif other and any(name == other or name.startswith(f"{other}.") for name in _targets(module, node)):
            yield f"imports {other[1:]}.py", "the two sides never import each other; write each from the spec"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        if node.func.id not in module.functions and node.func.id not in module.imports:
            yield BUILTINS[node.func.id]
    elif isinstance(node, (ast.Attribute, ast.Name)):
        dotted = module.dotted(node)
        if dotted in GENERATORS:
            yield f"uses {dotted}", DRAW
        elif dotted.startswith(READS):
            yield f"uses {dotted}, which reads what the report does not cover", FILE
        elif _standard(dotted) not in ("", *STANDARD):
            yield f"uses {dotted}, the standard module {_standard(dotted)}", OUTSIDE
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield f"uses .{node.attr}", DRAW


def _targets(module: Module, node: ast.ImportFrom) -> Iterator[str]:
    """The modules that ``from .a import b`` may stand for: ``:a`` and ``:a.b``; of ``from . import b``, ``:b``."""
    for alias in node.names:
        dotted = module.imports[alias.asname or alias.name]
        yield dotted.replace(":__init__.", ":")


def _standard(dotted: str) -> str:
    """The module of the standard library that a name of another library stands for (``torch.os``); "" if it is none."""
    top, *parts = dotted.split(".")
    found: object = sys.modules.get(top) if parts and top.lower() in {*KNOWN, *STANDARD} else None
    for part in parts:
        found = vars(found).get(part) if isinstance(found, ModuleType) else None
    name = found.__name__.split(".")[0] if isinstance(found, ModuleType) else ""
    return name if name in sys.stdlib_module_names else ""


def _imported(name: str, known: set[str]) -> Iterator[tuple[str, str]]:
    top = name.split(".")[0]
    if top in MODULES or name == "numpy.random":
        yield f"imports {name}", DRAW
    elif top in sys.stdlib_module_names and top not in STANDARD:
        yield f"imports {name}, by which results could depend on the process or the machine", OUTSIDE
    elif top.lower() not in known and top not in STANDARD:
        yield (
            f"imports {name}, whose version and files the report does not cover",
            "put what it needs into the package",
        )
