"""The draws look random: uniform, and independent across slots, indices, steps, episodes, instances and seeds.

Every test computes a p-value and fails below ``FALSE_ALARM``: the chance that a perfect generator, seeded at random,
fails it. The seeds are fixed, so a test that passes always passes; the rate says how much its passing means. There are
fewer than 200 p-values in all, so a perfect generator would fail any of them for less than 2 in 10,000 seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from simulacrum.rng import tensor

FALSE_ALARM = 1e-6
ROWS = 1 << 18  # a sample, unless a test says otherwise
SEED = 20240917


def column(value: int) -> torch.Tensor:
    return torch.full((ROWS,), value, dtype=torch.int64)


NUMBERS = torch.arange(ROWS)


def draw(seed: Any = SEED, episode: Any = 0, t: Any = 0) -> tensor.Draw:
    """``ROWS`` draws; each of the three is one number for all rows or a tensor of them."""
    seeds, episodes, steps = (x if isinstance(x, torch.Tensor) else column(x) for x in (seed, episode, t))
    return tensor.Draw.at(seeds, episodes, steps)


STEPS = draw(t=NUMBERS)  # the steps of one long episode


def unsigned(words: torch.Tensor) -> np.ndarray:
    return words.numpy().view(np.uint64)


def chi_square(counts: np.ndarray, expected: Any = None) -> float:
    return float(stats.chisquare(counts.ravel(), expected).pvalue)


def distinct(words: np.ndarray) -> bool:
    ordered = np.sort(words)
    return bool((ordered[1:] != ordered[:-1]).all())


# uniformity


def over_steps() -> np.ndarray:
    return unsigned(STEPS.bits(0, 64))


def over_episodes() -> np.ndarray:
    return unsigned(draw(episode=NUMBERS).bits(0, 64))


def over_seeds() -> np.ndarray:
    return unsigned(draw(seed=NUMBERS).bits(0, 64))


def over_high_seeds() -> np.ndarray:
    return unsigned(draw(seed=NUMBERS << 32).bits(0, 64))


def over_indices() -> np.ndarray:
    one = torch.tensor([0])
    return unsigned(tensor.Draw.at(one, one, one).bits(3, 64, shape=(ROWS,)))[0]


def over_slots() -> np.ndarray:
    few = tensor.Draw.at(torch.arange(2048), torch.zeros(2048, dtype=torch.int64), torch.zeros(2048, dtype=torch.int64))
    return np.stack([unsigned(few.bits(slot, 64)) for slot in range(128)], 1).ravel()


def over_instances() -> np.ndarray:
    return unsigned(tensor.instance_seeds(SEED, NUMBERS))


def over_runs() -> np.ndarray:
    """The seeds that neighbouring runs give to their first instances."""
    return np.concatenate([unsigned(tensor.instance_seeds(run, torch.arange(256))) for run in range(1024)])


SAMPLES = [
    over_steps,
    over_episodes,
    over_seeds,
    over_high_seeds,
    over_indices,
    over_slots,
    over_instances,
    over_runs,
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_each_bit_is_even(sample: Callable[[], np.ndarray]) -> None:
    """The 64 bit positions: the sum of their squared z-scores is chi-square with 64 degrees of freedom."""
    words = sample()
    ones = np.array([np.count_nonzero(words >> np.uint64(bit) & np.uint64(1)) for bit in range(64)])
    z = (ones - len(words) / 2) / np.sqrt(len(words) / 4)
    assert stats.chi2.sf((z**2).sum(), 64) > FALSE_ALARM


@pytest.mark.parametrize("sample", SAMPLES)
def test_bytes_are_even(sample: Callable[[], np.ndarray]) -> None:
    """Each of the 8 bytes over its 256 values: 8 * 255 degrees of freedom in all."""
    counts = np.stack([np.bincount(byte, minlength=256) for byte in sample().view(np.uint8).reshape(-1, 8).T])
    statistic = ((counts - ROWS / 256) ** 2 / (ROWS / 256)).sum()
    assert stats.chi2.sf(statistic, 8 * 255) > FALSE_ALARM


@pytest.mark.parametrize("sample", SAMPLES)
def test_successive_words_are_independent(sample: Callable[[], np.ndarray]) -> None:
    """Three successive draws, by the three highest bits of x0 and of x1: 512 cells each."""
    words = sample()[: ROWS // 3 * 3].reshape(-1, 3)
    for shift in (61, 29):
        a, b, c = (words >> np.uint64(shift) & np.uint64(7)).T.astype(np.int64)
        assert chi_square(np.bincount(a << 6 | b << 3 | c, minlength=512)) > FALSE_ALARM


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_two_draws_are_the_same(sample: Callable[[], np.ndarray]) -> None:
    """Two of 2**18 random u64 are equal with a chance of 2e-9."""
    assert distinct(sample())


def test_streams_do_not_meet() -> None:
    """Blocks from everywhere (2**18 * 9 of them) are all different; random ones would be but for a chance of 2e-7."""
    everywhere = [over_steps(), over_instances(), over_runs(), unsigned(draw(episode=NUMBERS).bits(2, 64))]
    everywhere += [unsigned(STEPS.bits(slot, 64)) for slot in (1, 239)]
    everywhere += [unsigned(draw(seed=SEED + 1, t=NUMBERS).bits(0, 64)), unsigned(draw(SEED, 1, NUMBERS).bits(0, 64))]
    everywhere += [unsigned(STEPS.bits(0, 64, index=1))]
    words = np.concatenate(everywhere)
    assert len(words) == 9 * ROWS
    assert distinct(words)


# independence: two streams that differ by one in one coordinate, or are near otherwise

RUN, NEXT_RUN = tensor.instance_seeds(SEED, NUMBERS), tensor.instance_seeds(SEED + 1, NUMBERS)

PAIRS: dict[str, Callable[[], tuple[torch.Tensor, torch.Tensor]]] = {
    "slots": lambda: (STEPS.bits(0, 64), STEPS.bits(1, 64)),
    "far slots": lambda: (STEPS.bits(0, 64), STEPS.bits(128, 64)),
    "indices": lambda: (STEPS.bits(0, 64), STEPS.bits(0, 64, index=1)),
    "far indices": lambda: (STEPS.bits(0, 64), STEPS.bits(0, 64, index=2**23)),
    "steps": lambda: (STEPS.bits(0, 64), draw(t=NUMBERS + 1).bits(0, 64)),
    "far steps": lambda: (STEPS.bits(0, 64), draw(t=NUMBERS + 2**31).bits(0, 64)),
    "episodes": lambda: (STEPS.bits(0, 64), draw(episode=1, t=NUMBERS).bits(0, 64)),
    "first steps of episodes": lambda: (draw(episode=NUMBERS).bits(0, 64), draw(episode=NUMBERS + 1).bits(0, 64)),
    "seeds": lambda: (STEPS.bits(0, 64), draw(SEED + 1, t=NUMBERS).bits(0, 64)),
    "first steps of seeds": lambda: (draw(NUMBERS).bits(0, 64), draw(NUMBERS + 1).bits(0, 64)),
    "seeds of another high word": lambda: (draw(NUMBERS).bits(0, 64), draw(NUMBERS + 2**32).bits(0, 64)),
    "seeds of another sign": lambda: (draw(NUMBERS).bits(0, 64), draw(NUMBERS - 2**63).bits(0, 64)),
    "instances of a run": lambda: (draw(RUN).bits(0, 64), draw(RUN.roll(1)).bits(0, 64)),
    "instances of neighbouring runs": lambda: (draw(RUN).bits(0, 64), draw(NEXT_RUN).bits(0, 64)),
    "an instance and its seed": lambda: (RUN, draw(RUN).bits(0, 64)),
    "reset and step": lambda: (draw(RUN).bits(0, 64), draw(RUN).bits(1, 64)),
    "seed s + i, episode e and seed s + i + 1, episode e - 1": lambda: (
        draw(NUMBERS, 1).bits(0, 64),
        draw(NUMBERS + 1, 0).bits(0, 64),
    ),
}


@pytest.fixture(params=list(PAIRS))
def pair(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    a, b = PAIRS[request.param]()
    return unsigned(a), unsigned(b)


def test_differences_are_binomial(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """How many of the 64 bits differ: binomial(64, 1/2), the tails pooled where fewer than 20 are expected."""
    distance = np.bitwise_count(pair[0] ^ pair[1])
    expected = stats.binom.pmf(np.arange(65), 64, 0.5) * ROWS
    low, high = np.flatnonzero(expected > 20)[[0, -1]]
    counts = np.bincount(np.clip(distance, low, high), minlength=high + 1)[low:]
    pooled = expected[low : high + 1].copy()
    pooled[0], pooled[-1] = expected[: low + 1].sum(), expected[high:].sum()
    assert chi_square(counts, pooled) > FALSE_ALARM


def test_each_differing_bit_is_even(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """Each bit of one stream against the same bit of the other: 64 degrees of freedom."""
    difference = pair[0] ^ pair[1]
    ones = np.array([np.count_nonzero(difference >> np.uint64(bit) & np.uint64(1)) for bit in range(64)])
    z = (ones - ROWS / 2) / np.sqrt(ROWS / 4)
    assert stats.chi2.sf((z**2).sum(), 64) > FALSE_ALARM


def test_joint_cells_are_even(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """The highest and the lowest 4 bits of x0 and of x1, jointly: 256 cells, four of 4 * 4 combinations."""
    for shift_a, shift_b in ((60, 60), (32, 32), (28, 60), (0, 0)):
        a, b = pair[0] >> np.uint64(shift_a) & np.uint64(15), pair[1] >> np.uint64(shift_b) & np.uint64(15)
        assert chi_square(np.bincount((a << np.uint64(4) | b).astype(np.int64), minlength=256)) > FALSE_ALARM


def test_no_correlation(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = (words.astype(np.float64) * 2.0**-64 for words in pair)
    assert stats.pearsonr(a, b).pvalue > FALSE_ALARM


def test_words_of_a_block_are_independent() -> None:
    words = over_steps()
    cells = (words >> np.uint64(28) & np.uint64(15)) << np.uint64(4) | words >> np.uint64(60)
    assert chi_square(np.bincount(cells.astype(np.int64), minlength=256)) > FALSE_ALARM
    x0, x1 = words >> np.uint64(32), words & np.uint64(0xFFFFFFFF)
    assert stats.pearsonr(x0.astype(np.float64), x1.astype(np.float64)).pvalue > FALSE_ALARM


# the distributions


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform(dtype: str) -> None:
    values = STEPS.uniform(0, dtype=dtype).numpy()
    assert values.min() >= 0
    assert values.max() < 1
    assert stats.kstest(values.astype(np.float64), "uniform").pvalue > FALSE_ALARM
    z = (values.astype(np.float64).mean() - 0.5) * np.sqrt(12 * ROWS)
    assert 2 * stats.norm.sf(abs(z)) > FALSE_ALARM


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float64", 53)])
def test_uniform_fills_its_last_bits(dtype: str, bits: int) -> None:
    """The values lie on multiples of 2**-bits, and their last 8 bits are even: 256 cells."""
    scaled = STEPS.uniform(0, dtype=dtype).numpy().astype(np.float64) * 2.0**bits
    assert np.array_equal(scaled, np.floor(scaled))
    assert chi_square(np.bincount(scaled.astype(np.int64) & 255, minlength=256)) > FALSE_ALARM


@pytest.mark.parametrize("n", [2, 3, 6, 10, 255, 1000])
def test_randint(n: int) -> None:
    assert chi_square(np.bincount(STEPS.randint(0, n).numpy(), minlength=n)) > FALSE_ALARM


@pytest.mark.parametrize(("n", "modulus"), [(3 << 29, 3), (5 << 28, 5), ((1 << 31) - 1, 7)])
def test_randint_of_a_large_awkward_n(n: int, modulus: int) -> None:
    """x0 * n >> 32 alone would give a third of 0 .. 3 * 2**29 - 1 one word of 2**32, the others more: x1 evens it."""
    values = STEPS.randint(0, n).numpy()
    cells = np.array([len(range(residue, n, modulus)) for residue in range(modulus)]) / n
    assert chi_square(np.bincount(values % modulus, minlength=modulus), cells * ROWS) > FALSE_ALARM
    tenths = np.floor(values / n * 10).astype(np.int64)
    assert chi_square(np.bincount(tenths, minlength=10)) > FALSE_ALARM


@pytest.mark.parametrize("p", [0.0, 0.001, 0.1, 1 / 3, 0.5, 0.9, 0.999, 1.0])
def test_bernoulli(p: float) -> None:
    successes = int(STEPS.bernoulli(0, p).sum())
    assert stats.binomtest(successes, ROWS, p).pvalue > FALSE_ALARM


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 2.0, 3.0, 4.0), (0.0, 5.0, 0.0, 1.0, 0.0), (1e-3, 1.0, 1e-3)])
def test_categorical(weights: tuple[float, ...]) -> None:
    counts = np.bincount(STEPS.categorical(0, weights).numpy(), minlength=len(weights))
    expected = np.array(weights) / sum(weights) * ROWS
    assert (counts[expected == 0] == 0).all()
    assert chi_square(counts[expected > 0], expected[expected > 0]) > FALSE_ALARM


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_permutations_are_even(n: int) -> None:
    """All n! of them."""
    permutations = STEPS.permutation(0, n).numpy()
    assert (np.sort(permutations, 1) == np.arange(n)).all()
    cells = np.unique(permutations @ 10 ** np.arange(n), return_counts=True)[1]
    assert len(cells) == factorial(n)
    assert chi_square(cells) > FALSE_ALARM


def test_places_in_a_long_permutation_are_even() -> None:
    """Where each of 20 items lands: 400 cells whose rows and columns have fixed sums, so 19 * 19 degrees of freedom."""
    n, rows = 20, 1 << 15
    permutations = tensor.Draw.at(NUMBERS[:rows], NUMBERS[:rows], NUMBERS[:rows]).permutation(0, n).numpy()
    counts = np.stack([np.bincount(place, minlength=n) for place in permutations.T])
    statistic = ((counts - rows / n) ** 2 / (rows / n)).sum() * (n - 1) / n
    assert stats.chi2.sf(statistic, (n - 1) ** 2) > FALSE_ALARM
