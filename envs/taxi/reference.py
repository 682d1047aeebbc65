"""The reference of taxi: Gymnasium's Taxi-v4, unmodified, and how its state is read and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import simulacrum

from . import ENVIRONMENT, FICKLE, FICKLE_P, RAINY, STRAIGHT_P


@dataclass
class State:
    row: int  # of the taxi, 0..4, growing to the south
    column: int  # of the taxi, 0..4, growing to the east
    passenger: int  # the pad where they wait, 0..3, or 4 in the taxi
    destination: int  # the pad where they want to go, 0..3
    fickle_step: bool  # whether they will think again when the taxi first moves with them
    t: int = 0  # step counter, kept by the base class


def read(original: Any) -> dict[str, Any]:
    """The fields of the original's state: its number `s`, decoded, and `fickle_step`."""
    row, column, passenger, destination = (int(part) for part in original.decode(original.s))
    return {
        "row": row,
        "column": column,
        "passenger": passenger,
        "destination": destination,
        "fickle_step": bool(original.fickle_step),
    }


def write(original: Any, state: State) -> None:
    """Put a state into the original."""
    original.s = original.encode(int(state.row), int(state.column), int(state.passenger), int(state.destination))
    original.fickle_step = bool(state.fickle_step)


def action_mask(original: Any) -> Any:
    """What the original's infos show as `action_mask`."""
    return original.action_mask(original.s)


class TaxiReference(simulacrum.AdoptedEnv[State]):
    """A taxi of a small city fetches a passenger and takes them where they want to go.

    Goal: pick the passenger up at one of four pads, and drop them off at the pad that they want to go to, in few steps.
    Observation: one number in 0..499, ((row * 5 + column) * 5 + passenger) * 4 + destination.
    Actions: 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off; `action_mask` tells which change something.
    Termination: the episode ends when the passenger gets out at their destination; after MAX_STEPS steps it is
    truncated.
    """

    environment = ENVIRONMENT
    adopts = simulacrum.Adoption(
        "Taxi-v4",
        state=(read, write),
        observation="s",
        translate=int,
        action_mask=action_mask,
        options={
            "is_rainy": bool(RAINY),
            "rainy_probability": STRAIGHT_P,
            "fickle_passenger": bool(FICKLE),
            "fickle_probability": FICKLE_P,
        },
        rules=("reset", "step", "action_mask", "encode", "decode", "categorical_sample"),
    )
