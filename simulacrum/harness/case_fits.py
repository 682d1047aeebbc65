"""Whether a case belongs to a package: its small world, its device, its states, its actions."""

from __future__ import annotations

import shlex

import numpy as np
import torch

from ..errors import ActionError, PackageError
from ..fast.actions import ActionChecker
from ..spec import Package
from .case import Case
from .records import Record


def check_fit(package: Package, case: Case) -> None:
    """Raise :class:`~simulacrum.errors.PackageError` that names the part of a case which is none of a package's.

    A state outside of its bounds is none: no rule says what follows there, and a side may well raise.
    """
    try:
        _check_constants(package, case)
        world = case.world(package)
        if case.kernel and "kernel" not in package.forms:
            raise ValueError("case.options, kernel: expected a package with a kernel form, this one has none")
        _check_device(str(case.options.get("device", "cpu")))
        if case.starts is not None:
            _check_starts(world, case.starts)
        if case.actions is not None:
            _check_actions(world, case)
    except ValueError as error:
        again = f"find it anew with: simulacrum validate {shlex.quote(str(package.path))}"
        raise PackageError(f"the case does not fit the package: {error}: {again}") from None


def _check_constants(package: Package, case: Case) -> None:
    """Cases run in the world as it is, in a configuration, or in one of the spec's small worlds: no value of a file is
    put into a source."""
    worlds = [dict(small.constants) for small in package.spec.small_worlds]
    worlds += package.spec.configurations.values()
    if case.constants and dict(case.constants) not in worlds:
        where = "a small world of spec.md" + (", or of a configuration" if package.spec.configurations else "")
        raise ValueError(f"case.constants: expected those of {where}, {worlds}, got {case.constants}")


def _check_device(device: str) -> None:
    try:
        torch.zeros(1, device=device).tolist()
    except Exception as error:  # torch raises RuntimeError, AssertionError, NotImplementedError
        problem = str(error).splitlines()[0]
        raise ValueError(f"case.options, device {device!r}: expected one that torch can use here ({problem})") from None


def _check_starts(package: Package, starts: Record) -> None:
    """The spec's fields, each of its dtype and shape, all values within its bounds."""
    fields = package.spec.fields
    had = [name[6:] for name in starts if name.startswith("state.")]
    stated = [name for name in fields if name != "t"]
    if set(had) != set(stated):
        raise ValueError(f"it starts from a state with the fields {sorted(had)}, the package now has {sorted(stated)}")
    rows = len(starts["clock.seed"])
    for name, field in fields.items():
        part = "clock.t" if name == "t" else f"state.{name}"
        values = starts[part]
        if values.shape != (rows, *field.shape) or (name != "t" and values.dtype != field.dtype):
            form = f"{field.dtype} {[rows, *field.shape]}"
            raise ValueError(f"case.starts, {part}: expected {form}, got {values.dtype} {list(values.shape)}")
        inside = ((values >= field.low) & (values <= field.high)).reshape(rows, -1).all(axis=1)
        if not inside.all():
            row = int(np.argmin(inside))
            bounds = f"values in {field.low} .. {field.high}"
            raise ValueError(f"case.starts, {part}: expected {bounds}, got {values[row].tolist()} in row {row}")


def _check_actions(package: Package, case: Case) -> None:
    """Elements of the action space."""
    assert case.actions is not None
    space, actions = package.environment.action_space, case.actions
    shape = (case.steps, case.rows, *(space.shape or ()))
    if actions.dtype != space.dtype or actions.shape != shape:
        form = f"{space.dtype} {list(shape)}"
        raise ValueError(f"case.actions: expected {form}, got {actions.dtype} {list(actions.shape)}")
    checker = ActionChecker(space, torch.device("cpu"))
    for step, action in enumerate(actions):
        try:
            checker.check_values(torch.from_numpy(action.copy()))
        except ActionError as error:
            raise ValueError(f"case.actions, step {step + 1}: {error}") from None
