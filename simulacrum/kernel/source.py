"""``rows.pxi``, which a package's ``kernel.pyx`` includes: constants, slots and types of rows, from ``spec.md``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import SpecError
from .accessors import accessors, indented
from .layout import CTYPES, Layout, Part, action_bounds

POINTER = 8  # bytes
HEAD = """\
# Made by simulacrum from the spec.md of {name}: the constants, the slots and the rows of its kernel.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

ctypedef {action} _ACTION
ctypedef {reward} _REWARD
"""


def rows_source(layout: Layout) -> str:
    """The text of ``rows.pxi``."""
    environment = layout.environment
    head = HEAD.format(
        name=environment.id, action=layout.action.outer_ctype, reward=CTYPES[str(environment.reward_dtype)]
    )
    return "\n\n".join(
        [head, *_constants(layout), 'include "block.pxi"\ninclude "draws.pxi"', *_types(layout), *accessors(layout)]
    )


# ---------------------------------------------------------------------- constants and slots


def _constants(layout: Layout) -> Iterator[str]:
    spec, environment = layout.package.spec, layout.environment
    numbers = {
        "BLOCK": layout.block,
        "_RESET": 0,
        "_STEP": 1,
        "_ACTIONS": layout.action.count,
        "_HAS_CAP": int(environment.max_episode_steps is not None),
    }
    arrays: dict[str, Any] = {"_CAP": np.uint32(environment.max_episode_steps or 0)}
    for name, value in spec.constants.items():
        if name in numbers or name.startswith("_"):
            raise SpecError(f"constant {name}: a kernel has a name of its own like that; choose another name")
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
    arrays["_SLOT_PHASES"] = phases
    low, high = action_bounds(environment.action_space)
    arrays.update(_ACTION_LOW=low.reshape(-1), _ACTION_HIGH=high.reshape(-1))
    yield indented("cdef enum:", (f"{name} = {value}" for name, value in numbers.items()))
    shown = [_array(name, np.asarray(value)) for name, value in arrays.items()]
    yield "\n".join(
        ["cdef extern from *:", '    """', "    #include <math.h>"]
        + [f"    static const {ctype} constant_{name}{sizes} = {value};" for ctype, name, sizes, value in shown]
        + ['    """', *(f'    const {ctype} {name} "constant_{name}"{sizes}' for ctype, name, sizes, _ in shown)]
    )


def _array(name: str, value: np.ndarray) -> tuple[str, str, str, str]:
    """A constant in C: its type, name and sizes, and its value."""
    if value.dtype.kind not in "biuf":
        raise SpecError(f"constant {name}: a kernel takes numbers and arrays of them, got {value.tolist()!r}")
    sizes = "".join(f"[{size}]" for size in value.shape)
    return CTYPES[str(value.dtype)], name, sizes, _literal(value.tolist())


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return "{" + ", ".join(map(_literal, value)) + "}"
    if isinstance(value, float):
        special = "NAN" if value != value else ("INFINITY" if value > 0 else "-INFINITY")
        return value.hex() if np.isfinite(value) else special
    return f"{int(value)}{'LL' if abs(value) >= 2**31 else ''}" if value != -(2**63) else "(-9223372036854775807LL - 1)"


# ---------------------------------------------------------------------- types


def _types(layout: Layout) -> Iterator[str]:
    fields, seen = layout.fields, layout.seen
    pointed = {part.ctype for part in [*fields, *seen, layout.action] if part.many and layout.block > 1}
    for ctype in sorted(pointed):
        yield indented(f"cdef struct _{ctype}_rows:  # one pointer a row", [f"{ctype}* row[BLOCK]"])
    if layout.action.many and layout.block > 1:
        yield indented("cdef struct _action_rows:", ["const _ACTION* row[BLOCK]"])
    yield indented(
        "cdef struct Rows:  # a block of rows: state, clock, action, and what a transition gives",
        (declared for declared, _ in rows_members(layout)),
    )
    yield indented("cdef struct Seen:  # what is seen of a block of rows", (_member(part, layout) for part in seen))
    memory = ["Rows* blocks", "int64_t* seed", "int64_t* episode", "int32_t* list", "int wrong"]
    memory += [f"{part.ctype}* field_{part.name}" for part in fields if part.many]
    yield indented("cdef struct Memory:", memory)
    yield indented("cdef struct Targets:", (f"{part.ctype}* {part.name}" for part in seen))
    filled = [*((part, "field") for part in fields), *((part, "seen") for part in seen)] if layout.block > 1 else []
    spare = [f"{part.ctype} {kind}_{part.name}[BLOCK * {part.count}]" for part, kind in filled if part.many]
    yield indented(
        "cdef struct Spare:  # what pointers to rows point to where there is no row",
        [*spare, "Py_ssize_t listed", "Py_ssize_t outside"],
    )


def rows_members(layout: Layout) -> list[tuple[str, int]]:
    """The members of the struct ``Rows`` in order, each with its bytes a row."""
    parts = [*layout.fields, layout.action]
    sizes = {part.name: POINTER if part.many else part.count * part.kept.itemsize for part in parts}
    members = [(_member(part, layout), sizes[part.name]) for part in layout.fields]
    members += [(f"{layout.t_ctype} t[BLOCK]", 4), ("uint32_t k0[BLOCK]", 4), ("uint32_t k1[BLOCK]", 4)]
    members.append((_member(layout.action, layout), sizes["action"]))
    if layout.agents is not None:  # straight into the outputs
        return _aligned([*members, ("_REWARD* reward", POINTER), ("uint8_t* terminated", POINTER)])
    members.append(("_REWARD reward[BLOCK]", layout.environment.reward_dtype.itemsize))
    members.append(("uint8_t terminated[BLOCK]", 1))
    return _aligned(members) if layout.block == 1 else members


def _aligned(members: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Members of one row each, the widest first, and bytes that fill the last word: the compiler adds none then."""
    ordered = sorted(members, key=lambda member: -member[1])
    missing = -sum(size for _, size in members) % POINTER
    return [*ordered, *([(f"uint8_t _fill[{missing}]", missing)] if missing else [])]


def _member(part: Part, layout: Layout) -> str:
    """A part in a block: [BLOCK], [K][BLOCK], or a pointer for each row."""
    if part.many and layout.block == 1:
        return f"{'const _ACTION' if part.key == 'action' else part.ctype}* {part.name}"
    if part.many:
        return f"{'_action_rows' if part.key == 'action' else f'_{part.ctype}_rows'} {part.name}"
    return f"{part.ctype} {part.name}{f'[{part.count}]' if part.shape else ''}[BLOCK]"
