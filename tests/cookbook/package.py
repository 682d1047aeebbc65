"""The page's world as an environment package whose methods and kernel functions are the page's snippets.

One step of a kernel runs one snippet: the state has a field ``snippet``, its number, and fields for what it gives.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from simulacrum.spec import Package
from simulacrum.spec.document import Spec

from .cases import CASES, Given
from .page import IDIOMS, ROW_FORM, TEXT, Idiom

WORLD = Spec(TEXT)
TAKEN_INTS, TAKEN_FLOATS = 40, 8  # elements of the fields that take what a snippet gives
FIRST_NUMBER = 100  # of a snippet; 0 runs none, and the others are no values of constants
FIELDS = f"""\
| `snippet` | int32 | [] | [0, 1000] | the number of the snippet that a step runs |
| `ints` | int32 | [{TAKEN_INTS}] | [-(2**31), 2**31 - 1] | what it gives: integers and bools |
| `floats` | float32 | [{TAKEN_FLOATS}] | [-1e30, 1e30] | what it gives: floats |
"""
SPACES = """\
| action | space |
|---|---|
| the page's action | Discrete(4) |

| observation | space |
|---|---|
| the step counter | Box(0.0, 1.0, [1], float32) |

| reward | dtype |
|---|---|
| 0 | float32 |

| declares | value |
|---|---|
| `id` | `tests/cookbook-v0` |
| `max_episode_steps` | none |
| `terminates` | no |
| `truncates` | no |
| `draws` | yes |
| `forms` | tensor, kernel |
"""
INIT = """\
from enum import IntEnum

import numpy as np
from gymnasium.spaces import Box, Discrete

import simulacrum

{constants}


class Slots(IntEnum):
{slots}


ENVIRONMENT = simulacrum.Environment(
    id="tests/cookbook-v0",
    action_space=Discrete(4),
    observation_space=Box(0.0, 1.0, (1,), np.float32),
    max_episode_steps=None,
    slots=Slots,
)
"""
REFERENCE = """\
import numpy as np

from . import {names}
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


class Kernel(simulacrum.KernelEnv):
    environment = ENVIRONMENT
{block}

class Fast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw):
        return State({zeros})

    def transition(self, state, action, draw):
        return state, torch.zeros_like(state.energy), torch.zeros_like(action, dtype=torch.bool)

    def observation(self, state):
        return state.t.to(torch.float32).unsqueeze(-1)
"""
KERNEL_HEAD = """\
include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    for i in range(BLOCK):
"""
KERNEL_TAIL = """\


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        seen.observation{first}[i] = 0


