"""``rows.pxi``, which a package's ``kernel.pyx`` includes: constants, slots and types of rows, from ``spec.md``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ..errors import SpecError
from .layout import BLOCK, CTYPES, Layout, Part, action_bounds

HEAD = """\
# Made by simulacrum from the spec.md of {name}: the constants, the slots and the rows of its kernel.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

ctypedef {action} ACTION
ctypedef {reward} REWARD
"""
CLOCK = {"seed": "int64_t", "episode": "int64_t", "t": "uint32_t", "k0": "uint32_t", "k1": "uint32_t"}
SCRATCH = {"list": "int32_t"}


def rows_source(layout: Layout) -> str:
    """The text of ``rows.pxi``."""
    environment = layout.environment
    head = HEAD.format(
        name=environment.id, action=layout.action.outer_ctype, reward=CTYPES[str(environment.reward_dtype)]
    )
    return "\n\n".join(
        [head, *_constants(layout), 'include "block.pxi"\ninclude "draws.pxi"', *_types(layout), *_code(layout)]
    )


# ---------------------------------------------------------------------- constants and slots


def _constants(layout: Layout) -> Iterator[str]:
    spec, environment = layout.package.spec, layout.environment
    numbers = {"BLOCK": BLOCK, "RESET": 0, "STEP": 1, "HAS_CAP": int(environment.max_episode_steps is not None)}
    arrays: dict[str, Any] = {"CAP": np.uint32(environment.max_episode_steps or 0)}
    for name, value in spec.constants.items():
        if isinstance(value, (bool, int)) and -(2**31) <= value < 2**31:
            numbers[name] = int(value)
        elif not isinstance(value, str):
            arrays[name] = value
    phases = np.full(max([0, *(slot.value for slot in environment.slots)]) + 1, -1, np.int32)
    for slot in environment.slots:
        if slot.name in numbers or slot.name in arrays:
            raise SpecError(f"slot {slot.name}: a constant has the same name, and a kernel could not tell them apart")
        numbers[slot.name] = slot.value
        phases[slot.value] = 0 if slot in environment.reset_slots else 1
    arrays["SLOT_PHASES"] = phases
    low, high = action_bounds(environment.action_space)
    arrays.update(ACTION_LOW=low.reshape(-1), ACTION_HIGH=high.reshape(-1))
    yield _block("cdef enum:", (f"{name} = {value}" for name, value in numbers.items()))
    shown = [_array(name, np.asarray(value)) for name, value in arrays.items()]
    yield "\n".join(
        ["cdef extern from *:", '    """', "    #include <math.h>"]
        + [f"    static const {declared} = {value};" for declared, value in shown]
        + ['    """', *(f"    const {declared}" for declared, _ in shown)]
    )


def _array(name: str, value: np.ndarray) -> tuple[str, str]:
    """The declaration of a constant in C, and its value."""
    if value.dtype.kind not in "biuf":
        raise SpecError(f"constant {name}: a kernel takes numbers and arrays of them, got {value.tolist()!r}")
    sizes = "".join(f"[{size}]" for size in value.shape)
    return f"{CTYPES[str(value.dtype)]} {name}{sizes}", _literal(value.tolist())


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return "{" + ", ".join(map(_literal, value)) + "}"
    if isinstance(value, float):
        special = "NAN" if value != value else ("INFINITY" if value > 0 else "-INFINITY")
        return value.hex() if np.isfinite(value) else special
    return f"{int(value)}{'LL' if abs(value) >= 2**31 else ''}" if value != -(2**63) else "(-9223372036854775807LL - 1)"


# ---------------------------------------------------------------------- types


def _types(layout: Layout) -> Iterator[str]:
    rows = [_array_of_rows(part) for part in layout.fields]
    rows += [
        f"{layout.t_ctype} t[BLOCK]",
        _array_by_row(layout.action),
        "REWARD reward[BLOCK]",
        "uint8_t terminated[BLOCK]",
    ]
    yield _block("cdef struct Rows:  # a block of rows: state, action, and what a transition gives", rows)
    yield _block("cdef struct Seen:  # what is seen of a block of rows", map(_array_by_row, layout.seen))
    memory = [f"{part.ctype}* {part.name}" for part in layout.fields]
    memory += [f"{ctype}* {name}" for name, ctype in {**CLOCK, **SCRATCH}.items()]
    yield _block("cdef struct Memory:", [*memory, "Py_ssize_t stride", "int wrong"])
    yield _block("cdef struct Targets:", (f"{part.ctype}* {part.name}" for part in layout.seen))


