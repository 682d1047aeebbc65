"""Where actions and seeds come from: random, held for runs of steps, at the bounds of the space, and scripted."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import SpecError
from ..spec import Package
from .records import Record, observation_of, state_namespace

EDGE_SEEDS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
SWARM = 64
MODES = ("random", "held", "edges", "some left out")


def seeds(rng: np.random.Generator, count: int) -> np.ndarray:
    """Distinct seeds, uint64 [count]: random ones, and (where there is room) those at the edges of the words."""
    values = rng.integers(0, 2**64, count, dtype=np.uint64, endpoint=False)
    edges = np.array(EDGE_SEEDS, np.uint64)[: max(0, count - 2)]
    values[: len(edges)] = edges
    return rng.permutation(values)


def random_actions(space: spaces.Space[Any], rng: np.random.Generator, count: int) -> np.ndarray:
    """Uniform elements of an action space, [count, *shape] in its dtype."""
    shape = (count, *(space.shape or ()))
    if isinstance(space, spaces.Discrete):
        return rng.integers(space.start, space.start + space.n, shape, dtype=np.int64).astype(space.dtype)
    if isinstance(space, spaces.MultiDiscrete):
        return (space.start + rng.integers(0, space.nvec, shape)).astype(space.dtype)
    if isinstance(space, spaces.MultiBinary):
        return rng.integers(0, 2, shape).astype(space.dtype)
    assert isinstance(space, spaces.Box)
    return _box(space, rng, shape)


def _box(space: spaces.Box, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if space.dtype.kind in "iub":
        values = rng.integers(space.low.astype(np.int64), space.high.astype(np.int64), shape, endpoint=True)
        return values.astype(space.dtype)
    low, high = np.maximum(space.low, -1e3).astype(np.float64), np.minimum(space.high, 1e3).astype(np.float64)
    return np.clip((low + rng.random(shape) * (high - low)).astype(space.dtype), space.low, space.high)


def constant_numbers(package: Package) -> np.ndarray:
    """The numbers of a spec's constant table, those in lists too: float64, where comparisons may turn."""

    def flat(values: Any) -> list[Any]:
        return [part for value in values for part in (flat(value) if isinstance(value, list) else [value])]

    numbers = [value for value in flat(package.spec.constants.values()) if isinstance(value, (int, float))]
    return np.array([value for value in numbers if not isinstance(value, bool)] or [0.0], np.float64)


def edge_actions(package: Package, rng: np.random.Generator, count: int) -> np.ndarray:
    """Elements at the bounds of an action space; for a Box of floats also zeros of both signs and the spec's constants,
    where they lie inside, and the floats beside all of these."""
    space = package.environment.action_space
    actions = random_actions(space, rng, count)
    if isinstance(space, spaces.Box) and space.dtype.kind == "f":
        constants = constant_numbers(package).astype(space.dtype)
        turns = np.concatenate([constants, -constants, [0.0, -0.0]]).astype(space.dtype)
        pick = rng.integers(0, len(turns) + 2, actions.shape)
        chosen = turns[np.minimum(pick, len(turns) - 1)]
        chosen = np.where(pick == len(turns), space.low, np.where(pick > len(turns), space.high, chosen))
        side = rng.choice(np.array([-np.inf, np.inf], space.dtype), actions.shape)
        chosen = np.where(rng.random(actions.shape) < 0.3, np.nextafter(chosen, side), chosen)
        inside = np.isfinite(chosen) & (chosen >= space.low) & (chosen <= space.high)
        return np.where(inside, chosen, actions).astype(space.dtype)
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        low = np.asarray(space.start)
        high = low + (space.n if isinstance(space, spaces.Discrete) else space.nvec) - 1
        return np.where(rng.random(actions.shape) < 0.5, low, high).astype(space.dtype)
    return actions


