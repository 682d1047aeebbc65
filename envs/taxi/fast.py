"""taxi, the fast side: N taxis at once, written from spec.md."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, FICKLE, FICKLE_P, RAINY, STRAIGHT_P, Slots

SOUTH, NORTH, EAST, WEST, PICK_UP, DROP_OFF = ACTIONS = list(range(6))
SIDE = 5  # rows and columns
CELLS = [(row, column) for row in range(SIDE) for column in range(SIDE)]
PADS = [(0, 0), (0, 4), (4, 0), (4, 3)]  # red, green, yellow, blue
WALLED = [(0, 1), (1, 1), (3, 0), (3, 2), (4, 0), (4, 2)]  # cells with a wall on their east side
IN_TAXI = 4
NOWHERE = -1  # of a taxi that is on no pad
ON_STEP, ON_MISTAKE, ON_ARRIVAL = -1.0, -10.0, 20.0  # rewards
LATERAL_P = (1.0 - STRAIGHT_P) / 2.0
LEFT, RIGHT = STRAIGHT_P + LATERAL_P, (STRAIGHT_P + LATERAL_P) + LATERAL_P  # where the drifts end; STRAIGHT_P before
N_STARTS = 300


def changes(cell: tuple[int, int], passenger: int) -> list[bool]:
    """Spec, "Actions, observation, reward": which actions change something."""
    (row, column), pad = cell, PADS.index(cell) if cell in PADS else NOWHERE
    east, west = (row, column + 1) in CELLS and cell not in WALLED, column > 0 and (row, column - 1) not in WALLED
    return [row < SIDE - 1, row > 0, east, west, pad == passenger, passenger == IN_TAXI and pad != NOWHERE]


def start_ends() -> list[float]:
    """Spec, reset 1: e(-1) to e(N_STARTS - 1)."""
    ends = [0.0]
    for _ in range(N_STARTS):
        ends.append(ends[-1] + 1.0 / N_STARTS)
    return ends


# Tables: by cell and passenger, a bit for each action; by cell; by the number of a start, the one beyond the last none
CHANGES = [
    sum(there << action for action, there in zip(ACTIONS, changes(cell, passenger), strict=True))
    for cell in CELLS
    for passenger in range(IN_TAXI + 1)
]
PAD = [PADS.index(cell) if cell in PADS else NOWHERE for cell in CELLS]
ENDS = start_ends()
PAIRS = [(waits, wants) for waits in range(4) for wants in range(4) if wants != waits]
STARTS = [*([*cell, *pair] for cell in CELLS for pair in PAIRS), [0, 0, 0, 0]]


@simulacrum.tensor_state
class State:
    row: Tensor  # [N] int32: of the taxi, growing to the south
    column: Tensor  # [N] int32: of the taxi, growing to the east
    passenger: Tensor  # [N] int32: the pad where they wait, or IN_TAXI
    destination: Tensor  # [N] int32: the pad where they want to go
    fickle_step: Tensor  # [N] bool: whether they will think again when the taxi first moves with them
    t: Tensor  # [N] int32: step counter, kept by the base class


class TaxiFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        number, ends = draw.uniform(Slots.START, dtype="float64"), self.float64(ENDS)  # spec, reset 1
        near = (number * self.float64(N_STARTS)).to(torch.int64)  # the start, or one beside it: no end is 1e-14 off
        start = near - (number < ends[near]).to(torch.int64) + (number >= ends[near + 1]).to(torch.int64)
        row, column, passenger, destination = self.int32(STARTS)[start].unbind(-1)
        fickle_step = torch.zeros_like(start, dtype=torch.bool)
        if FICKLE:  # spec, reset 2
            fickle_step = draw.uniform(Slots.MOOD, dtype="float64") < self.float64(FICKLE_P)
        return State(row=row, column=column, passenger=passenger, destination=destination, fickle_step=fickle_step)

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        place, pad = self.place(state), self.int32(PAD)[self.cell(state)]
        changes = self.changes(place, action)
        heading = self.drifted(place, action, draw) if RAINY else action  # spec, transition 2
        moves = self.changes(place, heading) & (action < PICK_UP)  # spec, transition 1
        to_south = (heading == SOUTH).to(torch.int32) - (heading == NORTH).to(torch.int32)
        to_east = (heading == EAST).to(torch.int32) - (heading == WEST).to(torch.int32)
        row, column = state.row + to_south * moves, state.column + to_east * moves

        boards = (action == PICK_UP) & changes  # spec, transition 3
        alights = (action == DROP_OFF) & changes  # spec, transition 4
        arrives = alights & (pad == state.destination)
        passenger = torch.where(boards, self.int32(IN_TAXI), torch.where(alights, pad, state.passenger))
        mistaken = (action >= PICK_UP) & ~changes
        reward = torch.where(mistaken, self.float32(ON_MISTAKE), self.float32(ON_STEP))
        reward = torch.where(arrives, self.float32(ON_ARRIVAL), reward)

        destination, fickle_step = state.destination, state.fickle_step
        if FICKLE:  # spec, transition 5
            rethinks = fickle_step & (state.passenger == IN_TAXI) & moves
            other = draw.randint(Slots.DESTINATION, 3)
            destination = torch.where(rethinks, other + (other >= destination), destination)
            fickle_step = fickle_step & ~rethinks
        after = State(row=row, column=column, passenger=passenger, destination=destination, fickle_step=fickle_step)
        return after, reward, arrives

    def drifted(self, place: Tensor, action: Tensor, draw: Draw) -> Tensor:
        """Spec, transition 2: the direction in which a taxi that moves goes in the rain; int64 [N]."""
        number = draw.uniform(Slots.MOVE, dtype="float64")
        drifts = (number >= self.float64(STRAIGHT_P)) & (number < self.float64(RIGHT)) & self.changes(place, action)
        left = action ^ 2 ^ (action >> 1)  # south - east - north - west - south
        side = torch.where(number < self.float64(LEFT), left, left ^ 1)  # right is opposite to left
        return torch.where(drifts & (action < PICK_UP), side, action)

    def changes(self, place: Tensor, action: Tensor) -> Tensor:
        """Whether an action changes something; bool [N]."""
        return self.int32(CHANGES)[place] >> action & 1 == 1

    def cell(self, state: State) -> Tensor:
        """The taxi's cell; int64 [N]."""
        return state.row.to(torch.int64) * SIDE + state.column

    def place(self, state: State) -> Tensor:
        """The taxi's cell and the passenger; int64 [N]."""
        return self.cell(state) * (IN_TAXI + 1) + state.passenger

    def observation(self, state: State) -> Tensor:
        return self.place(state) * len(PADS) + state.destination

    def action_mask(self, state: State) -> Tensor:
        return self.int32(CHANGES)[self.place(state)].unsqueeze(-1) >> self.int32(ACTIONS) & 1 == 1


class TaxiKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
    shows: ClassVar = {"action_mask": ("bool", (6,))}
