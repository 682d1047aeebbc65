"""``simulacrum list``: the known environments, and whether they load."""

from __future__ import annotations

from pathlib import Path

from ..errors import SimulacrumError
from ..harness.gate import covered
from ..registry import Known, known
from ..spec import Package
from .codes import PASSED


def show() -> int:
    """Print ID, path, source and state of each known environment; the exit code."""
    found = known()
    for one in sorted(found, key=lambda one: (one.id or "~", str(one.path))):
        print(one.id or "(no ID)")
        told = {"path": one.path, "source": one.source, "state": _state(one), "problem": one.problem}
        for name, value in told.items():
            for number, line in enumerate(str(value or "").splitlines()):
                print(f"  {'' if number else name:<8} {line}")
    if not found:
        print("No environment is known. Begin one: simulacrum new NAME; make one known: simulacrum validate PATH")
    return PASSED


def _state(one: Known) -> str:
    """``fresh`` and the forms that load, or why the gate refuses it; of several configurations, of each."""
    if one.path is None:
        return ""
    try:
        configs = list(Package.read(one.path).spec.configurations)
    except SimulacrumError as error:
        return str(error)
    if not configs:
        return _loads(one.path, None)
    return "\n".join(f"{config}: {_loads(one.path, config)}" for config in configs)


def _loads(path: Path, config: str | None) -> str:
    try:
        return f"fresh: {'; '.join(covered(path, config)) or 'the reference alone'}"
    except SimulacrumError as error:
        return str(error)
