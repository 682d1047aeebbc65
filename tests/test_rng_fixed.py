"""Draws with given outcomes give what both forms of ``Draw`` give: values, dtypes, shapes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from simulacrum.errors import DrawError
from simulacrum.rng import Draw
from simulacrum.rng.fixed import FixedDraw, FixedRows
from simulacrum.rng.tensor import Draw as BatchedDraw

ROWS = 5
CALLS: dict[str, Callable[[Any], Any]] = {
    "bits": lambda draw: draw.bits(3),
    "bits, several": lambda draw: draw.bits(3, shape=(4,)),
    "64 bits": lambda draw: draw.bits(3, 64),
    "64 bits, several": lambda draw: draw.bits(3, 64, shape=(4,)),
    "uniform": lambda draw: draw.uniform(3),
    "uniform, a table": lambda draw: draw.uniform(3, shape=(2, 2)),
    "uniform float64": lambda draw: draw.uniform(3, dtype="float64", shape=(4,)),
    "one uniform float64": lambda draw: draw.uniform(3, dtype="float64"),
    "randint": lambda draw: draw.randint(3, 7),
    "randint, at an index": lambda draw: draw.randint(3, 7, index=2),
    "randint, a table": lambda draw: draw.randint(3, 7, shape=(2, 2)),
    "bernoulli": lambda draw: draw.bernoulli(3, 0.5),
    "bernoulli, several": lambda draw: draw.bernoulli(3, 0.5, index=1, shape=(3,)),
    "categorical": lambda draw: draw.categorical(3, [1, 2, 3]),
    "categorical, several": lambda draw: draw.categorical(3, [1, 2, 3], shape=(4,)),
    "permutation": lambda draw: draw.permutation(3, 4),
}


def by_index(call: str) -> Callable[[Any], Any]:
    """The draws of a call at the indices 0 .. 3, whichever of them the call asks for."""
    kinds = {"64": lambda draw: draw.bits(3, 64, shape=(4,)), "bits": lambda draw: draw.bits(3, shape=(4,))}
    wide = CALLS["uniform float64"] if "float64" in call else lambda draw: draw.uniform(3, shape=(4,))
    kinds |= {"uniform": wide, "one": wide, "randint": lambda draw: draw.randint(3, 7, shape=(4,))}
    kinds |= {"bernoulli": lambda draw: draw.bernoulli(3, 0.5, shape=(4,))}
    kinds |= {"categorical": CALLS["categorical, several"], "permutation": CALLS["permutation"]}
    return kinds[call.replace(",", "").split()[0]]


@pytest.mark.parametrize("call", CALLS)
def test_one_row_gives_what_the_plain_form_gives(call):
    real = Draw.at(7, 2, 11)
    expected = CALLS[call](real)
    got = CALLS[call](FixedDraw({3: by_index(call)(real).tolist()}))
    assert type(got) is type(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("call", CALLS)
def test_rows_give_what_the_batched_form_gives(call):
    clock = torch.arange(ROWS)
    real = BatchedDraw.at(clock, clock, clock)
    outcomes = by_index(call)(real).numpy()
    fixed = FixedRows({3: outcomes.view(np.uint64) if call.startswith("64") else outcomes}, ROWS)
    expected, got = CALLS[call](real), CALLS[call](fixed)
    assert fixed.rows == real.rows == ROWS
    assert got.dtype == expected.dtype
    assert torch.equal(got, expected)


def test_one_outcome_a_row_may_be_flat():
    fixed = FixedRows({3: np.array([1, 0, 2])}, 3)
    assert fixed.randint(3, 5).tolist() == [1, 0, 2]
    assert fixed.randint(3, 5, shape=(1,)).tolist() == [[1], [0], [2]]


@pytest.mark.parametrize("fixed", [FixedDraw({3: [1, 0]}), FixedRows({3: np.array([[1, 0], [0, 1]])}, 2)])
def test_what_is_not_stated_is_refused(fixed):
    with pytest.raises(DrawError, match="slot 4 is drawn, but no outcome is stated for it"):
        fixed.randint(4, 2)
    with pytest.raises(DrawError, match="slot 3: index 2 is drawn, 2 outcomes are stated"):
        fixed.randint(3, 2, index=1, shape=(2,))


def test_the_draws_that_were_made_are_told():
    fixed = FixedDraw({3: [1, 0], 5: True})
    fixed.randint(3, 2, shape=(2,))
    fixed.bernoulli(5, 0.25)
    assert fixed.asked == [(3, "randint", 2, (2,)), (5, "bernoulli", 1, (0.25,))]
