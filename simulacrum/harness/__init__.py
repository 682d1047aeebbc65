"""The validation battery, its report, and the gate.

``run(package, profile)`` runs the battery; ``Report`` is what it gives; ``require_fresh_report(env)`` admits or
refuses. Each is imported when it is asked for, so that the gate works without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .gate import require_fresh_report
    from .report import Report
    from .runner import run

__all__ = ["Report", "require_fresh_report", "run"]

_LAZY = {"Report": "report", "require_fresh_report": "gate", "run": "runner"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
