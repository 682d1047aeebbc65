"""Checks values by a definition of a JSON Schema: quickly where they are plainly right, by ``jsonschema`` where not.

A state has as many numbers as a board has cells, and ``jsonschema`` takes microseconds for each. So what schemas of
packages are made of (objects, arrays, bounds) is compiled into a test that says yes only to what is surely valid. All
else is left to ``jsonschema``, which decides, and names the place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from .records import TrajectoryError
from .values import big

Test = Callable[[Any], bool]

OWN = Path(__file__).with_name("format.json")
NOTES = {"title", "description", "$comment", "examples"}
TYPES: dict[str, set[type]] = {"integer": {int}, "number": {int, float}, "boolean": {bool}, "string": {str}}
LONGEST = 160  # characters of a message that are shown


class Definition:
    """One definition, ``$defs/<name>``, of a schema."""

    def __init__(self, schema: dict[str, Any], name: str) -> None:
        self._schema, self._name = schema, name
        try:
            self._surely = _test({"$ref": f"#/$defs/{name}"}, schema)
        except RecursionError:  # a definition that holds itself: jsonschema judges each value
            self._surely = _unsure

    def take(self, value: Any, where: str) -> Any:
        """The value, with integers for strings that stand for them. Raises :class:`TrajectoryError`: ``where`` and the
        JSON pointer from there."""
        if self._surely(value):
            return value
        value = _with_integers(value, {"$ref": f"#/$defs/{self._name}"}, self._schema)
        if not self._surely(value):
            self._judge(value, where)
        return value

    @cached_property
    def _validator(self) -> Any:
        import jsonschema
        import referencing

        definition = {"$defs": self._schema["$defs"], "$ref": f"#/$defs/{self._name}"}
        return jsonschema.Draft202012Validator(definition, registry=referencing.Registry())  # asks no network

    def _judge(self, value: Any, where: str) -> None:
        import jsonschema
        import referencing.exceptions

        try:
            error = jsonschema.exceptions.best_match(self._validator.iter_errors(value))
        except RecursionError:
            raise TrajectoryError(f"{place(where)}: it is nested too deeply") from None
        except referencing.exceptions.Unresolvable as error:
            raise TrajectoryError(
                f"schema.json of the package: it refers to {error.ref!r}, which is not in it"
            ) from None
        if error is not None:
            pointer = "".join(f"/{token(part)}" for part in error.absolute_path)
            raise TrajectoryError(f"{place(where + pointer)}: {short(error.message)}")


def place(where: str) -> str:
    """Where something is, the whole of a file or a line as ``/``."""
    return f"{where}/" if where.endswith((" ", ":")) or not where else where


@lru_cache(maxsize=16)
def own(name: str) -> Definition:
    """A definition of the file format."""
    return Definition(_OWN, name)


@lru_cache(maxsize=64)
def of_package(source: bytes, name: str) -> Definition:
    """A definition of a package's ``schema.json``. Raises :class:`TrajectoryError` where there is none."""
    schema = json.loads(source)
    if name not in schema.get("$defs", {}):
        raise TrajectoryError(f"schema.json of the package: expected $defs/{name}")
    return Definition(schema, name)


_OWN: dict[str, Any] = json.loads(OWN.read_bytes())
_OWN["$defs"]["seed"] = _OWN["$defs"]["seed"]["anyOf"][0]  # a text that stands for a seed is one before it is judged


def _resolved(node: Any, schema: dict[str, Any]) -> Any:
    """What a node refers to, where that is a definition of the same schema and nothing is added to it."""
    seen: set[str] = set()
    while isinstance(node, dict) and node.keys() - NOTES == {"$ref"} and node["$ref"].startswith("#/$defs/"):
        if node["$ref"] in seen:
            raise TrajectoryError(f"schema.json of the package: {node['$ref']} refers to itself")
        seen.add(node["$ref"])
        node = schema["$defs"].get(node["$ref"][8:], {})
    return node


