"""Faults that apply to any package: the classes of ``overrides``, put into a copy of an implementation."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gymnasium import spaces

from ...checks import Fault
from ...errors import PackageError
from ...spec import Package

KINDS = {
    "shape": "shape",
    "mask_and_reset": "mask and reset",
    "rules": "rules",
    "randomness": "randomness",
    "numbers": "numbers",
    "system": "system",
}
FIELD = "FIELD"  # stands for the name of each state field in turn
COMPILED = "compiled"  # the need of a fault that shows in compiled graphs alone, which not every profile compares
BASES = {"fast": "FastEnv", "reference": "ReferenceEnv"}


class Override(NamedTuple):
    """One fault as it stands in ``overrides``: what it needs, its side, its methods, the imports that they use."""

    name: str
    kind: str
    needs: tuple[str, ...]
    side: str
    body: str
    methods: tuple[str, ...]
    imports: dict[str, str]


def operators(package: Package, compiled: bool = True) -> list[Fault]:
    """The faults that can show in a package; without ``compiled`` those that show in eager mode.

    Raises :class:`~simulacrum.errors.PackageError` if the package does not import.
    """
    fields = [name for name in package.spec.fields if name != "t"]
    return [
        Fault(override.name.replace(f'"{FIELD}"', field), override.kind, _changes(package, override, field))
        for override in overrides()
        if (override.side != "fast" or "tensor" in package.forms)
        and (compiled or COMPILED not in override.needs)
        and all(NEEDS[need](package) for need in override.needs if need != COMPILED)
        for field in (fields if FIELD in override.body else [""])
    ]


@lru_cache(maxsize=1)
def overrides() -> tuple[Override, ...]:
    """What stands in ``overrides``."""
    folder = Path(__file__).with_name("overrides")
    return tuple(one for file, kind in KINDS.items() for one in _read((folder / f"{file}.py").read_text("utf-8"), kind))


def _read(text: str, kind: str) -> Iterator[Override]:
    tree = ast.parse(text)
    imports = {
        alias.asname or alias.name: ast.unparse(node)
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            name = ast.get_docstring(node)
            assert name is not None, node.name
            told = {"needs": (), "side": "fast"}
            body = []
            for part in node.body[1:]:
                target = part.targets[0].id if isinstance(part, ast.Assign) else ""  # type: ignore[attr-defined]
                if target in told:
                    told[target] = ast.literal_eval(part.value)  # type: ignore[attr-defined]
                else:
                    body.append(part)
            used = {name.id for part in body for name in ast.walk(part) if isinstance(name, ast.Name)}
            methods = tuple(part.name for part in body if isinstance(part, ast.FunctionDef))
            yield Override(
                name,
                kind,
                tuple(told["needs"]),
                str(told["side"]),
                "\n\n".join(ast.unparse(part) for part in body),
                methods,
                {name: line for name, line in imports.items() if name in used},
            )


def _changes(package: Package, override: Override, field: str) -> dict[str, list[tuple[str, str]]]:
    """The override at the end of the implementation's class, and what it imports before the class."""
    file = f"{override.side}.py"
    text = package.files[file].decode()
    node = _class(ast.parse(text), BASES[override.side], file)
    own = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    honest = [f"honest_{name} = {name}" for name in override.methods if name in own]
    body = textwrap.indent("\n\n".join(["\n".join(honest), override.body.replace(FIELD, field)]).strip(), "    ")
    lines = text.splitlines(keepends=True)
    start, end = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1, node.end_lineno
    whole = "".join(lines[start:end]).rstrip("\n")
    imports = "".join(f"{line}\n" for line in dict.fromkeys(override.imports.values()))
    return {file: [(whole, f"{imports}\n\n{whole}\n\n{body}")]}


def _class(tree: ast.Module, base: str, file: str) -> ast.ClassDef:
    """The class whose line of bases names the framework's."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(base in ast.unparse(one) for one in node.bases):
            return node
    raise PackageError(f"{file}: expected a class of its own with the base {base}")


# ---------------------------------------------------------------------- what a package has


def _draws_in(phase: str) -> Callable[[Package], bool]:
    return lambda package: any(slot.phase == phase for slot in package.spec.slots.values())


def _observes_t(package: Package) -> bool:
    """Whether the observation reads the step counter, which the source tells."""
    tree = ast.parse(package.files["fast.py"])
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "observation"]
    return any(isinstance(node, ast.Attribute) and node.attr == "t" for one in functions for node in ast.walk(one))


def _box(package: Package) -> spaces.Box | None:
    space: Any = package.environment.observation_space
    return space if isinstance(space, spaces.Box) and space.dtype.kind == "f" else None


def _vector(package: Package) -> bool:
    box = _box(package)
    return box is not None and len(box.shape) == 1 and box.shape[0] > 1


NEEDS: dict[str, Callable[[Package], bool]] = {
    "terminates": lambda package: package.spec.declared("terminates"),
    "truncates": lambda package: package.environment.max_episode_steps is not None,
    "reset draws": _draws_in("reset"),
    "step draws": _draws_in("step"),
    "box observation": lambda package: _box(package) is not None,
    "vector observation": _vector,
    "observes t": _observes_t,
    "action mask": lambda package: "action_mask" in vars(package.fast),
}
