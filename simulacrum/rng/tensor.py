"""The batched form of ``Draw``: torch tensors, one row an instance, the same bits as the plain form.

Words are int32 lanes, so that every device has them; :mod:`simulacrum.rng.operators` makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import DrawError, DrawTypeError, SeedError
from . import operators
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
from .operators import begin_words, both_words, threefry2x32, threefry_words
from .threefry import INSTANCE_COUNTER, WORD, seed_key, unsigned

__all__ = ["Draw", "episode_keys", "instance_seeds", "seed_bits", "seed_keys"]

SIGN_BIT = -(1 << 63)
WORD_SIGN = -(1 << 31)

Range = tuple[int, int]  # the first of some second counter words, and their number


def _signed(word: int) -> int:
    """The 32-bit word as the int32 of the same bits."""
    return word - (1 << 32) if word & 0x80000000 else word


def seed_keys(seeds: Tensor) -> tuple[Tensor, Tensor]:
    """The keys (int32 [N], int32 [N]) of seeds: int64 [N], the bits of the u64. Raises :class:`DrawTypeError`.

    Example:
        >>> import torch
        >>> from simulacrum.rng.tensor import seed_keys
        >>> [word.tolist() for word in seed_keys(torch.tensor([2**32 + 5, 7]))]
        [[1, 0], [5, 7]]
    """
    check_int64(seeds, "seed")
    return operators.seed_keys(seeds)


def _unsigned64(x0: Tensor, x1: Tensor) -> Tensor:
    """The bits of the u64 ``x0 << 32 | x1``, as int64."""
    return (x0.to(torch.int64) << 32) | (x1.to(torch.int64) & WORD)


def episode_keys(seeds: Tensor, episodes: Tensor) -> tuple[Tensor, Tensor]:
    """The keys of episodes (int64 [N]) of instance seeds (int64 [N], u64 bits): two int32 [N].

    Raises :class:`DrawTypeError` for seeds of another shape or dtype.

    Example:
        >>> import torch
        >>> from simulacrum.rng.tensor import episode_keys
        >>> [word.tolist() for word in episode_keys(torch.tensor([7]), torch.tensor([0]))]
        [[483281729], [908507045]]
    """
    check_int64(seeds, "seed")
    k0, k1 = begin_words(seeds, episodes, []).unbind(0)
    return k0.squeeze(0), k1.squeeze(0)


def begun(
    seeds: Tensor, episodes: Tensor, phase: Phase, ranges: Sequence[Range], ahead: int = 0
) -> tuple[Tensor, Tensor, Draw]:
    """The keys of the episodes so many ahead of some of seeds, and the draws of their first states, of which those of
    ``ranges`` are made at once."""
    return _first(begin_words(seeds, episodes, flat(ranges), ahead), torch.zeros_like(episodes), phase, ranges)


def _first(words: Tensor, t: Tensor, phase: Phase, ranges: Sequence[Range]) -> tuple[Tensor, Tensor, Draw]:
    k0, k1 = words[0, 0].clone(), words[1, 0].clone()  # not all words live on with the keys
    return k0, k1, Draw(k0, k1, t, phase, _by_range(ranges, words[:, 1:]))


def drawn(k0: Tensor, k1: Tensor, t: Tensor, phase: Phase, ranges: Sequence[Range]) -> Draw:
    """The draws of a step, of which those of ``ranges`` are made at once."""
    if not ranges:
        return Draw(k0, k1, t, phase)
    return Draw(k0, k1, t, phase, _by_range(ranges, threefry_words(k0, k1, t, flat(ranges))))


def drawn_and_begun(
    k0: Tensor,
    k1: Tensor,
    t: Tensor,
    phases: tuple[Phase, Phase],
    ranges: tuple[Sequence[Range], Sequence[Range]],
    seeds: Tensor,
    episodes: Tensor,
    words: Tensor | None = None,
) -> tuple[Draw, tuple[Tensor, Tensor, Draw]]:
    """:func:`drawn`, and :func:`begun` for the next episodes, in one call; phases and ranges are those of the step and
    of the reset. Words that are there already (see :class:`simulacrum.rng.ahead.Ahead`) are taken."""
    step, reset = ranges
    count = sum(number for _, number in step)
    if words is None:
        words = both_words(k0, k1, t, flat(step), seeds, episodes, flat(reset), 1)
    draw = Draw(k0, k1, t, phases[0], _by_range(step, words[:, :count]))
    return draw, _first(words[:, count:], torch.zeros_like(t), phases[1], reset)


def flat(ranges: Sequence[Range]) -> list[int]:
    """Ranges as the operators take them: first, count, first, count ..."""
    return [number for pair in ranges for number in pair]


def _by_range(ranges: Sequence[Range], words: Tensor) -> dict[Range, Tensor]:
    parts = words.split([count for _, count in ranges], 1) if ranges else ()
    return dict(zip(ranges, parts, strict=True))


def instance_seeds(seed: int, instances: Tensor) -> Tensor:
    """What ``set_seed(seed)`` gives to instances (int64 [N]): int64 [N], the bits of the u64.

    Raises :class:`SeedError` for a number out of range, :class:`DrawTypeError` for instances of another shape or dtype.

    Example:
        >>> import torch
        >>> from simulacrum.rng.tensor import instance_seeds
        >>> instance_seeds(5, torch.tensor([1])).tolist()
        [4523003082147852384]
    """
    high, low = seed_key(seed)
    check_words(instances, "instance")
    k0 = torch.full(instances.shape, _signed(high), dtype=torch.int32, device=instances.device)
    k1 = torch.full(instances.shape, _signed(low), dtype=torch.int32, device=instances.device)
    x0, x1 = threefry2x32(k0, k1, instances, INSTANCE_COUNTER)
    return _unsigned64(x0, x1).squeeze(-1)


def seed_bits(seed: int) -> int:
    """A seed in 0..2**64-1 as the int64 of the same bits. Raises :class:`SeedError`.

    Example:
        >>> from simulacrum.rng.tensor import seed_bits
        >>> seed_bits(2**64 - 1)
        -1
    """
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
    or ``[N, *shape]``. dtypes: ``bits`` int64 (of 64 bits: the bits of the u64), ``uniform`` float32 or float64,
    ``randint``, ``categorical`` and ``permutation`` int32, ``bernoulli`` bool. So are the errors: :class:`DrawError`,
    :class:`DrawTypeError`.

    Example:
        >>> import torch
        >>> from simulacrum.rng.tensor import Draw
        >>> seeds, episodes = torch.tensor([7, 8, 9]), torch.zeros(3, dtype=torch.int64)
        >>> draw = Draw.at(seeds, episodes, t=torch.tensor([3, 3, 3]))
        >>> draw.randint(2, n=6).tolist(), draw.uniform(0, shape=(2,)).shape
        ([1, 2, 2], torch.Size([3, 2]))
    """

    def __init__(
        self, k0: Tensor, k1: Tensor, t: Tensor, phase: Phase = ANY_PHASE, made: Mapping[Range, Tensor] | None = None
    ) -> None:
        self._k0, self._k1, self._t = k0, k1, t
        self._phase = phase
        self._made = made or {}  # words that are there already: int32 [2, count, N] by range

    @property
    def rows(self) -> int:
        """N, the number of rows that the draws are for, by which a state that draws nothing knows its size."""
        return self._t.shape[0]

    @classmethod
    def at(cls, seeds: Tensor, episodes: Tensor, t: Tensor, phase: Phase = ANY_PHASE) -> Draw:
        """The draws at steps ``t`` of episodes of seeds: three int64 [N], the seeds as the bits of the u64.

        Raises :class:`SeedError` for an episode and :class:`DrawError` for a ``t`` outside 0..2**32-1,
        :class:`DrawTypeError` for another shape or dtype.
        """
        check_words(episodes, "episode")
        check_words(t, "t", DrawError)
        return cls(*episode_keys(seeds, episodes), t, phase)

    def bits(self, slot: int, width: int = 32, *, index: int = 0, shape: Shape = None) -> Tensor:
        """32 or 64 uniform bits, int64 ``[N, *shape]``: 0..2**32-1, or the bits of the u64."""
        if bit_width(width) == 32:
            return self._words(slot, index, shape)[0]
        sizes, count = items(shape)
        return self._shaped(_unsigned64(*self._lanes(slot, index, count)), sizes)

    def uniform(self, slot: int, *, index: int = 0, shape: Shape = None, dtype: Any = "float32") -> Tensor:
        """Uniform on [0, 1): float32 with 24 bits or float64 with 53, ``[N, *shape]``."""
        if float_dtype(dtype) == "float32":
            sizes, count = items(shape)
            x0 = self._shaped(self._lanes(slot, index, count)[0], sizes)
            return (x0 >> 8 & 0xFFFFFF).to(torch.float32) * 2.0**-24
        x0, x1 = self._words(slot, index, shape)
        return (x0 << 21 | x1 >> 11).to(torch.float64) * 2.0**-53

    def randint(self, slot: int, n: int, *, index: int = 0, shape: Shape = None) -> Tensor:
        """Uniform on 0..n-1, 1 <= n <= 2**31: int32 ``[N, *shape]``."""
        n = randint_bound(n)
        x0, x1 = self._words(slot, index, shape)
        return ((x0 * n + (x1 * n >> 32)) >> 32).to(torch.int32)

    def bernoulli(self, slot: int, p: float, *, index: int = 0, shape: Shape = None) -> Tensor:
        """True with probability p (a Python float; 0, or 2**-32 to 1): bool ``[N, *shape]``."""
        threshold = bernoulli_threshold(p)
        sizes, count = items(shape)
        x0 = self._shaped(self._lanes(slot, index, count)[0], sizes)
        if threshold == 1 << 32:
            return torch.ones_like(x0, dtype=torch.bool)
        return (x0 ^ WORD_SIGN) < threshold + WORD_SIGN  # unsigned, in 32 bits

    def categorical(self, slot: int, weights: Iterable[float], *, index: int = 0, shape: Shape = None) -> Tensor:
        """i with probability weights[i] / sum(weights), the weights static: int32 ``[N, *shape]``."""
        thresholds = categorical_thresholds(float_weights(weights))
        x0, _ = self._words(slot, index, shape)
        limits = torch.tensor(thresholds, dtype=torch.int64, device=x0.device)
        return (x0.unsqueeze(-1) >= limits).sum(-1, dtype=torch.int32)

    def permutation(self, slot: int, n: int, *, index: int = 0) -> Tensor:
        """A uniform permutation of 0..n-1: int32 [N, n]. It takes the indices index..index+n-1."""
        keys = self.bits(slot, 64, index=index, shape=(permutation_length(n),))
        return torch.argsort(keys ^ SIGN_BIT, dim=-1, stable=True).to(torch.int32)

    def _lanes(self, slot: int, index: int, count: int) -> tuple[Tensor, Tensor]:
        first = self._phase.counter(slot, index, count)
        made = self._made.get((first, count))
        if made is None:
            return threefry2x32(self._k0, self._k1, self._t, first, count)
        return made[0].t(), made[1].t()

    def _words(self, slot: int, index: int, shape: Shape) -> tuple[Tensor, Tensor]:
        """Both output words as int64 in 0..2**32-1, ``[N, *shape]``."""
        sizes, count = items(shape)
        x0, x1 = self._lanes(slot, index, count)
        return self._shaped(x0.to(torch.int64) & WORD, sizes), self._shaped(x1.to(torch.int64) & WORD, sizes)

    def _shaped(self, values: Tensor, sizes: tuple[int, ...]) -> Tensor:
        return values.reshape(values.shape[0], *sizes)


class AskedDraw(Draw):
    """A draw that notes which ranges are asked for, in ``asked``."""

    def __init__(self, k0: Tensor, k1: Tensor, t: Tensor, phase: Phase = ANY_PHASE) -> None:
        super().__init__(k0, k1, t, phase)
        self.asked: list[Range] = []

    def _lanes(self, slot: int, index: int, count: int) -> tuple[Tensor, Tensor]:
        pair = (self._phase.counter(slot, index, count), count)
        if pair not in self.asked:
            self.asked.append(pair)
        return super()._lanes(slot, index, count)
