"""How the rows of a kernel lie in memory: the C types and sizes that follow from a package's spec and spaces."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import SpecError
from ..spec import Package
from ..spec.agents import GROUP
from ..spec.observations import OBSERVATION
from ..spec.observations import parts as observation_parts
from ..spec.spaces import Space

BLOCK = 128  # rows that a kernel's functions see at a time, unless its class says 1
BLOCKS = (1, BLOCK)
FEW = 64  # elements a row up to which an array is copied into a block; beyond it the block holds a pointer for each row
CTYPES = {
    "bool": "uint8_t",
    **{f"{sign}int{width}": f"{sign}int{width}_t" for sign in ("", "u") for width in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
}
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
C_WORD = re.compile(
    "auto|bool|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|"
    "register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while"
)
DIED = (GROUP, "terminated")  # which agents died in a step: beside the observation, for it ends no episode
TAKEN = {"t", "action", "reward", "terminated"}  # what a block has beside the fields of the state


@dataclass(frozen=True)
class Part:
    """A state field, an action or something that is seen, as a kernel holds it.

    Attributes:
        name: as the kernel's source calls it.
        key: the TensorDict's key of it.
        dtype: that it has outside, a NumPy dtype; ``kept`` inside, which is as narrow as its bounds allow.
        shape: of one row; ``count``: its elements.
        few: elements up to which it is copied into a block.
    """

    name: str
    key: Any
    dtype: np.dtype[Any]
    kept: np.dtype[Any]
    shape: tuple[int, ...]
    few: int = FEW

    @property
    def count(self) -> int:
        """Elements a row."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def many(self) -> bool:
        """Whether a block holds pointers to the rows, and not copies."""
        return self.count > self.few or (self.few == 0 and bool(self.shape))

    @property
    def ctype(self) -> str:
        """The C type of an element inside."""
        return CTYPES[str(self.kept)]

    @property
    def outer_ctype(self) -> str:
        """The C type of an element outside."""
        return CTYPES[str(self.dtype)]


class Layout:
    """The layout of a package's kernel.

    ``shows`` are outputs beside the observation, by key: ``action_mask`` and ``("info", name)``, each (dtype, shape).
    ``block`` is the number of rows that the kernel's functions see at a time. With 1 every array is a pointer to the
    row's own memory. So it is with many agents, since their numbers are large or small as a constant says.
    """

    def __init__(self, package: Package, shows: dict[Any, tuple[Any, tuple[int, ...]]], block: int = BLOCK) -> None:
        self.package = package
        self.environment = package.environment
        self.agents = package.environment.agents
        self.block = block
        self._shows = shows
        if block not in BLOCKS or (self.agents is not None and block != 1):
            wanted = "1, as a kernel of many agents needs" if self.agents is not None else f"one of {BLOCKS}"
            raise SpecError(f"block: expected {wanted}, got {block!r}")

    @cached_property
    def fields(self) -> list[Part]:
        """The state's fields, ``t`` left out."""
        found = []
        for name, field in self.package.spec.fields.items():
            if name == "t":
                continue
            if name in TAKEN:
                raise SpecError(f"state field {name}: a kernel's rows have a {name} of their own; choose another name")
            found.append(self._part(name, name, field.dtype, _narrow(field.dtype, field.low, field.high), field.shape))
        return found

    @cached_property
    def action(self) -> Part:
        """The action."""
        space = self.environment.action_space
        low, high = action_bounds(space)
        narrow = _narrow(space.dtype, low.min(), high.max())
        part = self._part("action", "action", space.dtype, narrow, space.shape or ())
        return replace(part, kept=part.dtype) if part.many else part

    @property
    def alike(self) -> bool:
        """Whether all elements of an action have the same bounds."""
        return all(
            bool((bound == bound.reshape(-1)[:1]).all()) for bound in action_bounds(self.environment.action_space)
        )

    @cached_property
    def seen(self) -> list[Part]:
        """What is seen: the observation or its parts, and what the kernel shows beside it."""
        observed = observation_parts(self.environment.observation_space)
        forms: dict[Any, Any] = {one.key: (one.space.dtype, one.space.shape or ()) for one in observed}
        if self.agents is not None:
            forms = {
                **{(GROUP, key): form for key, form in forms.items()},
                DIED: (np.dtype(np.bool_), (self.agents, 1)),
            }
        parts = [
            self._part(_called(key), key, np.dtype(dtype), np.dtype(dtype), tuple(shape))
            for key, (dtype, shape) in {**forms, **self._shows}.items()
        ]
        names = [part.name for part in parts]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SpecError(f"shows: a kernel shows two things as {twice}; choose another name for one of them")
        return parts

    @property
    def t_ctype(self) -> str:
        """The C type of ``t`` in a block."""
        return "int32_t" if self.package.spec.fields["t"].high < 2**31 else "uint32_t"

    @property
    def row_bytes(self) -> int:
        """The bytes of a row's state and clock in memory."""
        return sum(part.count * part.kept.itemsize for part in self.fields) + 2 * 8 + 3 * 4

    def _part(self, name: str, key: Any, dtype: Any, kept: Any, shape: tuple[int, ...]) -> Part:
        if not IDENTIFIER.fullmatch(name) or keyword.iskeyword(name) or C_WORD.fullmatch(name):
            raise SpecError(
                f"{name!r}: a kernel needs names that are C identifiers (letters, digits and _), and no words of C or "
                "Python; choose another name"
            )
        return Part(name, key, np.dtype(dtype), np.dtype(kept), tuple(shape), 0 if self.block == 1 else FEW)


def _called(key: Any) -> str:
    """What a kernel's source calls something that is seen: of a Tuple ``observation_0`` and so on."""
    if not isinstance(key, tuple):
        return str(key)
    return f"{OBSERVATION}_{key[1]}" if key[0] == OBSERVATION else str(key[1])


def action_bounds(space: Space) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest action, inclusive: arrays of the space's dtype and shape."""
    if isinstance(space, spaces.Box):
        return space.low, space.high
    shape: Any = space.shape or ()
    if isinstance(space, spaces.Discrete):
        low, high = space.start, space.start + space.n - 1
    elif isinstance(space, spaces.MultiDiscrete):
        low, high = space.start, space.start + space.nvec - 1
    else:
        low, high = 0, 1
    return np.broadcast_to(np.asarray(low, space.dtype), shape), np.broadcast_to(np.asarray(high, space.dtype), shape)


def _narrow(dtype: Any, low: float, high: float) -> np.dtype[Any]:
    """The narrowest integer type that holds the bounds of an integer dtype, no wider than itself."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "iu" or not (np.isfinite(low) and np.isfinite(high)):
        return dtype
    for name in INTEGERS:
        info = np.iinfo(name)
        if np.dtype(name).itemsize < dtype.itemsize and info.min <= low and high <= info.max:
            return np.dtype(name)
    return dtype
