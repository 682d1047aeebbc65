"""The operators that draw: each is the others put together, native and by tensor operations, whatever the rows."""

import logging
from typing import NamedTuple
from unittest import mock

import pytest
import torch

from simulacrum import native
from simulacrum.errors import BuildError, DrawTypeError
from simulacrum.rng import ahead, operators, tensor

ROWS = [0, 1, 63, 64, 65, 1000, 1024, 1025, 2111]  # around what the native loops take at once
STEP, FIRST = [3 << 24, 2, 0x7FFFFFFF, 3], [5, 1, 0xFFFFFFFE, 2]


def inputs(rows):
    seeds = tensor.instance_seeds(7, torch.arange(rows))
    episodes = torch.arange(rows) * 0x9E3779B1 & 0xFFFFFFFE
    k0, k1 = tensor.episode_keys(seeds, episodes)
    return k0, k1, torch.arange(rows) * 3, seeds, episodes


@pytest.fixture(params=["native", "lanes"])
def form(request, monkeypatch):
    if request.param == "lanes":
        monkeypatch.setattr(operators, "native_module", lambda: None)
    elif not native.enabled():
        pytest.skip("no C compiler, or SIMULACRUM_NATIVE=0")


class Clock(NamedTuple):
    seed: torch.Tensor
    episode: torch.Tensor
    t: torch.Tensor
    k0: torch.Tensor
    k1: torch.Tensor


@pytest.mark.skipif(not native.enabled(), reason="no C compiler, or SIMULACRUM_NATIVE=0")
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("rows", ROWS[1:])
def test_words_kept_ahead_are_those_drawn_anew(rows, share):
    k0, k1, t, seeds, episodes = inputs(rows)
    clock = Clock(seeds, episodes.clone(), t.clone(), k0.clone(), k1.clone())
    step, reset = ([(ranges[0], ranges[1]), (ranges[2], ranges[3])] for ranges in (STEP, FIRST))
    kept = ahead.Ahead.of(clock, step, reset)
    generator = torch.Generator().manual_seed(rows)
    for turn in range(6):
        words, ended = kept.draw()
        expected = operators.both_words(clock.k0, clock.k1, clock.t, STEP, seeds, clock.episode, FIRST, 1)
        assert torch.equal(words, expected)
        over = torch.rand(rows, generator=generator) < share
        if turn == 3:  # rows whose episodes begin otherwise
            kept.stale = True
            clock.episode.add_(5)
        ended.copy_(over)
        clock.episode.add_(over)
        clock.t.copy_(torch.where(over, 0, clock.t + 1))
        for lane, key in zip((clock.k0, clock.k1), tensor.episode_keys(seeds, clock.episode), strict=True):
            lane.copy_(key)


def test_many_words_are_not_kept():
    clock = Clock(*(inputs(4)[place] for place in (3, 4, 2, 0, 1)))
    assert ahead.Ahead.of(clock, [], [(0, ahead.MOST + 1)]) is None
    with mock.patch.object(ahead, "native_module", return_value=None):
        assert ahead.Ahead.of(clock, [], [(0, 1)]) is None


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("rows", ROWS)
def test_an_operator_is_its_parts(rows):
    k0, k1, t, seeds, episodes = inputs(rows)
    words = operators.threefry_words(k0, k1, t, STEP)
    parts = [
        operators.threefry_lanes(k0, k1, t, first, count) for first, count in zip(STEP[::2], STEP[1::2], strict=True)
    ]
    assert words.shape == (2, 5, rows)
    for number in (0, 1):
        assert torch.equal(words[number].t(), torch.cat([part[number] for part in parts], 1))
    begun = operators.begin_words(seeds, episodes, FIRST, ahead=1)
    key = tensor.episode_keys(seeds, episodes + 1)
    assert all(map(torch.equal, begun[:, 0], key))
    zeros = torch.zeros_like(episodes)
    assert torch.equal(begun[:, 1:], operators.lane_words(*key, zeros, FIRST))
    both = operators.both_words(k0, k1, t, STEP, seeds, episodes, FIRST, 1)
    assert torch.equal(both, torch.cat([words, begun], 1))
    assert torch.equal(operators.both_words(k0, k1, t, [], seeds, episodes, [], 1), begun[:, :1])


@pytest.mark.usefixtures("form")
def test_rows_may_lie_apart():
    k0, k1, t, seeds, episodes = (value[::2] for value in inputs(400))
    whole = [value.clone() for value in (k0, k1, t, seeds, episodes)]
    assert torch.equal(
        operators.both_words(k0, k1, t, STEP, seeds, episodes, FIRST, 1),
        operators.both_words(*whole[:3], STEP, *whole[3:], FIRST, 1),
    )


def test_what_the_native_form_would_read_past_is_refused():
    k0, k1, t, seeds, episodes = inputs(4)
    for ranges in ([1], [1, -1], [1, 2, 3], [1, 2, 3, -4]):
        with pytest.raises(DrawTypeError, match="expected ranges as first, count"):
            operators.threefry_words(k0, k1, t, ranges)
    with pytest.raises(DrawTypeError, match="keys and seeds of one N"):
        operators.both_words(k0, k1, t, STEP, seeds[:3], episodes[:3], FIRST, 1)
    with pytest.raises(DrawTypeError, match="expected seeds and episodes int64"):
        operators.begin_words(seeds.to(torch.int32), episodes, FIRST)


@pytest.mark.parametrize("reason", ["no compiler", "no build"])
def test_without_native_draws_one_line_says_what_that_costs(reason, caplog, monkeypatch):
    if reason == "no compiler":
        monkeypatch.setattr(native, "compiler", lambda: None)
    else:
        monkeypatch.setattr(native, "enabled", lambda: True)
        monkeypatch.setattr(native, "load", mock.Mock(side_effect=BuildError("cython failed\nand why")))
    operators.native_module.cache_clear()
    expected = operators.lane_words(*inputs(5)[:3], STEP)
    try:
        with caplog.at_level(logging.WARNING, "simulacrum"):
            for _ in range(3):
                assert torch.equal(operators.threefry_words(*inputs(5)[:3], STEP), expected)
    finally:
        monkeypatch.undo()
        operators.native_module.cache_clear()
    (line,) = [record.getMessage() for record in caplog.records]
    assert "\n" not in line
    assert "times as long" in line
    assert {"no compiler": "no C compiler was found", "no build": "cython failed"}[reason] in line
