"""gates, the fast side."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, GATES, OPEN_P, Slots


@simulacrum.tensor_state
class State:
    place: Tensor  # [N] int64
    open: Tensor  # [N, GATES] bool
    order: Tensor  # [N, GATES] int32
    t: Tensor


class GatesFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        order = draw.permutation(Slots.ORDER, GATES)
        zeros = torch.zeros_like(order[:, 0], dtype=torch.int64)
        return State(place=zeros, open=torch.ones_like(order, dtype=torch.bool), order=order)

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        legal = self.action_mask(state).gather(-1, action.unsqueeze(-1)).squeeze(-1)
        action = torch.where(legal, action, 1)
        at = torch.clamp(state.place, 0, GATES - 1).unsqueeze(-1)
        pays = (state.order.gather(-1, at).squeeze(-1) + 1).to(torch.float32)
        reward = torch.where(action == 2, pays, self.float32(0.0))
        opened = draw.bernoulli(Slots.OPEN, OPEN_P, shape=(GATES,))
        after = State(place=state.place + action - 1, open=opened, order=state.order)
        return after, reward, torch.zeros_like(action, dtype=torch.bool)

    def observation(self, state: State) -> Tensor:
        return state.place

    def action_mask(self, state: State) -> Tensor:
        at = torch.clamp(state.place, 0, GATES - 1).unsqueeze(-1)
        on = (state.place < GATES) & state.open.gather(-1, at).squeeze(-1)
        return torch.stack([state.place > 0, torch.ones_like(on), on], -1)

    def info(self, state: State) -> dict[str, Tensor]:
        return {"open": state.open.sum(-1, dtype=torch.int64)}


class GatesKernel(simulacrum.KernelEnv):
    environment = ENVIRONMENT
    shows: ClassVar = {"action_mask": ("bool", (3,)), ("info", "open"): ("int64", ())}
