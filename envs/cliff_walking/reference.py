"""The readable side of cliff_walking: Gymnasium's own environment, unmodified."""

from __future__ import annotations

from dataclasses import dataclass

import simulacrum

from . import ENVIRONMENT, SLIPPERY


@dataclass
class State:
    cell: int  # 0..HEIGHT * WIDTH - 1, counted row by row from the top left
    t: int = 0  # step counter, kept by the base class


class CliffWalkingReference(simulacrum.AdoptedEnv[State]):
    """A walk along a cliff from one corner to the other.

    Goal: reach the lower right corner in as few steps as possible. A fall off the cliff leads back to the start.
    Observation: the cell, 0..HEIGHT * WIDTH - 1, counted row by row from the top left.
    Actions: 0 moves up, 1 right, 2 down, 3 left; on slippery ground a move may turn to either side of it.
    Termination: the episode ends on the goal; there is no step cap.
    """

    environment = ENVIRONMENT
    adopts = simulacrum.Adoption(
        ("CliffWalking-v1", "CliffWalkingSlippery-v1")[SLIPPERY],
        state={"cell": "s"},
        observation="s",
        rules=("reset", "step", "categorical_sample"),
    )
