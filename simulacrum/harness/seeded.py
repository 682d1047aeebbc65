"""Stated outcomes for a form that draws out of sight: seeds whose draws have them.

A kernel's functions take no draws from outside. So what is asked of it with stated outcomes is asked with a seed that
the contract gives these outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ..rng.tensor import Draw
from ..spec import Package, Slot
from .context import Context
from .injection import SingleFast
from .lockstep import FastRows
from .outcomes import Outcomes, TooLarge
from .playback import FORMS
from .records import Record

BATCH, BATCHES = 1 << 15, 8  # seeds that are looked through at a time, and how often


def seeds_with(package: Package, phase: str, t: int, draws: Mapping[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Seeds whose episode 0 has stated outcomes at step ``t``.

    Args:
        package: whose slot table says how each slot is drawn.
        phase: ``reset`` or ``step``.
        draws: by slot number, [O, K]: O outcomes of K elements; slots that are left out may draw anything.

    Returns:
        (uint64 [O], bool [O]): a seed of each outcome, and whether one was found.
    """
    slots = [
        replace(slot, count=draws[slot.number].reshape(len(draws[slot.number]), -1).shape[1]) if slot.at_most else slot
        for slot in package.spec.slots.values()
        if slot.phase == phase and slot.number in draws
    ]
    number = len(next(iter(draws.values()))) if draws else 1
    seeds, found = np.zeros(number, np.uint64), np.zeros(number, np.bool_)
    if not slots:
        return seeds, ~found
    if any(slot.open_ended for slot in slots):
        return np.zeros(number, np.uint64), np.zeros(number, np.bool_)
    wanted = _keys([_alike(draws[slot.number], slot) for slot in slots])
    for first in range(0, BATCH * BATCHES, BATCH):
        tried = torch.arange(first, first + BATCH, dtype=torch.int64)
        draw = Draw.at(tried, torch.zeros_like(tried), torch.full_like(tried, t))
        drawn, places = np.unique(_keys([_alike(_drawn(draw, slot), slot) for slot in slots]), return_index=True)
        at = np.searchsorted(drawn, wanted).clip(max=len(drawn) - 1)
        new = (drawn[at] == wanted) & ~found
        seeds[new], found = (places[at] + first)[new], found | new
        if found.all():
            break
    return seeds, found


def _drawn(draw: Draw, slot: Slot) -> np.ndarray:
    method, shape = getattr(draw, slot.distribution), {"shape": (slot.count,), **slot.options}
    made: torch.Tensor = method(slot.number, *slot.arguments, **({} if slot.distribution == "permutation" else shape))
    return made.numpy()


def _alike(outcomes: np.ndarray, slot: Slot) -> np.ndarray:
    """Outcomes that the rules do not tell apart as one number: of a uniform with cuts, its interval."""
    return np.searchsorted(slot.cuts, outcomes, side="right") if slot.cuts else outcomes


def _keys(columns: list[np.ndarray]) -> np.ndarray:
    """One value that can be sorted for each row of some columns [rows, K]."""
    flat = [np.asarray(one).reshape(len(one), -1) for one in columns]
    words = [one.astype(np.float64).view(np.int64) if one.dtype.kind == "f" else one.astype(np.int64) for one in flat]
    joined = np.ascontiguousarray(np.concatenate(words, axis=1))
    keys: np.ndarray = joined.view(f"V{joined.shape[1] * 8}").ravel()
    return keys


class SeededFast:
    """A form as :class:`~.pure.PureFast` shows the tensor form. What it draws is not seen, so ``asked`` stays empty.

    Raises :class:`~.outcomes.TooLarge` for an outcome that no seed was found for.
    """

    name = FORMS["kernel"]

    def __init__(self, context: Context, package: Package) -> None:
        self.context, self.package = context, package
        self.made = package.forms[context.form]
        self.asked: dict[Any, tuple[int, str, int, tuple[Any, ...]]] = {}
        self._seeds: dict[tuple[str, int], np.ndarray] = {}

    def initial(self, outcomes: Outcomes) -> Record:
        """The first state of each outcome."""
        seeds = self._seeds_of("reset", 0, outcomes)
        return _at_zero(FastRows(self.package, self._env(len(seeds))).reset(seeds))

    def transition(self, states: Record, actions: np.ndarray, outcomes: Outcomes, which: np.ndarray) -> Record:
        """What a step of each row shows: states and actions [N, ...], ``which`` outcome [N]; one ``t`` for all."""
        seeds = self._seeds_of("step", int(states["clock.t"][0]), outcomes)[which]
        side = SingleFast(self.package, self._env(len(which)), {**states, "clock.seed": seeds})
        return _at_zero(side.step(actions).ended)

    def _env(self, rows: int) -> Any:
        return self.made(batch_size=[rows], seed=0, expose_state=True)

    def _seeds_of(self, phase: str, t: int, outcomes: Outcomes) -> np.ndarray:
        if (phase, t) not in self._seeds:
            seeds, found = seeds_with(self.package, phase, t, outcomes.draws)
            if not found.all():
                raise TooLarge(f"outcomes of the {phase} draws that no seed was found for: {int((~found).sum())}")
            self._seeds[phase, t] = seeds
        return self._seeds[phase, t]


def _at_zero(record: Record) -> Record:
    """The record with the seed and the episode of stated outcomes, which have neither."""
    return {**record, **{name: np.zeros_like(record[name]) for name in ("clock.seed", "clock.episode")}}
