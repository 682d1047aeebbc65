"""A static read of a package's sources for what the report cannot vouch for: global generators, clocks, files, and
modules that are neither in the package nor in the report's list of versions."""

from __future__ import annotations

import ast
import sys

from .context import Context
from .fingerprint import DISTRIBUTIONS

MODULES = ("random", "secrets", "time", "datetime", "uuid")
CALLS = (
    "numpy.random",
    "np.random",
    "os.urandom",
    "torch.rand",
    "torch.randn",
    "torch.randint",
    "torch.rand_like",
    "torch.randn_like",
    "torch.randint_like",
    "torch.randperm",
    "torch.bernoulli",
    "torch.multinomial",
    "torch.normal",
    "torch.poisson",
    "torch.manual_seed",
    "torch.seed",
    "torch.Generator",
    "torch.random",
)
READS = ("os.environ", "os.getenv", "os.environb")
KNOWN = {*(name.lower() for name in DISTRIBUTIONS), "simulacrum", "__future__", "typing_extensions"}
METHODS = ("random_", "uniform_", "normal_", "bernoulli_", "exponential_", "geometric_", "cauchy_", "log_normal_")


def forbidden_sources(context: Context) -> None:
    """Note every import and use of what a package's results must not depend on."""
    sources = {name: data for name, data in context.package.files.items() if name.endswith(".py")}
    for name, data in sources.items():
        other = {"reference.py": "fast", "fast.py": "reference"}.get(name, "")
        for node in ast.walk(ast.parse(data)):
            for found in _found(node, other):
                context.problem(f"{name}:{node.lineno}: {found}")  # type: ignore[attr-defined]
        context.count("facts compared")


def _found(node: ast.AST, other: str) -> list[str]:
    remedy = "draw with the draw argument (a slot of the spec)"
    if isinstance(node, ast.Import):
        return [problem for alias in node.names for problem in _imported(alias.name)]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            names = [module, *(alias.name for alias in node.names)]
            return [f"imports {other}.py; the two sides never import each other"] if other and other in names else []
        return _imported(module)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
        return ["opens a file, which the report does not cover; read it with pkgutil.get_data(__package__, name)"]
    if isinstance(node, ast.Attribute):
        dotted = ast.unparse(node)
        if dotted in CALLS:
            return [f"uses {dotted}; {remedy}"]
        if dotted in READS:
            return [f"reads {dotted}, which the report does not cover; make it a constant"]
        if node.attr in METHODS:
            return [f"uses .{node.attr}; {remedy}"]
    return []


def _imported(module: str) -> list[str]:
    top = module.split(".")[0]
    if top in MODULES or module == "numpy.random":
        return [f"imports {module}; draw with the draw argument (a slot of the spec)"]
    if top.lower() not in KNOWN and top not in sys.stdlib_module_names:
        return [
            f"imports {module}, whose version and files the report does not cover; put what it needs into the package"
        ]
    return []
