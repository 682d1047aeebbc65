"""Bad arguments of a draw raise, in both forms, and the message says what was expected."""

from __future__ import annotations

import enum
import math
import re
from typing import Any

import numpy as np
import pytest
import torch

from simulacrum import rng
from simulacrum.errors import DrawError, DrawTypeError, SeedError
from simulacrum.rng import tensor
from simulacrum.rng.arguments import bernoulli_threshold

NAN, INF = math.nan, math.inf


class Slots(enum.IntEnum):
    PLACE = 2
    WIND = 3


RESET = rng.Phase("reset", [Slots.PLACE])
STEP = rng.Phase("step", [Slots.WIND])


def row(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


@pytest.fixture(params=["plain", "batched"])
def draw(request: pytest.FixtureRequest) -> Any:
    """A draw of the step phase, in one of the two forms."""
    if request.param == "plain":
        return rng.Draw.at(0, 0, 0, STEP)
    return tensor.Draw.at(row(0, 1), row(0, 0), row(0, 5), STEP)


BAD_CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ("randint", (0,), {}, DrawError, "n: expected 1..2**31, got 0"),
    ("randint", (-5,), {}, DrawError, "n: expected 1..2**31, got -5"),
    ("randint", (2**31 + 1,), {}, DrawError, "n: expected 1..2**31, got 2147483649"),
    ("randint", (6.0,), {}, DrawTypeError, "n: expected an integer, got 6.0"),
    ("randint", ("6",), {}, DrawTypeError, "n: expected an integer, got '6'"),
    ("permutation", (0,), {}, DrawError, "n: expected 1..2**24, got 0"),
    ("permutation", (-1,), {}, DrawError, "n: expected 1..2**24, got -1"),
    ("permutation", (2**24 + 1,), {}, DrawError, "n: expected 1..2**24, got 16777217"),
    ("permutation", (4.0,), {}, DrawTypeError, "n: expected an integer, got 4.0"),
    ("permutation", (2,), {"index": 2**24 - 1}, DrawError, "index + count <= 2**24, got 16777215 + 2"),
    ("bernoulli", (-0.1,), {}, DrawError, "p: expected a float in [0, 1], got -0.1"),
    ("bernoulli", (1.0000001,), {}, DrawError, "p: expected a float in [0, 1], got 1.0000001"),
    ("bernoulli", (2,), {}, DrawError, "p: expected a float in [0, 1], got 2"),
    ("bernoulli", (NAN,), {}, DrawError, "p: expected a float in [0, 1], got nan"),
    ("bernoulli", (INF,), {}, DrawError, "p: expected a float in [0, 1], got inf"),
    ("bernoulli", (2.0**-33,), {}, DrawError, "p: expected 0 or at least 2**-32"),
    ("bernoulli", (5e-324,), {}, DrawError, "p: expected 0 or at least 2**-32"),
    ("bernoulli", (True,), {}, DrawTypeError, "p: expected a Python float in [0, 1], got True"),
    ("bernoulli", ("0.5",), {}, DrawTypeError, "p: expected a Python float in [0, 1], got '0.5'"),
    ("bernoulli", ([0.5],), {}, DrawTypeError, "p: expected a Python float in [0, 1], got [0.5]"),
    ("bernoulli", (np.array(0.5),), {}, DrawTypeError, "p: expected a Python float in [0, 1], got array"),
    ("bernoulli", (torch.tensor(0.5),), {}, DrawTypeError, "p: expected a Python float in [0, 1], got tensor"),
    ("categorical", ([],), {}, DrawError, "weights: expected finite weights >= 0 with a positive sum, got ()"),
    ("categorical", ([0, 0],), {}, DrawError, "expected finite weights >= 0 with a positive sum, got (0.0, 0.0)"),
    ("categorical", ([1, -1, 2],), {}, DrawError, "expected finite weights >= 0 with a positive sum"),
    ("categorical", ([1, NAN],), {}, DrawError, "expected finite weights >= 0 with a positive sum"),
    ("categorical", ([1, INF],), {}, DrawError, "expected finite weights >= 0 with a positive sum"),
    ("categorical", ([1e308, 1e308],), {}, DrawError, "expected finite weights >= 0 with a positive sum"),
    ("categorical", (1.0,), {}, DrawTypeError, "weights: expected a sequence of floats, got 1.0"),
    ("categorical", (["a"],), {}, DrawTypeError, "weights: expected a sequence of floats, got ['a']"),
    ("categorical", ([[1, 2]],), {}, DrawTypeError, "weights: expected a sequence of floats, got [[1, 2]]"),
    ("categorical", ([10**400],), {}, DrawTypeError, "weights: expected a sequence of floats, got [1000"),
    ("bits", (33,), {}, DrawError, "width: expected 32 or 64, got 33"),
    ("bits", (0,), {}, DrawError, "width: expected 32 or 64, got 0"),
    ("bits", (32.0,), {}, DrawTypeError, "width: expected an integer, got 32.0"),
    ("uniform", (), {"dtype": "float16"}, DrawTypeError, "dtype: expected 'float32' or 'float64', got 'float16'"),
    ("uniform", (), {"dtype": torch.int64}, DrawTypeError, "expected 'float32' or 'float64', got torch.int64"),
    ("uniform", (), {"dtype": float}, DrawTypeError, "dtype: expected 'float32' or 'float64', got <class 'float'>"),
    ("uniform", (), {"dtype": None}, DrawTypeError, "dtype: expected 'float32' or 'float64', got None"),
]

