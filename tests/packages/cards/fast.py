"""cards, the fast side."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import CAP, CARDS, ENVIRONMENT, LUCK_P, TARGET, Slots


@simulacrum.tensor_state
class State:
    total: Tensor  # [N] int64
    lucky: Tensor  # [N] bool
    t: Tensor


class CardsFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        total = 1 + draw.randint(Slots.FIRST, CARDS).to(torch.int64)
        return State(total=total, lucky=draw.bernoulli(Slots.LUCK, LUCK_P))

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        card = 1 + draw.randint(Slots.CARD, CARDS)
        total = state.total + torch.where(action == 1, card, 0)  # spec, transition 1
        hit = torch.where(state.lucky, self.float32(2.0), self.float32(1.0))  # spec, transition 2
        missed = torch.where(total > TARGET, self.float32(-1.0), self.float32(0.0))
        return State(total=total, lucky=state.lucky), torch.where(total == TARGET, hit, missed), total >= TARGET

    def observation(self, state: State) -> tuple[Tensor, Tensor, Tensor]:
        shares = [state.total / self.float32(TARGET), state.t / self.float32(CAP)]
        return state.total, torch.stack(shares, -1), state.lucky.to(torch.int64)


class CardsKernel(simulacrum.KernelEnv):
    environment = ENVIRONMENT
