"""The readable side of cards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import CAP, CARDS, ENVIRONMENT, LUCK_P, TARGET, Slots


@dataclass
class State:
    total: int
    lucky: bool
    t: int = 0


class CardsReference(simulacrum.ReferenceEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        return State(1 + draw.randint(Slots.FIRST, CARDS), draw.bernoulli(Slots.LUCK, LUCK_P))

    def transition(self, state: State, action: int, draw: Draw) -> tuple[State, float, bool]:
        card = 1 + draw.randint(Slots.CARD, CARDS)
        total = state.total + (card if action == 1 else 0)  # spec, transition 1
        reward = 0.0
        if total == TARGET:  # spec, transition 2
            reward = 2.0 if state.lucky else 1.0
        elif total > TARGET:
            reward = -1.0
        return State(total, state.lucky), reward, total >= TARGET

    def observation(self, state: State) -> tuple[np.int64, np.ndarray, np.int64]:
        shares = [np.float32(state.total) / np.float32(TARGET), np.float32(state.t) / np.float32(CAP)]
        return np.int64(state.total), np.array(shares, np.float32), np.int64(state.lucky)
