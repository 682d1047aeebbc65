"""Small environments and comparisons for the tests of ``FastVectorEnv``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

import simulacrum
from simulacrum import FastEnv, ReferenceEnv, tensor_state
from simulacrum.spec import Package
from simulacrum.vector import FastVectorEnv

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
MODES = [NEXT_STEP, SAME_STEP, DISABLED]
ENVS = Path(__file__).parents[1] / "envs"
TOYWALK = Package.read(ENVS / "toywalk")
FORAGER = Package.read(ENVS / "forager")

# ---------------------------------------------------------------------- ledge: a dict, a mask, infos of all kinds


class Slots(IntEnum):
    START = 0  # reset
    WIND = 1  # step


LEDGE = simulacrum.Environment(
    id="test/ledge-v0",
    action_space=spaces.Discrete(3),  # a step of -1, 0 or 1
    observation_space=spaces.Dict(
        {
            "place": spaces.Box(-2.0, 9.0, (2,), np.float32),
            "cell": spaces.Discrete(8),
            "edges": spaces.MultiBinary(2),
            "height": spaces.Box(-10.0, 10.0, (), np.float32),
        }
    ),
    max_episode_steps=9,
    slots=Slots,
    reset_slots={Slots.START},
)
HEIGHTS = [0.5, 0.25, -0.75, 1.5]  # of the cells 0..3; beyond them one has fallen, and a step from there is an error


@dataclass
class ReferenceState:
    x: int
    t: int = 0


class LedgeReference(ReferenceEnv[ReferenceState]):
    environment = LEDGE

    def initial(self, draw):
        return ReferenceState(draw.randint(Slots.START, 4))

    def transition(self, state, action, draw):
        assert 0 <= state.x < 4
        reward = np.float32(HEIGHTS[state.x])
        x = state.x + action - 1 + int(draw.bernoulli(Slots.WIND, 0.2))
        return ReferenceState(x), reward, not 0 <= x < 4

    def observation(self, state):
        return {
            "place": np.array([state.x, state.t], np.float32),
            "cell": np.int64(state.x + 2),
            "edges": np.array([state.x <= 0, state.x >= 3], np.int8),
            "height": np.array(state.x * 0.5, np.float32),
        }

    def action_mask(self, state):
        return np.array([state.x > 0, True, state.x < 3])

    def info(self, state):
        return {
            "half": np.float32(state.x / 2),
            "flat": np.float32(0.5),
            "odd": state.x % 2 == 1,
            "pair": np.array([state.x, state.t], np.int64),
            "seen": np.array([state.x, state.t], np.int32),
        }


@tensor_state
class FastState:
    x: Tensor  # [N] int32
    t: Tensor


class LedgeFast(FastEnv[FastState]):
    environment = LEDGE

    def initial(self, draw):
        return FastState(x=draw.randint(Slots.START, 4).to(torch.int32))

    def transition(self, state, action, draw):
        reward = self.float32(HEIGHTS).index_select(0, state.x)  # raises for one who has fallen
        x = (state.x + action - 1 + draw.bernoulli(Slots.WIND, 0.2)).to(torch.int32)
        return FastState(x=x), reward, (x < 0) | (x > 3)

    def observation(self, state):
        return {
            "place": torch.stack([state.x, state.t], -1).to(torch.float32),
            "cell": (state.x + 2).to(torch.int64),
            "edges": torch.stack([state.x <= 0, state.x >= 3], -1).to(torch.int8),
            "height": state.x * self.float32(0.5),
        }

    def action_mask(self, state):
        return torch.stack([state.x > 0, torch.ones_like(state.x, dtype=torch.bool), state.x < 3], -1)

    def info(self, state):
        pair = torch.stack([state.x, state.t], -1)
        half = state.x * self.float32(0.5)
        flat = (self.float32(0.25) * 2).expand(len(half))  # one number in memory, shown in every row
        return {"half": half, "flat": flat, "odd": state.x % 2 == 1, "pair": pair.to(torch.int64), "seen": pair}


BLINK = dataclasses.replace(LEDGE, id="test/blink-v0", max_episode_steps=1)


class BlinkReference(LedgeReference):
    """Every episode has one step."""

    environment = BLINK


class BlinkFast(LedgeFast):
    environment = BLINK


# ---------------------------------------------------------------------- point: a Box of actions, float64 rewards


class PointSlots(IntEnum):
    START = 0  # reset


POINT = simulacrum.Environment(
    id="test/point-v0",
    action_space=spaces.Box(-2.0, 1.0, (2,), np.float32),
    observation_space=spaces.Box(-100.0, 100.0, (2,), np.float32),
    max_episode_steps=7,
    slots=PointSlots,
    reset_slots={PointSlots.START},
    reward_dtype=np.float64,
)


@dataclass
class PointReferenceState:
    at: np.ndarray
    last: np.ndarray
    t: int = 0


class PointReference(ReferenceEnv[PointReferenceState]):
    environment = POINT

    def initial(self, draw):
        start = draw.uniform(PointSlots.START, shape=(2,), dtype="float32")
        return PointReferenceState(np.array(start, np.float32), np.zeros(2, np.float32))

    def transition(self, state, action, draw):
        at = state.at + action + state.last
        return PointReferenceState(at, np.array(action)), np.float64(at[0]), bool(at[0] > 2 or at[0] < -3)

    def observation(self, state):
        return state.at.copy()

    def info(self, state):
        return {"last": state.last.copy(), "one": np.float32(1.0)}


@tensor_state
class PointState:
    at: Tensor  # [N, 2] float32
    last: Tensor  # [N, 2] float32: the action, held on to
    t: Tensor


class PointFast(FastEnv[PointState]):
    """Keeps its action, and shows its state and a constant as they are, without a copy."""

    environment = POINT

    def initial(self, draw):
        at = draw.uniform(PointSlots.START, shape=(2,), dtype="float32")
        return PointState(at=at, last=torch.zeros_like(at))

    def transition(self, state, action, draw):
        at = state.at + action + state.last
        return PointState(at=at, last=action), at[:, 0].to(torch.float64), (at[:, 0] > 2) | (at[:, 0] < -3)

    def observation(self, state):
        return state.at

    def info(self, state):
        return {"last": state.last, "one": self.float32(1.0).expand(len(state.at))}


PAIRS = {
    "toywalk": (TOYWALK.reference, TOYWALK.fast),
    "forager": (FORAGER.reference, FORAGER.fast),
    "ledge": (LedgeReference, LedgeFast),
    "blink": (BlinkReference, BlinkFast),
    "point": (PointReference, PointFast),
}


def both(name: str, rows: int, mode: AutoresetMode, **options: Any) -> tuple[SyncVectorEnv, FastVectorEnv]:
    return SyncVectorEnv([PAIRS[name][0]] * rows, autoreset_mode=mode), fast_vector(name, rows, mode, **options)


def fast_vector(name: str, rows: int, mode: AutoresetMode = NEXT_STEP, **options: Any) -> FastVectorEnv:
    return FastVectorEnv(PAIRS[name][1](batch_size=[rows], seed=1, **options), autoreset_mode=mode)


def actions_of(name: str, rows: int, steps: int) -> list[np.ndarray]:
    space = batch_space(PAIRS[name][1].environment.action_space, rows)
    space.seed(rows)
    return [space.sample() for _ in range(steps)]


def assert_same(got: Any, expected: Any, where: str = "") -> None:
    """Equal in structure, keys, dtype, shape and bits."""
    if isinstance(expected, dict):
        assert isinstance(got, dict), where
        assert got.keys() == expected.keys(), (where, got.keys() ^ expected.keys())
        for key in expected:
            assert_same(got[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, (tuple, list)):
        assert type(got) is type(expected), where
        assert len(got) == len(expected), where
        for index, (one, other) in enumerate(zip(got, expected, strict=True)):
            assert_same(one, other, f"{where}[{index}]")
    elif expected is None or isinstance(expected, str):
        assert got == expected, where
    elif isinstance(expected, np.ndarray) and expected.dtype == object:
        assert isinstance(got, np.ndarray), where
        assert got.dtype == object, where
        assert_same(list(got), list(expected), where)
    else:
        assert isinstance(got, np.ndarray) is isinstance(expected, np.ndarray), (where, type(got), type(expected))
        got, expected = np.asarray(got), np.asarray(expected)
        assert got.dtype == expected.dtype, (where, got.dtype, expected.dtype)
        assert got.shape == expected.shape, (where, got.shape, expected.shape)
        assert got.tobytes() == expected.tobytes(), (where, got, expected)


def expected_infos(infos: dict[str, Any], mode: AutoresetMode) -> dict[str, Any]:
    """SyncVectorEnv's infos with what the adapter documents: seeds are uint64, and SAME_STEP does not tell them."""
    infos = dict(infos)
    if "seed" in infos:
        infos["seed"] = infos["seed"].astype(np.uint64)
    return {key: value for key, value in infos.items() if mode is not SAME_STEP or key.removeprefix("_") != "seed"}


def assert_same_reset(got: Any, expected: Any, mode: AutoresetMode) -> None:
    assert_same(got, (expected[0], expected_infos(expected[1], mode)))


def assert_same_step(got: Any, expected: Any, mode: AutoresetMode) -> None:
    assert_same(got, (*expected[:4], expected_infos(expected[4], mode)))
