"""What the other agents do: at random, or by one of the package's scripted policies."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import PackageError
from ..spec.observations import joined, named
from ..spec.package import Package

RANDOM = "random"
Policy = Callable[[Any, Any], np.ndarray]


def policy_of(package: Package, name: str, seed: int) -> Policy:
    """``policy(state, observation)``: the actions of all agents, of the joint action space.

    Args:
        name: ``random``, or that of one of ``checks.py``'s ``POLICIES``.
        seed: of the random policy; the game's own draws never depend on it.

    Raises :class:`PackageError` for another name.
    """
    space = package.environment.action_space
    if name == RANDOM:
        generator = np.random.default_rng(seed)
        low = np.asarray(getattr(space, "start", 0))
        high = low + np.asarray(getattr(space, "nvec", getattr(space, "n", 1)))
        return lambda state, seen: generator.integers(low, high, space.shape).astype(space.dtype)
    scripted = {policy.name: policy.policy for policy in package.checks.POLICIES}
    if name not in scripted:
        known = ", ".join([RANDOM, *scripted])
        raise PackageError(f"policy: expected one of {known} (POLICIES in {package.path / 'checks.py'}), got {name!r}")
    return lambda state, seen: _scripted(package, scripted[name], state, seen)


def _scripted(package: Package, policy: Any, state: Any, seen: Any) -> np.ndarray:
    """What a scripted policy, which takes and gives batches, does in a batch of one."""
    fields, space = package.spec.fields, package.environment.action_space
    batch = SimpleNamespace(
        **{name: np.asarray(getattr(state, name), field.dtype)[None] for name, field in fields.items()}
    )
    observed = {name: np.asarray(part)[None] for name, part in named(seen).items()}
    batched = joined(package.environment.observation_space, observed)
    return np.broadcast_to(np.asarray(policy(batch, batched)), (1, *(space.shape or ())))[0].astype(space.dtype)
