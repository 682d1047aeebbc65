"""What a draw's arguments mean, and which are refused: shared by every form of ``Draw``, so that they cannot differ."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence

from ..errors import DrawError, DrawTypeError

MAX_SLOT = 239
INDEX_BITS = 24
INDEX_LIMIT = 1 << INDEX_BITS
RANDINT_LIMIT = 1 << 31
FLOATS = ("float32", "float64")

Shape = Sequence[int] | None


class Phase:
    """Which slots may be drawn: those of a reset or those of a step, each with the counter word of its index 0.

    Raises :class:`DrawError` for a slot outside 0..239, :class:`DrawTypeError` for one that is no integer.

    Example:
        >>> from simulacrum.rng import Draw, Phase
        >>> Draw.at(0, 0, 0, Phase("step", [1])).bernoulli(0, 0.5)
        Traceback (most recent call last):
            ...
        simulacrum.errors.DrawError: slot 0 cannot be drawn in the step phase, which has slots [1]
    """

    __slots__ = ("counters", "name")

    def __init__(self, name: str, slots: Iterable[int]) -> None:
        self.name = name
        numbers = [integer(slot, "slot") for slot in slots]
        self.counters: Mapping[int, int] = {slot: slot << INDEX_BITS for slot in numbers}
        for slot in self.counters:
            if not 0 <= slot <= MAX_SLOT:
                raise DrawError(f"slot: expected 0..{MAX_SLOT}, got {slot}")

    def counter(self, slot: int, index: int, count: int = 1) -> int:
        """The second counter word of element ``index`` of ``slot``, when ``count`` elements from there fit.

        Raises :class:`DrawError` for a slot of another phase or an index out of range, :class:`DrawTypeError` for
        another type.
        """
        if not isinstance(slot, int):
            raise DrawTypeError(f"slot: expected a member of Slots (an int), got {slot!r}")
        base = self.counters.get(slot)
        if base is None:
            raise DrawError(f"slot {slot!r} cannot be drawn in the {self.name} phase, which has {self._slot_list()}")
        if index.__class__ is not int:
            index = integer(index, "index")
        if index < 0 or index + count > INDEX_LIMIT:
            raise DrawError(f"index: expected 0 <= index and index + count <= 2**24, got {index} + {count}")
        return base + index

    def _slot_list(self) -> str:
        slots = list(self.counters)
        return f"slots {slots}" if len(slots) <= 16 else f"slots {slots[0]}..{slots[-1]}"


def integer(value: object, name: str) -> int:
    """``value`` as an int; floats, strings and the like raise :class:`DrawTypeError`."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DrawTypeError(f"{name}: expected an integer, got {value!r}") from None


ANY_PHASE = Phase("any", range(MAX_SLOT + 1))


def step_counter(t: object) -> int:
    """``t`` as the first counter word, 0..2**32-1."""
    number = integer(t, "t")
    if not 0 <= number < 1 << 32:
        raise DrawError(f"t: expected 0..2**32-1, got {number}")
    return number


def items(shape: Shape) -> tuple[tuple[int, ...], int]:
    """The item shape as a tuple, and its number of elements (1 for ``None``)."""
    if shape is None:
        return (), 1
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise DrawTypeError(f"shape: expected a tuple of integers such as (6,), got {shape!r}")
    sizes = tuple(integer(size, "shape") for size in shape)
    if any(size < 1 for size in sizes):
        raise DrawError(f"shape: expected sizes of at least 1, got {sizes}")
    return sizes, math.prod(sizes)


def randint_bound(n: object) -> int:
    """``n`` of ``randint``, 1..2**31."""
    number = integer(n, "n")
    if not 1 <= number <= RANDINT_LIMIT:
        raise DrawError(f"n: expected 1..2**31, got {number}")
    return number


def permutation_length(n: object) -> int:
    """``n`` of ``permutation``, 1..2**24."""
    number = integer(n, "n")
    if not 1 <= number <= INDEX_LIMIT:
        raise DrawError(f"n: expected 1..2**24, got {number}")
    return number


def bernoulli_threshold(p: float) -> int:
    """``floor(p * 2**32)``: a word below it is a success."""
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise DrawTypeError(f"p: expected a Python float in [0, 1], got {p!r}")
    if not 0.0 <= p <= 1.0:
        raise DrawError(f"p: expected a float in [0, 1], got {p!r}")
    if 0.0 < p < 2.0**-32:
        raise DrawError(f"p: expected 0 or at least 2**-32 (a draw has 32 bits), got {p!r}")
    return math.floor(p * 2.0**32)


def float_weights(weights: Iterable[float]) -> tuple[float, ...]:
    """``weights`` as a tuple of floats."""
    try:
        return tuple([float(weight) for weight in weights])
    except (TypeError, ValueError, OverflowError):
        raise DrawTypeError(f"weights: expected a sequence of floats, got {weights!r}") from None


def categorical_thresholds(weights: tuple[float, ...]) -> tuple[int, ...]:
    """``floor(cumsum(w) / sum(w) * 2**32)``, summed left to right in float64, the last one 2**32."""
    sums, total = [], 0.0
    for weight in weights:
        total += weight
        sums.append(total)
    if not all(0.0 <= weight < math.inf for weight in weights) or not 0.0 < total < math.inf:
        raise DrawError(f"weights: expected finite weights >= 0 with a positive sum, got {weights!r}")
    return tuple(math.floor(part / total * 2.0**32) for part in sums)


def float_dtype(dtype: object) -> str:
    """``"float32"`` or ``"float64"``, from a name, a NumPy dtype or a torch dtype."""
    name = str(getattr(dtype, "__name__", dtype)).removeprefix("torch.")
    if name not in FLOATS:
        raise DrawTypeError(f"dtype: expected 'float32' or 'float64', got {dtype!r}")
    return name


def bit_width(width: object) -> int:
    """32 or 64."""
    number = integer(width, "width")
    if number not in (32, 64):
        raise DrawError(f"width: expected 32 or 64, got {number}")
    return number
