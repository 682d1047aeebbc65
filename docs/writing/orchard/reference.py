"""The readable side of orchard: the rules of spec.md in plain Python, for one instance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import BASKET, ENVIRONMENT, FALL_COST, FALL_LIMIT, GROW_P, MAX_STEPS, RIPE, TREES, YIELDS, Slots

# Divisors of the observation. A division of two np.float32 scalars is one true float32 division.
RIPE_FLOAT = np.float32(RIPE)
BASKET_FLOAT = np.float32(BASKET)
MAX_STEPS_FLOAT = np.float32(MAX_STEPS)


@dataclass
class State:
    ripeness: list[int]  # of each tree, 0..RIPE
    basket: int  # fruits picked
    fallen: int  # fruits fallen
    t: int = 0  # step counter, kept by the base class


class OrchardReference(simulacrum.ReferenceEnv[State]):
    """A season in the orchard.

    Goal: fill the basket with ripe fruit before too much has fallen, and before MAX_STEPS steps are over.
    Observation: float32[TREES + 2], each tree's ripeness divided by RIPE, the basket's fill and the step counter.
    Actions: 0 rests, k picks tree k - 1.
    Termination: the episode ends when the basket is full or FALL_LIMIT fruits have fallen.
    """

    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        # spec, reset 1 and 2; the step counter is the base class's
        ripeness = [draw.randint(Slots.START, RIPE, index=tree) for tree in range(TREES)]
        return State(ripeness=ripeness, basket=0, fallen=0)

    def transition(self, state: State, action: int, draw: Draw) -> tuple[State, np.float32, bool]:
        ripeness = list(state.ripeness)
        basket, fallen = state.basket, state.fallen

        # spec, transition 1: pick
        yielded = np.float32(0.0)
        if action >= 1:
            picked = ripeness[action - 1]
            yielded = np.float32(YIELDS[picked])
            if picked >= 1:
                basket = basket + 1
            ripeness[action - 1] = 0

        # spec, transition 2: grow. The draws are made for every tree; the picked one does not follow its own
        for tree in range(TREES):
            grows = draw.bernoulli(Slots.GROWTH, GROW_P, index=tree)
            if grows and tree != action - 1:
                ripeness[tree] = ripeness[tree] + 1

        # spec, transition 3: fall
        fell = 0
        for tree in range(TREES):
            if ripeness[tree] > RIPE:
                ripeness[tree] = 0
                fell += 1
        fallen = fallen + fell

        # spec, transition 4: the reward
        reward = yielded - np.float32(FALL_COST) * np.float32(fell)

        # spec, transition 5: the end; transition 6 (the clock and the step cap) is the base class's
        terminated = basket >= BASKET or fallen >= FALL_LIMIT
        return State(ripeness=ripeness, basket=basket, fallen=fallen), reward, terminated

    def observation(self, state: State) -> np.ndarray:
        seen = [np.float32(ripe) / RIPE_FLOAT for ripe in state.ripeness]
        seen.append(np.float32(state.basket) / BASKET_FLOAT)
        seen.append(np.float32(state.t) / MAX_STEPS_FLOAT)
        return np.array(seen, np.float32)
