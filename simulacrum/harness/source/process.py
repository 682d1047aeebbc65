"""What changes the process that imports a package, or the modules that the package imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .modules import Module, Problem

SETTERS = (
    *("torch.set_", "torch.use_deterministic_algorithms", "torch.autograd.set_", "torch.multiprocessing.set_"),
    *("torch.cuda.set_", "torch.backends.", "torch.jit.set_", "numpy.set", "numpy.seterr", "locale."),
    *("warnings.filter", "warnings.simplefilter", "warnings.resetwarnings", "sys.set", "os.chdir", "os.putenv"),
    *("os.umask", "os.nice", "gc.", "signal.", "atexit.", "logging.basicConfig", "logging.disable"),
    *("decimal.setcontext", "gymnasium.register"),
)
AT_IMPORT = ("os.", "sys.", "warnings.", "locale.", "logging.", "threading.", "multiprocessing.", "subprocess.")
HARMLESS = ("os.path.", "logging.getLogger")
REMEDY = "whoever imports the package keeps the process as it is; take it out"


def problems(module: Module) -> Iterator[Problem]:
    """Calls that change settings, anywhere; and at import anything but the making of constants."""
    at_import = {id(node) for node in _at_import(module.tree)}
    for node in ast.walk(module.tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Call):
            dotted = module.dotted(node.func)
            called = ast.unparse(node.func)
            if dotted.startswith(SETTERS):
                yield Problem(module.file, line, "process", f"{called} changes a setting of the process", REMEDY)
            elif id(node) in at_import and dotted.startswith(AT_IMPORT) and not dotted.startswith(HARMLESS):
                yield Problem(module.file, line, "process", f"{called} is called when the package is imported", REMEDY)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and id(node) in at_import:
            reason = f"{ast.unparse(node.value.func)} is called at import for its effect"
            yield Problem(module.file, line, "process", reason, REMEDY)
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
            for target in _targets(node):
                if _imported(module, target):
                    reason = f"{ast.unparse(target)} is set: it belongs to another module"
                    yield Problem(module.file, line, "process", reason, REMEDY)


def _at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in (*node.decorator_list, node.args):
                yield part
                yield from _at_import(part)
        elif not isinstance(node, ast.Lambda):
            yield from _at_import(node)


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) -> list[ast.expr]:
    return node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]


def _imported(module: Module, target: ast.expr) -> bool:
    """Whether an assignment's target is a part of something imported: ``torch.x = ``, ``os.environ[...] = ``."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Attribute):
        return False
    return bool(module.dotted(target)) or (isinstance(target.value, ast.Name) and target.value.id in module.classes)
