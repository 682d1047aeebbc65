"""toywalk, the fast side: N walks at once, written from spec.md."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, GOAL_REWARD, MAX_STEPS, SLIP_P, START_RANGE, STEP_REWARD, L, Slots


@simulacrum.tensor_state
class State:
    position: Tensor  # [N] int32: cell on the line, -L..L; the goal is +L
    t: Tensor  # [N] int32: step counter, kept by the base class


class ToywalkFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        return State(position=draw.randint(Slots.INIT_POSITION, 2 * START_RANGE + 1) - START_RANGE)  # spec, reset 1

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        moves_right = (action == 1) ^ draw.bernoulli(Slots.SLIP, SLIP_P)  # spec, transition 1: a slip reverses the step
        step = torch.where(moves_right, self.int32(1), self.int32(-1))
        position = torch.clamp(state.position + step, -L, L)  # spec, transition 2
        at_goal = position == L  # spec, transition 4
        reward = torch.where(at_goal, self.float32(GOAL_REWARD), self.float32(STEP_REWARD))  # spec, transition 3
        return State(position=position), reward, at_goal

    def observation(self, state: State) -> Tensor:
        # Small integers become float32, exactly.
        return torch.stack([state.position / self.float32(L), state.t / self.float32(MAX_STEPS)], -1)


class ToywalkKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
