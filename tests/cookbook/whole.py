"""One idiom as an environment of its own, written three times, so that checks of the battery can run on it.

The step is the idiom: what it gives goes into the next state. The first state is drawn, field by field; its bounds and
shapes stand in the code as they do in the page's table, by the names of constants.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from simulacrum.kernel.layout import BLOCK
from simulacrum.spec import Package

from .cases import CASES
from .package import (
    INIT,
    KERNEL_TAIL,
    TAKEN_FLOATS,
    TAKEN_INTS,
    WORLD,
    field_rows,
    function,
    names,
    places,
    spec_text,
    taking,
)
from .page import Idiom

CAP = 20
EDGES = [-9.0, -0.3, -0.1, 0.0, 0.1, 1.0, 1.7, 9.0]  # what floats begin with
FIRST_INDEX = 100  # of the draws of the first state
TAKEN = {"ints": TAKEN_INTS, "floats": TAKEN_FLOATS}
REFERENCE = """\
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

import simulacrum

from . import {names}


@dataclass
class State:
{fields}

{snippet}

def plain(value):
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return list(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.integer, np.bool_)) else value


class Reference(simulacrum.ReferenceEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw):
        return State({initial})

    def transition(self, state, action, draw):
        given = snippet(SimpleNamespace(**{{name: plain(value) for name, value in vars(state).items()}}), action, draw)
        after = State(**vars(state))
        after.ints, after.floats = after.ints.copy(), after.floats.copy()
{after}
        return after, {reward}, False

    def observation(self, state):
        return np.array([0], np.float32)
"""
FAST = """\
import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import {names}


@simulacrum.tensor_state
class State:
{fields}

{kernel}
class Fast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw):
        return State({initial})

    def transition(self, state, action, draw):
        given = self.snippet(state, action, draw)
        after = State({after})
        return after, {reward}, torch.zeros_like(action, dtype=torch.bool)

    def observation(self, state):
        return torch.zeros_like(state.energy).unsqueeze(-1)
{snippet}
"""
KERNEL_CLASS = """
class Kernel(simulacrum.KernelEnv):
    environment = ENVIRONMENT

"""
KERNEL_HEAD = """\
include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    cdef uint32_t bits[BLOCK]
"""
STEP = "\n\ncdef void transition(Rows* rows, Draw* draw) noexcept nogil:\n"


class Column(NamedTuple):
    """A field of the page's state: its sizes and bounds as they are written, and the index of its first draw."""

    name: str
    dtype: str
    sizes: str
    low: str
    high: str
    index: int


def write_whole(folder: Path, idiom: Idiom, wrong: bool) -> Package:
    """Write the environment of an idiom; its fast side, or its kernel, is the trap's where ``wrong``."""
    folder.mkdir()
    kernel = idiom.forms["trap"].language == "cython"
    files = {
        "spec.md": _spec(kernel),
        "schema.json": "{}",
        "__init__.py": _init(),
        "reference.py": _reference(idiom),
        "fast.py": _fast(idiom, "trap" if wrong and not kernel else "tensor", kernel),
        "checks.py": "INVARIANTS, TERMINATIONS, POLICIES = [], [], []\n",
        "render.py": "",
    }
    if kernel:
        files["kernel.pyx"] = _kernel(idiom, "trap" if wrong else "kernel")
    for name, text in files.items():
        (folder / name).write_text(text)
    return Package.read(folder)


def _spec(kernel: bool) -> str:
    text = spec_text().replace("| WEIGHTS |", f"| EDGES | {EDGES} | what floats begin with |\n| WEIGHTS |")
    slots = text.index("| 0 | WIND |")
    text = text[:slots] + "| 6 | FIRST | reset | 0..300 | bits(32) |\n" + text[slots:]
    text = text.replace("`max_episode_steps` | none", f"`max_episode_steps` | {CAP}")
    text = text.replace("`truncates` | no", "`truncates` | yes")
    return text if kernel else text.replace("tensor, kernel", "tensor")


def _init() -> str:
    values = {**WORLD.constants, "EDGES": EDGES}
    slots = {slot.name: slot.number for slot in WORLD.slots.values()} | {"FIRST": 6}
    text = INIT.replace("slots=Slots,", "slots=Slots,\n    reset_slots={{Slots.FIRST}},").replace("=None", f"={CAP}")
    return text.format(
        constants="\n".join(f"{name} = {value!r}" for name, value in values.items()),
        slots="\n".join(f"    {name} = {number}" for name, number in slots.items()),
    )


def _first(column: Column, bits: str, edges: str, integer: str = "") -> str:
    """What an element begins with, from 32 bits."""
    if column.dtype == "float32":
        return f"{edges}[{bits} % 8]"
    return f"{integer}({bits} % ({column.high} - {column.low} + 1)) + {column.low}"


def _columns() -> Iterator[Column]:
    index = FIRST_INDEX
    for row in field_rows():
        name, sizes = row["state field"], row["shape"][1:-1]
        if name not in WORLD.fields or name == "t":
            continue
        low, high = row["bounds"][1:-1].split(", ")
        yield Column(name, row["dtype"], sizes, low, high, index)
        index += math.prod(WORLD.fields[name].shape)


