"""The batched form of ``Draw``: torch tensors, one row an instance, the same bits as the plain form.

Words are int32 lanes, so that every device has them. The block function is the operator ``simulacrum::threefry``: a
compiled graph holds one call instead of 140 integer operations, and on the CPU a native helper runs it where a C
compiler is there (see :mod:`simulacrum.native`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from .. import native
from ..errors import BuildError, DrawError, DrawTypeError, SeedError
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
)
from .threefry import EPISODE_COUNTER, INSTANCE_COUNTER, PARITY, WORD, seed_key, unsigned

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
NATIVE_SOURCE = Path(__file__).with_name("threefry.pyx")
SIGN_BIT = -(1 << 63)

_library = torch.library.Library("simulacrum", "DEF")
_library.define("threefry(Tensor k0, Tensor k1, Tensor c0, int c1, int count) -> (Tensor, Tensor)")


def _signed(word: int) -> int:
    """The 32-bit word as the int32 of the same bits."""
    return word - (1 << 32) if word & 0x80000000 else word


def threefry_lanes(k0: Tensor, k1: Tensor, c0: Tensor, c1: int, count: int) -> tuple[Tensor, Tensor]:
    """The tensor form: keys int32 [N], counters ``(c0 int64 [N], c1 + 0..count-1)``, to two int32 [N, count]."""
    steps = torch.arange(count, dtype=torch.int64, device=k0.device) + c1
    second = torch.where(steps > 0x7FFFFFFF, steps - (1 << 32), steps).to(torch.int32)
    first = (c0 & WORD).to(torch.int32).unsqueeze(-1)
    k0, k1 = k0.unsqueeze(-1), k1.unsqueeze(-1)
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = (first + k0).expand(-1, count), second + k1
    for turn in range(20):
        rotation = ROTATIONS[turn % 8]
        x0 = x0 + x1
        x1 = ((x1 << rotation) | ((x1 >> (32 - rotation)) & ((1 << rotation) - 1))) ^ x0
        if turn % 4 == 3:
            group = turn // 4 + 1
            x0 = x0 + keys[group % 3]
            x1 = x1 + keys[(group + 1) % 3] + group
    return x0, x1


@lru_cache(maxsize=1)
def _native_module() -> ModuleType | None:
    if not native.enabled():
        return None
    try:
        return native.load(NATIVE_SOURCE)
    except BuildError as error:
        logging.getLogger("simulacrum").warning("no native draws, the tensor form is used: %s", error)
        return None


def _threefry_cpu(k0: Tensor, k1: Tensor, c0: Tensor, c1: int, count: int) -> tuple[Tensor, Tensor]:
    _check_rows(k0, k1, c0)  # the native form reads memory by these, so it must not trust the caller
    module = _native_module()
    if module is None:
        return threefry_lanes(k0, k1, c0, c1, count)
    k0, k1, c0 = k0.contiguous(), k1.contiguous(), c0.contiguous()
    rows = k0.shape[0]
    x0 = torch.empty((rows, count), dtype=torch.int32)
    x1 = torch.empty((rows, count), dtype=torch.int32)
    module.threefry(k0.data_ptr(), k1.data_ptr(), c0.data_ptr(), c1, rows, count, x0.data_ptr(), x1.data_ptr())
    return x0, x1


def _check_rows(k0: Tensor, k1: Tensor, c0: Tensor) -> None:
    """Raise :class:`DrawTypeError` unless the keys are int32 [N] and the counters int64 [N], of one N."""
    dtypes = k0.dtype == k1.dtype == torch.int32 and c0.dtype == torch.int64
    if not (dtypes and k0.dim() == 1 and k0.shape == k1.shape == c0.shape):
        got = ", ".join(f"{str(x.dtype).removeprefix('torch.')} {list(x.shape)}" for x in (k0, k1, c0))
        raise DrawTypeError(f"draw: expected two keys int32 [N] and counters int64 [N], got {got}")


def _threefry_shape(k0: Tensor, k1: Tensor, c0: Tensor, c1: int, count: int) -> tuple[Tensor, Tensor]:
    return (
        torch.empty((k0.shape[0], count), dtype=torch.int32, device=k0.device),
        torch.empty((k0.shape[0], count), dtype=torch.int32, device=k0.device),
    )


_library.impl("threefry", threefry_lanes, "CompositeExplicitAutograd")
_library.impl("threefry", _threefry_cpu, "CPU")
torch.library.register_fake("simulacrum::threefry", _threefry_shape, lib=_library)


def threefry2x32(k0: Tensor, k1: Tensor, c0: Tensor, c1: int, count: int = 1) -> tuple[Tensor, Tensor]:
    """The block function over rows: keys int32 [N], first counter word int64 [N] (its low 32 bits), second counter
    words ``c1, c1 + 1 ...``; returns two int32 tensors [N, count]."""
    return torch.ops.simulacrum.threefry(k0, k1, c0, c1, count)


def seed_keys(seeds: Tensor) -> tuple[Tensor, Tensor]:
    """The keys (int32 [N], int32 [N]) of seeds: int64 [N], the bits of the u64."""
    check_int64(seeds, "seed")
    return (seeds >> 32).to(torch.int32), _low_word(seeds)


def _low_word(values: Tensor) -> Tensor:
    low = values & WORD
    return torch.where(low > 0x7FFFFFFF, low - (1 << 32), low).to(torch.int32)


def _unsigned64(x0: Tensor, x1: Tensor) -> Tensor:
    """The bits of the u64 ``x0 << 32 | x1``, as int64."""
    return (x0.to(torch.int64) << 32) | (x1.to(torch.int64) & WORD)


def episode_keys(seeds: Tensor, episodes: Tensor) -> tuple[Tensor, Tensor]:
    """The keys of episodes (int64 [N]) of instance seeds (int64 [N], u64 bits): two int32 [N]."""
    k0, k1 = threefry2x32(*seed_keys(seeds), episodes, EPISODE_COUNTER)
    return k0.squeeze(-1), k1.squeeze(-1)


def instance_seeds(seed: int, instances: Tensor) -> Tensor:
    """What ``set_seed(seed)`` gives to instances (int64 [N]): int64 [N], the bits of the u64."""
    high, low = seed_key(seed)
    check_words(instances, "instance")
    k0 = torch.full(instances.shape, _signed(high), dtype=torch.int32, device=instances.device)
    k1 = torch.full(instances.shape, _signed(low), dtype=torch.int32, device=instances.device)
    x0, x1 = threefry2x32(k0, k1, instances, INSTANCE_COUNTER)
    return _unsigned64(x0, x1).squeeze(-1)


def seed_bits(seed: int) -> int:
    """A seed in 0..2**64-1 as the int64 of the same bits."""
    seed = unsigned(seed, 64, "seed")
    return seed - (1 << 64) if seed >> 63 else seed


def check_int64(values: Tensor, name: str) -> None:
    """Raise :class:`DrawTypeError` unless ``values`` is an int64 tensor [N]."""
    if not isinstance(values, Tensor) or values.dtype != torch.int64 or values.dim() != 1:
        got = f"{values.dtype} {list(values.shape)}" if isinstance(values, Tensor) else repr(values)
        raise DrawTypeError(f"{name}: expected an int64 tensor [N], got {got}")


def check_words(values: Tensor, name: str, error: type[SeedError | DrawError] = SeedError) -> None:
    """Raise ``error`` unless every element of an int64 tensor [N] is in 0..2**32-1."""
    check_int64(values, name)
    if bool(((values < 0) | (values > WORD)).any()):
        row = int(((values < 0) | (values > WORD)).nonzero()[0, 0])
        raise error(f"{name}: expected 0..2**32-1, got {int(values[row])} in row {row}")


class Draw:
    """The draws of one step of N instances: keys int32 [N], step counters int64 [N].

    The methods, their arguments and their bits are those of :class:`simulacrum.rng.Draw`; results have the shape [N],
    or [N, *shape]. dtypes: ``bits`` int64 (of 64 bits: the bits of the u64), ``uniform`` float32 or float64,
    ``randint``, ``categorical`` and ``permutation`` int32, ``bernoulli`` bool.
    """

    def __init__(self, k0: Tensor, k1: Tensor, t: Tensor, phase: Phase = ANY_PHASE) -> None:
        self._k0, self._k1, self._t = k0, k1, t
        self._phase = phase

    @property
    def rows(self) -> int:
        """N, the number of rows that the draws are for: what a state that draws nothing needs to know its size."""
        return self._t.shape[0]

    @classmethod
    def at(cls, seeds: Tensor, episodes: Tensor, t: Tensor, phase: Phase = ANY_PHASE) -> Draw:
        """The draws at steps ``t`` of episodes of seeds: three int64 [N], the seeds as the bits of the u64."""
        check_words(episodes, "episode")
        check_words(t, "t", DrawError)
        return cls(*episode_keys(seeds, episodes), t, phase)

    def bits(self, slot: int, width: int = 32, *, index: int = 0, shape: Shape = None) -> Tensor:
        """32 or 64 uniform bits, int64 [N, *shape]: 0..2**32-1, or the bits of the u64."""
        if bit_width(width) == 32:
            return self._words(slot, index, shape)[0]
        sizes, count = items(shape)
        return self._shaped(_unsigned64(*self._lanes(slot, index, count)), sizes)

    def uniform(self, slot: int, *, index: int = 0, shape: Shape = None, dtype: Any = "float32") -> Tensor:
        """Uniform on [0, 1): float32 with 24 bits or float64 with 53, [N, *shape]."""
        x0, x1 = self._words(slot, index, shape)
        if float_dtype(dtype) == "float32":
            return (x0 >> 8).to(torch.float32) * 2.0**-24
        return (x0 << 21 | x1 >> 11).to(torch.float64) * 2.0**-53

    def randint(self, slot: int, n: int, *, index: int = 0, shape: Shape = None) -> Tensor:
        """Uniform on 0..n-1, 1 <= n <= 2**31: int32 [N, *shape]."""
        n = randint_bound(n)
        x0, x1 = self._words(slot, index, shape)
        return ((x0 * n + (x1 * n >> 32)) >> 32).to(torch.int32)

    def bernoulli(self, slot: int, p: float, *, index: int = 0, shape: Shape = None) -> Tensor:
        """True with probability p (a Python float; 0, or 2**-32 to 1): bool [N, *shape]."""
        threshold = bernoulli_threshold(p)
        return self._words(slot, index, shape)[0] < threshold

    def categorical(self, slot: int, weights: Iterable[float], *, index: int = 0, shape: Shape = None) -> Tensor:
        """i with probability weights[i] / sum(weights), the weights static: int32 [N, *shape]."""
        thresholds = categorical_thresholds(float_weights(weights))
        x0, _ = self._words(slot, index, shape)
        limits = torch.tensor(thresholds, dtype=torch.int64, device=x0.device)
        return (x0.unsqueeze(-1) >= limits).sum(-1, dtype=torch.int32)

    def permutation(self, slot: int, n: int, *, index: int = 0) -> Tensor:
        """A uniform permutation of 0..n-1: int32 [N, n]. It takes the indices index..index+n-1."""
        keys = self.bits(slot, 64, index=index, shape=(permutation_length(n),))
        return torch.argsort(keys ^ SIGN_BIT, dim=-1, stable=True).to(torch.int32)

    def _lanes(self, slot: int, index: int, count: int) -> tuple[Tensor, Tensor]:
        return threefry2x32(self._k0, self._k1, self._t, self._phase.counter(slot, index, count), count)

    def _words(self, slot: int, index: int, shape: Shape) -> tuple[Tensor, Tensor]:
        """Both output words as int64 in 0..2**32-1, [N, *shape]."""
        sizes, count = items(shape)
        x0, x1 = self._lanes(slot, index, count)
        return self._shaped(x0.to(torch.int64) & WORD, sizes), self._shaped(x1.to(torch.int64) & WORD, sizes)

    def _shaped(self, values: Tensor, sizes: tuple[int, ...]) -> Tensor:
        return values.reshape(values.shape[0], *sizes)
