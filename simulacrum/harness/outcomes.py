"""All that can happen in one phase of one step: every outcome of its draws, with its probability, and every action."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from ..rng import Draw
from ..spec import Package, Slot

LIMIT = 200_000  # states x actions x outcomes of one world
SEEDS = 1000  # that are looked through for an outcome
FLOAT_EDGES = (0.0, 0.5, 1.0 - 2.0**-24)  # of a uniform draw, exact in float32
WORD_EDGES = (0, 1, 1 << 31, (1 << 32) - 1)
Axis = list[tuple[Any, Fraction]]


class TooLarge(Exception):
    """A world has more states, actions and outcomes than are compared wholly."""


class Outcomes(NamedTuple):
    """The outcomes of a phase's draws, O of them.

    Attributes:
        draws: by slot number: [O, K].
        probabilities: of each outcome, exact; their sum is 1.
        exhaustive: whether these are all; if not, edge values stand for those that are too many to enumerate.
    """

    draws: dict[int, np.ndarray]
    probabilities: list[Fraction]
    exhaustive: bool

    def of(self, outcome: int) -> dict[int, list[Any]]:
        """One outcome by slot number, as lists by index."""
        return {slot: values[outcome].tolist() for slot, values in self.draws.items()}


def outcomes(package: Package, phase: str) -> Outcomes:
    """All outcomes of the ``reset`` or the ``step`` slots of the spec, of probability above 0.

    Raises :class:`TooLarge` where they are more than ``LIMIT``.
    """
    slots = [slot for slot in package.spec.slots.values() if slot.phase == phase]
    for slot in slots:
        if slot.open_ended:
            raise TooLarge(f"the outcomes of {slot.name}, a randint() whose bound the rules compute")
    repeats = [1 if slot.distribution == "permutation" else slot.count for slot in slots]
    number = math.prod(_size(slot) ** count for slot, count in zip(slots, repeats, strict=True))
    if number > LIMIT:
        raise TooLarge(f"{number} outcomes of the {phase} draws, {LIMIT} at most are enumerated")
    axes = [axis for slot, count in zip(slots, repeats, strict=True) for axis in [_axis(slot)] * count]
    drawn = list(itertools.product(*axes))
    draws, place = {}, 0
    for slot, count in zip(slots, repeats, strict=True):
        columns = [[value for value, _ in one[place : place + count]] for one in drawn]
        kind = np.uint64 if slot.distribution == "bits" else None
        draws[slot.number] = np.array(columns, kind).reshape(len(drawn), -1)
        place += count
    probabilities = [math.prod((chance for _, chance in one), start=Fraction(1)) for one in drawn]
    whole = all(slot.cuts or slot.distribution not in ("bits", "uniform") for slot in slots)
    return Outcomes(draws, probabilities, whole)


def seed_with(package: Package, phase: str, t: int, outcome: dict[int, list[Any]]) -> int | None:
    """A seed whose episode 0 draws an outcome (by slot number, lists by index) at step ``t``; None where few do."""
    slots = [slot for slot in package.spec.slots.values() if slot.phase == phase]
    for seed in range(SEEDS):
        draw = Draw.at(seed, 0, t)
        if all(_drawn(draw, slot) == outcome[slot.number] for slot in slots):
            return seed
    return None


def _drawn(draw: Draw, slot: Slot) -> list[Any]:
    method, shape = getattr(draw, slot.distribution), {"shape": (slot.count,), **slot.options}
    drawn: np.ndarray = method(slot.number, *slot.arguments, **({} if slot.distribution == "permutation" else shape))
    return drawn.tolist()


def all_actions(package: Package) -> tuple[np.ndarray, bool]:
    """Every action, [A, *shape] in the space's dtype, and whether these are all: of floats there are the bounds and 0.

    Raises :class:`TooLarge` where they are more than ``LIMIT``.
    """
    space = package.environment.action_space
    values, exhaustive = _elements(space)
    number = math.prod(len(choices) for choices in values)
    if number > LIMIT:
        raise TooLarge(f"{number} actions, {LIMIT} at most are enumerated")
    listed = np.array(list(itertools.product(*values)), space.dtype)
    return listed.reshape(number, *(space.shape or ())), exhaustive


def _elements(space: spaces.Space[Any]) -> tuple[list[Sequence[Any]], bool]:
    """The values of each element of a space, row-major, and whether these are all."""
    if isinstance(space, spaces.Discrete):
        return [range(int(space.start), int(space.start + space.n))], True
    if isinstance(space, spaces.MultiBinary):
        return [(0, 1)] * math.prod(space.shape), True
    if isinstance(space, spaces.MultiDiscrete):
        pairs = zip(np.ravel(space.start).tolist(), np.ravel(space.nvec).tolist(), strict=True)
        return [range(start, start + n) for start, n in pairs], True
    assert isinstance(space, spaces.Box)
    pairs = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
    if space.dtype.kind != "f":
        return [range(int(low), int(high) + 1) for low, high in pairs], True
    edges = [sorted({low, high, min(max(0.0, low), high)}) for low, high in pairs]
    return [[value for value in values if math.isfinite(value)] for values in edges], False


def _size(slot: Slot) -> int:
    """How many outcomes an element of a slot has."""
    if slot.distribution == "permutation":
        return math.factorial(min(slot.arguments[0], 20))
    return int(slot.arguments[0]) if slot.distribution == "randint" else len(_axis(slot))


def between(cuts: Sequence[float], bits: int) -> Axis:
    """The least and the greatest number that a uniform of so many bits can be in each interval between the cuts."""
    grid = 1 << bits
    edges = [0, *(min(grid, max(0, math.ceil(Fraction(cut) * grid))) for cut in cuts), grid]
    axis: Axis = []
    for first, beyond in itertools.pairwise(edges):
        ends = sorted({first, beyond - 1}) if beyond > first else []
        axis += [(end / grid, Fraction(beyond - first, grid * len(ends))) for end in ends]
    return axis


def _axis(slot: Slot) -> Axis:
    """The outcomes of an element of a slot, with their probabilities."""
    kind, arguments = slot.distribution, slot.arguments
    if slot.cuts:
        return between(slot.cuts, 24 if slot.dtype == "float32" else 53)
    if kind == "uniform":
        return [(value, Fraction(1, len(FLOAT_EDGES))) for value in FLOAT_EDGES]
    if kind == "bits":
        words = WORD_EDGES if arguments != (64,) else (*WORD_EDGES, 1 << 63, (1 << 64) - 1)
        return [(value, Fraction(1, len(words))) for value in words]
    if kind == "randint":
        return [(value, Fraction(1, arguments[0])) for value in range(arguments[0])]
    if kind == "permutation":
        orders = list(itertools.permutations(range(arguments[0])))
        return [(order, Fraction(1, len(orders))) for order in orders]
    if kind == "bernoulli":
        chance = Fraction(arguments[0])
        axis: Axis = [(False, 1 - chance), (True, chance)]
    else:
        weights = [Fraction(weight) for weight in arguments[0]]
        axis = [(value, weight / sum(weights)) for value, weight in enumerate(weights)]
    return [(value, chance) for value, chance in axis if chance > 0]
