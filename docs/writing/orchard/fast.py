"""orchard, the fast side: N orchards at once, as tensors; and the class of the kernel."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import BASKET, ENVIRONMENT, FALL_COST, FALL_LIMIT, GROW_P, MAX_STEPS, RIPE, TREES, YIELDS, Slots


@simulacrum.tensor_state
class State:
    ripeness: Tensor  # [N, TREES] int32: of each tree, 0..RIPE
    basket: Tensor  # [N] int32: fruits picked
    fallen: Tensor  # [N] int32: fruits fallen
    t: Tensor  # [N] int32: step counter, kept by the base class


class OrchardFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        ripeness = draw.randint(Slots.START, RIPE, shape=(TREES,))  # spec, reset 1: the index is the tree
        none = torch.zeros_like(ripeness[:, 0])
        return State(ripeness=ripeness, basket=none, fallen=none)  # spec, reset 2

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        trees = torch.arange(1, TREES + 1, device=action.device)
        picked = action.unsqueeze(-1) == trees  # [N, TREES]: one tree, or none where the action is to rest

        # spec, transition 1: the ripeness of the picked tree, 0 where none is
        held = torch.where(picked, state.ripeness, self.int32(0)).sum(-1, dtype=torch.int32)
        yielded = torch.where(action > 0, self.float32(YIELDS)[held], self.float32(0.0))
        basket = state.basket + (held > 0)

        grows = draw.bernoulli(Slots.GROWTH, GROW_P, shape=(TREES,))
        grown = torch.where(picked, self.int32(0), state.ripeness + grows)  # spec, transition 2

        over = grown > RIPE  # spec, transition 3
        ripeness = torch.where(over, self.int32(0), grown)
        fell = over.sum(-1, dtype=torch.int32)
        fallen = state.fallen + fell

        reward = yielded - self.float32(FALL_COST) * fell  # spec, transition 4
        terminated = (basket >= BASKET) | (fallen >= FALL_LIMIT)  # spec, transition 5
        return State(ripeness=ripeness, basket=basket, fallen=fallen), reward, terminated

    def observation(self, state: State) -> Tensor:
        ripe, basket, steps = self.float32(RIPE), self.float32(BASKET), self.float32(MAX_STEPS)
        counts = [(state.basket / basket).unsqueeze(-1), (state.t / steps).unsqueeze(-1)]
        return torch.cat([state.ripeness / ripe, *counts], -1)


class OrchardKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