def _array_of_rows(part: Part) -> str:
    """A field in a block: [BLOCK], [K][BLOCK], or a pointer for each row."""
    if part.many:
        return f"{part.ctype}* {part.name}[BLOCK]"
    return f"{part.ctype} {part.name}{f'[{part.count}]' if part.shape else ''}[BLOCK]"


def _array_by_row(part: Part) -> str:
    """An action or something seen in a block: [BLOCK], [BLOCK][K], or a pointer for each row."""
    if part.many:
        return f"{'const ' if part.key == 'action' else ''}{part.ctype}* {part.name}[BLOCK]"
    return f"{part.ctype} {part.name}[BLOCK]{f'[{part.count}]' if part.shape else ''}"


# ---------------------------------------------------------------------- code


def _code(layout: Layout) -> Iterator[str]:
    fields, seen, action = layout.fields, layout.seen, layout.action
    names = [*(part.name for part in fields), *CLOCK, *SCRATCH]
    ctypes = [*(part.ctype for part in fields), *CLOCK.values(), *SCRATCH.values()]
    yield _function(
        "int remember(Memory* memory, addresses) except -1",
        ("memory.stride, memory.wrong = addresses[0], 0",),
        (
            f"memory.{name} = <{ctype}*><size_t>addresses[{i}]"
            for i, (name, ctype) in enumerate(zip(names, ctypes, strict=True), 1)
        ),
    )
    yield _function(
        "int take_targets(Targets* targets, addresses) except -1",
        (f"targets.{part.name} = <{part.ctype}*><size_t>addresses[{i}]" for i, part in enumerate(seen)),
    )
    nogil = "noexcept nogil"
    yield _function(
        f"inline void load_rows(Memory* memory, Py_ssize_t at, int count, Rows* rows) {nogil}",
        ("cdef int i",),
        chain.from_iterable(_load(part) for part in fields),
        ("for i in range(BLOCK):", f"    rows.t[i] = <{layout.t_ctype}>memory.t[at + i]"),
        ("if count < BLOCK:  # the rest of a last block repeats its last row", "    for i in range(count, BLOCK):"),
        (f"        {line}" for line in chain.from_iterable(_repeat(part) for part in fields)),
        ("        rows.t[i] = rows.t[count - 1]",),
    )
    yield _function(
        f"inline void store_rows(Memory* memory, Py_ssize_t at, Rows* rows) {nogil}",
        ("cdef int i",),
        chain.from_iterable(_store(part) for part in fields),
        ("for i in range(BLOCK):", "    memory.t[at + i] = <uint32_t>rows.t[i]"),
    )
    many = [part for part in fields if part.many]
    yield _function(
        f"inline void point_rows(Memory* memory, const int32_t* number, Rows* rows) {nogil}",
        ("cdef int i", "for i in range(BLOCK):", "    pass"),
        (f"    rows.{part.name}[i] = memory.{part.name} + <Py_ssize_t>number[i] * {part.count}" for part in many),
    )
    yield _function(
        f"inline void place_rows(Memory* memory, const int32_t* number, int count, Rows* rows) {nogil}",
        ("cdef int i", "for i in range(count):", "    pass"),
        chain.from_iterable(_place(part) for part in fields),
    )
    yield _function(
        f"inline void load_action(const ACTION* action, Py_ssize_t at, int count, Rows* rows) {nogil}",
        (
            "cdef int i",
            "cdef Py_ssize_t row",
            "if count == BLOCK:",
            "    for i in range(BLOCK):",
            "        row = at + i",
        ),
        (f"        {line}" for line in _take_action(action)),
        ("else:", "    for i in range(BLOCK):", "        row = at + (i if i < count else count - 1)"),
        (f"        {line}" for line in _take_action(action)),
    )
    inside = f"(action[i * {action.count} + k] >= ACTION_LOW[k]) & (action[i * {action.count} + k] <= ACTION_HIGH[k])"
    yield _function(
        f"inline Py_ssize_t first_outside(const ACTION* action, Py_ssize_t rows) {nogil}",
        ("cdef Py_ssize_t i, k", "cdef int every = 1", "for i in range(rows):", f"    for k in range({action.count}):"),
        (f"        every &= {inside}", "if every:", "    return -1", "for i in range(rows):"),
        (f"    for k in range({action.count}):", f"        if not ({inside}):", "            return i", "return -1"),
    )
    large, small = [part for part in seen if part.many], [part for part in seen if not part.many]
    yield _function(
        f"inline void aim(Seen* seen, Targets* targets, Py_ssize_t at, int count) {nogil}",
        ("cdef int i", "for i in range(BLOCK):", "    pass"),
        (
            f"    seen.{one.name}[i] = targets.{one.name} + (at + (i if i < count else count - 1)) * {one.count}"
            for one in large
        ),
    )
    yield _function(
        f"inline void aim_at(Seen* seen, Targets* targets, const int32_t* number) {nogil}",
        ("cdef int i", "for i in range(BLOCK):", "    pass"),
        (f"    seen.{one.name}[i] = targets.{one.name} + <Py_ssize_t>number[i] * {one.count}" for one in large),
    )
    yield _function(
        f"inline void show(Targets* targets, Py_ssize_t at, int count, Seen* seen) {nogil}",
        ("pass",),
        (_put(one, "targets", "at") for one in small),
    )
    yield _function(
        f"inline void show_too(Targets* targets, Targets* shown, Py_ssize_t at, int count, Seen* seen) {nogil}",
        ("pass",),
        (_put(one, "targets", "at") for one in small),
        (
            f"memcpy(targets.{one.name} + at * {one.count}, shown.{one.name} + at * {one.count}, "
            f"count * {one.count} * sizeof({one.ctype}))"
            for one in large
        ),
    )
    yield _function(
        f"inline void show_at(Targets* targets, const int32_t* number, int count, Seen* seen) {nogil}",
        ("cdef int i, k", "for i in range(count):", "    pass"),
        chain.from_iterable(_show_at(one) for one in small),
    )


