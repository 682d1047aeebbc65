"""What a static read knows of a value: whether it depends on the data of the rows, and whose memory it lies in."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

STRENGTH = ("static", "constant", "container", "setting", "shape", "rows", "draw", "state", "tensor")


@dataclass(frozen=True)
class Value:
    """What is known of a value.

    Attributes:
        nature: ``tensor`` (depends on the rows' data), ``constant`` (a tensor that does not), ``state``, ``draw`` and
            ``self`` (what the contract's functions are given), ``shape`` and ``rows`` (a tensor's sizes; N),
            ``setting`` (a device), ``container`` (a tuple, list, dict or dataclass of ``parts``), ``function``, and
            ``static``: anything else, the same for every row.
        floats: whether it holds floats; None where that is not known.
        lent: whether the memory is the caller's or outlives the call, so that nothing may be written there.
        parts, names: a container's elements, and their keys where these are known.
        code: of a function: its node, the module and the local names that it sees.
    """

    nature: str = "static"
    floats: bool | None = None
    lent: bool = False
    parts: tuple[Value, ...] = ()
    names: tuple[str, ...] = ()
    code: Any = field(default=None, compare=False)

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor of either nature."""
        return self.nature in ("tensor", "constant")

    def own(self) -> Value:
        """The same in new memory."""
        return replace(self, lent=False)

    def part(self, name: str) -> Value:
        """A container's part by its key or attribute; what is known of all parts where the key is not."""
        return self.parts[self.names.index(name)] if name in self.names else join(self.parts)

    def element(self) -> Value:
        """What iterating over it gives."""
        if self.nature == "container":
            return join(self.parts)
        if self.nature == "shape":
            return STATIC
        return self


STATIC = Value()
ROWS = Value("rows", False)
SETTING = Value("setting")


def join(values: Iterable[Value]) -> Value:
    """What is known of a value that may be any of these, or is made of all of them."""
    listed = list(values)
    if not listed:
        return STATIC
    strongest = max(listed, key=lambda value: STRENGTH.index(value.nature) if value.nature in STRENGTH else 0)
    alike = [value for value in listed if value.nature == strongest.nature]
    parts: tuple[Value, ...] = strongest.parts
    names = strongest.names
    if all(len(value.parts) == len(parts) and value.names == names for value in alike):
        parts = tuple(join(column) for column in zip(*(value.parts for value in alike), strict=True))
    else:
        parts = tuple(part for value in alike for part in value.parts)
        parts, names = ((join(parts),) if parts else ()), ()
    return Value(strongest.nature, floats(listed), any(value.lent for value in listed), parts, names, strongest.code)


def floats(values: Iterable[Value]) -> bool | None:
    """Whether arithmetic over these gives floats."""
    known = [value.floats for value in values]
    return True if True in known else None if None in known else False


def of_literal(node: ast.Constant) -> Value:
    """A number, a text or None."""
    number = isinstance(node.value, (bool, int, float))
    return Value("static", isinstance(node.value, float) if number else None)
