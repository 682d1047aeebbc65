"""What calls take and give, held against later writes, and written over to see who still reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tensordict import TensorDictBase
from torch import Tensor

from .. import bits
from ..fast import FastEnv
from ..reference import ReferenceEnv
from ..vector import FastVectorEnv
from .records import Record

Told = tuple[str, Any]  # "took" or "gave", and what
Driver = Callable[[Any, list[Tensor]], Iterator[Told]]


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The arrays and tensors in something nested, by name, as arrays in the same memory."""
    if isinstance(value, TensorDictBase):
        for key, part in value.items(include_nested=True, leaves_only=True):
            yield from leaves(part, f"{name}.{'.'.join(key) if isinstance(key, tuple) else key}")
    elif isinstance(value, Tensor):
        yield name.lstrip("."), value.detach().cpu().numpy()
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield name.lstrip("."), value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{name}.{key}")
    elif _numbers(value):
        yield name.lstrip("."), np.array(value)
    elif isinstance(value, (tuple, list, np.ndarray)):
        for number, part in enumerate(value):
            yield from leaves(part, f"{name}.{number}")


def copied(value: Any) -> Record:
    """Copies of the arrays in something nested, by name."""
    return {name: array.copy() for name, array in leaves(value)}


def changed(value: Any, copies: Record) -> str | None:
    """The name of an array that is no longer what was copied; None where there is none."""
    return next((name for name, array in leaves(value) if not bits.same(array, copies[name])), None)


def scribble(value: Any) -> None:
    """Write other values over every array, tensor and list of numbers that may be written."""
    if _numbers(value):
        value[:] = [not one if isinstance(one, bool) else one + 3 for one in value]
    elif isinstance(value, dict):
        for part in value.values():
            scribble(part)
    elif isinstance(value, (tuple, list)):
        for part in value:
            scribble(part)
    else:
        for _, array in leaves(value):
            if array.flags.writeable:
                array[...] = ~array if array.dtype.kind == "b" else array + np.asarray(3, array.dtype)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], (bool, int, float))


class Kept:
    """Arrays that calls took or gave, held for as long as this lives."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, Any, Record]] = []

    def hold(self, what: str, value: Any) -> None:
        """Hold the arrays in something nested."""
        self.entries.append((what, value, copied(value)))

    def written(self) -> str | None:
        """What was written since it was held, in words."""
        for what, value, copies in self.entries:
            name = changed(value, copies)
            if name is not None:
                return f"{what}{': ' if name else ''}{name}"
        return None


# ---------------------------------------------------------------------- the ways to step: each tells what a call is
# about to take, then what it gave


def fused(env: FastEnv[Any], actions: list[Tensor]) -> Iterator[Told]:
    """A reset, then ``step_and_maybe_reset`` with each of the actions."""
    td = env.reset()
    yield "gave", td.copy()  # the same tensors in a TensorDict of its own, for the caller's gets the action
    for action in actions:
        yield "took", action
        done, td = env.step_and_maybe_reset(td.set(env.action_key, action))
        yield "gave", (done.get("next").copy(), td.copy())


def plain(env: FastEnv[Any], actions: list[Tensor]) -> Iterator[Told]:
    """A reset, then ``step`` and a reset of the rows that ended."""
    td = env.reset()
    yield "gave", td.copy()
    for action in actions:
        yield "took", action
        done = env.step(td.set(env.action_key, action))
        td = env.maybe_reset(env.step_mdp(done))
        yield "gave", (done.get("next").copy(), td.copy())


def tensors(env: FastEnv[Any], actions: list[Tensor]) -> Iterator[Told]:
    """The same without TensorDicts, on a batch ``[N]``."""
    yield "gave", env.plain_reset()
    for action in actions:
        yield "took", action
        yield "gave", env.plain_step_and_reset(action)


def vector(mode: str) -> Driver:
    """A reset and steps of the vector adapter, in an autoreset mode; in ``Disabled`` with resets by mask."""

    def drive(env: FastEnv[Any], actions: list[Tensor]) -> Iterator[Told]:
        adapter = FastVectorEnv(env, autoreset_mode=mode)
        yield "gave", adapter.reset()
        for action in actions:
            array = action.numpy()
            yield "took", array
            shown = adapter.step(array)
            mask = shown[2] | shown[3]
            yield "gave", shown
            if mode == "Disabled" and mask.any():
                yield "took", mask
                yield "gave", adapter.reset(options={"reset_mask": mask})

    return drive


DRIVERS: dict[str, Driver] = {
    "step_and_maybe_reset": fused,
    "step, then reset": plain,
    "plain_step_and_reset": tensors,
    **{f"VectorEnv {mode}": vector(mode) for mode in ("NextStep", "SameStep", "Disabled")},
}


def reference(env: ReferenceEnv[Any], actions: list[Tensor]) -> Iterator[Told]:
    """A reset of a reference and steps, and now and then its state, read and entered again."""
    yield "gave", env.reset(seed=0)
    for number, action in enumerate(actions):
        array = action.numpy()
        given = array if array.ndim else array[()]
        yield "took", given
        shown = env.step(given)
        over = shown[2] or shown[3]
        yield "gave", shown
        if over:
            yield "gave", env.reset()
        if number % 8 == 7:
            yield "gave", env.get_state()
            snapshot = env.get_state()
            yield "took", snapshot
            yield "gave", env.set_state(snapshot)


def watched(driver: Driver, env: Any, actions: list[Tensor]) -> tuple[list[Record], str | None]:
    """Copies of all that a driver's calls gave, and what of their arguments and results was written afterwards."""
    kept = Kept()
    shown: list[Record] = []
    for told, value in driver(env, actions):
        kept.hold(f"what call {len(shown)} {told}", value)
        if told == "gave":
            shown.append(kept.entries[-1][2])
    return shown, kept.written()


def scribbled(driver: Driver, env: Any, actions: list[Tensor]) -> list[Record]:
    """The same copies where every argument and every result is written over as soon as the call is done."""
    shown: list[Record] = []
    taken: list[Any] = []
    for told, value in driver(env, [action.clone() for action in actions]):
        taken.append(value)
        if told == "gave":
            shown.append(copied(value))
            scribble(taken)
            taken.clear()
    return shown


def first_difference(expected: list[Record], found: list[Record]) -> str | None:
    """Where two lists of records differ, in words; None where they do not."""
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        for name in one.keys() | other.keys():
            if name not in one or name not in other or not bits.same(one[name], other[name]):
                return f"call {number}: {name}"
    return None
