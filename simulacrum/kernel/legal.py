"""Whether injected states are such that a kernel can go on from them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..errors import StateError
from ..fast.core import Carry
from ..spec import Field
from ..spec.package import sibling


def check_states(cls: type, fields: dict[str, Field], carry: Carry) -> None:
    """Raise :class:`StateError` for states outside the spec's bounds, or that break an invariant of the ``checks.py``
    beside a class: loops that look up cells by what a state says would read memory that is not theirs."""
    values = {name: value.numpy() for name, value in carry.fields.items()}
    for name, field in fields.items():
        if name != "t" and not ((values[name] >= field.low) & (values[name] <= field.high)).all():
            raise StateError(f"state field {name}: expected values in [{field.low}, {field.high}]")
    state = SimpleNamespace(**values, t=carry.t.numpy())
    for invariant in sibling(cls, "checks").INVARIANTS:
        holds = np.asarray(invariant(state))
        if not holds.all():
            row, name = int(np.argmin(holds)), invariant.__name__
            raise StateError(f"state in row {row}: expected one in which the invariant {name} of spec.md holds")
