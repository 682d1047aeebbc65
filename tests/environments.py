"""Small environments, each written twice as a package writes it, and what the tests compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from tensordict import TensorDictBase
from torch import Tensor

from simulacrum import Environment, FastEnv, ReferenceEnv, bits, tensor_state
from simulacrum.reference import state_of
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parent.parent / "envs"
TOYWALK = Package.read(ENVS / "toywalk")
FORAGER = Package.read(ENVS / "forager")

# ---------------------------------------------------------------------- countdown: dict, mask, infos, both ends at once


class Slots(IntEnum):
    LEFT = 0  # reset
    PAUSE = 1  # step


COUNTDOWN = Environment(
    id="tests/countdown-v0",
    action_space=spaces.Discrete(3),
    observation_space=spaces.Dict(
        {
            "left": spaces.Discrete(5),
            "gained": spaces.Box(0.0, 100.0, (), np.float32),
            "pair": spaces.Box(-8, 8, (2,), np.int32),
        }
    ),
    max_episode_steps=3,
    slots=Slots,
    reset_slots={Slots.LEFT},
)


@dataclass
class CountdownState:
    left: int  # steps to the end: an episode from 2 terminates, from 4 is truncated, from 3 without a pause is both
    gained: np.float32
    t: int = 0


class CountdownReference(ReferenceEnv[CountdownState]):
    environment = COUNTDOWN

    def initial(self, draw):
        return CountdownState(2 + draw.randint(Slots.LEFT, 3), np.float32(0))

    def transition(self, state, action, draw):
        left = state.left if draw.bernoulli(Slots.PAUSE, 0.25) else state.left - 1
        reward = np.float32(action) * np.float32(0.1)
        return CountdownState(left, state.gained + reward), reward, left <= 0

    def observation(self, state):
        pair = np.array([state.left, -state.left], np.int32)
        return {"left": np.int64(state.left), "gained": np.array(state.gained), "pair": pair}

    def action_mask(self, state):
        return np.array([True, state.left > 1, state.left > 2])

    def info(self, state):
        return {"odd": state.left % 2 == 1, "seen": np.array([state.left, state.t], np.int32)}


@tensor_state
class CountdownRows:
    left: Tensor  # [N] int32
    gained: Tensor  # [N] float32
    t: Tensor


class CountdownFast(FastEnv[CountdownRows]):
    environment = COUNTDOWN

    def initial(self, draw):
        left = draw.randint(Slots.LEFT, 3) + 2
        return CountdownRows(left=left, gained=torch.zeros_like(left, dtype=torch.float32))

    def transition(self, state, action, draw):
        left = torch.where(draw.bernoulli(Slots.PAUSE, 0.25), state.left, state.left - 1)
        reward = action.to(torch.float32) * self.float32(0.1)
        return CountdownRows(left=left, gained=state.gained + reward), reward, left <= 0

    def observation(self, state):
        pair = torch.stack([state.left, -state.left], -1)
        return {"left": state.left.to(torch.int64), "gained": state.gained, "pair": pair}

    def action_mask(self, state):
        return torch.stack([torch.ones_like(state.left, dtype=torch.bool), state.left > 1, state.left > 2], -1)

    def info(self, state):
        return {"odd": state.left % 2 == 1, "seen": torch.stack([state.left, state.t], -1)}


# ---------------------------------------------------------------------- mirror: shows its own memory, keeps its action

MIRROR = Environment(
    id="tests/mirror-v0",
    action_space=spaces.Box(-1.0, 1.0, (2,), np.float32),
    observation_space=spaces.Dict(
        {
            "at": spaces.Box(-100.0, 100.0, (2,), np.float32),
            "first": spaces.Box(-100.0, 100.0, (), np.float32),
            "table": spaces.Box(0.0, 9.0, (3,), np.float32),
        }
    ),
    max_episode_steps=4,
    slots=Slots,
    reset_slots={Slots.LEFT},
)
TABLE = torch.arange(3, dtype=torch.float32)


@tensor_state
class MirrorState:
    at: Tensor  # [N, 2] float32
    last: Tensor  # [N, 2] float32: the action itself
    pay: Tensor  # [N] float32: the reward itself
    over: Tensor  # [N] bool: the flag itself
    t: Tensor


class MirrorFast(FastEnv[MirrorState]):
    """Everything that it returns lies in memory that it, or its caller, goes on to use."""

    environment = MIRROR
    t_dtype = torch.int64

    def initial(self, draw):
        at = draw.uniform(Slots.LEFT, shape=(2,))
        return MirrorState(at=at, last=at, pay=at[:, 0], over=at[:, 0] > 2)

    def transition(self, state, action, draw):
        at, pay = state.at + action, state.pay + action[:, 1]
        over = at[:, 0] > 1
        return MirrorState(at=at, last=action, pay=pay, over=over), pay, over

    def observation(self, state):
        return {"at": state.at, "first": state.at[:, 0], "table": TABLE.expand(len(state.at), 3)}

    def info(self, state):
        return {"last": state.last, "t": state.t, "one": self.float32([1.0, 2.0]).expand(len(state.at), 2)}


# ---------------------------------------------------------------------- a pair for any space

Pair = tuple[type[ReferenceEnv[Any]], type[FastEnv[Any]]]


def acting(space: spaces.Space[Any]) -> Pair:
    """Both sides of an environment with this action space, whose state, observation and reward are the last action."""
    size = int(np.prod(space.shape))
    declared = Environment(
        id="tests/acting-v0",
        action_space=space,
        observation_space=spaces.Box(-1e10, 1e10, (size,), np.float32),
        max_episode_steps=5,
        slots=Slots,
        reset_slots={Slots.LEFT},
    )

    @dataclass
    class State:
        last: np.ndarray
        t: int = 0

    class Reference(ReferenceEnv[State]):
        environment = declared

        def initial(self, draw):
            return State(np.zeros(space.shape, space.dtype))

        def transition(self, state, action, draw):
            last = np.array(action, space.dtype)
            return State(last), last.reshape(-1)[0].astype(np.float32), draw.bernoulli(Slots.PAUSE, 0.2)

        def observation(self, state):
            return state.last.reshape(-1).astype(np.float32)

    @tensor_state
    class Rows:
        last: Tensor
        t: Tensor

    class Fast(FastEnv[Rows]):
        environment = declared

        def initial(self, draw):
            empty = draw.randint(Slots.LEFT, 1, shape=(size,)).to(self._action_checker.dtype)
            return Rows(last=empty.reshape(-1, *space.shape))

        def transition(self, state, action, draw):
            reward = action.reshape(len(action), -1)[:, 0].to(torch.float32)
            return Rows(last=action), reward, draw.bernoulli(Slots.PAUSE, 0.2)

        def observation(self, state):
            return state.last.reshape(-1, size).to(torch.float32)

    return Reference, Fast


def showing(space: spaces.Space[Any]) -> Pair:
    """Both sides of an environment with this observation space, which shows an element of it drawn at every step."""
    declared = Environment(
        id="tests/showing-v0",
        action_space=spaces.Discrete(2),
        observation_space=space,
        max_episode_steps=5,
        slots=Slots,
        reset_slots={Slots.LEFT},
    )

    @dataclass
    class State:
        number: int
        t: int = 0

    class Reference(ReferenceEnv[State]):
        environment = declared

        def initial(self, draw):
            return State(draw.randint(Slots.LEFT, 9))

        def transition(self, state, action, draw):
            return State(draw.randint(Slots.PAUSE, 9)), np.float32(state.number), state.number == 8

        def observation(self, state):
            return element(space, np.int64(state.number), np.asarray)

    @tensor_state
    class Rows:
        number: Tensor
        t: Tensor

    class Fast(FastEnv[Rows]):
        environment = declared

        def initial(self, draw):
            return Rows(number=draw.randint(Slots.LEFT, 9))

        def transition(self, state, action, draw):
            return Rows(number=draw.randint(Slots.PAUSE, 9)), state.number.to(torch.float32), state.number == 8

        def observation(self, state):
            return element(space, state.number.to(torch.int64), torch.as_tensor)

    return Reference, Fast


def element(space: spaces.Space[Any], number: Any, convert: Callable[[Any], Any]) -> Any:
    """An element of a space for a number, or [N, ...] of them for numbers [N]; ``convert`` makes arrays or tensors."""
    if isinstance(space, spaces.Dict):
        return {key: element(part, number, convert) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(element(part, number, convert) for part in space.spaces)
    places = np.arange(int(np.prod(space.shape))).reshape(space.shape)
    count = number.reshape((*number.shape, *(1,) * places.ndim)) + convert(places)
    if isinstance(space, spaces.Box) and space.dtype.kind == "f":
        values = count * convert(np.array(0.125, space.dtype)) - 1
    else:
        low, high = limits(space)
        values = count % convert(high - low + 1) + convert(low)
    if isinstance(values, Tensor):
        return values.to(getattr(torch, str(space.dtype)))
    return int(values) if isinstance(space, spaces.Discrete) else np.asarray(values, space.dtype)


def limits(space: spaces.Space[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest element, in int64 for spaces of integers."""
    if isinstance(space, spaces.Discrete):
        low, high = space.start, space.start + space.n - 1
    elif isinstance(space, spaces.MultiDiscrete):
        low, high = space.start, space.start + space.nvec - 1
    elif isinstance(space, spaces.MultiBinary):
        low, high = np.zeros(space.shape), np.ones(space.shape)
    else:
        low, high = space.low, space.high
    exact = np.float64 if space.dtype.kind == "f" else np.int64
    return np.asarray(low, exact), np.asarray(high, exact)


