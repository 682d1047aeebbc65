"""Which names are public, and what the functions behind them raise: read from the sources."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import textwrap
from typing import Any, NamedTuple

from simulacrum import errors

# What each module lets others import. A name that is added or taken away is a change of what users rely on.
PUBLIC = {
    "simulacrum": [
        *("AdoptedEnv", "Adoption", "BatchCollector", "Environment", "FastEnv", "Fault", "GateError", "KernelEnv"),
        *("ReferenceEnv", "ScriptedPolicy", "SimulacrumError", "Symmetry", "__version__", "adopt", "make_fast"),
        "tensor_state",
    ],
    "simulacrum.bits": ["Digest", "exactly", "pair_shown", "raw", "same", "same_rows", "shown"],
    "simulacrum.checks": ["Fault", "ScriptedPolicy", "Symmetry"],
    "simulacrum.collector": ["BatchCollector"],
    "simulacrum.compare": ["CompareError", "Comparison", "Intended", "Target", "compare", "replay"],
    "simulacrum.errors": [
        *("ActionError", "BuildError", "DrawError", "DrawTypeError", "GateError", "OutputError", "PackageError"),
        *("SeedError", "SimulacrumError", "SpaceError", "SpecError", "StateError"),
    ],
    "simulacrum.export": [
        *("COLUMNS", "Column", "Entry", "Identity", "Pack", "PackError", "Skipped", "export", "read"),
    ],
    "simulacrum.fast": ["FastEnv", "tensor_state"],
    "simulacrum.harness": ["Report", "require_fresh_report", "run"],
    "simulacrum.harness.finding": ["Finding"],
    "simulacrum.harness.gate": ["Refusal", "admit", "admit_fast", "covered", "require_fresh_report"],
    "simulacrum.harness.profile": ["DEFAULT", "PROFILES", "Profile", "QUICK"],
    "simulacrum.harness.runner": ["Finding", "run", "run_check"],
    "simulacrum.kernel": ["KernelEnv"],
    "simulacrum.native": ["Source", "build", "cache_directory", "enabled", "load"],
    "simulacrum.originals": ["AdoptedEnv", "Adoption", "KeyedGenerator", "adopt"],
    "simulacrum.parallel": ["ParallelView", "parallel_env"],
    "simulacrum.reference": ["ReferenceEnv", "state_of"],
    "simulacrum.registry": [
        *("Known", "known", "make_fast", "make_reference", "make_vector", "register_known", "resolve"),
    ],
    "simulacrum.render": [
        *("COLOUR", "FIGURE", "MODES", "Screen", "coloured", "frame", "open_window", "options_of", "window_possible"),
    ],
    "simulacrum.rng": ["Draw", "MAX_SLOT", "Phase", "episode_key", "instance_seed", "seed_key", "threefry2x32"],
    "simulacrum.rng.fixed": ["FixedDraw", "FixedRows"],
    "simulacrum.rng.recorded": ["Made", "RecordedDraw"],
    "simulacrum.rng.tensor": ["Draw", "episode_keys", "instance_seeds", "seed_bits", "seed_keys"],
    "simulacrum.spec": [
        *("Environment", "Example", "Field", "Package", "Policy", "ResetExample", "Slot", "SmallWorld", "Spec"),
    ],
    "simulacrum.trajectory": [
        *("BatchRecorder", "End", "Episode", "FORMAT", "First", "Metadata", "Recorder", "SOURCES", "Sink", "Step"),
        *("Trajectory", "TrajectoryError", "copy", "create", "events", "from_tensordict", "read", "write"),
    ],
    "simulacrum.trajectory.picker": [
        *("Broken", "Mark", "Summary", "best", "broken", "causes", "highest", "longest", "marked", "read_scores"),
        *("sample", "scored", "shortest", "split", "summaries", "worst"),
    ],
    "simulacrum.vector": ["FastVectorEnv"],
}
DATA = {
    *("simulacrum.__version__", "simulacrum.export.COLUMNS", "simulacrum.rng.MAX_SLOT"),
    *("simulacrum.trajectory.FORMAT", "simulacrum.trajectory.SOURCES"),
    *(f"simulacrum.render.{name}" for name in ("COLOUR", "FIGURE", "MODES")),
    *(f"simulacrum.harness.profile.{name}" for name in ("DEFAULT", "PROFILES", "QUICK")),
}
ERRORS = {*errors.__all__, "PackError", "TrajectoryError", "ValueError", "TypeError", "KeyError", "ResetNeeded"}
DEEP = 2  # calls that are followed from a function to what it raises


class Name(NamedTuple):
    """A public name: where it is defined, what it is, and for a method its class."""

    path: str
    value: Any
    owner: type | None = None

    @property
    def doc(self) -> str:
        """Its own docstring, none that it inherits."""
        return str(self.value.__doc__ or "")

    @property
    def told(self) -> str:
        """What is told of it: with what its class tells."""
        return self.doc + str(self.owner.__doc__ if self.owner else "")

    @property
    def word(self) -> str:
        """What it is called."""
        return self.path.rpartition(".")[2]


def path_of(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def function_of(value: Any) -> Any:
    """The function behind a method, a property or a function."""
    for attribute in ("__func__", "fget", "func"):
        value = getattr(value, attribute, value)
    return value


def methods(cls: type) -> dict[str, Any]:
    """The public methods and properties that the framework gives a class."""
    kinds = (classmethod, staticmethod, property, functools.cached_property)
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("simulacrum"):
            found |= {n: v for n, v in vars(base).items() if inspect.isfunction(v) or isinstance(v, kinds)}
    return {name: value for name, value in found.items() if not name.startswith("_")}


def public() -> list[Name]:
    """Every public name once, where it is defined, with the methods of the classes among them."""
    found = {}
    for module, names in PUBLIC.items():
        for name in names:
            value = getattr(importlib.import_module(module), name)
            path = f"{module}.{name}" if f"{module}.{name}" in DATA else path_of(value)
            found[path] = Name(path, value)
    classes = [one.value for one in found.values() if inspect.isclass(one.value)]
    for cls in classes:
        inherited = {v for base in cls.__mro__[1:] if base in classes for v in methods(base).values()}
        for name, value in methods(cls).items():
            if value not in inherited:
                found[f"{path_of(cls)}.{name}"] = Name(f"{path_of(cls)}.{name}", value, cls)
    return sorted(found.values())


def raised(function: Any, owner: type | None, depth: int = DEEP) -> set[str]:
    """The errors that a function raises, in itself or in functions of the framework that it calls."""
    function = inspect.unwrap(function)
    if not inspect.isfunction(function) or not function.__module__.startswith("simulacrum"):
        return set()
    if function.__code__.co_filename.startswith("<"):  # what a dataclass makes
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))

    def inside(node: ast.AST) -> set[str]:
        if isinstance(node, ast.Try):
            tried = set().union(*map(inside, node.body))
            rest = map(inside, (*node.handlers, *node.orelse, *node.finalbody))
            return (tried - caught(node, function)).union(*rest)
        found = set().union(*map(inside, ast.iter_child_nodes(node)))
        if isinstance(node, ast.Raise) and node.exc is not None:
            raising = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            found.add(ast.unparse(raising).rpartition(".")[2])
        if isinstance(node, ast.Call) and depth:
            found |= raised(called(node.func, function, owner), owner, depth - 1)
        return found & ERRORS

    return inside(tree)


def caught(node: ast.Try, function: Any) -> set[str]:
    """The errors that handlers keep from going on as they came."""
    found: set[str] = set()
    for handler in node.handlers:
        goes_on = any(isinstance(part, ast.Raise) and part.exc is None for part in ast.walk(handler))
        if handler.type is not None and not goes_on:
            types = eval(ast.unparse(handler.type), function.__globals__)
            found |= {one.__name__ for one in (types if isinstance(types, tuple) else (types,))}
    return ERRORS if "Exception" in found else found


def called(node: ast.expr, function: Any, owner: type | None) -> Any:
    """What a call calls, where it is told by a name, or is a method of the class."""
    if isinstance(node, ast.Name):
        return function.__globals__.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
        return function_of(inspect.getattr_static(owner, node.attr, None)) if owner else None
    return None


def raised_by(name: Name) -> set[str]:
    if not inspect.isclass(name.value):
        return raised(function_of(name.value), name.owner)
    makers = (inspect.getattr_static(name.value, maker, None) for maker in ("__init__", "__post_init__"))
    return set().union(*(raised(maker, name.value) for maker in makers))