include "loop.pxi"
"""


def spec_text() -> str:
    """``spec.md``: the tables of the page, the fields that the package adds, and what else a spec declares."""
    last = next(line for line in TEXT.splitlines() if line.startswith("| `t` |"))
    return TEXT.replace(last, FIELDS + last) + "\n" + SPACES


def kernel_forms(block: int) -> dict[tuple[str, str], int]:
    """The snippets of the kernel of blocks, or of the one whose block is one row: their numbers by idiom and form."""
    every = [(idiom, form) for idiom in IDIOMS.values() for form in idiom.forms]
    forms = [(idiom.name, form) for idiom, form in every if idiom.forms[form].language == "cython"]
    own = [(name, form) for name, form in forms if (form == ROW_FORM) == (block == 1)]
    return {key: number for number, key in enumerate(own, FIRST_NUMBER)}


def write_package(folder: Path, block: int) -> Package:
    """Write the package whose kernel's functions see so many rows at a time."""
    folder.mkdir()
    files = {
        "spec.md": spec_text(),
        "schema.json": "{}",
        "__init__.py": _init(),
        "reference.py": _reference(),
        "fast.py": _fast(block),
        "kernel.pyx": _kernel(block),
        "checks.py": "INVARIANTS = []\n",
        "render.py": "",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return Package.read(folder)


def method_name(idiom: Idiom, form: str) -> str:
    """What a snippet's method is called."""
    return f"{idiom.name}_{form}"


def names() -> str:
    return ", ".join([*WORLD.constants, "ENVIRONMENT", "Slots"])


def field_rows() -> list[dict[str, str]]:
    """The table of state fields as it is written, sizes by the names of constants; ``t`` is the last row."""
    return Spec(spec_text()).table("state field").records()


def _init() -> str:
    constants = "\n".join(f"{name} = {value!r}" for name, value in WORLD.constants.items())
    slots = "\n".join(f"    {slot.name} = {slot.number}" for slot in WORLD.slots.values())
    return INIT.format(constants=constants, slots=slots)


def _reference() -> str:
    functions = (
        function(idiom, "reference", method_name(idiom, "reference"), "state, action, draw")
        for idiom in IDIOMS.values()
    )
    return REFERENCE.format(names=names()) + "".join(functions)


def _fast(block: int) -> str:
    zeros = {
        row["state field"]: f"torch.zeros([draw.rows, {row['shape'][1:-1]}], dtype=torch.{row['dtype']})"
        for row in field_rows()
    }
    head = FAST.format(
        names=names(),
        fields="\n".join(f"    {name}: Tensor" for name in zeros),
        block="    block = 1\n" if block == 1 else "",
        zeros=", ".join(f"{name}={zero}" for name, zero in zeros.items() if name != "t"),
    )
    annotated = "self, state: State, action: Tensor, draw: Draw"
    methods = [
        function(idiom, form, method_name(idiom, form), annotated)
        for idiom in IDIOMS.values()
        for form in ("tensor", "trap")
        if idiom.forms[form].language == "python"
    ]
    return head + textwrap.indent("".join(methods), " " * 4)


def function(idiom: Idiom, form: str, name: str, arguments: str) -> str:
    """A snippet as a function that returns what it gives, by variable."""
    given = ", ".join(f'"{variable}": {variable}' for variable in CASES[idiom.name].gives)
    body = textwrap.indent(idiom.forms[form].text + f"return {{{given}}}\n", " " * 4)
    return f"\n\ndef {name}({arguments}):\n{body}"


# ---------------------------------------------------------------------- the kernel


def _kernel(block: int) -> str:
    forms = kernel_forms(block)
    parts = [KERNEL_HEAD]
    for row in field_rows()[:-1]:
        name, sizes = row["state field"], row["shape"][1:-1]
        element = f"rows.{name}{_element('k', block)}"
        each = f"        for k in range({sizes.replace(',', ' *')}):\n            {element} = 0\n"
        parts.append(each if sizes else f"        rows.{name}[i] = 0\n")
    for (name, form), number in forms.items():
        idiom = IDIOMS[name]
        lines = [*idiom.forms[form].text.splitlines(), *taking(idiom, block)]
        body = textwrap.indent("\n".join(lines), " " * 4)
        parts.append(f"\n\ncdef void snippet_{number}(Rows* rows, Draw* draw) noexcept nogil:\n{body}\n")
    parts.append("\n\ncdef void transition(Rows* rows, Draw* draw) noexcept nogil:\n    cdef int i\n")
    for number in forms.values():
        parts.append(f"    {'if' if number == FIRST_NUMBER else 'elif'} rows.snippet[0] == {number}:\n")
        parts.append(f"        snippet_{number}(rows, draw)\n")
    parts.append("    for i in range(BLOCK):\n        rows.reward[i] = 0\n        rows.terminated[i] = 0\n")
    return "".join(parts) + KERNEL_TAIL.format(first="" if block == 1 else "[0]")


def _element(k: str, block: int) -> str:
    return f"[{k}]" if block == 1 else f"[{k}][i]"


def taking(idiom: Idiom, block: int) -> Iterator[str]:
    """The lines that take what a snippet gives in variables of its own, in the order of :func:`places`."""
    yield "cdef int _r, _k"
    for name, given, first in places(idiom):
        source = f"rows.{name}" if name == "reward" else name
        field = f"rows.{'floats' if given.dtype == 'float32' else 'ints'}"
        yield "for _r in range(BLOCK):"
        if given.shape:
            yield f"    for _k in range(sizeof({source}) // sizeof({source}[0])):"
            yield f"        {field}{_element(f'{first} + _k', block).replace('[i]', '[_r]')} = {source}[_k][_r]"
        else:
            yield f"    {field}{_element(str(first), block).replace('[i]', '[_r]')} = {source}[_r]"


def places(idiom: Idiom) -> Iterator[tuple[str, Given, int]]:
    """What a snippet gives beside the state's fields: name, form, and the first element of ``ints`` or ``floats``."""
    used = {"ints": 0, "floats": 0}
    for name, given in CASES[idiom.name].gives.items():
        if name in WORLD.fields:
            continue
        kind = "floats" if given.dtype == "float32" else "ints"
        yield name, given, used[kind]
        used[kind] += given.size
    assert used["ints"] <= TAKEN_INTS
    assert used["floats"] <= TAKEN_FLOATS