DRAWS = [("bits", ()), ("uniform", ()), ("randint", (6,)), ("bernoulli", (0.5,)), ("categorical", ([1.0, 2.0],))]

BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"shape": 6}, DrawTypeError, "shape: expected a tuple of integers such as (6,), got 6"),
    ({"shape": "6"}, DrawTypeError, "shape: expected a tuple of integers such as (6,), got '6'"),
    ({"shape": (2.0,)}, DrawTypeError, "shape: expected an integer, got 2.0"),
    ({"shape": (0,)}, DrawError, "shape: expected sizes of at least 1, got (0,)"),
    ({"shape": (2, -1)}, DrawError, "shape: expected sizes of at least 1, got (2, -1)"),
    ({"shape": (2**12, 2**13)}, DrawError, "index + count <= 2**24, got 0 + 33554432"),
    ({"index": -1}, DrawError, "index: expected 0 <= index and index + count <= 2**24, got -1 + 1"),
    ({"index": 2**24}, DrawError, "index + count <= 2**24, got 16777216 + 1"),
    ({"index": 2**24 - 5, "shape": (2, 3)}, DrawError, "index + count <= 2**24, got 16777211 + 6"),
    ({"index": 1.0}, DrawTypeError, "index: expected an integer, got 1.0"),
]

BAD_SLOTS: list[tuple[Any, type[Exception], str]] = [
    (Slots.PLACE, DrawError, "slot <Slots.PLACE: 2> cannot be drawn in the step phase, which has slots [3]"),
    (-1, DrawError, "slot -1 cannot be drawn in the step phase, which has slots [3]"),
    (240, DrawError, "slot 240 cannot be drawn in the step phase, which has slots [3]"),
    (3.0, DrawTypeError, "slot: expected a member of Slots (an int), got 3.0"),
    ("WIND", DrawTypeError, "slot: expected a member of Slots (an int), got 'WIND'"),
]


