"""``CompareError``: a comparison that could not be run."""

from __future__ import annotations

from ..errors import SimulacrumError

__all__ = ["CompareError"]


class CompareError(SimulacrumError, ValueError):
    """A comparison that could not be run: an environment that cannot be made, spaces that cannot be compared.

    Example:
        >>> from simulacrum.compare import compare
        >>> compare("CartPole-v1", "gym:Nowhere-v0")
        Traceback (most recent call last):
            ...
        simulacrum.compare.errors.CompareError: CANDIDATE gym:Nowhere-v0: it could not be made: ...
    """
