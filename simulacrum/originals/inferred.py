"""``adopt``: an environment as a reference at once, its declarations read from what it tells of itself."""

from __future__ import annotations

import dataclasses
import importlib
import re
import types
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import gymnasium
import numpy as np

from ..errors import SpecError
from ..rng import Draw
from ..spec.environment import ID_PATTERN, Environment
from .adoption import Adoption, Read, See, Write
from .env import AdoptedEnv
from .generator import KeyedGenerator

__all__ = ["CallSlots", "adopt", "declared", "first_values", "state_type", "step_cap"]


class CallSlots(IntEnum):
    """One slot a phase: the k-th number of a reset or a step has the index k."""

    RESET = 0
    STEP = 1


def adopt(
    original: str | type[gymnasium.Env[Any, Any]],
    *,
    state: Mapping[str, str] | Sequence[str] | tuple[Read, Write],
    observation: str | See | None = None,
    translate: See | None = None,
    action_mask: str | See | None = None,
    environment: Environment | None = None,
    max_episode_steps: int | None = None,
    **options: Any,
) -> type[AdoptedEnv[Any]]:
    """A Gymnasium environment, unmodified, as a reference: a class whose instances are ``simulacrum.ReferenceEnv``.

    Args:
        original: a Gymnasium ID, or a class.
        state, observation, translate, action_mask: see :class:`~simulacrum.Adoption`.
        environment: ID, spaces, step cap and slots; None: read from the original, with one slot a phase
            (``RESET``, ``STEP``), rewards of float64, and the ID ``adopted/<name>-v<k>``.
        max_episode_steps: the step cap where ``environment`` is None; by default that of the original's registration.
        options: keyword arguments that the original is made with.

    In a package, write the class out (``simulacrum new NAME --adopt ID`` does it). Raises
    :class:`~simulacrum.errors.SpecError` for an original that cannot be made, that draws while it is made, or that has
    no such attribute; :class:`~simulacrum.errors.SpaceError` for a space that is not supported.

    Example:
        >>> import simulacrum
        >>> taxi = simulacrum.adopt("Taxi-v4", state=["s", "fickle_step"], observation="s")
        >>> env = taxi()
        >>> env.environment.id, env.environment.max_episode_steps
        ('adopted/Taxi-v4', 200)
        >>> observation, info = env.reset(seed=3)
        >>> (observation == env.get_state()["state"]["s"], info)
        (True, {'seed': 3})
    """
    adoption = Adoption(original, state, observation, translate, action_mask, options)
    if environment is None:
        environment = declared(adoption, max_episode_steps)
    body = {
        "__doc__": f"{adoption.name}, unmodified, as a reference.",
        "__module__": __name__,
        "environment": environment,
        "adopts": adoption,
        "_state_class": state_type(first_values(adoption)),
    }
    name = re.sub(r"\W", "", adoption.name.split("/")[-1])
    return types.new_class(name, (AdoptedEnv,), exec_body=lambda namespace: namespace.update(body))


def declared(adoption: Adoption, max_episode_steps: int | None = None) -> Environment:
    """What an original tells of itself: spaces, and the step cap of its registration."""
    made = adoption.make()
    match = ID_PATTERN.fullmatch(adoption.id)
    name, version = (match["name"], match["version"]) if match else (adoption.name, "0")
    return Environment(
        id=f"adopted/{name}-v{version}",
        action_space=made.action_space,
        observation_space=made.observation_space,
        max_episode_steps=max_episode_steps or step_cap(adoption),
        slots=CallSlots,
        reset_slots={CallSlots.RESET},
        reward_dtype=np.float64,
    )


def step_cap(adoption: Adoption) -> int | None:
    """The step cap of an original's registration; None where it has none. Raises :class:`SpecError` for an ID without
    its version, of which there is no registration."""
    if not isinstance(adoption.original, str):
        return None
    gymnasium_id = adoption.original.rpartition(":")
    if gymnasium_id[0]:
        importlib.import_module(gymnasium_id[0])  # which registers it
    try:
        return gymnasium.spec(gymnasium_id[2]).max_episode_steps
    except gymnasium.error.Error as error:
        raise SpecError(f"{adoption.name}: expected an ID with its version, as FrozenLake-v1: {error}") from error


def first_values(adoption: Adoption) -> dict[str, Any]:
    """The fields of some first state."""
    made, generator = adoption.make(), KeyedGenerator()
    made.np_random = generator
    with generator.drawing(Draw.at(0, 0, 0), [CallSlots.RESET], "reset"):
        made.reset()
    return adoption.read(made)


def state_type(values: Mapping[str, Any]) -> type[Any]:
    """A ``State`` dataclass for fields of these values, with ``t`` last."""
    fields: list[Any] = [(name, _hint(name, value)) for name, value in values.items() if name != "t"]
    return dataclasses.make_dataclass("State", [*fields, ("t", int, 0)])


def _hint(name: str, value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return bool
    if isinstance(value, (int, np.integer)):
        return int
    if isinstance(value, (float, np.floating)):
        return float
    if isinstance(value, np.ndarray):
        return np.ndarray
    if isinstance(value, (list, tuple)) and value and len(kinds := {_hint(name, one) for one in value}) == 1:
        inner: Callable[..., Any] = list if isinstance(value, list) else tuple
        kind = kinds.pop()
        return list[kind] if inner is list else tuple[kind, ...]  # type: ignore[valid-type]
    raise SpecError(
        f"state field {name}: expected a number, an array, or a list or tuple of numbers, got {value!r}: read and "
        "write it by a pair of functions"
    )
