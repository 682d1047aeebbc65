"""newenv, the fast side: N climbs at once.

Written from spec.md, never from reference.py: tensors [N, ...] and torch.where, no Python branch on data. Constants
come from self.int32 and self.float32, which place them on the environment's device in the dtype that the spec gives.
"""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import (
    CLIMB_REWARD,
    ENVIRONMENT,
    GUST_P,
    HOLD_REWARD,
    MAX_STEPS,
    START_RUNGS,
    TOP,
    TOP_REWARD,
    Slots,
)


@simulacrum.tensor_state
class State:
    height: Tensor  # [N] int32: the rung on which the climber stands, 0..TOP
    t: Tensor  # [N] int32: step counter, kept by the base class


class NewenvFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        return State(height=draw.randint(Slots.START, START_RUNGS))  # spec, reset 1

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        climbs = action == 1
        rungs = torch.where(draw.bernoulli(Slots.GUST, GUST_P), self.int32(-1), self.int32(1))
        rungs = torch.where(climbs, rungs, self.int32(0))  # spec, transition 1: who holds on stays
        height = torch.clamp(state.height + rungs, 0, TOP)  # spec, transition 2
        at_top = height == TOP  # spec, transition 4
        effort = torch.where(climbs, self.float32(CLIMB_REWARD), self.float32(HOLD_REWARD))
        reward = torch.where(at_top, self.float32(TOP_REWARD), effort)  # spec, transition 3
        return State(height=height), reward, at_top

    def observation(self, state: State) -> Tensor:
        counts = torch.stack([state.height, state.t], -1).to(torch.float32)  # small integers: the cast is exact
        return counts / self.float32([TOP, MAX_STEPS])
