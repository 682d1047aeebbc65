"""Pure functions with stated outcomes give what both environments do when they draw these outcomes themselves."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from environments import FORAGER, TOYWALK

from simulacrum.errors import DrawError
from simulacrum.harness.injection import RowFailed
from simulacrum.harness.outcomes import Outcomes
from simulacrum.harness.pure import PureFast, PureReference
from simulacrum.harness.records import difference
from simulacrum.harness.sides import References
from simulacrum.harness.sources import legal_actions, random_actions
from simulacrum.rng import Draw
from simulacrum.spec import Package

GATES = Package.read(Path(__file__).parent / "packages" / "gates")
ROWS = 24


def drawn(package, phase, seeds, t):
    """The outcomes that seeds draw at step t of episode 0, as if they were all that there are."""
    draws = {}
    for slot in package.spec.slots.values():
        if slot.phase == phase:
            shape = {} if slot.distribution == "permutation" else {"shape": (slot.count,)}
            rows = [getattr(Draw.at(int(seed), 0, t), slot.distribution) for seed in seeds]
            draws[slot.number] = np.array([method(slot.number, *slot.arguments, **shape) for method in rows])
    return Outcomes(draws, [Fraction(1, len(seeds))] * len(seeds), True)


def without_clock(record):
    """A record without seeds and episodes, of which pure functions know nothing."""
    return {name: value for name, value in record.items() if name not in ("clock.seed", "clock.episode")}


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, GATES], ids=lambda package: package.name)
@pytest.mark.parametrize("side", [PureReference, PureFast])
def test_a_side_gives_what_environments_show(package, side):
    rng = np.random.default_rng(1)
    seeds = rng.integers(0, 2**64, ROWS, dtype=np.uint64)
    pure, references = side(package), References(package, ROWS)
    shown, now = pure.initial(drawn(package, "reset", seeds, 0)), references.reset(seeds)
    assert difference(without_clock(now), without_clock(shown)) is None
    space = package.environment.action_space
    for t in range(8):
        actions = legal_actions(package, rng, random_actions(space, rng, ROWS), now)
        ended, after = references.step(actions)
        shown = pure.transition(now, actions, drawn(package, "step", seeds, t), np.arange(ROWS))
        going = ~(ended["terminated"] | ended["truncated"])
        assert difference(without_clock(ended), without_clock(shown)) is None
        if not going.all():
            return
        now = after


@pytest.mark.parametrize("side", [PureReference, PureFast])
def test_every_kind_of_draw_is_told_once(side):
    pure, seeds = side(FORAGER), np.arange(3, dtype=np.uint64)
    shown = pure.initial(drawn(FORAGER, "reset", seeds, 0))
    for _ in range(2):
        pure.transition(shown, np.zeros(3, np.int64), drawn(FORAGER, "step", seeds, 0), np.arange(3))
    made = set(pure.asked.values())
    assert {(5, "bernoulli", 1, (0.15,)), (0, "randint", 1, (8,)), (4, "randint", 6, (3,))} <= made
    assert {one[0] for one in made} == set(range(6))


def test_which_outcome_a_row_has_is_its_own():
    outcomes = Outcomes({1: np.array([[False], [True]])}, [Fraction(9, 10), Fraction(1, 10)], True)
    start = PureReference(TOYWALK).initial(Outcomes({0: np.array([[2]])}, [Fraction(1)], True))
    states = {name: np.repeat(value, 4, axis=0) for name, value in start.items()}
    for pure in (PureReference(TOYWALK), PureFast(TOYWALK)):
        shown = pure.transition(states, np.array([0, 0, 1, 1]), outcomes, np.array([0, 1, 0, 1]))
        assert shown["state.position"].tolist() == [-1, 1, 1, -1]
        assert states["state.position"].tolist() == [0, 0, 0, 0]


def test_a_row_that_raises_is_named():
    nothing = Outcomes({}, [Fraction(1)], True)
    with pytest.raises(RowFailed, match=r"slot <Slots.INIT_POSITION: 0> is drawn, but") as caught:
        PureReference(TOYWALK).initial(nothing)
    assert caught.value.row == 0
    with pytest.raises(DrawError):
        PureFast(TOYWALK).initial(nothing)
