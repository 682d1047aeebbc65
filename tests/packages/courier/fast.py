"""courier, the fast side."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, FRICTION, FULL, LIMIT, PARCELS, WEIGHTS, Slots


@simulacrum.tensor_state
class State:
    cargo: Tensor  # [N, PARCELS] int8
    speed: Tensor  # [N] float32
    lamp: Tensor  # [N] bool
    total: Tensor  # [N] int64
    t: Tensor


class CourierFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        cargo = draw.randint(Slots.LOAD, FULL + 1, shape=(PARCELS,)).to(torch.int8)
        zeros = torch.zeros_like(cargo[:, 0])
        return State(cargo=cargo, speed=zeros.to(torch.float32), lamp=zeros.to(torch.bool), total=zeros.to(torch.int64))

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        push, brake = action.unbind(-1)
        speed = state.speed * self.float32(FRICTION) + push * draw.uniform(Slots.GUST)
        speed = torch.where(speed < -2, self.float32(-2.0), torch.where(speed > 2, self.float32(2.0), speed))
        kind = draw.categorical(Slots.KIND, WEIGHTS).unsqueeze(-1)
        chosen = self.int32(list(range(PARCELS))) == kind
        falls = chosen & (state.cargo > 0) & (brake > 0).unsqueeze(-1)
        cargo = state.cargo - falls.to(torch.int8)
        total = state.total + falls.any(-1).to(torch.int64)
        over = (total >= LIMIT) | ~(cargo > 0).any(-1)
        return State(cargo=cargo, speed=speed, lamp=push < 0, total=total), speed, over

    def observation(self, state: State) -> dict[str, Tensor]:
        return {"cargo": state.cargo, "road": torch.stack([state.speed, state.lamp.to(torch.float32)], -1)}


class CourierKernel(simulacrum.KernelEnv):
    environment = ENVIRONMENT
