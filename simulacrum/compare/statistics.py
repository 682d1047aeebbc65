"""The tests by which two samples, or a sample and a table, are told apart, and how seldom one is wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

ALARM = 1e-6  # a false alarm a comparison of two right environments, in each test's check


def chi_square_tail(statistic: float, freedom: int) -> float:
    """The chance of a chi-square value as great or greater."""
    import torch

    half = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def two_counts(one: Counter[str], other: Counter[str]) -> tuple[float, str]:
    """Whether two samples of categories have one distribution: (the chance of one so unlike, the category that differs
    most). Those that came fewer than 10 times are taken together."""
    total = one + other
    rare = {name for name, number in total.items() if number < 10}
    names = [name for name in total if name not in rare]
    rows = [[side[name] for side in (one, other)] for name in names]
    if rare:
        rows.append([sum(side[name] for name in rare) for side in (one, other)])
        names.append(f"one of {len(rare)} rare ones")
    table = np.array(rows, float)
    if len(table) < 2:
        return 1.0, ""
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    parts = (table - expected) ** 2 / expected
    worst = int(parts.sum(1).argmax())
    told = (
        f"{names[worst]}: {rows[worst][0]} of {sum(one.values())} and {rows[worst][1]} of {sum(other.values())} times"
    )
    return chi_square_tail(float(parts.sum()), len(table) - 1), told


def two_samples(one: Sequence[float], other: Sequence[float]) -> tuple[float, str]:
    """The two-sample Kolmogorov-Smirnov test: (the chance of one so unlike, where they differ most)."""
    mine, yours = np.sort(np.asarray(one, float)), np.sort(np.asarray(other, float))
    places = np.concatenate([mine, yours])
    shares = [np.searchsorted(values, places, side="right") / len(values) for values in (mine, yours)]
    where = int(np.abs(shares[0] - shares[1]).argmax())
    apart = float(abs(shares[0] - shares[1])[where])
    root = math.sqrt(len(mine) * len(yours) / (len(mine) + len(yours)))
    x = (root + 0.12 + 0.11 / root) * apart
    chance = min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101))) if x > 0.2 else 1.0
    told = f"at most {places[where]:.6g}: {shares[0][where]:.4g} and {shares[1][where]:.4g} of the values"
    return max(0.0, chance), told