def _test(node: Any, schema: dict[str, Any]) -> Test:
    """A test that is true only of what a node surely takes."""
    node = _resolved(node, schema)
    if node is True:
        return lambda value: True
    if not isinstance(node, dict):
        return _unsure
    words, kind = node.keys() - NOTES, node.get("type")
    if kind == "object" and words <= {"type", "properties", "required", "additionalProperties"}:
        return _object(node, schema)
    if kind == "array" and words <= {"type", "items", "prefixItems", "minItems", "maxItems"}:
        return _array(node, schema)
    scalar = _scalar(node)
    if scalar is not None:
        return _number(*scalar)
    if words == {"anyOf"}:
        tests = [_test(part, schema) for part in node["anyOf"]]
        return lambda value: any(test(value) for test in tests)
    return _unsure


def _unsure(value: Any) -> bool:
    return False


def _scalar(node: Any) -> tuple[set[type], float, float] | None:
    """(Python types, least, greatest) of a plain number, truth value or text; None for anything else."""
    kind = node.get("type") if isinstance(node, dict) else None
    if not isinstance(kind, str) or kind not in TYPES or node.keys() - NOTES - {"type", "minimum", "maximum"}:
        return None
    return TYPES[kind], node.get("minimum", -math.inf), node.get("maximum", math.inf)


def _number(types: set[type], low: float, high: float) -> Test:
    if low == -math.inf and high == math.inf:
        return lambda value: value.__class__ in types

    def test(value: Any) -> bool:
        kind = value.__class__
        return kind in types and low <= value <= high

    return test


def _object(node: dict[str, Any], schema: dict[str, Any]) -> Test:
    parts = {name: _test(part, schema) for name, part in node.get("properties", {}).items()}
    required = set(node.get("required", ()))

    def test(value: Any) -> bool:
        if value.__class__ is not dict or not required <= value.keys() <= parts.keys():
            return False
        return all(parts[name](part) for name, part in value.items())

    return test


def _array(node: dict[str, Any], schema: dict[str, Any]) -> Test:
    least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
    first = [_test(part, schema) for part in node.get("prefixItems", ())]
    rest = node.get("items", True)
    scalar = _scalar(_resolved(rest, schema))
    if scalar is not None and not first:
        types, low, high = scalar
        bounded = low > -math.inf or high < math.inf

        def numbers(value: Any) -> bool:
            if value.__class__ is not list or not least <= len(value) <= most:
                return False
            if not value:
                return True
            return set(map(type, value)) <= types and (not bounded or (low <= min(value) and max(value) <= high))

        return numbers
    each = _test(rest, schema)

    def test(value: Any) -> bool:
        if value.__class__ is not list or not least <= len(value) <= most:
            return False
        return all(one(part) for one, part in zip(first, value, strict=False)) and all(map(each, value[len(first) :]))

    return test


def _with_integers(value: Any, node: Any, schema: dict[str, Any]) -> Any:
    """A value with integers where strings stand for integers that the schema has there."""
    node = _resolved(node, schema)
    if not isinstance(node, dict):
        return value
    if node.get("type") == "integer":
        return big(value)
    if isinstance(value, dict):
        known = node.get("properties", {})
        return {
            name: _with_integers(part, known[name], schema) if name in known else part for name, part in value.items()
        }
    if isinstance(value, list):
        first, rest = node.get("prefixItems", ()), node.get("items", True)
        return [
            _with_integers(part, first[number] if number < len(first) else rest, schema)
            for number, part in enumerate(value)
        ]
    return value


def token(part: str | int) -> str:
    """A part of a JSON pointer that can be printed."""
    text = str(part) if str(part).isprintable() else repr(part)[1:-1]
    return short(text.replace("~", "~0").replace("/", "~1"))


def short(message: str) -> str:
    """A message, or its beginning and its end."""
    half = LONGEST // 2
    return message if len(message) <= LONGEST else f"{message[:half]} ... {message[-half:]}"
