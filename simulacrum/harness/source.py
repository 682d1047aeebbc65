"""A static read of both implementations for sources of randomness and time that the contract forbids."""

from __future__ import annotations

import ast

from .context import Context

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
METHODS = ("random_", "uniform_", "normal_", "bernoulli_", "exponential_", "geometric_", "cauchy_", "log_normal_")


def forbidden_sources(context: Context) -> None:
    """Note every import and use of a global generator or a clock in ``reference.py`` and ``fast.py``."""
    for name in ("reference.py", "fast.py"):
        tree = ast.parse(context.package.files[name])
        other = "fast" if name == "reference.py" else "reference"
        for node in ast.walk(tree):
            for found in _found(node, other):
                context.problem(f"{name}:{node.lineno}: {found}")  # type: ignore[attr-defined]
        context.count("facts compared")


def _found(node: ast.AST, other: str) -> list[str]:
    remedy = "draw with the draw argument (a slot of the spec)"
    if isinstance(node, ast.Import):
        return [f"imports {alias.name}; {remedy}" for alias in node.names if alias.name.split(".")[0] in MODULES]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        names = [module, *(alias.name for alias in node.names)]
        if node.level and other in names:
            return [f"imports {other}.py; the two sides never import each other"]
        if module.split(".")[0] in MODULES or module == "numpy.random":
            return [f"imports {module}; {remedy}"]
        return []
    if isinstance(node, ast.Attribute):
        dotted = ast.unparse(node)
        if dotted in CALLS:
            return [f"uses {dotted}; {remedy}"]
        if node.attr in METHODS:
            return [f"uses .{node.attr}; {remedy}"]
    return []
