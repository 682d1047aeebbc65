"""What a ``schema.json`` says of the state's fields and of the action: dtypes and shapes, and values made to fit them.

Only schemas of numbers, truth values and arrays of them can be packed. A schema comes from anywhere, so whatever in it
could lead a validator elsewhere (patterns, references that go round or leave the file) is refused first.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trajectory.schema import Definition
from ..trajectory.values import EXACT, loads
from .errors import PackError

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)
KINDS = {"boolean": ("bool",), "integer": INTEGERS, "number": FLOATS}
BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const"}
NOTES = {"title", "description", "default", "examples", "$comment"}
WORDS = {
    "object": {"type", "properties", "required", "additionalProperties"},
    "array": {"type", "items", "prefixItems", "minItems", "maxItems"},
    **{kind: {"type", *BOUNDS} for kind in KINDS},
}

Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Field:
    """A number of the state, or an array of them; or the action.

    Attributes:
        dtype: as NumPy names it.
        shape: of one instance; None stands for a length that varies.
        text: whether an integer of it may lie beyond 2**53, so that flat files hold it as texts.
    """

    dtype: str
    shape: Shape = ()
    text: bool = False

    def take(self, value: Any) -> Any:
        """A value in this dtype: a Python number, or an array [\\*shape]. Raises ValueError, which says what came."""
        if not self.shape:
            return scalar(value, self.dtype)
        if None in self.shape:
            return [Field(self.dtype, self.shape[1:]).take(part) for part in value]
        made = array(value, self.dtype)
        if made.shape != self.shape:
            raise ValueError(f"expected the shape {list(self.shape)}, got {list(made.shape)}")
        return made


def scalar(value: Any, dtype: str) -> bool | int | float:
    """A JSON number in a dtype: floats are rounded to it, integers must fit. Raises ValueError."""
    if dtype == "bool":
        if value.__class__ is bool:
            return bool(value)
    elif value.__class__ is int or value.__class__ is float:
        if dtype in INTEGERS:
            bounds = np.iinfo(dtype)
            if value == value // 1 and bounds.min <= value <= bounds.max:
                return int(value)
        else:
            number = as_float(value, dtype)
            if math.isfinite(number):
                return number
    raise ValueError(f"expected a finite number of {dtype}, got {_short(value)}")


def as_float(value: int | float, dtype: str) -> float:
    """The nearest number of a dtype, or an infinity."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf
    if dtype == "float64":
        return number
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def array(value: Any, dtype: str) -> np.ndarray[Any, Any]:
    """Nested lists of JSON numbers in a dtype, as :func:`scalar` takes each. Raises ValueError."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            made = np.array(value, "float64" if dtype in FLOATS else dtype).astype(dtype)
            whole = np.isfinite(made) if dtype in FLOATS else made == np.array(value)  # 1.5 is cut off to 1
    except (OverflowError, TypeError):
        whole = np.False_
    if not np.all(whole):
        raise ValueError(f"expected finite numbers of {dtype}, got {_short(value)}")
    return made


class Schema:
    """A ``schema.json``: its bytes, and the fields of its ``$defs/state`` and ``$defs/action``.

    Attributes:
        file: how messages name it.
        source: its bytes.
        state: the state's fields by name, in their order.
        action: the action.
    """

    def __init__(self, source: bytes, file: str) -> None:
        self.source, self.file = source, file
        try:
            content = loads(source)
        except ValueError as error:
            raise PackError(f"{file}: /: expected JSON: {error}") from None
        found = content.get("$defs") if isinstance(content, dict) else None
        if not isinstance(found, dict):
            raise self.error("/$defs", "expected the definitions state and action of a package's schema.json")
        self._all, self._used = found, dict[str, Any]()
        state, where = self._node({"$ref": "#/$defs/state"}, "", "object")
        self.state = {
            name: self._field(part, f"{where}/properties/{_escaped(name)}")
            for name, part in state.get("properties", {}).items()
        }
        if not self.state:
            raise self.error(f"{where}/properties", "expected the state's fields, got none")
        self.action = self._field({"$ref": "#/$defs/action"}, "")

    def error(self, where: str, message: str) -> PackError:
        """An error that names file and place."""
        return PackError(f"{self.file}: {where}: {message}")

    @property
    def tests(self) -> tuple[Definition, Definition]:
        """What judges states, and actions: of the definitions that these need, and nothing else of the file."""
        alone = {"$defs": self._used}
        return Definition(alone, "state"), Definition(alone, "action")

    def typed(self, name: str | None, dtype: str, shape: Shape) -> Field:
        """A state field (None: the action) in a dtype and a shape given otherwise. Raises :class:`PackError` where the
        schema does not allow them."""
        found = self.action if name is None else self.state[name]
        where = "/$defs/action" if name is None else f"/$defs/state/properties/{_escaped(name)}"
        kinds = [(kind in FLOATS, kind == "bool") for kind in (dtype, found.dtype)]
        same = len(found.shape) == len(shape) and all(map(lambda one, other: one in (None, other), found.shape, shape))
        if dtype not in DTYPES or kinds[0] != kinds[1] or not same:
            got = f"{found.dtype} {list(found.shape)}"
            raise self.error(where, f"expected {dtype} {list(shape)}, got what is {got}")
        return Field(dtype, shape, found.text and dtype in ("int64", "uint64"))

    def _definition(self, name: str, where: str) -> Any:
        """One of ``$defs``, as a schema of JSON Schema 2020-12."""
        import jsonschema

        if name not in self._all or "~" in name or "%" in name:
            raise self.error(where, f"expected one of $defs, got {_short(name)}")
        if name not in self._used:
            try:
                jsonschema.Draft202012Validator.check_schema(self._all[name])
            except jsonschema.SchemaError as error:
                pointer = "".join(f"/{_escaped(str(part))}" for part in error.absolute_path)
                raise self.error(f"/$defs/{_escaped(name)}{pointer}", _short(error.message)) from None
            except (RecursionError, OverflowError):
                raise self.error(f"/$defs/{_escaped(name)}", "no validator can check it") from None
            self._used[name] = self._all[name]
        return self._used[name]

    def _node(self, node: Any, where: str, *kinds: str) -> tuple[dict[str, Any], str]:
        """A node of one of some types, behind its references, and where it stands."""
        seen: set[str] = set()
        while isinstance(node, dict) and node.keys() - NOTES == {"$ref"}:
            target = str(node["$ref"])
            name = target.removeprefix("#/$defs/")
            if name in seen or name == target:  # it goes round, or leads elsewhere
                raise self.error(f"{where}/$ref", f"expected a reference to another of $defs, got {_short(target)}")
            seen.add(name)
            node = self._definition(name, f"{where}/$ref" if where else f"/$defs/{name}")
            where = f"/$defs/{_escaped(name)}"
        kind = node.get("type") if isinstance(node, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            raise self.error(f"{where}/type", f"expected {' or '.join(kinds)}, got {_short(kind)}")
        unknown = sorted(word for word in node.keys() - WORDS[kind] - NOTES if not word.startswith("x-"))
        if unknown:
            expected = ", ".join(sorted(WORDS[kind]))
            raise self.error(f"{where}/{_escaped(unknown[0])}", f"a pack takes only {expected} of {kind}")
        if not isinstance(node.get("additionalProperties", True), bool):
            raise self.error(f"{where}/additionalProperties", "expected true or false")
        return node, where

    def _field(self, node: Any, where: str, depth: int = 0) -> Field:
        """A scalar, or an array of fields that are alike."""
        node, where = self._node(node, where, *KINDS, "array")
        if node["type"] != "array":
            return _scalar_field(node)
        if depth > 8:
            raise self.error(where, "expected arrays of at most 8 axes")
        first, rest = node.get("prefixItems", []), node.get("items", True)
        parts = [self._field(part, f"{where}/prefixItems/{index}", depth + 1) for index, part in enumerate(first)]
        if rest is not False:
            parts.append(self._field(rest, f"{where}/items", depth + 1))
        if not parts:
            raise self.error(f"{where}/items", "expected the schema of an element")
        if len({(part.dtype in FLOATS, part.dtype == "bool", part.shape) for part in parts}) > 1:
            raise self.error(f"{where}/prefixItems", "expected elements of one type and shape")
        dtype = max((part.dtype for part in parts), key=lambda name: (np.dtype(name).itemsize, name))
        fixed = node.get("minItems") == node.get("maxItems") is not None
        length = int(node["minItems"]) if fixed else None
        return Field(dtype, (length, *parts[0].shape), any(part.text for part in parts))


def _scalar_field(node: dict[str, Any]) -> Field:
    """A number in the smallest usual dtype that its bounds allow."""
    if node["type"] != "integer":
        return Field("bool" if node["type"] == "boolean" else "float64")
    low, high = node.get("minimum", -math.inf), node.get("maximum", math.inf)
    text = not -EXACT <= low <= high <= EXACT
    if -(1 << 31) <= low <= high < 1 << 31:
        return Field("int32")
    return Field("uint64" if low >= 0 and high >= 1 << 63 and high < math.inf else "int64", (), text)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _short(value: Any) -> str:
    """A value as messages show it."""
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except (TypeError, ValueError):
        text = repr(type(value).__name__)
    return text if len(text) <= 120 else f"{text[:80]} ... ({len(text)} characters)"
