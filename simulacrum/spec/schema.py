"""A package's ``schema.json`` at other constants: the sizes and bounds that ``spec.md`` gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import PackageError
from .document import Spec
from .rows import Field


def resized(schema: bytes, spec: Spec) -> bytes:
    """The schema with the shapes and bounds of a spec in its definitions ``state`` and ``action``. Where it has such
    arrays, also in ``observation`` (and in the ``prefixItems`` of a Tuple), ``reward`` and ``died``; where it has
    bounds of an observation that is Discrete, these. A trajectory is as long as the step cap allows.

    Raises :class:`PackageError` for a schema that has no such parts.
    """
    try:
        content = json.loads(schema)
        parts = content["$defs"]
        for name, field in spec.fields.items():
            _bound(_sized(parts["state"]["properties"][name], field.shape), field)
        each = () if spec.agents is None else (spec.agents,)
        shapes = {"observation": spec.observation_space.shape, "reward": each, "died": each}
        _sized(parts["action"], spec.action_space.shape or ())
        for name, shape in shapes.items():
            if name in parts:
                _sized(parts[name], shape or ())
        if isinstance(spec.observation_space, spaces.Discrete) and "observation" in parts:
            _counted(parts["observation"], spec.observation_space)
        if isinstance(spec.observation_space, spaces.Tuple) and "observation" in parts:
            for part, space in zip(parts["observation"]["prefixItems"], spec.observation_space.spaces, strict=True):
                _sized(part, space.shape or ())
                if isinstance(space, spaces.Discrete):
                    _counted(part, space)
        _capped(parts["trajectory"]["properties"]["steps"], spec.max_episode_steps)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise PackageError(
            f"schema.json: expected $defs/state and $defs/action as spec.md has them: {error!r}"
        ) from None
    return json.dumps(content, indent=2).encode()


def _sized(part: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """A part of a schema with the sizes of nested arrays; the innermost part."""
    for size in shape:
        part["minItems"] = part["maxItems"] = size
        part = part["items"]
    return part


def _counted(part: dict[str, Any], space: spaces.Discrete) -> None:
    """The bounds of a Discrete part, where it has any."""
    for name, bound in (("minimum", space.start), ("maximum", space.start + space.n - 1)):
        if name in part:
            part[name] = int(bound)


def _capped(steps: dict[str, Any], cap: int | None) -> None:
    """The bounds of a trajectory's steps, where it has any."""
    for part, bound in ((steps, "maxItems"), (steps["items"]["properties"]["t"], "maximum")):
        if bound in part and cap is not None:
            part[bound] = cap


def _bound(part: dict[str, Any], field: Field) -> None:
    """Put in the bounds of a field, but for those that are infinite, and a boolean's."""
    if field.dtype.kind == "b":
        return
    for name, bound in (("minimum", field.low), ("maximum", field.high)):
        if np.isfinite(bound):
            part[name] = bound