def _number(number: int) -> str:
    """A number in code, which the static read takes for no constant of the same value."""
    return f"{100 * number} // 100"


def _reward(idiom: Idiom, zero: str) -> str:
    return "given['reward']" if "reward" in CASES[idiom.name].gives else zero


def _reference(idiom: Idiom) -> str:
    kinds = {"bool": "bool", "int32": "int", "float32": "np.float32"}
    numpy = {"bool": "np.bool_", "int32": "np.int32", "float32": "np.float32"}
    annotations, initial = {}, []
    for one in _columns():
        annotations[one.name] = "np.ndarray" if one.sizes else kinds[one.dtype]
        bits = f"draw.bits(Slots.FIRST, index={one.index}, shape=({one.sizes or 1},))"
        value = _first(one, bits, "np.array(EDGES, np.float32)")
        initial.append(f"{one.name}=({value}).astype({numpy[one.dtype]}){'' if one.sizes else '[0]'}")
    annotations |= {"snippet": "int", "ints": "np.ndarray", "floats": "np.ndarray"}
    initial += ["snippet=0", *(f"{name}=np.zeros({size}, np.{name[:-1]}32)" for name, size in TAKEN.items())]
    after = []
    for name, given in CASES[idiom.name].gives.items():
        if name in WORLD.fields:
            value = f"np.array(given['{name}'], {numpy[given.dtype]})" if given.shape else f"given['{name}']"
            after.append(f"after.{name} = {value}")
    for name, given, first in places(idiom):
        kind = "floats" if given.dtype == "float32" else "ints"
        after.append(
            f"after.{kind}[{_number(first)} : {_number(first + given.size)}] = np.array(given['{name}']).reshape(-1)"
        )
    return REFERENCE.format(
        names=f"{names()}, EDGES",
        fields="\n".join([f"    {name}: {kind}" for name, kind in annotations.items()] + ["    t: int = 0"]),
        snippet=function(idiom, "reference", "snippet", "state, action, draw"),
        initial=", ".join(initial),
        after=textwrap.indent("\n".join(after), " " * 8),
        reward=_reward(idiom, "0.0"),
    )


def _fast(idiom: Idiom, form: str, kernel: bool) -> str:
    initial = ["snippet=draw.bits(Slots.FIRST).to(torch.int32) * 0"]
    for name, size in TAKEN.items():
        initial.append(f"{name}=torch.zeros([draw.rows, {size}], dtype=torch.{name[:-1]}32)")
    for one in _columns():
        bits = f"draw.bits(Slots.FIRST, index={one.index}, shape=({one.sizes}{',' if one.sizes else ''}))"
        value = _first(one, bits, "self.float32(EDGES)")
        initial.append(f"{one.name}=({value}).to(torch.{one.dtype})")
    after = {one.name: f"state.{one.name}" for one in _columns()} | {"snippet": "state.snippet"}
    after |= {name: f"given['{name}']" for name in CASES[idiom.name].gives if name in WORLD.fields}
    for kind in TAKEN:
        parts, used = [], 0
        for name, given, _ in places(idiom):
            if (given.dtype == "float32") == (kind == "floats"):
                flat = f"given['{name}'].reshape(draw.rows, -1)"
                parts.append(f"{flat}.to(torch.int32)" if given.dtype == "bool" else flat)
                used += given.size
        after[kind] = f"torch.cat([{', '.join([*parts, f'state.{kind}[:, {_number(used)} :]'])}], -1)"
    return FAST.format(
        names=f"{names()}, EDGES",
        fields="\n".join(f"    {name}: Tensor" for name in [*after, "t"]),
        kernel=KERNEL_CLASS if kernel else "",
        initial=", ".join(initial),
        after=", ".join(f"{name}={value}" for name, value in after.items()),
        reward=_reward(idiom, "torch.zeros_like(state.energy)"),
        snippet=textwrap.indent(function(idiom, form, "snippet", "self, state, action, draw"), "    "),
    )


def _kernel(idiom: Idiom, form: str) -> str:
    lines = ["for i in range(BLOCK):", "    rows.snippet[i] = 0"]
    for name, size in TAKEN.items():
        lines += [f"for k in range({size}):", "    for i in range(BLOCK):", f"        rows.{name}[k][i] = 0"]
    for one in _columns():
        value = _first(one, "bits[i]", "<float>EDGES", "<int>")
        place = f"rows.{one.name}[k][i]" if one.sizes else f"rows.{one.name}[i]"
        lines += [f"for k in range({one.sizes.replace(',', ' *') or 1}):"]
        lines += [f"    draw_bits32(draw, FIRST, {one.index} + k, bits)"]
        lines += ["    for i in range(BLOCK):", f"        {place} = {value}"]
    body = [*idiom.forms[form].text.splitlines(), *taking(idiom, BLOCK)]
    body += ["for _r in range(BLOCK):", "    rows.terminated[_r] = 0"]
    body += [] if "reward" in CASES[idiom.name].gives else ["    rows.reward[_r] = 0"]
    head = KERNEL_HEAD + textwrap.indent("\n".join(lines), "    ")
    return head + STEP + textwrap.indent("\n".join(body), "    ") + "\n" + KERNEL_TAIL.format(first="[0]")
