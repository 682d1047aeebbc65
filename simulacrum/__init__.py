"""Vectorised reinforcement-learning environments that can be trusted: written twice, compared bit by bit."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .spec.environment import Environment

if TYPE_CHECKING:
    from .checks import ScriptedPolicy
    from .fast import FastEnv, tensor_state
    from .reference import ReferenceEnv

__version__ = "0.1.0"

__all__ = ["Environment", "FastEnv", "ReferenceEnv", "ScriptedPolicy", "__version__", "tensor_state"]

_LAZY = {
    "FastEnv": "fast",
    "ReferenceEnv": "reference",
    "ScriptedPolicy": "checks",
    "tensor_state": "fast",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
