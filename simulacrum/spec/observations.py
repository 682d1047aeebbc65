"""The parts of an observation: how elements of a ``Dict`` or a ``Tuple`` come apart, and together again.

The fast side has each part under a key of its TensorDicts, for they hold no tuples:

| space | keys | names in findings |
|---|---|---|
| ``Dict`` | the space's own | ``observation.key`` |
| ``Tuple`` | ``("observation", "0")``, ``("observation", "1")``, ... | ``observation[0]``, ``observation[1]``, ... |
| any other | ``"observation"`` | ``observation`` |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gymnasium import spaces

from .spaces import Space

OBSERVATION = "observation"


class Part(NamedTuple):
    """A part of an observation: its name, its TensorDict key, its place in an element (None: it is the whole), and its
    space."""

    name: str
    key: Any
    place: str | int | None
    space: Space

    def of(self, element: Any) -> Any:
        """This part of an element, or of a batch of them as spaces batch: of an array, a dict or a tuple."""
        return element if self.place is None else element[self.place]


def parts(space: Space) -> list[Part]:
    """The parts of a space's elements, in order."""
    if isinstance(space, spaces.Dict):
        return [Part(f"{OBSERVATION}.{key}", key, key, part) for key, part in space.spaces.items()]
    if isinstance(space, spaces.Tuple):
        return [
            Part(f"{OBSERVATION}[{place}]", (OBSERVATION, str(place)), place, part)
            for place, part in enumerate(space.spaces)
        ]
    return [Part(OBSERVATION, OBSERVATION, None, space)]


def keyed(element: Any) -> dict[Any, Any]:
    """An element by the keys of its parts, whatever its space."""
    if isinstance(element, dict):
        return dict(element)
    if isinstance(element, tuple):
        return {(OBSERVATION, str(place)): part for place, part in enumerate(element)}
    return {OBSERVATION: element}


def named(element: Any) -> dict[str, Any]:
    """An element by the names of its parts, whatever its space."""
    if isinstance(element, dict):
        return {f"{OBSERVATION}.{key}": part for key, part in element.items()}
    if isinstance(element, tuple):
        return {f"{OBSERVATION}[{place}]": part for place, part in enumerate(element)}
    return {OBSERVATION: element}


def joined(space: Space, values: Mapping[str, Any]) -> Any:
    """The element of a space whose parts are given by name."""
    if isinstance(space, spaces.Dict):
        return {part.place: values[part.name] for part in parts(space)}
    if isinstance(space, spaces.Tuple):
        return tuple(values[part.name] for part in parts(space))
    return values[OBSERVATION]
