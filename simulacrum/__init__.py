"""Vectorised reinforcement-learning environments that can be trusted: written twice, compared bit by bit.

Importing it registers every known environment with Gymnasium, and imports neither torch nor any environment.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import GateError, SimulacrumError
from .registry import make_fast, register_known

if TYPE_CHECKING:
    from .checks import Fault, ScriptedPolicy, Symmetry
    from .collector import BatchCollector
    from .fast import FastEnv, tensor_state
    from .kernel import KernelEnv
    from .originals import AdoptedEnv, Adoption, adopt
    from .reference import ReferenceEnv
    from .spec.environment import Environment

__version__ = "0.1.0"

__all__ = [
    "AdoptedEnv",
    "Adoption",
    "BatchCollector",
    "Environment",
    "FastEnv",
    "Fault",
    "GateError",
    "KernelEnv",
    "ReferenceEnv",
    "ScriptedPolicy",
    "SimulacrumError",
    "Symmetry",
    "__version__",
    "adopt",
    "make_fast",
    "tensor_state",
]

_LAZY = {
    "AdoptedEnv": "originals",
    "Adoption": "originals",
    "BatchCollector": "collector",
    "Environment": "spec.environment",
    "FastEnv": "fast",
    "Fault": "checks",
    "KernelEnv": "kernel",
    "ReferenceEnv": "reference",
    "ScriptedPolicy": "checks",
    "Symmetry": "checks",
    "adopt": "originals",
    "tensor_state": "fast",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


register_known()
