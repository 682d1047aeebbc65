"""Draws that are noted are the draws themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simulacrum.rng import Draw
from simulacrum.rng.recorded import Made, RecordedDraw
from simulacrum.rng.tensor import Draw as TensorDraw

CALLS = [
    ("bits", (3, 64), {}),
    ("uniform", (3,), {"index": 2, "shape": (2,)}),
    ("randint", (3, 10), {"index": 1}),
    ("bernoulli", (3, 0.5), {}),
    ("categorical", (3, [1.0, 2.0]), {}),
    ("permutation", (3, 4), {}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), CALLS)
def test_a_noted_draw_is_the_draw(name, arguments, options):
    for draw in (Draw.at(5, 1, 2), TensorDraw.at(*(torch.tensor([value]) for value in (5, 1, 2)))):
        made = []
        outcome = getattr(RecordedDraw(draw, made.append), name)(*arguments, **options)
        assert np.array_equal(outcome, getattr(draw, name)(*arguments, **options))
        (noted,) = made
        assert (noted.slot, noted.kind, noted.first) == (3, name, options.get("index", 0))
        assert noted.outcome is outcome


def test_arguments_are_noted_by_name():
    made = []
    draw = RecordedDraw(Draw.at(5, 1, 2), made.append)
    outcome = draw.randint(n=10, slot=3)
    assert made == [Made(3, "randint", 0, {"n": 10}, outcome)]


def test_what_is_set_is_set_on_the_draw():
    draw, other = Draw.at(5, 1, 2), Draw.at(5, 1, 3)
    recorded = RecordedDraw(draw, lambda made: None)
    recorded._t = 3
    assert recorded._t == draw._t == 3
    assert recorded.bits(0) == other.bits(0)


def test_what_is_no_draw_is_passed_on():
    draw = RecordedDraw(TensorDraw.at(*(torch.zeros(4, dtype=torch.int64) for _ in range(3))), lambda made: 1 / 0)
    assert draw.rows == 4
    with pytest.raises(AttributeError):
        draw.normal(3)
