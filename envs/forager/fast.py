"""forager, the fast side: N agents at once, written from spec.md."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import (
    ENVIRONMENT,
    GAINS,
    GRID,
    MAX_STEPS,
    N_BERRIES,
    N_KINDS,
    REWARD_COST,
    REWARD_SCALE,
    SLIP_P,
    START_ENERGY,
    STEP_COST,
    Slots,
)

NORTH, EAST, SOUTH, WEST = range(4)  # headings, as the actions count them; the next one is one turn clockwise


@simulacrum.tensor_state
class State:
    x: Tensor  # [N] int32: column of the agent, growing to the east
    y: Tensor  # [N] int32: row of the agent, growing to the north
    energy: Tensor  # [N] float32: energy left
    berry_x: Tensor  # [N, 6] int32: column of each berry
    berry_y: Tensor  # [N, 6] int32: row of each berry
    berry_kind: Tensor  # [N, 6] int32: kind of each berry
    berry_live: Tensor  # [N, 6] bool: berry not yet collected
    t: Tensor  # [N] int32: step counter, kept by the base class


class ForagerFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        x = draw.randint(Slots.AGENT_X, GRID)  # spec, reset 1
        y = draw.randint(Slots.AGENT_Y, GRID)
        berry_x = draw.randint(Slots.BERRY_X, GRID, shape=(N_BERRIES,))  # spec, reset 2: the index is the berry
        berry_y = draw.randint(Slots.BERRY_Y, GRID, shape=(N_BERRIES,))
        berry_kind = draw.randint(Slots.BERRY_KIND, N_KINDS, shape=(N_BERRIES,))
        return State(
            x=x,
            y=y,
            energy=torch.full_like(x, START_ENERGY, dtype=torch.float32),  # spec, reset 3
            berry_x=berry_x,
            berry_y=berry_y,
            berry_kind=berry_kind,
            berry_live=torch.ones_like(berry_x, dtype=torch.bool),
        )

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        slips = draw.bernoulli(Slots.SLIP, SLIP_P)
        heading = (action.to(torch.int32) + slips) & 3  # spec, transition 1: a slip is one turn, modulo 4
        to_east = (heading == EAST).to(torch.int32) - (heading == WEST).to(torch.int32)
        to_north = (heading == NORTH).to(torch.int32) - (heading == SOUTH).to(torch.int32)
        x = torch.clamp(state.x + to_east, 0, GRID - 1)  # spec, transition 2
        y = torch.clamp(state.y + to_north, 0, GRID - 1)

        here = (state.berry_x == x.unsqueeze(-1)) & (state.berry_y == y.unsqueeze(-1))
        collected = state.berry_live & here  # spec, transition 3
        berry_live = state.berry_live ^ collected  # collected berries are live ones, so this takes them away
        gained = self.gained(state.berry_kind, collected)

        energy = (state.energy - self.float32(STEP_COST)) + gained  # spec, transition 4: the cost first
        reward = self.float32(REWARD_SCALE) * gained - self.float32(REWARD_COST)  # spec, transition 5
        left = berry_live.sum(-1, dtype=torch.int32)
        terminated = (left == 0) | (energy <= 0)  # spec, transition 6: cleared or exhausted
        after = State(
            x=x,
            y=y,
            energy=energy,
            berry_x=state.berry_x,
            berry_y=state.berry_y,
            berry_kind=state.berry_kind,
            berry_live=berry_live,
        )
        return after, reward, terminated

    def gained(self, kind: Tensor, collected: Tensor) -> Tensor:
        """Spec, transition 3: the gains of the collected berries, added in the berries' order; float32 [N].

        A berry that is not collected adds +0.0. That changes no bit of a sum unless the sum is -0.0, and
        it never is: it starts at +0.0, every gain is above 0, and +0.0 + +0.0 = +0.0. For the same reason the sum may
        start at the first berry's term instead of 0.0.
        """
        gain = self.float32(GAINS[-1])
        for number, value in enumerate(GAINS[:-1]):  # comparisons, where a table would be looked up a row at a time
            gain = torch.where(kind == number, self.float32(value), gain)
        first, *others = torch.where(collected, gain, self.float32(0.0)).unbind(-1)
        total = first
        for term in others:
            total = total + term
        return total

    def observation(self, state: State) -> Tensor:
        # Integers become float32, exactly; the energy is one already, and shown as it is.
        live = state.berry_live.sum(-1, dtype=torch.int32)
        side, berries, steps = self.float32(GRID - 1), self.float32(N_BERRIES), self.float32(MAX_STEPS)
        return torch.stack([state.x / side, state.y / side, state.energy, live / berries, state.t / steps], -1)


class ForagerKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
