"""``Lanes``: the rows as compiled graphs advance them, in place, in the layout that compilers make vector code of.

A graph reads and writes bytes where a bool is meant: loops over bools are many times slower. What goes in and out of it
has the forms that the rest of the environment knows, for a byte and a bool are two views of the same memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor

from ..rng.ahead import Ahead
from .core import Carry, Core, Fields, Outcome, place_fields

# Words drawn and elements of the state at a reset: with so few, a graph for the rows that ended costs more than all.
CHEAP = 8
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


class Lanes:
    """N rows in memory of their own, and the graphs that advance them.

    Args:
        core: the implementation's functions.
        batch_size: of the environment; N rows are its product.
        device: where the memory lies.
        compile: makes a function a graph.

    Attributes:
        carry: the rows: views of the memory, which every step writes.
        cheap_to_begin: whether first states cost so little that a step computes them for all rows.
    """

    def __init__(self, core: Core, batch_size: torch.Size, device: torch.device, compile: Compile) -> None:
        self.core = core
        self.batch_size = batch_size
        rows = batch_size.numel()
        self.forms = dict(core.env._field_forms)
        self.keys = tuple(core.env._observation_forms)
        self.bools = frozenset(key for key, (dtype, _) in core.env._observation_forms.items() if dtype == torch.bool)
        self.seen_count = len(self.keys)
        with torch.inference_mode(False):  # memory made in inference mode could not be written outside
            fields = [torch.empty((*shape, rows), dtype=dtype, device=device) for dtype, shape in self.forms.values()]
            clock = [torch.empty(rows, dtype=torch.int64, device=device) for _ in range(3)]
            keys = [torch.empty(rows, dtype=torch.int32, device=device) for _ in range(2)]
            self.carry = Carry(dict(zip(self.forms, map(rows_first, fields), strict=True)), *clock, *keys)  # type: ignore[arg-type]
            self.memory = [as_bytes(lane) for lane in (*fields, *clock, *keys)]
        drawn = sum(count for _, count in core.drawn_at_reset)
        self.cheap_to_begin = drawn + sum(math.prod(shape) for _, shape in self.forms.values()) <= CHEAP
        self._compile = compile
        self._spare: Tensor | None = None
        self.step = compile(named(self._step, f"step_{rows}"))
        self.step_masked = compile(named(self._step_masked, f"step_masked_{rows}"))
        self._ahead: Ahead | None = None
        # By the number of rows, and whether anyone looks.
        self._renewals: dict[tuple[int, bool], Callable[..., Any]] = {}

    def take(self, carry: Carry) -> None:
        """Take rows over, unless they are these."""
        if carry is self.carry:
            return
        self._turned()
        with torch.no_grad(), torch.inference_mode(False):
            for name, own in self.carry.fields.items():
                own.copy_(carry.fields[name])
            for own, value in zip(self.carry[1:], carry[1:], strict=True):
                own.copy_(value)

    def advance(self, action: Tensor, masked: bool) -> tuple[Carry | None, Outcome, Fields]:
        """A step in place: the carry that it led to (copies, where the state is shown), what it showed, and, where
        resets are ``masked``, what is seen now. The reward and the flags are ``[*batch_size, 1]``."""
        if masked:
            if self._ahead is None:
                self._ahead = Ahead.of(self.carry, self.core.drawn_at_step, self.core.drawn_at_reset)
            words = None if self._ahead is None else self._ahead.draw()
            shown = self.step_masked(action, words, *self.memory)
        else:
            self._turned()
            shown = self.step(action, *self.memory)
        end = 5 + self.seen_count
        seen = now = self._seen(shown[5:end])
        self._spare = shown[4]
        if masked:
            now, end = self._seen(shown[end : end + self.seen_count]), end + self.seen_count
        after = self._after(shown[end:]) if len(shown) > end else None
        return after, Outcome(seen, shown[0], *(flag.view(torch.bool) for flag in shown[1:4])), now

    def _turned(self) -> None:
        """Note that rows may have begun other episodes than a masked step makes them begin."""
        if self._ahead is not None:
            self._ahead.stale = True

    def no_flags(self) -> Tensor | None:
        """bool [3, *batch_size, 1], all False: what a step made for those who ask, and gives them once."""
        spare, self._spare = self._spare, None
        return None if spare is None else spare.view(torch.bool)

    def renewed(self, rows: Tensor, seen: Fields) -> Fields:
        """Begin the next episodes of some rows (int64 [K]; one may stand twice), in place; what is seen now."""
        self._turned()
        kind = len(rows), bool(seen)
        renew = self._renewals.get(kind)
        if renew is None:
            name = f"renew_{self.batch_size.numel()}_{len(rows)}_{bool(seen)}"
            renew = self._renewals[kind] = self._compile(named(self._renew, name))
        now = renew(rows, *(as_bytes(value) for value in seen.values()), *self.memory)
        return self._seen(now) if seen else {}

    def _seen(self, values: Any) -> Fields:
        seen = dict(zip(self.keys, values, strict=True))
        for key in self.bools:
            seen[key] = seen[key].view(torch.bool)
        return seen

    def _after(self, values: Any) -> Carry:
        count = len(self.forms)
        fields = {name: as_form(value, self.forms[name][0]) for name, value in zip(self.forms, values, strict=False)}
        return Carry(fields, *values[count:])

    # ------------------------------------------------------------------ what the graphs hold

    def _step(self, action: Tensor, *memory: Tensor) -> list[Tensor]:
        before = self._read(memory)
        after, outcome = self.core.advance(before, action)
        shown = [*self._shown(outcome), *self._copies(after)]
        self._write(memory, before, after)
        return shown

    def _step_masked(self, action: Tensor, words: Any, *memory: Tensor) -> list[Tensor]:
        before = self._read(memory)
        after, outcome, renewed, seen = self.core.advance_masked(before, action, None if words is None else words[0])
        if words is not None:
            words[1].copy_(to_bytes(outcome.done))
        shown = [*self._shown(outcome), *map(to_bytes, seen.values()), *self._copies(after)]
        self._write(memory, before, renewed)
        return shown

    def _renew(self, rows: Tensor, *values: Tensor) -> list[Tensor]:
        count = len(values) - len(self.memory)
        seen, memory = values[:count], values[count:]
        carry = self._read(memory)
        begun, first = self.core.begin(carry.seed[rows], carry.episode[rows] + 1)
        for lane, value in zip(memory, _all(begun), strict=True):
            lane.index_copy_(-1, rows, to_bytes(value.movedim(0, -1)))
        old = dict(enumerate(seen))
        new = {number: to_bytes(value) for number, value in zip(old, first.values(), strict=False)}
        return list(place_fields(rows, new, old).values())

    def _read(self, memory: Any) -> Carry:
        fields = {}
        for (name, (dtype, _)), lane in zip(self.forms.items(), memory, strict=False):
            fields[name] = rows_first(lane.to(torch.int32) != 0 if dtype == torch.bool else lane)
        return Carry(fields, *memory[len(fields) :])

    def _write(self, memory: Any, before: Carry, after: Carry) -> None:
        for lane, old, value in zip(memory, _all(before), _all(after), strict=True):
            if value is not old:
                lane.copy_(to_bytes(value.movedim(0, -1)))

    def _shown(self, outcome: Outcome) -> list[Tensor]:
        """The reward, the flags, three more that are False, and what is seen, in the shapes that a TensorDict holds."""
        rest = (to_bytes(value).reshape(*self.batch_size, 1) for value in outcome[1:])
        none = outcome.done.new_zeros((3, *self.batch_size, 1), dtype=torch.uint8)
        return [*rest, none, *map(to_bytes, outcome.observation.values())]

    def _copies(self, carry: Carry | None) -> list[Tensor]:
        if carry is None or not self.core.env.expose_state:
            return []
        return [to_bytes(value).clone() for value in _all(carry)]


def _all(carry: Carry) -> tuple[Tensor, ...]:
    return *carry.fields.values(), *carry[1:]


def named(method: Any, name: str) -> Callable[..., Any]:
    """A bound method whose code has another name. What torch learns about sizes it keeps by the name of the code, and a
    size that differs between two graphs of one name would become a variable in the second."""
    function = method.__func__
    code = function.__code__.replace(co_name=name)
    renamed = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    return MethodType(renamed, method.__self__)


def rows_first(lane: Tensor) -> Tensor:
    """``[..., N]`` as ``[N, ...]``: a view."""
    return lane.movedim(-1, 0)


def as_bytes(value: Tensor) -> Tensor:
    """A bool tensor as the bytes of its memory; others as they are."""
    return value.view(torch.uint8) if value.dtype == torch.bool else value


def as_form(value: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes that hold bools as a bool tensor; others as they are."""
    return value.view(torch.bool) if dtype == torch.bool else value


def to_bytes(value: Tensor) -> Tensor:
    """A bool tensor as new bytes, by way of integers: compilers make vector code of that way alone."""
    return value.to(torch.int32).to(torch.uint8) if value.dtype == torch.bool else value
