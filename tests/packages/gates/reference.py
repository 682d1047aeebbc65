"""The readable side of gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import ENVIRONMENT, GATES, OPEN_P, Slots


@dataclass
class State:
    place: int
    open: list[bool]
    order: list[int]
    t: int = 0


class GatesReference(simulacrum.ReferenceEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        return State(0, [True] * GATES, draw.permutation(Slots.ORDER, GATES).tolist())

    def transition(self, state: State, action: int, draw: Draw) -> tuple[State, float, bool]:
        place, reward = state.place, 0.0
        legal = self.action_mask(state)[action]  # spec, transition 1
        if legal and action == 0:  # spec, transition 2
            place -= 1
        elif legal and action == 2:
            reward = float(state.order[place] + 1)
            place += 1
        opened = [draw.bernoulli(Slots.OPEN, OPEN_P, index=i) for i in range(GATES)]  # spec, transition 3
        return State(place, opened, list(state.order)), reward, False

    def observation(self, state: State) -> Any:
        return np.int64(state.place)

    def action_mask(self, state: State) -> np.ndarray:
        on = state.place < GATES and state.open[state.place]  # spec, transition 1
        return np.array([state.place > 0, True, on])

    def info(self, state: State) -> dict[str, Any]:
        return {"open": np.int64(sum(state.open))}
