"""What is found out about a reference: its first observations, whether its steps draw, how its state is set."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np

from .errors import CompareError
from .leaves import BARE, Leaves, leaves, unlike
from .views import Moment, View

SAMPLES = 20_000  # resets of the reference at most
ENOUGH = 20  # of each first observation, after which all are held to be known: one that is missed has p < e**-20
GROUPS, LENGTH = 24, 32  # first observations, and steps, by which it is seen whether they determine the rest


def play(env: gymnasium.Env[Any, Any], seed: int, actions: np.ndarray) -> list[Any]:
    """The observations of one episode, up to its end or that of the actions."""
    seen = [copy.deepcopy(env.reset(seed=seed)[0])]
    for action in actions:
        observation, _, terminated, truncated, _ = env.step(plain(action))
        seen.append(copy.deepcopy(observation))
        if terminated or truncated:
            break
    return seen


def plain(action: np.ndarray) -> Any:
    """A row's action as a single environment takes it: a NumPy scalar of a Discrete space, else an array."""
    return action[()] if np.ndim(action) == 0 else np.array(action)


def draws_in_steps(env: gymnasium.Env[Any, Any], actions: np.ndarray) -> bool:
    """Whether an environment's own generator moves in its steps."""
    env.reset(seed=0)
    for action in actions:
        before = copy.deepcopy(env.unwrapped.np_random.bit_generator.state)
        _, _, terminated, truncated, _ = env.step(plain(action))
        if not _same_state(before, env.unwrapped.np_random.bit_generator.state):
            return True
        if terminated or truncated:
            env.reset()
    return False


@dataclass
class Firsts:
    """First observations of the reference, by value: the seeds that give each, and how often it came."""

    seeds: dict[bytes, list[int]]
    samples: list[Leaves]

    @classmethod
    def of(cls, env: gymnasium.Env[Any, Any]) -> Firsts:
        """Sampled with the seeds 0, 1, 2 ... until each was seen often enough, or there are too many."""
        found: dict[bytes, list[int]] = {}
        samples = []
        for seed in range(SAMPLES):
            samples.append(leaves(env.reset(seed=seed)[0]))
            found.setdefault(_flat_key(samples[-1]), []).append(seed)
            if seed in (999, 3999, 7999, 11_999, 15_999) and (_known(found) or len(found) > seed // 2):
                break
        return cls(found, samples)

    @cached_property
    def known(self) -> bool:
        """Whether all first observations were seen, each often."""
        return _known(self.seeds)

    @cached_property
    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest value of each element among the samples."""
        values = np.stack([_flat(sample) for sample in self.samples]).astype(np.float64)
        return values.min(0), values.max(0)

    def seed(self, table: Leaves) -> int | None:
        """A seed that gives this first observation; None where none was found."""
        found = self.seeds.get(_flat_key(table))
        return None if found is None else found[0]

    def plausible(self, table: Leaves) -> bool:
        """Whether an observation may be a first one: it is one of those, or lies where they lie, a tenth wider."""
        if self.known:
            return self.seed(table) is not None
        low, high = self.range
        seen, slack = _flat(table).astype(np.float64), (high - low) / 10
        return seen.shape == low.shape and bool(((seen >= low - slack) & (seen <= high + slack)).all())

    def determine(self, envs: list[gymnasium.Env[Any, Any]], pair: Any) -> bool:
        """Whether two seeds with one first observation play alike, for all pairs tried."""
        groups = [found for found in self.seeds.values() if len(found) > 1][:GROUPS]
        for number, found in enumerate(groups):
            actions = pair.actions(np.random.default_rng(number), LENGTH, 1)[:, 0]
            one, other = (play(env, seed, actions) for env, seed in zip(envs, (found[0], found[-1]), strict=True))
            if len(one) != len(other) or any(unlike(leaves(a), leaves(b)) for a, b in zip(one, other, strict=True)):
                return False
        return bool(groups)


@dataclass(frozen=True)
class Links:
    """``ATTRIBUTE=SOURCE``: the reference's attribute is set from a candidate's row.

    A source is ``observation`` (a row's present observation), or a dotted path of the candidate with the rows first
    (``state.T``), or several with commas between them, which are stacked (``env_state.x,env_state.x_dot``).
    """

    sources: dict[str, tuple[str, ...]]

    @property
    def observed(self) -> bool:
        """Whether the state is read from the observation alone."""
        return all(source == (BARE,) for source in self.sources.values())

    def read(self, view: View, moment: Moment) -> dict[str, np.ndarray]:
        """What the candidate's rows hold, [N, ...] by the reference's attribute."""
        return {attribute: self._one(names, view, moment) for attribute, names in self.sources.items()}

    def _one(self, names: tuple[str, ...], view: View, moment: Moment) -> np.ndarray:
        values = [moment.observation[BARE] if name == BARE else np.array(view.attribute(name)) for name in names]
        for name, value in zip(names, values, strict=True):
            if value.shape[:1] != (view.num_envs,):
                raise CompareError(
                    f"--state: {name}: expected an array with the {view.num_envs} rows first, got {list(value.shape)}; "
                    f"{name}.T has its last axis first"
                )
        return values[0] if len(values) == 1 else np.stack(values, -1)


def links_of(texts: tuple[str, ...]) -> Links:
    """The links that ``ATTRIBUTE=SOURCE`` texts tell. Raises CompareError."""
    sources = {}
    for text in texts:
        attribute, equals, source = text.partition("=")
        if not (equals and attribute and source):
            raise CompareError(f"--state: expected ATTRIBUTE=SOURCE (state=state.T, s=observation), got {text!r}")
        sources[attribute] = tuple(source.split(","))
    return Links(sources)


def held(env: gymnasium.Env[Any, Any], attribute: str) -> Any:
    """A reference's attribute. Raises CompareError where it has none."""
    if not hasattr(env.unwrapped, attribute):
        raise CompareError(f"--state: the reference {type(env.unwrapped).__name__} has no attribute {attribute!r}")
    return getattr(env.unwrapped, attribute)


def put(env: gymnasium.Env[Any, Any], attribute: str, value: np.ndarray) -> bool:
    """Set a reference's attribute, in the type that it has; whether the value had as many digits as that has."""
    present = held(env, attribute)
    if isinstance(present, (np.ndarray, tuple, list)):
        kind = np.asarray(present).dtype
        cast = value.astype(kind)
        setattr(env.unwrapped, attribute, cast if isinstance(present, np.ndarray) else type(present)(cast.tolist()))
        return kind.itemsize <= value.dtype.itemsize or kind.kind != "f"
    scalar = type(present)(value.item())
    setattr(env.unwrapped, attribute, scalar)
    return not isinstance(present, float) or value.dtype.itemsize >= 8


def _flat(table: Leaves) -> np.ndarray:
    return np.concatenate([np.atleast_1d(value).ravel() for value in table.values()])


def _flat_key(table: Leaves) -> bytes:
    return repr(_flat(table).tolist()).encode()


def _known(found: dict[bytes, list[int]]) -> bool:
    return min(len(seeds) for seeds in found.values()) >= ENOUGH


def _same_state(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return all(_same_state(one[name], other[name]) for name in one)
    return bool(np.array_equal(one, other))
