"""``KeyedGenerator``: a ``numpy.random.Generator`` whose numbers are the counter contract's."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import seeding

from simulacrum.errors import DrawError
from simulacrum.originals import KeyedGenerator
from simulacrum.rng import Draw

DRAW = Draw.at(seed=2**40 + 3, episode=5, t=7)
CALLS = {  # a call, and the same number by the contract, from index 0 of slot 1
    "random": (lambda g: g.random(), lambda: float(DRAW.uniform(1, dtype="float64"))),
    "random(3)": (lambda g: g.random(3), lambda: DRAW.uniform(1, shape=(3,), dtype="float64")),
    "random((2, 3), float32)": (lambda g: g.random((2, 3), np.float32), lambda: DRAW.uniform(1, shape=(2, 3))),
    "random(())": (lambda g: g.random(()), lambda: np.array(DRAW.uniform(1, dtype="float64"))),
    "uniform": (lambda g: g.uniform(-1.2, 3.4), lambda: -1.2 + (3.4 - -1.2) * float(DRAW.uniform(1, dtype="float64"))),
    "uniform of arrays": (
        lambda g: g.uniform([0.0, 10.0], [1.0, 30.0]),
        lambda: np.array([0.0, 10.0]) + np.array([1.0, 20.0]) * DRAW.uniform(1, shape=(2,), dtype="float64"),
    ),
    "uniform of a size": (
        lambda g: g.uniform(-0.05, 0.05, size=(4,)),
        lambda: -0.05 + 0.1 * DRAW.uniform(1, shape=(4,), dtype="float64"),
    ),
    "integers(6)": (lambda g: g.integers(6), lambda: np.int64(DRAW.randint(1, 6))),
    "integers(2, 9)": (lambda g: g.integers(2, 9), lambda: np.int64(2 + DRAW.randint(1, 7))),
    "integers to the end": (lambda g: g.integers(2, 9, endpoint=True), lambda: np.int64(2 + DRAW.randint(1, 8))),
    "integers of a size": (
        lambda g: g.integers(-3, 3, size=(2, 2), dtype=np.int8),
        lambda: (-3 + DRAW.randint(1, 6, shape=(2, 2))).astype(np.int8),
    ),
    "integers of arrays": (
        lambda g: g.integers([0, 5], [3, 105]),
        lambda: np.array([DRAW.randint(1, 3), 5 + DRAW.randint(1, 100, index=1)]),
    ),
    "integers, 2**31": (lambda g: g.integers(2**31), lambda: np.int64(DRAW.randint(1, 2**31))),
    "choice of an int": (lambda g: g.choice(5), lambda: DRAW.randint(1, 5)),
    "choice of a list": (lambda g: g.choice([3, 1, 4, 1, 5]), lambda: np.int64([3, 1, 4, 1, 5][DRAW.randint(1, 5)])),
    "choice of words": (lambda g: g.choice(["C", "D", "H"]), lambda: np.str_("CDH"[DRAW.randint(1, 3)])),
    "choice of rows": (lambda g: g.choice(np.eye(4), 2), lambda: np.eye(4)[DRAW.randint(1, 4, shape=(2,))]),
    "choice by weight": (
        lambda g: g.choice(3, 4, p=[0.5, 0.2, 0.3]),
        lambda: DRAW.categorical(1, [0.5, 0.2, 0.3], shape=(4,)).astype(np.int64),
    ),
    "choice without replacement": (
        lambda g: g.choice(10, 3, replace=False),
        lambda: DRAW.permutation(1, 10)[:3].astype(np.int64),
    ),
    "permutation": (lambda g: g.permutation(6), lambda: DRAW.permutation(1, 6).astype(np.int64)),
    "permutation of an array": (
        lambda g: g.permutation(np.arange(12.0).reshape(4, 3)),
        lambda: np.arange(12.0).reshape(4, 3)[DRAW.permutation(1, 4)],
    ),
    "permutation of columns": (
        lambda g: g.permutation(np.arange(12).reshape(4, 3), axis=1),
        lambda: np.arange(12).reshape(4, 3)[:, DRAW.permutation(1, 3)],
    ),
}


def drawn(call, slots=(1,), draw=DRAW):
    generator = KeyedGenerator()
    with generator.drawing(draw, list(slots), "step"):
        return call(generator)


@pytest.mark.parametrize("name", CALLS)
def test_each_call_gives_the_number_that_the_documentation_says(name):
    call, stated = CALLS[name]
    got, expected = drawn(call), stated()
    assert type(got) is type(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    assert np.asarray(got).shape == np.asarray(expected).shape
    assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("name", CALLS)
def test_types_and_shapes_are_numpys(name):
    call = CALLS[name][0]
    got, numpys = drawn(call), call(np.random.default_rng(0))
    assert type(got) is type(numpys)
    assert np.asarray(got).dtype == np.asarray(numpys).dtype
    assert np.asarray(got).shape == np.asarray(numpys).shape


def test_shuffle_is_in_place():
    listed, array = list("abcdef"), np.arange(8).reshape(2, 4)
    drawn(lambda g: g.shuffle(listed))
    assert listed == ["abcdef"[place] for place in DRAW.permutation(1, 6)]
    drawn(lambda g: g.shuffle(array, axis=1))
    assert array.tolist() == np.arange(8).reshape(2, 4)[:, DRAW.permutation(1, 4)].tolist()
    out = np.zeros(3)
    drawn(lambda g: g.random(out=out))
    assert out.tolist() == DRAW.uniform(1, shape=(3,), dtype="float64").tolist()


def test_calls_take_the_slots_in_order_and_the_last_one_goes_on():
    def play(generator):
        return [
            generator.integers(100),
            generator.integers(100, size=2),
            generator.integers(100),
            generator.permutation(3),
        ]

    first, second, third, fourth = drawn(play, slots=(4, 7))
    assert first == DRAW.randint(4, 100)
    assert second.tolist() == DRAW.randint(7, 100, shape=(2,)).tolist()
    assert third == DRAW.randint(7, 100, index=2)
    assert fourth.tolist() == DRAW.permutation(7, 3, index=3).tolist()


def test_the_calls_are_counted_anew_in_every_step():
    generator = KeyedGenerator()
    with generator.drawing(DRAW, [0], "reset"):
        first = [generator.random() for _ in range(3)]
    with generator.drawing(DRAW, [0], "reset"):
        assert [generator.random() for _ in range(3)] == first
    assert len(set(first)) == 3


def test_it_passes_for_numpys_where_gymnasium_asks():
    env = gymnasium.make("FrozenLake-v1").unwrapped
    env.np_random = generator = KeyedGenerator()
    assert isinstance(env.np_random, np.random.Generator)
    space = gymnasium.spaces.Discrete(3)
    space._np_random = generator
    with generator.drawing(DRAW, [2], "step"):
        assert space.sample() == DRAW.randint(2, 3)
    assert type(seeding.np_random(0)[0]).__mro__[0] in KeyedGenerator.__mro__


SUPPORTED = {"random", "uniform", "integers", "choice", "shuffle", "permutation", "bit_generator", "drawing"}


@pytest.mark.parametrize("name", sorted({name for name in dir(np.random.Generator) if name[0] != "_"} - SUPPORTED))
def test_other_calls_are_refused_by_name(name):
    with pytest.raises(DrawError, match=rf"np_random\.{name}: expected one of random, uniform, integers"):
        drawn(lambda g: getattr(g, name)(3))


def test_bad_calls_are_refused():
    with pytest.raises(DrawError, match="bit_generator"):
        drawn(lambda g: g.bit_generator)
    with pytest.raises(DrawError, match="within a reset or a step only"):
        KeyedGenerator().random()
    with pytest.raises(DrawError, match="a step draws, but no step slot is declared"):
        drawn(lambda g: g.random(), slots=())
    with pytest.raises(DrawError, match=r"integers: expected at most 2\*\*31"):
        drawn(lambda g: g.integers(2**32))
    with pytest.raises(DrawError, match="p with replace=False"):
        drawn(lambda g: g.choice(3, 2, replace=False, p=[0.2, 0.3, 0.5]))
    for call in (
        lambda g: g.integers(5, 5),
        lambda g: g.choice([]),
        lambda g: g.choice(3, 4, replace=False),
        lambda g: g.choice(2, p=[0.5, 0.6]),
        lambda g: g.choice(2, p=[1.5, -0.5]),
        lambda g: g.choice(3, p=[0.5, 0.5]),
        lambda g: g.uniform([0.0, 1.0], 2.0, size=(3,)),
        lambda g: g.random(2, out=np.zeros(3)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 (the words are NumPy's where it has some)
            drawn(call)
        with pytest.raises(ValueError):  # noqa: PT011
            call(np.random.default_rng(0))  # NumPy's own refuses them too
    with pytest.raises(TypeError):
        drawn(lambda g: g.random(dtype=np.int32))


def test_nothing_is_drawn_for_an_empty_size():
    def play(generator):
        assert generator.random(0).shape == (0,)
        assert generator.integers(5, size=(2, 0)).shape == (2, 0)
        return generator.random()

    assert drawn(play, slots=(3,)) == DRAW.uniform(3, dtype="float64")


def test_it_is_copied_and_pickled_without_its_draws():
    generator = KeyedGenerator()
    with generator.drawing(DRAW, [0], "step"):
        for other in (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))):
            assert isinstance(other, KeyedGenerator)
            assert repr(other) == "KeyedGenerator()"
            with pytest.raises(DrawError):
                other.random()