# ---------------------------------------------------------------------- what the tests compare


def frozen(td: TensorDictBase) -> dict[Any, tuple[Any, ...]]:
    """A TensorDict's leaves as dtype, shape and bytes by name."""
    return {
        name: (value.dtype, tuple(value.shape), value.detach().cpu().contiguous().numpy().tobytes())
        for name, value in td.items(include_nested=True, leaves_only=True)
    }


def steps(env: Any, count: int, seed: int = 0) -> Iterator[TensorDictBase]:
    """The root of each of ``count`` fused steps from a reset, with ``next``; the actions follow from ``seed``."""
    td = env.reset()
    for action in actions(env, count, seed):
        done, td = env.step_and_maybe_reset(td.set("action", action))
        yield done


def actions(env: Any, count: int, seed: int = 0) -> list[Tensor]:
    """Elements of the action space, ``count`` times for every row."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return [env.full_action_spec.rand()["action"] for _ in range(count)]


def trace(env: Any, count: int, seed: int = 0) -> list[dict[Any, Any]]:
    """The steps as :func:`frozen` gives them."""
    return [frozen(td) for td in steps(env, count, seed)]


class Rows:
    """References beside every row of a fast environment that exposes its state; each call compares all they show."""

    def __init__(self, reference: type[ReferenceEnv[Any]], fast: FastEnv[Any]) -> None:
        self.fast = fast
        self.td = fast.reset()
        seeds = fast.instance_seeds.numpy().view(np.uint64)
        self.references = [reference() for _ in seeds]
        outcomes = [env.reset(seed=int(seed)) for env, seed in zip(self.references, seeds, strict=True)]
        for row, (seen, info) in enumerate(outcomes):
            self._compare(self.td, row, seen, info)

    def step(self, action: Tensor) -> TensorDictBase:
        """One step of both sides, with the resets that follow it; gives the fast side's ``next``."""
        done, self.td = self.fast.step_and_maybe_reset(self.td.set("action", action))
        ended = done.get("next")
        rows = action.reshape(len(self.references), *self.fast.environment.action_space.shape).numpy()
        for row, env in enumerate(self.references):
            seen, reward, terminated, truncated, info = env.step(rows[row] if rows[row].ndim else rows[row, ...])
            flat = ended.reshape(-1)[row]
            self._compare(ended, row, seen, info)
            dtype = env.environment.reward_dtype
            assert bits.same(np.array([reward], dtype), flat["reward"].numpy()), row
            flags = [bool(flat[name]) for name in ("terminated", "truncated", "done")]
            assert flags == [terminated, truncated, terminated or truncated], row
            if terminated or truncated:
                seen, info = env.reset()
            self._compare(self.td, row, seen, info)
        return ended

    def _compare(self, td: TensorDictBase, row: int, seen: Any, info: dict[str, Any]) -> None:
        env, flat = self.references[row], td.reshape(-1)[row]
        space = env.observation_space
        parts, values = {"observation": space}, {"observation": seen}
        if isinstance(space, spaces.Dict):
            parts, values = space.spaces, seen
        elif isinstance(space, spaces.Tuple):
            assert isinstance(seen, tuple)
            parts, values = ({("observation", str(n)): one for n, one in enumerate(each)} for each in (space, seen))
        for key, value in values.items():
            expected = np.asarray(value, parts[key].dtype if isinstance(value, int) else None)
            assert bits.same(expected, flat[key].numpy()), (row, key, value, flat[key])
        for name, value in info.items():
            if name not in ("seed", "episode"):
                got = flat[name] if name == "action_mask" else flat["info", name]
                assert bits.same(np.asarray(value), got.numpy()), (row, name, value, got)
        for name, value in env.get_state()["state"].items():
            got = flat["state", name].numpy()
            assert bits.same(np.asarray(value, got.dtype), got), (row, name, value, got)
        clock = [int(flat["clock", name]) for name in ("seed", "episode", "t")]
        seed, episode, t = env.get_state()["clock"].values()
        assert [clock[0] % 2**64, *clock[1:]] == [seed, episode, t], row
        assert state_of(env).t == t
