"""Fixed traces: actions that follow from the clock alone, and the digest of what they lead to.

The actions come from the randomness contract itself, so that a trace is the same for every version of NumPy and of this
framework, and in every form that shows the clock: bare, transformed, collected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from tensordict import TensorDictBase
from torch import Tensor

from .. import bits
from ..fast import FastEnv
from ..fast.specs import torch_dtype
from ..rng.tensor import Draw
from ..spec import Package
from ..spec.agents import GROUP
from .lockstep import FastRows, References
from .records import Record, action_key, observation_parts

ACTION_SLOT = 239
ROWS, STEPS, SEED = 64, 200, 20240229


class ClockPolicy:
    """A policy for any form that shows ``clock``: the action is a pure function of (seed, episode, t)."""

    def __init__(self, package: Package) -> None:
        self.space, self.key = package.environment.action_space, action_key(package)

    def __call__(self, td: TensorDictBase) -> TensorDictBase:
        """Write ``action``."""
        clock = td.get("clock")
        seed, episode, t = (clock.get(name).reshape(-1) for name in ("seed", "episode", "t"))
        action = clock_actions(self.space, Draw.at(seed, episode, t))
        return td.set(self.key, action.reshape(*td.batch_size, *action.shape[1:]))


def clock_actions(space: spaces.Space[Any], draw: Draw) -> Tensor:
    """Actions [N, *shape] in the space's dtype; a Box by uniform draws between its bounds (cut at +-1000)."""
    shape = space.shape or None
    if isinstance(space, spaces.Discrete):
        return (draw.randint(ACTION_SLOT, int(space.n)) + int(space.start)).to(torch_dtype(space.dtype))
    if isinstance(space, spaces.MultiDiscrete):
        word = draw.bits(ACTION_SLOT, shape=shape)
        return (torch.from_numpy(space.start) + word % torch.from_numpy(space.nvec)).to(torch_dtype(space.dtype))
    if isinstance(space, spaces.MultiBinary):
        return draw.bernoulli(ACTION_SLOT, 0.5, shape=shape).to(torch_dtype(space.dtype))
    assert isinstance(space, spaces.Box)
    low, high = (torch.from_numpy(np.clip(bound, -1e3, 1e3).astype(np.float64)) for bound in (space.low, space.high))
    values = low + draw.uniform(ACTION_SLOT, shape=shape, dtype="float64") * (high - low)
    return (
        values.round().to(torch_dtype(space.dtype))
        if space.dtype.kind in "iub"
        else values.to(torch_dtype(space.dtype))
    )


def actions_at(package: Package, record: Record) -> np.ndarray:
    """The clock's actions for a record [..., rows]: [..., rows, *shape]."""
    shape = record["clock.t"].shape
    seed, episode, t = (
        torch.from_numpy(np.ascontiguousarray(record[f"clock.{name}"]).view(np.int64).reshape(-1))
        for name in ("seed", "episode", "t")
    )
    action = clock_actions(package.environment.action_space, Draw.at(seed, episode, t)).numpy()
    return action.reshape(*shape, *action.shape[1:])


def trace(package: Package, env: FastEnv[Any], steps: int, fused: bool = True) -> Iterator[tuple[Record, Record]]:
    """(what each step showed, what is shown now) for a fixed number of steps; first ({}, the first observations)."""
    fast = FastRows(package, env, fused)
    now = fast.reset()
    yield {}, now
    for _ in range(steps):
        ended, now = fast.step(actions_at(package, now))
        yield ended, now


def retrace(
    package: Package, env: FastEnv[Any], expected: list[tuple[Record, Record]], fused: bool = True
) -> Iterator[tuple[Record, Record]]:
    """The same with the actions of a trace that is known, for an environment that does not show its clock; it may have
    fewer rows than the trace, of which it takes the first."""
    fast = FastRows(package, env, fused)
    yield {}, fast.reset()
    for _, before in expected[:-1]:
        yield fast.step(actions_at(package, before)[: env.numel()])


def filled(
    package: Package, env: FastEnv[Any], expected: list[tuple[Record, Record]]
) -> Iterator[tuple[Record, Record]]:
    """The same by ``step_into``, each step written into its place of one memory [steps, N, ...]."""
    names: dict[Any, str] = {part.key: part.name for part in observation_parts(package)}
    agents = package.environment.agents
    if agents is not None:
        names = {(GROUP, key): name for key, name in names.items()} | {(GROUP, "terminated"): "died"}
    steps = len(expected) - 1

    def record(values: dict[Any, Tensor]) -> Record:
        named = {names.get(key, ".".join(key) if isinstance(key, tuple) else key): values[key] for key in values}
        named = {name: value.squeeze(-1) if name == "died" else value for name, value in named.items()}
        return {name: value.cpu().numpy() for name, value in named.items() if name != "done"}

    first = env.plain_reset()
    yield {}, {name: value for name, value in record(first).items() if name != "died"}
    flags: dict[Any, Any] = {"reward": (torch_dtype(env.environment.reward_dtype), () if agents is None else (agents,))}
    flags |= dict.fromkeys(("terminated", "truncated", "done"), (torch.bool, ()))
    forms = {key: (value.dtype, tuple(value.shape[1:])) for key, value in first.items()}
    ended, now = (
        {key: torch.empty((steps, env.numel(), *shape), dtype=dtype) for key, (dtype, shape) in one.items()}
        for one in ({**forms, **flags}, forms)
    )
    for number, (_, before) in enumerate(expected[:-1]):
        action = torch.from_numpy(actions_at(package, before)[: env.numel()])
        places = [{key: value[number] for key, value in one.items()} for one in (ended, now)]
        env.step_into(action, *places)
        ended_now, seen = (record(one) for one in places)
        seen.pop("died", None)
        yield ended_now, seen


def digest(package: Package, env: FastEnv[Any], steps: int) -> str:
    """SHA-256 over a trace."""
    total = bits.Digest()
    for ended, now in trace(package, env, steps):
        total.update(ended)
        total.update(now)
    return total.hexdigest()


def reference_digest(package: Package, seed: int, steps: int, rows: int = 3) -> str:
    """SHA-256 over what some references show from ``seed``, ``seed + 1`` ... on."""
    references, total = References(package, rows), bits.Digest()
    now = references.reset(np.arange(rows, dtype=np.uint64) + np.uint64(seed))
    total.update(now)
    for _ in range(steps):
        ended, now = references.step(actions_at(package, now))
        total.update(ended)
        total.update(now)
    return total.hexdigest()


def standard_digest(package: Package) -> str:
    """The digest of the trace that a package commits in ``trace.json``: 64 instances, 200 steps, one fixed seed."""
    return digest(package, package.fast(batch_size=[ROWS], seed=SEED, expose_state=True), STEPS)