class Actions:
    """Actions for N rows, step after step; each row follows one way of choosing for a while, then another.

    The ways: uniformly random; one action held for a run of steps; at the bounds; with some actions left out (as swarm
    testing does: what never happens makes room for what then does); each scripted policy of the package. With
    ``left_out`` every row follows the fourth.
    """

    def __init__(
        self,
        package: Package,
        rng: np.random.Generator,
        rows: int,
        mean_run: float = 40.0,
        left_out: bool = False,
    ) -> None:
        self.package, self.rng, self.rows = package, rng, rows
        self.space = package.environment.action_space
        self.policies = [policy.policy for policy in package.checks.POLICIES]
        self.change = 1.0 / mean_run
        self.ways = len(MODES) + len(self.policies)
        self.only = 3 if left_out else None
        self.way = self._some_way()
        self.held = random_actions(self.space, rng, rows)
        self.allowed = rng.random((rows, SWARM)) < 0.5  # by the number of an action, or of a component

    def next(self, now: Record) -> np.ndarray:
        """The actions for what all N rows show now: [N, *shape] in the space's dtype, in new memory."""
        rng = self.rng
        changing = rng.random(self.rows) < self.change
        self.way = np.where(changing, self._some_way(), self.way)
        self.allowed[changing] = rng.random((int(changing.sum()), SWARM)) < 0.5
        fresh = random_actions(self.space, rng, self.rows)
        letting_go = self._wide(rng.random(self.rows) < 0.15)
        self.held = np.where(letting_go, fresh, self.held)
        actions = np.where(self._wide(self.way == 1), self.held, fresh)
        actions = np.where(self._wide(self.way == 2), edge_actions(self.package, rng, self.rows), actions)
        actions = np.where(self._wide(self.way == 3) & self._left_out(fresh), self.held, actions)
        for number, policy in enumerate(self.policies, len(MODES)):
            chosen = self._wide(self.way == number)
            if chosen.any():
                actions = np.where(chosen, policy_actions(self.package, policy, now), actions)
        actions = actions.astype(self.space.dtype)
        return legal_actions(self.package, rng, actions, now)

    def _some_way(self) -> np.ndarray:
        if self.only is not None:
            return np.full(self.rows, self.only)
        return self.rng.integers(0, self.ways, self.rows)

    def _left_out(self, actions: np.ndarray) -> np.ndarray:
        """Which actions [N], or components of actions [N, *shape], a row leaves out: the held ones take their place."""
        if isinstance(self.space, spaces.Discrete):
            number = (actions.astype(np.int64) - self.space.start) % SWARM
            return ~np.take_along_axis(self.allowed, number[:, None], 1)[:, 0]
        components = np.arange(int(np.prod(actions.shape[1:]))) % SWARM
        return ~self.allowed[:, components].reshape(actions.shape)

    def _wide(self, mask: np.ndarray) -> np.ndarray:
        return mask.reshape(-1, *(1,) * len(self.space.shape or ()))


def mixed_actions(package: Package, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random elements of the action space, a fifth of them at its edges: [count, *shape]."""
    actions = random_actions(package.environment.action_space, rng, count)
    edges = (rng.random(count) < 0.2).reshape(-1, *(1,) * (actions.ndim - 1))
    return np.where(edges, edge_actions(package, rng, count), actions)


def legal_actions(package: Package, rng: np.random.Generator, actions: np.ndarray, now: Record) -> np.ndarray:
    """Illegal actions replaced by random legal ones, where the environment has an action mask.

    Where a worked example takes an illegal action, the spec says what it does, and half of them stay.
    """
    mask, space = now.get("action_mask"), package.environment.action_space
    if mask is None or not isinstance(space, spaces.Discrete):
        return actions
    kept = np.take_along_axis(mask, (actions - space.start)[:, None], 1)[:, 0]
    if defines_illegal_actions(package):
        kept |= rng.random(len(actions)) < 0.5
    other = np.argmax(mask * rng.random(mask.shape), axis=1) + space.start
    return np.where(kept, actions, other).astype(space.dtype)


@lru_cache(maxsize=64)
def defines_illegal_actions(package: Package) -> bool:
    """Whether a worked example takes an action that the reference's mask calls illegal."""
    env, start = package.reference(), int(getattr(package.environment.action_space, "start", 0))
    try:
        examples = package.spec.examples
    except SpecError:  # of a world with other constants, for which they were not worked out
        return False
    for example in examples:
        state = {name: value for name, value in example.state.items() if name != "t"}
        clock = {"seed": 0, "episode": 0, "t": int(example.state["t"])}
        mask = env.set_state({"state": state, "clock": clock})[1].get("action_mask")
        if mask is not None and not mask[int(example.action) - start]:
            return True
    return False


def policy_actions(package: Package, policy: Any, now: Record) -> np.ndarray:
    """A scripted policy's actions for all rows: [N, *shape] in the space's dtype."""
    space = package.environment.action_space
    rows = len(now["clock.t"])
    chosen = np.asarray(policy(state_namespace(package, now), observation_of(package, now)))
    return np.broadcast_to(chosen, (rows, *(space.shape or ()))).astype(space.dtype)
