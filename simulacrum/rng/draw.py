"""The plain form of ``Draw``: one instance, Python integers, what ``reference.py`` draws with."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from .arguments import (
    ANY_PHASE,
    Phase,
    Shape,
    bernoulli_threshold,
    bit_width,
    categorical_thresholds,
    float_dtype,
    float_weights,
    items,
    permutation_length,
    randint_bound,
    step_counter,
)
from .threefry import Key, episode_key, threefry2x32

_thresholds = lru_cache(maxsize=1024)(categorical_thresholds)  # here alone: torch.compile warns of a cached function


class Draw:
    """The draws of one step of one episode of one instance.

    Every draw is a pure function of (seed, episode, t, slot, index): drawing twice gives the same value, and the order
    of draws is of no account. ``shape=None`` gives a Python scalar (a NumPy one for floats); ``shape=(K, ...)`` gives a
    NumPy array of that shape, whose elements have, row-major, the indices ``index``, ``index + 1`` ...

    Errors: :class:`~simulacrum.errors.DrawError` for a value out of range or a slot of the other phase,
    :class:`~simulacrum.errors.DrawTypeError` for a value of the wrong type. Source: docs/randomness.md.

    Example:
        >>> from simulacrum.rng import Draw
        >>> draw = Draw.at(seed=7, episode=0, t=3)
        >>> draw.randint(5, 10, shape=(4,))
        array([2, 1, 6, 8], dtype=int32)
        >>> draw.randint(5, 10, index=3)  # the same draw, whatever came before it
        8
        >>> draw.uniform(0), draw.bernoulli(1, 0.25), hex(draw.bits(4))
        (np.float32(0.9202997), False, '0xb15eb8f5')
    """

    __slots__ = ("_k0", "_k1", "_phase", "_t")

    def __init__(self, key: Key, t: int, phase: Phase = ANY_PHASE) -> None:
        self._k0, self._k1 = key
        self._t = t
        self._phase = phase

    @classmethod
    def at(cls, seed: int, episode: int, t: int, phase: Phase = ANY_PHASE) -> Draw:
        """The draws at step ``t`` (0..2**32-1) of an episode (0..2**32-1) of a seed (0..2**64-1).

        Raises :class:`~simulacrum.errors.SeedError` for a seed or an episode out of range,
        :class:`~simulacrum.errors.DrawError` for such a ``t``, :class:`~simulacrum.errors.DrawTypeError` for one that
        is no integer.
        """
        return cls(episode_key(seed, episode), step_counter(t), phase)

    def bits(self, slot: int, width: int = 32, *, index: int = 0, shape: Shape = None) -> Any:
        """32 or 64 uniform bits: an int in 0..2**width-1, or ``[*shape]`` of int64 (32 bits) or uint64 (64)."""
        if bit_width(width) == 32:
            return self._elements(slot, index, shape, np.int64, lambda x0, x1: x0)
        return self._elements(slot, index, shape, np.uint64, lambda x0, x1: x0 << 32 | x1)

    def uniform(self, slot: int, *, index: int = 0, shape: Shape = None, dtype: Any = "float32") -> Any:
        """Uniform on [0, 1): float32 with 24 bits or float64 with 53, a scalar or an array ``[*shape]``."""
        if float_dtype(dtype) == "float32":
            return self._elements(slot, index, shape, np.float32, lambda x0, x1: np.float32((x0 >> 8) * 2.0**-24))
        return self._elements(
            slot, index, shape, np.float64, lambda x0, x1: np.float64((x0 << 21 | x1 >> 11) * 2.0**-53)
        )

    def randint(self, slot: int, n: int, *, index: int = 0, shape: Shape = None) -> Any:
        """Uniform on 0..n-1, 1 <= n <= 2**31: an int, or int32 ``[*shape]``. The bias is below n / 2**64."""
        n = randint_bound(n)
        if shape is None:
            x0, x1 = threefry2x32(self._k0, self._k1, self._t, self._phase.counter(slot, index))
            return (x0 * n + (x1 * n >> 32)) >> 32
        return self._elements(slot, index, shape, np.int32, lambda x0, x1: (x0 * n + (x1 * n >> 32)) >> 32)

    def bernoulli(self, slot: int, p: float, *, index: int = 0, shape: Shape = None) -> Any:
        """True with probability p (a Python float; 0, or 2**-32 to 1): a bool, or bool ``[*shape]``."""
        threshold = bernoulli_threshold(p)
        if shape is None:
            return threefry2x32(self._k0, self._k1, self._t, self._phase.counter(slot, index))[0] < threshold
        return self._elements(slot, index, shape, np.bool_, lambda x0, x1: x0 < threshold)

    def categorical(self, slot: int, weights: Iterable[float], *, index: int = 0, shape: Shape = None) -> Any:
        """i with probability weights[i] / sum(weights), the weights static: an int, or int32 ``[*shape]``."""
        thresholds = _thresholds(float_weights(weights))
        return self._elements(slot, index, shape, np.int32, lambda x0, x1: bisect_right(thresholds, x0))

    def permutation(self, slot: int, n: int, *, index: int = 0) -> np.ndarray:
        """A uniform permutation of 0..n-1, 1 <= n <= 2**24: int32 [n]. It takes the indices index..index+n-1."""
        keys = self.bits(slot, 64, index=index, shape=(permutation_length(n),))
        return np.argsort(keys, kind="stable").astype(np.int32)

    def _elements(self, slot: int, index: int, shape: Shape, dtype: Any, convert: Callable[[int, int], Any]) -> Any:
        k0, k1, t = self._k0, self._k1, self._t
        if shape is None:
            return convert(*threefry2x32(k0, k1, t, self._phase.counter(slot, index)))
        sizes, count = items(shape)
        first = self._phase.counter(slot, index, count)
        values = [convert(*threefry2x32(k0, k1, t, first + i)) for i in range(count)]
        return np.array(values, dtype).reshape(sizes)
