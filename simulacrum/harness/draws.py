"""Notes the draws that both sides make, by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from ..rng.recorded import Made, RecordedDraw
from .sides import FastRows, References

Drawn = dict[str, list[tuple[int, Made]]]


def note_draws(references: References, fast: FastRows, rows: np.ndarray, made: Drawn) -> None:
    """From now on put (row, draw) of some rows into ``made["reference"]`` and ``made["fast"]``.

    ``rows`` are the batch's row numbers of the references. The fast side's draws of first states are noted where it
    makes them for the whole batch; those in compiled graphs are not.
    """
    for row, env in zip(rows.tolist(), references.envs, strict=True):

        def note(draw: Made, row: int = row) -> None:
            made["reference"].append((row, draw))

        _wrap(env, note)

    def note_rows(draw: Made) -> None:
        if isinstance(draw.outcome, Tensor) and draw.outcome.shape[:1] == (fast.env.numel(),):
            outcomes = draw.outcome.cpu().numpy()
            made["fast"].extend((row, draw._replace(outcome=outcomes[row])) for row in rows.tolist())

    if not fast.options.get("kernel"):  # which draws out of sight
        _wrap(fast.bare, note_rows)


def _wrap(env: Any, note: Any) -> None:
    """Give an implementation draws that are noted."""
    initial, transition = env.initial, env.transition
    env.initial = lambda draw: initial(RecordedDraw(draw, note))
    env.transition = lambda state, action, draw: transition(state, action, RecordedDraw(draw, note))
