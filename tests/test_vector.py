"""``FastVectorEnv`` against Gymnasium's ``SyncVectorEnv`` over references, and in Gymnasium's and TorchRL's wrappers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor

import simulacrum
from simulacrum import FastEnv, ReferenceEnv, tensor_state
from simulacrum.errors import ActionError, SeedError
from simulacrum.spec import Package
from simulacrum.vector import FastVectorEnv

ENVS = Path(__file__).parents[1] / "envs"
TOYWALK = Package.read(ENVS / "toywalk")
FORAGER = Package.read(ENVS / "forager")


# ---------------------------------------------------------------------- a small environment with all that infos can hold


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
        return ReferenceState(1 + draw.randint(Slots.START, 2))

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
        return FastState(x=(1 + draw.randint(Slots.START, 2)).to(torch.int32))

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
        return {"half": state.x * self.float32(0.5), "odd": state.x % 2 == 1, "pair": pair.to(torch.int64), "seen": pair}
