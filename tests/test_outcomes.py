"""Every outcome of a phase's draws with its exact probability, and every action."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from environments import TOYWALK
from gymnasium import spaces

from simulacrum.harness.outcomes import LIMIT, TooLarge, all_actions, outcomes, seed_with
from simulacrum.rng import Draw
from simulacrum.spec import Spec

HEAD = "| slot | name | phase | index | distribution |\n|---|---|---|---|---|\n"


def of(*rows):
    """The outcomes of the step slots of a table."""
    return outcomes(SimpleNamespace(spec=Spec(HEAD + "".join(f"| {row} |\n" for row in rows))), "step")


def listed(found):
    """Outcomes as rows of all slots' values, with their probabilities."""
    joined = np.concatenate([values.astype(object) for values in found.draws.values()], axis=1)
    return list(zip(map(tuple, joined.tolist()), found.probabilities, strict=True))


def test_each_distribution_has_its_outcomes():
    assert listed(of("0 | A | step | 0 | randint(3)")) == [((value,), Fraction(1, 3)) for value in range(3)]
    assert listed(of("0 | A | step | 0 | bernoulli(0.25)")) == [((False,), Fraction(3, 4)), ((True,), Fraction(1, 4))]
    weighted = listed(of("0 | A | step | 0 | categorical([1, 0, 3])"))
    assert weighted == [((0,), Fraction(1, 4)), ((2,), Fraction(3, 4))]
    orders = listed(of("0 | A | step | 0..2 | permutation(3)"))
    assert len({order for order, _ in orders}) == 6
    assert {chance for _, chance in orders} == {Fraction(1, 6)}


def test_probabilities_are_those_of_the_float_exactly():
    (_, chance) = of("0 | A | step | 0 | bernoulli(0.1)").probabilities
    assert chance == Fraction(0.1) != Fraction(1, 10)


def test_outcomes_of_several_draws_are_all_combinations():
    found = of(
        "0 | A | step | 0..1 | randint(2)",
        "5 | B | step | 0 | bernoulli(0.25)",
        "7 | C | reset | 0 | randint(9)",
    )
    assert {slot: values.shape for slot, values in found.draws.items()} == {0: (8, 2), 5: (8, 1)}
    assert len({values for values, _ in listed(found)}) == 8
    assert sum(found.probabilities) == 1
    assert found.exhaustive
    assert dict(listed(found))[1, 1, True] == Fraction(1, 16)
    assert found.of(0) == {0: [0, 0], 5: [False]}


def test_without_draws_there_is_one_outcome():
    found = of("0 | A | reset | 0 | randint(2)")
    assert (found.draws, found.probabilities, found.exhaustive) == ({}, [1], True)


@pytest.mark.parametrize(
    ("row", "edges"),
    [
        ("uniform()", [0.0, 0.5, 1 - 2**-24]),
        ("bits(32)", [0, 1, 2**31, 2**32 - 1]),
        ("bits(64)", [0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]),
    ],
)
def test_edges_stand_for_what_is_too_much(row, edges):
    found = of(f"0 | A | step | 0 | {row}")
    assert found.draws[0][:, 0].tolist() == edges
    assert not found.exhaustive


@pytest.mark.parametrize("row", ["0..5 | randint(10)", "0 | randint(2**31)", "0..29 | permutation(30)"])
def test_too_many_outcomes_are_not_listed(row):
    with pytest.raises(TooLarge, match=rf"\d+ outcomes of the step draws, {LIMIT} at most are enumerated"):
        of(f"0 | A | step | {row}")


@pytest.mark.parametrize(
    ("space", "actions", "exhaustive"),
    [
        (spaces.Discrete(3, start=-1), [-1, 0, 1], True),
        (spaces.MultiDiscrete([2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]], True),
        (spaces.MultiBinary(1), [[0], [1]], True),
        (spaces.Box(-1, 1, (1,), np.int8), [[-1], [0], [1]], True),
        (spaces.Box(np.float32(-1), np.inf, (1,)), [[-1], [0]], False),
        (spaces.Box(0.5, 1.0, (), np.float64), [0.5, 1.0], False),
    ],
    ids=str,
)
def test_every_action(space, actions, exhaustive):
    found, all_of_them = all_actions(SimpleNamespace(environment=SimpleNamespace(action_space=space)))
    assert found.dtype == space.dtype
    assert found.tolist() == actions
    assert all_of_them == exhaustive


def test_a_seed_that_draws_an_outcome():
    slip = TOYWALK.spec.slots["SLIP"].number
    seed = seed_with(TOYWALK, "step", 4, {slip: [True]})
    assert Draw.at(seed, 0, 4).bernoulli(slip, 0.1)
    assert seed_with(TOYWALK, "reset", 0, {0: [5]}) is None
