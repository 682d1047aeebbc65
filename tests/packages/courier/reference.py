"""The readable side of courier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import ENVIRONMENT, FRICTION, FULL, LIMIT, PARCELS, WEIGHTS, Slots


@dataclass
class State:
    cargo: np.ndarray  # [PARCELS] int8
    speed: np.float32
    lamp: bool
    total: int
    t: int = 0


class CourierReference(simulacrum.ReferenceEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        cargo = draw.randint(Slots.LOAD, FULL + 1, shape=(PARCELS,)).astype(np.int8)
        return State(cargo, np.float32(0.0), False, 0)

    def transition(self, state: State, action: np.ndarray, draw: Draw) -> tuple[State, np.float32, bool]:
        push, brake = action
        speed = state.speed * np.float32(FRICTION) + push * draw.uniform(Slots.GUST)  # spec, transition 1
        speed = np.float32(min(max(speed, np.float32(-2.0)), np.float32(2.0)))
        kind = draw.categorical(Slots.KIND, WEIGHTS)
        cargo, total = state.cargo.copy(), state.total
        if brake > 0 and cargo[kind] > 0:  # spec, transition 2
            cargo[kind] -= 1
            total += 1
        lamp = bool(push < 0)  # spec, transition 3
        over = total >= LIMIT or not cargo.any()  # spec, transition 4
        return State(cargo, speed, lamp, total), speed, bool(over)

    def observation(self, state: State) -> dict[str, np.ndarray]:
        return {"cargo": state.cargo.copy(), "road": np.array([state.speed, np.float32(state.lamp)], np.float32)}
