"""``tensor_state``: the decorator of the fast side's ``State``."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TypeVar

from typing_extensions import dataclass_transform

T = TypeVar("T")


@dataclass_transform()
def tensor_state(cls: type[T]) -> type[T]:
    """Make a class of annotated tensors ([N, ...] each, the spec's state fields) a dataclass.

    ``t`` may be left out when a state is made: the base class sets it.
    """
    if "t" in inspect.get_annotations(cls) and not hasattr(cls, "t"):
        cls.t = None  # type: ignore[attr-defined]
    return dataclasses.dataclass(eq=False)(cls)
