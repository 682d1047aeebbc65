"""``Case``: what replays a divergence, and nothing more: a start, actions, and how the fast side runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..spec import Package
from .case_parts import FORMS, read_parts
from .records import Record
from .values import encoded

__all__ = ["FORMS", "Case"]


@dataclass(frozen=True, eq=False)
class Case:
    """Both sides start alike and take the same actions.

    Attributes:
        starts: the states and clocks that are injected into both sides: ``state.*`` and ``clock.*`` [rows, ...] (what
            else a record holds is dropped). None: both begin by a reset with ``seeds``.
        actions: [steps, rows, ...]; None where there are no steps.
        seeds: uint64 [rows], for a start by a reset.
        resets: how many whole resets follow the start, each to the next episode.
        masks: resets of some rows: (before which step, bool [rows]); the number of steps stands for after the last.
        watched: the rows that have a reference; all by default.
        fused: whether the fast side takes ``step_and_maybe_reset``, or ``step`` and then ``reset``.
        form: one of ``FORMS``: in what the fast side is wrapped.
        options: of the fast environment: ``resets``, ``device``, ``compile``, ``expose_state`` ..., and ``kernel``:
            whether it is the kernel form; the tensor form by default, or the only one that there is.
        constants: values in the place of the package's own, for a smaller world.
        laws: whether the package's invariants, bounds and termination causes are looked at in every state as well.
    """

    starts: Record | None = None
    actions: np.ndarray | None = None
    seeds: np.ndarray | None = None
    resets: int = 0
    masks: tuple[tuple[int, np.ndarray], ...] = ()
    watched: np.ndarray | None = None
    fused: bool = True
    form: str = "bare"
    options: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    laws: bool = False

    def __post_init__(self) -> None:
        if (self.starts is None) == (self.seeds is None):
            raise ValueError("a case starts either from injected states (starts) or by a reset (seeds)")
        if self.starts is not None:
            kept = {name: value for name, value in self.starts.items() if name.startswith(("state.", "clock."))}
            object.__setattr__(self, "starts", kept)

    @property
    def rows(self) -> int:
        """N, the batch size."""
        starts = self.seeds if self.starts is None else self.starts["clock.seed"]
        assert starts is not None
        return len(starts)

    @property
    def steps(self) -> int:
        """How many transitions it makes."""
        return 0 if self.actions is None else len(self.actions)

    @property
    def watched_rows(self) -> np.ndarray:
        """The rows that have a reference."""
        return np.arange(self.rows) if self.watched is None else self.watched

    @property
    def kernel(self) -> bool:
        """Whether the fast side is the kernel form."""
        return bool(self.options.get("kernel", False))

    @property
    def shows_state(self) -> bool:
        """Whether the fast side shows its state, so that it is compared as well."""
        return bool(self.options.get("expose_state", True)) and not self.form.startswith("VectorEnv")

    def world(self, package: Package) -> Package:
        """The package with the case's constants."""
        return package.with_constants(self.constants) if self.constants else package

    def as_json(self) -> dict[str, Any]:
        """For JSON, every bit kept."""
        return {
            "starts": None if self.starts is None else {name: encoded(value) for name, value in self.starts.items()},
            "actions": encoded(self.actions),
            "seeds": encoded(self.seeds),
            "resets": self.resets,
            "masks": [[step, encoded(mask)] for step, mask in self.masks],
            "watched": encoded(self.watched),
            "fused": self.fused,
            "form": self.form,
            "options": dict(self.options),
            "constants": dict(self.constants),
            "laws": self.laws,
        }

    @classmethod
    def from_json(cls, content: Any) -> Case:
        """What :meth:`as_json` gave. Raises ValueError that names the part that is of another form."""
        return cls(**read_parts(content))
