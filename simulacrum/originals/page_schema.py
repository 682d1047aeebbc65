"""``schema.json`` of a package around an adopted environment."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .survey import Field, Survey

__all__ = ["bounds", "schema"]


def schema(name: str, fields: list[Field], seen: Survey) -> dict[str, Any]:
    """``schema.json`` of a package with these fields."""
    t = {"type": "integer", "minimum": 0, "maximum": seen.cap or 2**31 - 1}
    state = _object({**{one.name: _field_schema(one) for one in fields}, "t": t})
    state["additionalProperties"] = False
    reference = {part: {"$ref": f"#/$defs/{part}"} for part in ("state", "action", "observation")}
    flags = {"terminated": {"type": "boolean"}, "truncated": {"type": "boolean"}}
    step = {
        "t": t,
        "action": reference["action"],
        "observation": reference["observation"],
        "reward": {"type": "number"},
    }
    steps = {"type": "array", "items": _object({**step, **flags, "state": reference["state"]})}
    trajectory = {
        "id": {"type": "string"},
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1},
        "episode": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
        "first": _object({"state": reference["state"], "observation": reference["observation"]}),
        "steps": {**steps, "maxItems": seen.cap} if seen.cap else steps,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "$ref": "#/$defs/trajectory",
        "$defs": {
            "state": state,
            "action": _space_schema(seen.action_space),
            "observation": _space_schema(seen.observation_space),
            "trajectory": _object(trajectory),
        },
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _field_schema(field: Field) -> dict[str, Any]:
    low, high = json.loads(bounds(field))
    kind = {"bool": "boolean"}.get(field.dtype or "", "number" if "float" in (field.dtype or "") else "integer")
    one = {"type": kind} if kind == "boolean" else {"type": kind, "minimum": low, "maximum": high}
    return _array(one, field.shape)


def _array(one: dict[str, Any], shape: Sequence[int]) -> dict[str, Any]:
    for size in reversed(shape):
        one = {"type": "array", "items": one, "minItems": size, "maxItems": size}
    return one


def _space_schema(space: spaces.Space[Any]) -> dict[str, Any]:
    if isinstance(space, spaces.Discrete):
        return {"type": "integer", "minimum": int(space.start), "maximum": int(space.start + space.n - 1)}
    if isinstance(space, spaces.Dict):
        return _object({key: _space_schema(part) for key, part in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        parts = [_space_schema(part) for part in space.spaces]
        return {"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts), "maxItems": len(parts)}
    if isinstance(space, spaces.MultiDiscrete):
        items = [{"type": "integer", "minimum": 0, "maximum": int(n) - 1} for n in space.nvec.ravel()]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items), "maxItems": len(items)}
    kind = "number" if np.dtype(space.dtype or np.int64).kind == "f" else "integer"
    one: dict[str, Any] = {"type": kind}
    if isinstance(space, spaces.Box):
        bounds = {"minimum": space.low.min().item(), "maximum": space.high.max().item()}
        one.update({key: value for key, value in bounds.items() if math.isfinite(value)})
    return _array(one, space.shape or ())


def bounds(field: Field) -> str:
    """The bounds of a field as spec.md writes them."""
    if field.dtype == "bool":
        return "[0, 1]"
    low, high = field.low, field.high
    return f"[{low}, {high}]" if field.dtype and field.dtype.startswith("float") else f"[{int(low)}, {int(high)}]"
