"""``KeyedGenerator``: a ``numpy.random.Generator`` whose numbers come from the counter contract.

An environment that nobody here wrote draws from ``self.np_random``. With one of these in its place every number is a
function of (seed, episode, step, slot, index), so that another program can draw the same: docs/adopting.md tells which
number each call gives.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ..errors import DrawError
from ..rng import Draw
from ..rng.arguments import RANDINT_LIMIT

__all__ = ["KeyedGenerator"]

Size = int | Sequence[int] | None
SUPPORTED = "random, uniform, integers, choice, shuffle and permutation"


class KeyedGenerator(np.random.Generator):
    """Draws from a :class:`simulacrum.rng.Draw`, by the order of the calls within one reset or step.

    The n-th call takes the n-th slot of its phase, from index 0; the last slot takes all further calls, whose elements
    go on counting its index. So with one slot a phase, the k-th number of a step has the index k.

    ============================================  ==================================================================
    call                                          each element, in row-major order
    ============================================  ==================================================================
    ``random(size, dtype)``                       ``uniform``, of the dtype (float64 by default)
    ``uniform(low, high, size)``                  ``low + (high - low) * uniform`` in float64
    ``integers(low, high, size, endpoint=...)``   ``low + randint(n)``, n the number of integers, up to 2**31
    ``choice(a, size)``                           ``a[randint(len(a))]``
    ``choice(a, size, p=p)``                      ``a[categorical(p)]``
    ``choice(a, size, replace=False)``            the first ones of ``permutation(len(a))``, which takes len(a) indices
    ``permutation(a)``, ``shuffle(a)``            ``a`` in the order of ``permutation(len(a))``
    ============================================  ==================================================================

    Dtypes, shapes and ValueErrors of bad arguments are NumPy's. Raises :class:`~simulacrum.errors.DrawError`, which
    names the call, for every other method, for a draw outside of a reset or a step, and for one without a slot.

    Example:
        >>> from simulacrum.originals import KeyedGenerator
        >>> from simulacrum.rng import Draw
        >>> generator = KeyedGenerator()
        >>> draw = Draw.at(seed=7, episode=0, t=3)
        >>> with generator.drawing(draw, [1], "step"):
        ...     generator.integers(10, 15), generator.integers(10, 15)
        (np.int64(14), np.int64(11))
        >>> 10 + draw.randint(1, 5), 10 + draw.randint(1, 5, index=1)
        (14, 11)
    """

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))  # never asked: every method that would is replaced
        self._draw: Draw | None = None
        self._slots: Sequence[int] = ()
        self._phase = ""
        self._calls = self._index = 0

    def drawing(self, draw: Draw, slots: Sequence[int | IntEnum], phase: str) -> _Drawing:
        """For a ``with`` block around one reset or step: its draws, the slots of its phase in their order, its name."""
        return _Drawing(self, draw, [int(slot) for slot in slots], phase)

    def random(  # type: ignore[override]
        self, size: Size = None, dtype: Any = np.float64, out: np.ndarray | None = None
    ) -> Any:
        """Uniform on [0, 1): a float, or ``[*size]`` of float64 or float32; into ``out`` where it is given. Raises
        TypeError for another dtype, ValueError for an ``out`` of another dtype or shape."""
        name = np.dtype(dtype).name
        if name not in ("float32", "float64"):
            raise TypeError(f"Unsupported dtype {np.dtype(dtype)!r} for random")
        if out is None:
            values = self._filled("random", size, dtype, lambda d, s, i: d.uniform(s, index=i, dtype=name))
            return float(values) if size is None else values  # as NumPy's: of float32 too
        if out.dtype != dtype or (size is not None and _shape(size) != out.shape):
            raise ValueError(f"out: expected {name} {list(_shape(size) if size is not None else out.shape)}")
        out[...] = self.random(out.shape, dtype)
        return out

    def uniform(  # type: ignore[override]
        self, low: Any = 0.0, high: Any = 1.0, size: Size = None
    ) -> Any:
        """``low + (high - low) * random()`` in float64: a float, or ``[*size]``; arrays of bounds are broadcast."""
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        if not np.isfinite(high - low).all():
            raise OverflowError("high - low range exceeds valid bounds")
        shape = None if size is None and not low.ndim and not high.ndim else _broadcast(size, low, high)
        result = low + (high - low) * self._filled(
            "uniform", shape, np.float64, lambda d, s, i: d.uniform(s, index=i, dtype="float64")
        )
        return float(result) if shape is None else result

    def integers(  # type: ignore[override]
        self, low: Any, high: Any = None, size: Size = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Uniform on low..high-1 (0..low-1 without ``high``; ..high with ``endpoint``): one, or ``[*size]``. Raises
        ValueError for bounds that the dtype does not hold, TypeError for a dtype of no integers."""
        if high is None:
            low, high = 0, low
        low = np.asarray(low, np.int64)
        width = np.asarray(high, np.int64) + bool(endpoint) - low
        if (width < 1).any():
            raise ValueError("low > high" if endpoint else "low >= high")
        _check_bounds(low, low + width - 1, np.dtype(dtype))
        if (width > RANDINT_LIMIT).any():
            raise DrawError(f"np_random.integers: expected at most 2**31 integers, got {int(width.max())}")
        shape = None if size is None and not width.ndim else _broadcast(size, width)
        widths = iter(np.broadcast_to(width, shape or ()).ravel().tolist())
        drawn = self._filled("integers", shape, np.int64, lambda d, s, i: d.randint(s, next(widths), index=i))
        values = (low + drawn).astype(dtype)
        return dtype(values) if shape is None and dtype in (int, bool) else values[()]  # as NumPy's

    def choice(  # type: ignore[override]
        self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        """Elements of ``a`` (of 0..a-1 for an int): one, or ``[*size]``; without replacement where that is asked."""
        pool, axis = _pool(a, axis)
        number = pool.shape[axis]
        if not number and size != 0:
            raise ValueError("a cannot be empty unless no samples are taken")
        if p is not None and not replace:
            raise DrawError("np_random.choice: p with replace=False is no construction of the contract")
        if not replace:
            count = math.prod(_shape(size)) if size is not None else 1
            if count > number:
                raise ValueError("Cannot take a larger sample than population when replace is False")
            which = self._order("choice", number)[:count].reshape(_shape(size) if size is not None else ())
        elif p is not None:
            weights = np.asarray(p, np.float64).tolist()
            if len(weights) != number or min(weights) < 0 or not math.isclose(math.fsum(weights), 1.0, abs_tol=1e-8):
                raise ValueError("p: expected as many probabilities as a has elements, none negative, of the sum 1")
            which = self._filled("choice", size, np.int64, lambda d, s, i: d.categorical(s, weights, index=i))
        else:
            which = self._filled("choice", size, np.int64, lambda d, s, i: d.randint(s, number, index=i))
        chosen = np.asarray(np.take(pool, which, axis=axis))
        if size is not None:
            return chosen
        return chosen[()] if np.ndim(a) else int(chosen)

    def permutation(self, x: Any, axis: int = 0) -> np.ndarray:
        """A copy of an array [n, ...] in another order along ``axis``, of its dtype; for an int 0..x-1, int64 [x]."""
        pool, axis = _pool(x, axis)
        return np.take(pool, self._order("permutation", pool.shape[axis]), axis=axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """An array or a list, in place, in another order along ``axis``."""
        if isinstance(x, np.ndarray):
            x[...] = np.take(x, self._order("shuffle", x.shape[axis]), axis=axis)
        elif axis:
            raise NotImplementedError("Axis argument is only supported on ndarray objects")
        else:
            ordered = [x[place] for place in self._order("shuffle", len(x)).tolist()]
            for place, value in enumerate(ordered):  # a deque has no slices
                x[place] = value

    def __getattribute__(self, name: str) -> Any:
        if name in REFUSED:
            raise DrawError(
                f"np_random.{name}: expected one of {SUPPORTED}: it has no construction in the randomness contract "
                "(docs/adopting.md tells which have)"
            )
        return super().__getattribute__(name)

    def _order(self, call: str, number: int) -> np.ndarray:
        """``permutation(number)``: int64 [number]."""
        if not number:
            return np.zeros(0, np.int64)
        draw, slot, index = self._next(call, number)
        return draw.permutation(slot, number, index=index).astype(np.int64)

    def _filled(self, call: str, size: Size, dtype: Any, one: Callable[[Draw, int, int], Any]) -> Any:
        """What ``one(draw, slot, index)`` gives: a NumPy scalar, or ``[*size]`` of the dtype."""
        if size is None:
            return np.dtype(dtype).type(one(*self._next(call, 1)))
        shape = _shape(size)
        count = math.prod(shape)
        draw, slot, first = self._next(call, count) if count else (None, 0, 0)
        return np.array([one(draw, slot, first + k) for k in range(count)], dtype).reshape(shape)  # type: ignore[arg-type]

    def _next(self, call: str, count: int) -> tuple[Draw, int, int]:
        """The slot of the next call, and the index of the first of its ``count`` elements."""
        if self._draw is None:
            raise DrawError(f"np_random.{call}: expected draws within a reset or a step only")
        if not self._slots:
            raise DrawError(f"np_random.{call}: a {self._phase} draws, but no {self._phase} slot is declared for it")
        number, last = self._calls, len(self._slots) - 1
        self._calls += 1
        if number < last:
            return self._draw, self._slots[number], 0
        index, self._index = self._index, self._index + count
        return self._draw, self._slots[last], index

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyedGenerator, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> KeyedGenerator:
        return KeyedGenerator()


class _Drawing:
    """Opens a generator for the draws of one reset or step, and closes it."""

    __slots__ = ("_generator", "_opened")

    def __init__(self, generator: KeyedGenerator, draw: Draw, slots: list[int], phase: str) -> None:
        self._generator, self._opened = generator, (draw, slots, phase)

    def __enter__(self) -> None:
        generator = self._generator
        generator._draw, generator._slots, generator._phase = self._opened
        generator._calls = generator._index = 0

    def __exit__(self, *error: object) -> None:
        self._generator._draw = None


def _shape(size: Any) -> tuple[int, ...]:
    shape = tuple(map(operator.index, (size,) if np.ndim(size) == 0 else size))
    if any(one < 0 for one in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def _pool(a: Any, axis: int) -> tuple[np.ndarray, int]:
    """What is chosen from, and its axis: 0..a-1 for an int."""
    pool = np.asarray(a)
    if pool.ndim:
        return pool, axis
    if pool.dtype.kind not in "iu":
        raise ValueError(f"a must be a sequence or an integer, not {type(a)}")
    return np.arange(int(pool)), 0


def _check_bounds(least: np.ndarray, greatest: np.ndarray, dtype: np.dtype[Any]) -> None:
    """Raises TypeError for no dtype of integers, ValueError where it does not hold both."""
    if dtype.kind not in "biu":
        raise TypeError(f"Unsupported dtype {dtype!r} for integers")
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for name, wrong in (("low", (least < low).any()), ("high", (greatest > high).any())):
        if wrong:
            raise ValueError(f"{name} is out of bounds for {dtype.name}")


def _broadcast(size: Size, *bounds: np.ndarray) -> tuple[int, ...]:
    """The shape of what is drawn: ``size``, which the bounds must fit; else that of the bounds together."""
    together = np.broadcast_shapes(*(bound.shape for bound in bounds))
    if size is None:
        return together
    if np.broadcast_shapes(together, _shape(size)) != _shape(size):
        raise ValueError(f"Output size {_shape(size)} is not compatible with broadcast dimensions of inputs {together}")
    return _shape(size)


REFUSED = frozenset(name for name in dir(np.random.Generator) if name[0] != "_") - set(vars(KeyedGenerator))