@pytest.mark.parametrize(("name", "arguments", "options", "error", "message"), BAD_CALLS)
def test_bad_arguments(draw: Any, name: str, arguments: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        getattr(draw, name)(Slots.WIND, *arguments, **options)


@pytest.mark.parametrize(("options", "error", "message"), BAD_OPTIONS)
@pytest.mark.parametrize(("name", "arguments"), DRAWS)
def test_bad_shape_or_index(draw: Any, name: str, arguments: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        getattr(draw, name)(Slots.WIND, *arguments, **options)


@pytest.mark.parametrize(("slot", "error", "message"), BAD_SLOTS)
@pytest.mark.parametrize(("name", "arguments"), [*DRAWS, ("permutation", (3,))])
def test_bad_slot_or_phase(draw: Any, name: str, arguments: Any, slot: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        getattr(draw, name)(slot, *arguments)


@pytest.mark.parametrize("slot", [-1, 240])
def test_without_a_phase_every_slot_may_be_drawn(slot: int) -> None:
    for draw in (rng.Draw.at(0, 0, 0), tensor.Draw.at(row(0), row(0), row(0))):
        assert draw.bits(0) != draw.bits(239)
        with pytest.raises(DrawError, match=rf"slot {slot} cannot be drawn in the any phase, .* slots 0\.\.239"):
            draw.bits(slot)


def test_phases() -> None:
    plain, rows = rng.Draw.at(7, 0, 0, RESET), tensor.Draw.at(row(7), row(0), row(0), RESET)
    assert plain.bits(Slots.PLACE) == rng.Draw.at(7, 0, 0).bits(2) == int(rows.bits(Slots.PLACE))
    for draw in (plain, rows):
        with pytest.raises(DrawError, match=r"WIND: 3> cannot be drawn in the reset phase, which has slots \[2\]"):
            draw.bits(Slots.WIND)


@pytest.mark.parametrize("slot", [-1, 240, 255])
def test_bad_slot_of_a_phase(slot: int) -> None:
    with pytest.raises(DrawError, match=rf"slot: expected 0\.\.239, got {slot}"):
        rng.Phase("step", [slot])


def test_float_slot_of_a_phase() -> None:
    with pytest.raises(DrawTypeError, match=r"slot: expected an integer, got 1\.5"):
        rng.Phase("step", [1.5])  # type: ignore[list-item]


def test_refusals_do_not_depend_on_what_was_drawn_before(draw: Any) -> None:
    """``True == 1.0``: a cache of the thresholds would let it pass once 1.0 has been drawn."""
    draw.bernoulli(Slots.WIND, 1.0)
    with pytest.raises(DrawTypeError, match="got True"):
        draw.bernoulli(Slots.WIND, True)


GOOD_P = [(0, 0), (2.0**-32, 1), (0.1, 429496729), (1 - 2.0**-53, 2**32 - 1), (1, 2**32)]


@pytest.mark.parametrize(("p", "threshold"), GOOD_P)
def test_good_p(p: float, threshold: int) -> None:
    assert bernoulli_threshold(p) == threshold


# seeds, episodes, instances and steps

BAD_PLACES: list[tuple[tuple[Any, Any, Any], type[Exception], str]] = [  # seed, episode, t
    ((-1, 0, 0), SeedError, "seed: expected an integer in 0..2**64-1, got -1"),
    ((2**64, 0, 0), SeedError, "seed: expected an integer in 0..2**64-1, got 18446744073709551616"),
    ((1.0, 0, 0), SeedError, "seed: expected an integer in 0..2**64-1, got 1.0"),
    ((None, 0, 0), SeedError, "seed: expected an integer in 0..2**64-1, got None"),
    ((0, -1, 0), SeedError, "episode: expected an integer in 0..2**32-1, got -1"),
    ((0, 2**32, 0), SeedError, "episode: expected an integer in 0..2**32-1, got 4294967296"),
    ((0, 1.0, 0), SeedError, "episode: expected an integer in 0..2**32-1, got 1.0"),
    ((0, 0, -1), DrawError, "t: expected 0..2**32-1, got -1"),
    ((0, 0, 2**32), DrawError, "t: expected 0..2**32-1, got 4294967296"),
    ((0, 0, 1.0), DrawTypeError, "t: expected an integer, got 1.0"),
]

BAD_ROWS: list[tuple[tuple[Any, Any, Any], type[Exception], str]] = [
    ((row(0, 0), row(0, -1), row(0, 0)), SeedError, "episode: expected 0..2**32-1, got -1 in row 1"),
    ((row(0, 0), row(2**32, 0), row(0, 0)), SeedError, "episode: expected 0..2**32-1, got 4294967296 in row 0"),
    ((row(0, 0), row(0, 0), row(0, -1)), DrawError, "t: expected 0..2**32-1, got -1 in row 1"),
    ((row(0, 0), row(0, 0), row(0, 2**32)), DrawError, "t: expected 0..2**32-1, got 4294967296 in row 1"),
    ((row(0).double(), row(0), row(0)), DrawTypeError, "seed: expected an int64 tensor [N], got torch.float64 [1]"),
    ((row(0).int(), row(0), row(0)), DrawTypeError, "seed: expected an int64 tensor [N], got torch.int32 [1]"),
    ((row(0), row(0).double(), row(0)), DrawTypeError, "episode: expected an int64 tensor [N], got torch.float64"),
    ((row(0), row(0), row(0).double()), DrawTypeError, "t: expected an int64 tensor [N], got torch.float64 [1]"),
    ((row(0), row(0), row(0).int()), DrawTypeError, "t: expected an int64 tensor [N], got torch.int32 [1]"),
    ((row(0), row(0), row(0)[None]), DrawTypeError, "t: expected an int64 tensor [N], got torch.int64 [1, 1]"),
    ((row(0), row(0), [0]), DrawTypeError, "t: expected an int64 tensor [N], got [0]"),
]


@pytest.mark.parametrize(("place", "error", "message"), BAD_PLACES)
def test_bad_place(place: tuple[Any, Any, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        rng.Draw.at(*place)


@pytest.mark.parametrize(("place", "error", "message"), BAD_ROWS)
def test_bad_rows(place: tuple[Any, Any, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        tensor.Draw.at(*place)


@pytest.mark.parametrize("rows", [(2, 2, 3), (3, 3, 2), (2, 1, 1), (1, 2, 2), (1, 1, 2)])
def test_rows_that_do_not_match(rows: tuple[int, int, int]) -> None:
    """The native form reads memory by the number of rows: it must not go past the end of a shorter tensor."""
    seeds, episodes, t = (torch.zeros(n, dtype=torch.int64) for n in rows)
    expected = r"draw: expected (two keys int32 \[N\] and counters|seeds and episodes) int64 \[N\], got"
    with pytest.raises(DrawTypeError, match=expected):
        tensor.Draw.at(seeds, episodes, t).bits(0)


def test_keys_of_another_dtype() -> None:
    """The constructor checks nothing, the block function does: no draw reads floats as words."""
    keys = torch.zeros(2, dtype=torch.int32)
    for arguments in ((keys, keys.float(), row(0, 0)), (keys, keys, row(0, 0).double()), (keys, keys, row(0, 0).int())):
        with pytest.raises(DrawTypeError, match="draw: expected two keys int32"):
            tensor.Draw(*arguments).uniform(0)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_bad_seed(seed: Any) -> None:
    functions = rng.seed_key, tensor.seed_bits, lambda s: rng.instance_seed(s, 0), lambda s: rng.episode_key(s, 0)
    for function in functions:
        with pytest.raises(SeedError, match=r"seed: expected an integer in 0\.\.2\*\*64-1"):
            function(seed)
    with pytest.raises(SeedError, match=r"seed: expected an integer in 0\.\.2\*\*64-1"):
        tensor.instance_seeds(seed, row(0))


@pytest.mark.parametrize("instance", [-1, 2**32])
def test_bad_instance(instance: int) -> None:
    with pytest.raises(SeedError, match=r"instance: expected an integer in 0\.\.2\*\*32-1"):
        rng.instance_seed(0, instance)
    with pytest.raises(SeedError, match=rf"instance: expected 0\.\.2\*\*32-1, got {instance} in row 1"):
        tensor.instance_seeds(0, row(0, instance))


def test_float_instance() -> None:
    with pytest.raises(SeedError, match=r"instance: expected an integer in 0\.\.2\*\*32-1, got 1\.0"):
        rng.instance_seed(0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(DrawTypeError, match=r"instance: expected an int64 tensor \[N\], got torch\.float64 \[1\]"):
        tensor.instance_seeds(0, row(1).double())


@pytest.mark.parametrize("number", [np.int64(6), np.uint8(6), torch.tensor(6)])
def test_integers_of_other_kinds_are_integers(draw: Any, number: Any) -> None:
    expected = draw.randint(Slots.WIND, 6, index=6, shape=(6,))
    assert (draw.randint(Slots.WIND, number, index=number, shape=(number,)) == expected).all()