def _load(part: Part) -> list[str]:
    size = f"BLOCK * sizeof({part.ctype})"
    if part.many:
        row = "(at + (i if i < count else count - 1))"
        return ["for i in range(BLOCK):", f"    rows.{part.name}[i] = memory.{part.name} + {row} * {part.count}"]
    if not part.shape:
        return [f"memcpy(rows.{part.name}, memory.{part.name} + at, {size})"]
    return [
        f"memcpy(rows.{part.name}[{k}], memory.{part.name} + {k} * memory.stride + at, {size})"
        for k in range(part.count)
    ]


def _store(part: Part) -> list[str]:
    size = f"BLOCK * sizeof({part.ctype})"
    if part.many:
        return []
    if not part.shape:
        return [f"memcpy(memory.{part.name} + at, rows.{part.name}, {size})"]
    return [
        f"memcpy(memory.{part.name} + {k} * memory.stride + at, rows.{part.name}[{k}], {size})"
        for k in range(part.count)
    ]


def _repeat(part: Part) -> list[str]:
    if part.many:
        return []
    if not part.shape:
        return [f"rows.{part.name}[i] = rows.{part.name}[count - 1]"]
    return [f"rows.{part.name}[{k}][i] = rows.{part.name}[{k}][count - 1]" for k in range(part.count)]


def _place(part: Part) -> list[str]:
    if part.many:
        return []
    if not part.shape:
        return [f"    memory.{part.name}[number[i]] = rows.{part.name}[i]"]
    return [
        f"    memory.{part.name}[{k} * memory.stride + number[i]] = rows.{part.name}[{k}][i]" for k in range(part.count)
    ]


def _take_action(action: Part) -> list[str]:
    if action.many:
        return [f"rows.action[i] = action + row * {action.count}"]
    if not action.shape:
        return [f"rows.action[i] = <{action.ctype}>action[row]"]
    return [f"rows.action[i][{k}] = <{action.ctype}>action[row * {action.count} + {k}]" for k in range(action.count)]


def _put(part: Part, targets: str, at: str) -> str:
    target = f"{targets}.{part.name} + {at} * {part.count}"
    return f"put({target}, seen.{part.name}, {part.count} * sizeof({part.ctype}), count)"


def _show_at(part: Part) -> list[str]:
    target = f"    targets.{part.name}[<Py_ssize_t>number[i] * {part.count}"
    if not part.shape:
        return [f"{target}] = seen.{part.name}[i]"]
    return [f"{target} + {k}] = seen.{part.name}[i][{k}]" for k in range(part.count)]


def _function(signature: str, *bodies: Iterable[str]) -> str:
    return _block(f"cdef {signature}:", chain.from_iterable(bodies))


def _block(head: str, lines: Iterable[str]) -> str:
    return "\n".join([head, *(f"    {line}" for line in lines)])
