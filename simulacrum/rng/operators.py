"""The block function over rows, as operators that compiled graphs call: ``simulacrum::threefry``, ``begin``, ``both``.

One call draws all words of a step, of the first states of episodes, or of both, so that a graph holds one node instead
of 140 integer operations a draw. On the CPU a native helper runs them where a C compiler is there (see
:mod:`simulacrum.native`); elsewhere, and without one, tensor operations on int32 lanes do, with the same bits.

Words are int32 ``[2, C, N]``: both words of C elements of N rows. The elements are told as *ranges* of second counter
words, flat: first, count, first, count ...
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from .. import native
from ..errors import BuildError, DrawTypeError
from .threefry import EPISODE_COUNTER, PARITY, WORD

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
NATIVE_SOURCE = Path(__file__).with_name("threefry.pyx")
SLOWER = "draws by tensor operations, which take some 30 times as long as native ones (docs/draws_rate.py): %s"

_library = torch.library.Library("simulacrum", "DEF")
_library.define("threefry(Tensor k0, Tensor k1, Tensor c0, int[] ranges) -> Tensor")
_library.define("begin(Tensor seeds, Tensor episodes, int ahead, int[] ranges) -> Tensor")
_library.define(
    "both(Tensor k0, Tensor k1, Tensor c0, int[] ranges, Tensor seeds, Tensor episodes, int ahead, int[] first)"
    " -> Tensor"
)


def threefry2x32(k0: Tensor, k1: Tensor, c0: Tensor, c1: int, count: int = 1) -> tuple[Tensor, Tensor]:
    """The block function over rows: keys int32 [N], first counter word int64 [N] (its low 32 bits), second counter
    words ``c1, c1 + 1 ...``; returns two int32 tensors [N, count]."""
    x0, x1 = threefry_words(k0, k1, c0, [c1, count]).unbind(0)
    return x0.t(), x1.t()


def threefry_words(k0: Tensor, k1: Tensor, c0: Tensor, ranges: Sequence[int]) -> Tensor:
    """The same for ranges of second counter words: int32 [2, C, N]."""
    words: Tensor = torch.ops.simulacrum.threefry.default(k0, k1, c0, ranges)
    return words


def begin_words(seeds: Tensor, episodes: Tensor, ranges: Sequence[int], ahead: int = 0) -> Tensor:
    """The keys of the episodes that come ``ahead`` of some (int64 [N]) of seeds (int64 [N], u64 bits), and the words
    that they draw at ``t = 0``: int32 [2, 1 + C, N], the keys first."""
    words: Tensor = torch.ops.simulacrum.begin.default(seeds, episodes, ahead, ranges)
    return words


def both_words(
    k0: Tensor,
    k1: Tensor,
    c0: Tensor,
    ranges: Sequence[int],
    seeds: Tensor,
    episodes: Tensor,
    first: Sequence[int],
    ahead: int,
) -> Tensor:
    """:func:`threefry_words`, and after them :func:`begin_words` for the ranges ``first``: int32 [2, C + 1 + D, N]."""
    words: Tensor = torch.ops.simulacrum.both.default(k0, k1, c0, ranges, seeds, episodes, ahead, first)
    return words


# ---------------------------------------------------------------------- by tensor operations


def threefry_lanes(k0: Tensor, k1: Tensor, c0: Tensor, c1: int, count: int) -> tuple[Tensor, Tensor]:
    """:func:`threefry2x32` by tensor operations, on any device."""
    x0, x1 = lane_words(k0, k1, c0, [c1, count]).unbind(0)
    return x0.t(), x1.t()


def lane_words(k0: Tensor, k1: Tensor, c0: Tensor, ranges: Sequence[int]) -> Tensor:
    """:func:`threefry_words` by tensor operations, on any device."""
    parts = [
        torch.arange(first, first + count, dtype=torch.int64, device=k0.device)
        for first, count in zip(ranges[::2], ranges[1::2], strict=True)
    ]
    steps = torch.cat(parts).unsqueeze(-1)
    second = torch.where(steps > 0x7FFFFFFF, steps - (1 << 32), steps).to(torch.int32)
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = ((c0 & WORD).to(torch.int32) + k0).expand(len(steps), -1), second + k1
    for turn in range(20):
        rotation = ROTATIONS[turn % 8]
        x0 = x0 + x1
        x1 = ((x1 << rotation) | ((x1 >> (32 - rotation)) & ((1 << rotation) - 1))) ^ x0
        if turn % 4 == 3:
            group = turn // 4 + 1
            x0 = x0 + keys[group % 3]
            x1 = x1 + keys[(group + 1) % 3] + group
    return torch.stack([x0, x1])


def lane_begin(seeds: Tensor, episodes: Tensor, ahead: int, ranges: Sequence[int]) -> Tensor:
    """:func:`begin_words` by tensor operations, on any device."""
    keys = lane_words(*seed_keys(seeds), episodes + ahead, [EPISODE_COUNTER, 1])
    if not ranges:
        return keys
    return torch.cat([keys, lane_words(keys[0, 0], keys[1, 0], torch.zeros_like(episodes), ranges)], 1)


def lane_both(
    k0: Tensor,
    k1: Tensor,
    c0: Tensor,
    ranges: Sequence[int],
    seeds: Tensor,
    episodes: Tensor,
    ahead: int,
    first: Sequence[int],
) -> Tensor:
    """:func:`both_words` by tensor operations, on any device."""
    begun = lane_begin(seeds, episodes, ahead, first)
    return torch.cat([lane_words(k0, k1, c0, ranges), begun], 1) if ranges else begun


def seed_keys(seeds: Tensor) -> tuple[Tensor, Tensor]:
    """The keys (int32 [N], int32 [N]) of seeds: int64 [N], the bits of the u64."""
    low = seeds & WORD
    return (seeds >> 32).to(torch.int32), torch.where(low > 0x7FFFFFFF, low - (1 << 32), low).to(torch.int32)


# ---------------------------------------------------------------------- native


@lru_cache(maxsize=1)
def native_module() -> ModuleType | None:
    """The native helper, built if need be. Where it cannot be, None, and one warning that says what that costs."""
    log = logging.getLogger("simulacrum")
    if not native.enabled():
        if native.compiler() is None:
            log.warning(SLOWER, "no C compiler was found (install one as cc, or name it in CC)")
        return None
    try:
        return native.load(NATIVE_SOURCE)
    except BuildError as error:
        log.warning(SLOWER, str(error).split("\n")[0])
        log.debug("%s", error)
        return None


def _threefry_cpu(k0: Tensor, k1: Tensor, c0: Tensor, ranges: list[int]) -> Tensor:
    _check_rows(k0, k1, c0)  # the native form reads memory by these, so it must not trust the caller
    module = native_module()
    if module is None:
        return lane_words(k0, k1, c0, ranges)
    out, at, half = _empty(k0.shape[0], _total(ranges))
    _native_words(module, k0, k1, c0, ranges, at, half)
    return out


def _begin_cpu(seeds: Tensor, episodes: Tensor, ahead: int, ranges: list[int]) -> Tensor:
    _check_episodes(seeds, episodes)
    module = native_module()
    if module is None:
        return lane_begin(seeds, episodes, ahead, ranges)
    out, at, half = _empty(seeds.shape[0], 1 + _total(ranges))
    _native_begin(module, seeds, episodes, ahead, ranges, at, half)
    return out


def _both_cpu(
    k0: Tensor,
    k1: Tensor,
    c0: Tensor,
    ranges: list[int],
    seeds: Tensor,
    episodes: Tensor,
    ahead: int,
    first: list[int],
) -> Tensor:
    _check_rows(k0, k1, c0)
    _check_episodes(seeds, episodes)
    if k0.shape != seeds.shape:
        raise DrawTypeError(f"draw: expected keys and seeds of one N, got {_forms(k0, seeds)}")
    module = native_module()
    if module is None:
        return lane_both(k0, k1, c0, ranges, seeds, episodes, ahead, first)
    rows, step = k0.shape[0], _total(ranges)
    out, at, half = _empty(rows, step + 1 + _total(first))
    _native_words(module, k0, k1, c0, ranges, at, half)
    _native_begin(module, seeds, episodes, ahead, first, at + 4 * rows * step, half)
    return out


def _empty(rows: int, total: int) -> tuple[Tensor, int, int]:
    """int32 [2, total, rows], its address, and the bytes from the first words to the second ones."""
    out = torch.empty((2, total, rows), dtype=torch.int32)
    return out, out.data_ptr(), 4 * total * rows


def _native_words(module: Any, k0: Tensor, k1: Tensor, c0: Tensor, ranges: list[int], at: int, half: int) -> None:
    k0, k1, c0 = k0.contiguous(), k1.contiguous(), c0.contiguous()
    module.words(k0.data_ptr(), k1.data_ptr(), c0.data_ptr(), ranges, k0.shape[0], at, at + half)


def _native_begin(
    module: Any, seeds: Tensor, episodes: Tensor, ahead: int, ranges: list[int], at: int, half: int
) -> None:
    seeds, episodes = seeds.contiguous(), episodes.contiguous()
    module.begin(seeds.data_ptr(), episodes.data_ptr(), ahead, ranges, seeds.shape[0], at, at + half)


def _total(ranges: Sequence[int]) -> int:
    """The number of elements of ranges."""
    if len(ranges) == 2 and ranges[1] >= 0:
        return ranges[1]
    counts = ranges[1::2]
    if len(ranges) % 2 or min(counts, default=0) < 0:
        raise DrawTypeError(f"draw: expected ranges as first, count, first, count ..., got {list(ranges)}")
    return sum(counts)


def _check_rows(k0: Tensor, k1: Tensor, c0: Tensor) -> None:
    """Raise :class:`DrawTypeError` unless the keys are int32 [N] and the counters int64 [N], of one N."""
    if not (
        k0.dtype is k1.dtype is torch.int32
        and c0.dtype is torch.int64
        and k0.ndim == 1
        and k0.shape == k1.shape == c0.shape
    ):
        raise DrawTypeError(f"draw: expected two keys int32 [N] and counters int64 [N], got {_forms(k0, k1, c0)}")


def _check_episodes(seeds: Tensor, episodes: Tensor) -> None:
    """Raise :class:`DrawTypeError` unless both are int64 [N]."""
    if not (seeds.dtype == episodes.dtype == torch.int64 and seeds.dim() == 1 and seeds.shape == episodes.shape):
        raise DrawTypeError(f"draw: expected seeds and episodes int64 [N], got {_forms(seeds, episodes)}")


def _forms(*tensors: Tensor) -> str:
    return ", ".join(f"{str(one.dtype).removeprefix('torch.')} {list(one.shape)}" for one in tensors)


def _threefry_shape(k0: Tensor, k1: Tensor, c0: Tensor, ranges: Sequence[int]) -> Tensor:
    return torch.empty((2, sum(ranges[1::2]), k0.shape[0]), dtype=torch.int32, device=k0.device)


def _begin_shape(seeds: Tensor, episodes: Tensor, ahead: int, ranges: Sequence[int]) -> Tensor:
    return torch.empty((2, 1 + sum(ranges[1::2]), seeds.shape[0]), dtype=torch.int32, device=seeds.device)


def _both_shape(
    k0: Tensor,
    k1: Tensor,
    c0: Tensor,
    ranges: Sequence[int],
    seeds: Tensor,
    episodes: Tensor,
    ahead: int,
    first: Sequence[int],
) -> Tensor:
    return _threefry_shape(k0, k1, c0, [*ranges, 0, 1, *first])


_library.impl("threefry", lane_words, "CompositeExplicitAutograd")
_library.impl("threefry", _threefry_cpu, "CPU")
_library.impl("begin", lane_begin, "CompositeExplicitAutograd")
_library.impl("begin", _begin_cpu, "CPU")
torch.library.register_fake("simulacrum::threefry", _threefry_shape, lib=_library)
_library.impl("both", lane_both, "CompositeExplicitAutograd")
_library.impl("both", _both_cpu, "CPU")
torch.library.register_fake("simulacrum::both", _both_shape, lib=_library)
torch.library.register_fake("simulacrum::begin", _begin_shape, lib=_library)
