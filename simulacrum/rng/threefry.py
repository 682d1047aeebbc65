"""Threefry-2x32 with 20 rounds, in Python integers, and the keys that simulacrum derives with it.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (Random123); the same
function is JAX's default generator. A key, a counter and an output are pairs of 32-bit words.
"""

from __future__ import annotations

import operator

from ..errors import SeedError

WORD = 0xFFFFFFFF  # a 32-bit word, all ones
PARITY = 0x1BD11BDA  # Threefry's key schedule constant for 32-bit words
EPISODE_COUNTER = 0xFF000000  # second counter word of an episode key
INSTANCE_COUNTER = 0xFE000000  # second counter word of an instance seed

Key = tuple[int, int]


def threefry2x32(k0: int, k1: int, c0: int, c1: int) -> Key:
    """The block function: key ``(k0, k1)``, counter ``(c0, c1)``, each word in 0..2**32-1, to two such words.

    Unrolled, because it is the reference's hot path. ``x0`` is masked at the end only: it gathers few carries.

    Example:
        >>> from simulacrum.rng import threefry2x32
        >>> [f"{word:08x}" for word in threefry2x32(0, 0, 0, 0)]  # the first of Random123's known answers
        ['6b200159', '99ba4efe']
    """
    k2 = k0 ^ k1 ^ PARITY
    x0 = c0 + k0 & WORD
    x1 = c1 + k1 & WORD
    # rounds 1 to 4
    x0 += x1
    x1 = ((x1 << 13 | x1 >> 19) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 15 | x1 >> 17) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 26 | x1 >> 6) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 6 | x1 >> 26) ^ x0) & WORD
    x0 += k1
    x1 = x1 + k2 + 1 & WORD
    # rounds 5 to 8
    x0 += x1
    x1 = ((x1 << 17 | x1 >> 15) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 29 | x1 >> 3) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 16 | x1 >> 16) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 24 | x1 >> 8) ^ x0) & WORD
    x0 += k2
    x1 = x1 + k0 + 2 & WORD
    # rounds 9 to 12
    x0 += x1
    x1 = ((x1 << 13 | x1 >> 19) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 15 | x1 >> 17) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 26 | x1 >> 6) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 6 | x1 >> 26) ^ x0) & WORD
    x0 += k0
    x1 = x1 + k1 + 3 & WORD
    # rounds 13 to 16
    x0 += x1
    x1 = ((x1 << 17 | x1 >> 15) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 29 | x1 >> 3) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 16 | x1 >> 16) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 24 | x1 >> 8) ^ x0) & WORD
    x0 += k1
    x1 = x1 + k2 + 4 & WORD
    # rounds 17 to 20
    x0 += x1
    x1 = ((x1 << 13 | x1 >> 19) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 15 | x1 >> 17) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 26 | x1 >> 6) ^ x0) & WORD
    x0 += x1
    x1 = ((x1 << 6 | x1 >> 26) ^ x0) & WORD
    x0 += k2
    x1 = x1 + k0 + 5 & WORD
    return x0 & WORD, x1


def unsigned(value: int, bits: int, name: str) -> int:
    """``value`` as an int in 0..2**bits-1; raises :class:`SeedError` for any other."""
    try:
        number = operator.index(value)
    except TypeError:
        raise SeedError(f"{name}: expected an integer in 0..2**{bits}-1, got {value!r}") from None
    if not 0 <= number < 1 << bits:
        raise SeedError(f"{name}: expected an integer in 0..2**{bits}-1, got {number}")
    return number


def seed_key(seed: int) -> Key:
    """The key of a seed in 0..2**64-1: its high and its low word, in JAX's order. Raises :class:`SeedError`.

    Example:
        >>> from simulacrum.rng import seed_key
        >>> seed_key(2**32 + 5)
        (1, 5)
    """
    seed = unsigned(seed, 64, "seed")
    return seed >> 32, seed & WORD


def episode_key(seed: int, episode: int) -> Key:
    """The key from which episode 0, 1, 2 ... (< 2**32) of an instance seed draws. Raises :class:`SeedError`.

    Example:
        >>> from simulacrum.rng import episode_key
        >>> episode_key(7, 0)
        (483281729, 908507045)
    """
    return threefry2x32(*seed_key(seed), unsigned(episode, 32, "episode"), EPISODE_COUNTER)


def instance_seed(seed: int, instance: int) -> int:
    """The 64-bit seed that ``set_seed(seed)`` gives to instance 0, 1, 2 ... (< 2**32). Raises :class:`SeedError`.

    Example:
        >>> from simulacrum.rng import instance_seed
        >>> instance_seed(5, 1)
        4523003082147852384
    """
    x0, x1 = threefry2x32(*seed_key(seed), unsigned(instance, 32, "instance"), INSTANCE_COUNTER)
    return x0 << 32 | x1
