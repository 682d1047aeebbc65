"""The patterns that divergences follow: each gives one sentence, the likely cause and what to look at, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import bits
from .playback import AFTER_STEP, Divergence
from .records import OUTCOME, Record

ULPS = 64  # floats that differ by no more than so many units in the last place are a matter of rounding
WRONG_SHAPE = re.compile(r"\(here N = (\d+)\), got \S+ \[(\d+), (\d+)")


@dataclass(frozen=True)
class Evidence:
    """One row's side of a divergence; records are [1, ...], empty where they are not known.

    Attributes:
        divergence: the difference.
        before: what was shown before the call.
        reference, fast: what both sides showed at the difference; ``later_reference``: one moment later.
        shifted: the reference's observation of the same state with ``t`` one less and one more.
        constants: the spec's constants by name.
        draws: by side, the outcomes by (slot's name, index).
        masked: whether the row was to be reset; None where that was not asked.
        rows: the fewest rows of a batch that show it.
    """

    divergence: Divergence
    before: Record = field(default_factory=dict)
    reference: Record = field(default_factory=dict)
    fast: Record = field(default_factory=dict)
    later_reference: Record = field(default_factory=dict)
    shifted: Mapping[int, Record] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    draws: Mapping[str, Mapping[tuple[str, int], Any]] = field(default_factory=dict)
    masked: bool | None = None
    rows: int = 1


def told(seen: Evidence) -> str:
    """The sentence of the first pattern that is recognised; empty where none is."""
    return next(filter(None, (pattern(seen) for pattern in PATTERNS)), "")


def broadcast(seen: Evidence) -> str:
    """An OutputError of the shape [N, N] or [N, 1]."""
    shape = WRONG_SHAPE.search(seen.divergence.error)
    if seen.divergence.kind != "raised" or shape is None:
        return ""
    rows, first, second = map(int, shape.groups())
    if second not in (rows, 1) or first != rows:
        return ""
    return (
        f"fast.py made [N, {'N' if second == rows and rows > 1 else 1}] of [N]: a [N, 1] met a [N] and broadcast; look "
        "for a missing squeeze(-1), an unsqueeze too many, or keepdim=True."
    )


def aliasing(seen: Evidence) -> str:
    """A tensor that was written after it had been returned, or the action."""
    if seen.divergence.kind != "written":
        return ""
    if seen.divergence.field == "action":
        return "fast.py writes into the action that it was given; look for an in-place operation on it (x_(), +=)."
    return (
        f"aliasing: a returned {seen.divergence.field} shares memory with a tensor that a later step writes; look for "
        "in-place operations (x_(), +=, out=, x[...] = ) on buffers that are kept, and make new tensors instead."
    )


def law(seen: Evidence) -> str:
    """A law that does not hold where both sides agree."""
    if seen.divergence.kind != "law" or not seen.reference:
        return ""
    if all(name in seen.fast and bits.same(seen.fast[name], seen.reference[name]) for name in seen.reference):
        return "both sides agree on this state: the law is not what the spec means, or both misread the same rule."
    return ""


def batch(seen: Evidence) -> str:
    """What a row shows in a batch alone."""
    if seen.rows == 1 or seen.divergence.kind != "values":
        return ""
    return (
        f"alone the row agrees, in a batch of {seen.rows} rows it differs; look for a reduction over the batch (a sum, "
        "max, any or cumsum without dim=-1), a broadcast, a row's number, and a branch on the number of rows."
    )


def flags_swapped(seen: Evidence) -> str:
    """Terminated and truncated exchanged."""
    flags = ("terminated", "truncated")
    if not all(name in seen.fast for name in flags):
        return ""
    one, other = ([bool(record[name][0]) for name in flags] for record in (seen.reference, seen.fast))
    if one[0] != one[1] and one == other[::-1]:
        return "terminated and truncated are exchanged in fast.py; look at which of them each end of an episode sets."
    return ""


def terminal_replaced(seen: Evidence) -> str:
    """The terminal observation is the next episode's first one."""
    name = seen.divergence.field
    if seen.divergence.when != AFTER_STEP or not name.startswith("observation") or name not in seen.later_reference:
        return ""
    ended = seen.reference["terminated"][0] or seen.reference["truncated"][0]
    if ended and bits.same(seen.fast[name], seen.later_reference[name]):
        return (
            "the terminal observation was replaced by the next episode's first one; a step must show the state that it "
            "led to, so look for a reset before the observation is taken."
        )
    return ""


def mask_inverted(seen: Evidence) -> str:
    """A row that was to be reset was not, or the other way round."""
    if seen.masked is None or not {"clock.episode", "clock.t"} <= seen.fast.keys() & seen.before.keys():
        return ""
    names = [name for name in seen.fast if name.startswith(("state.", "clock.")) and name in seen.before]
    stayed = all(bits.same(seen.fast[name], seen.before[name]) for name in names)
    advanced = bool(seen.fast["clock.episode"][0] == seen.before["clock.episode"][0] + 1)
    if seen.masked and stayed:
        return "a row that was to be reset was not: the reset mask is inverted, dropped, or of another row."
    if not seen.masked and advanced:
        return "a row that was not to be reset was: the reset mask is inverted, dropped, or reduced over the batch."
    return ""


def stale(seen: Evidence) -> str:
    """A reset, or a step, that shows what was there before it."""
    name = seen.divergence.field
    if name not in seen.before or name not in seen.fast or not bits.same(seen.fast[name], seen.before[name]):
        return ""
    if name.startswith("observation"):
        return "the observation is that from before the call; look for it being taken too early."
    if seen.masked:
        return f"a reset leaves {name} as it was before; look at what fast.py's initial returns for it."
    return ""


def other_draw(seen: Evidence) -> str:
    """The fast side drew something else at the same slot and index, or at other slots and indices."""
    reference, fast = (seen.draws.get(side, {}) for side in ("reference", "fast"))
    if not reference or not fast:
        return ""
    for slot, index in sorted(reference.keys() & fast.keys()):
        if reference[slot, index] != fast[slot, index]:
            return (
                f"fast.py's draw of {slot} at index {index} has another outcome than the reference's; look at its "
                "arguments, at the step counter (before the transition, 0 in a reset) and at the keys."
            )
    drawn, wanted = ({slot for slot, _ in draws} for draws in (fast, reference))
    if drawn != wanted:
        return f"fast.py draws {sorted(drawn)}, the reference {sorted(wanted)}; look at the slots that both name."
    return ""


def missing_index(seen: Evidence) -> str:
    """The elements of an array that is drawn are all equal on the fast side, and differ on the reference's."""
    one, other = _values(seen)
    if one is None or other is None or one.size < 2 or one.dtype.kind == "b":
        return ""
    if not seen.divergence.field.startswith("state."):
        return ""
    if len(np.unique(bits.raw(other))) == 1 and len(np.unique(bits.raw(one))) > 1:
        return (
            f"the elements of {seen.divergence.field} are all equal in fast.py: one draw stands for all; look for a "
            "draw without its index, or without shape=(K,)."
        )
    return ""


def counter(seen: Evidence) -> str:
    """The fast observation is the reference's of the same state at the counter before, or after."""
    name = seen.divergence.field
    for shift, record in seen.shifted.items():
        if name in record and name in seen.fast and bits.same(record[name], seen.fast[name]):
            which = "before the step, t - 1" if shift < 0 else "one step ahead, t + 1"
            return f"the observation is that of the step counter {which}; look at which t fast.py's observation takes."
    return ""


def clock(seen: Evidence) -> str:
    """A seed, an episode or a step counter that goes otherwise."""
    if not seen.divergence.field.startswith("clock."):
        return ""
    return "the clock is kept by the base class; look for a method of it that fast.py overrides."


def form(seen: Evidence) -> str:
    """Another dtype or shape."""
    texts = seen.divergence.reference, seen.divergence.fast
    if not all(isinstance(text, str) and re.match(r"\w+ \[", text) for text in texts):
        return ""
    if "float64" in texts[1]:
        return (
            "float64 has crept in; look for a constant or an array in float64 that meets float32, and use self.float32."
        )
    return f"fast.py gives {texts[1]} where {texts[0]} is due; look at the dtypes of operands and at reductions."


def sign_of_zero(seen: Evidence) -> str:
    """Equal numbers, other bits."""
    one, other = _values(seen)
    if one is None or other is None or one.dtype.kind != "f" or not np.array_equal(one, other):
        return ""
    return "only the sign of a zero differs; look for clamp, minimum, maximum or a negation at +-0."


def last_bits(seen: Evidence) -> str:
    """Floats that differ in the last few units."""
    one, other = _values(seen)
    if one is None or other is None or one.dtype.kind != "f":
        return ""
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return ""
    far = ulps(one, other)
    if not 0 < far <= ULPS:
        return ""
    return (
        f"the values differ by {far} unit{'s' if far > 1 else ''} in the last place, a matter of rounding; look for "
        "another order of a sum, an intermediate in float64, a library function (sqrt, exp, sin, pow), a reduction "
        "(sum, mean), or a division that became a multiplication."
    )


def constant_off(seen: Evidence) -> str:
    """The values differ by one, by a constant, or by their sign."""
    one, other = _values(seen)
    if one is None or other is None or one.dtype.kind not in "iuf" or not (np.isfinite(one) & np.isfinite(other)).all():
        return ""
    apart = np.unique((other.astype(np.float64) - one.astype(np.float64))[one != other])
    if len(apart) != 1:
        return ""
    if np.array_equal(one, -other.astype(np.float64)):
        return f"{seen.divergence.field} has the other sign in fast.py."
    if abs(apart[0]) == 1 and one.dtype.kind in "iu":
        return "fast.py is off by one: look at < against <=, at the bounds of a clamp, and at which counter is meant."
    meant = one.dtype.kind == "f" and not seen.divergence.field.startswith("observation")
    near = _of_that_size(seen.constants, abs(apart[0])) if meant else []
    which = f", the size of {' and of '.join(near)}" if near else ""
    return f"fast.py is off by {apart[0]:.6g}{which}; look at the constants that are added, dropped or compared there."


def _of_that_size(constants: Mapping[str, Any], size: float) -> list[str]:
    """The names of the constants that are, or that hold, this number or its negative."""
    numbers = {name: np.abs(np.ravel(value)) for name, value in constants.items()}
    return [name for name, value in numbers.items() if (np.abs(size - value) <= 1e-6 * value).any()]


def ended_otherwise(seen: Evidence) -> str:
    """A flag that one side alone sets."""
    name = seen.divergence.field
    if name not in OUTCOME[1:]:
        return ""
    who = "fast.py goes on with an episode that the reference ends"
    if name == "died":
        return "the two sides do not agree on who died: look at < against <=, and at the order in which agents move."
    if bool(seen.divergence.fast):
        who = "fast.py ends an episode that the reference goes on with"
    return f"{who} ({name}); look at < against <=, at a cause that is dropped, and at the state that it is asked of."


def _values(seen: Evidence) -> tuple[Any, Any]:
    """Both values as arrays of one dtype and shape; None where they are not."""
    found = seen.divergence
    if found.kind != "values" or isinstance(found.reference, str):
        return None, None
    one, other = np.asarray(found.reference), np.asarray(found.fast)
    return (one, other) if one.dtype == other.dtype and one.shape == other.shape else (None, None)


def ulps(one: np.ndarray, other: np.ndarray) -> int:
    """The greatest distance of two arrays of finite floats, in units in the last place."""
    ordered = []
    for values in (one, other):
        words = [int(word) for word in np.atleast_1d(bits.raw(values)).ravel()]
        top = 1 << (8 * values.dtype.itemsize - 1)
        ordered.append([-(word - top) if word >= top else word for word in words])
    return max(abs(first - second) for first, second in zip(*ordered, strict=True))


PATTERNS: tuple[Callable[[Evidence], str], ...] = (
    broadcast,
    aliasing,
    law,
    form,
    mask_inverted,
    batch,
    flags_swapped,
    terminal_replaced,
    clock,
    stale,
    missing_index,
    other_draw,
    counter,
    sign_of_zero,
    last_bits,
    ended_otherwise,
    constant_off,
)
