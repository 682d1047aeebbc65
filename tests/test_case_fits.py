"""A case is held against the package that it is replayed on, before anything of it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from environments import ENVS

from simulacrum.errors import PackageError
from simulacrum.harness.case import Case
from simulacrum.harness.case_fits import check_fit
from simulacrum.spec import Package

TOYWALK = Package.read(ENVS / "toywalk")
COURIER = Package.read(ENVS.parent / "tests" / "packages" / "courier")


def case(position: Any = (1, -5), t: Any = (3, 0), actions: Any = ((0, 1),), **parts: Any) -> Case:
    """One step of two of toywalk's rows."""
    starts = {
        "state.position": np.array(position, np.int32) if isinstance(position, tuple) else position,
        "clock.seed": np.array([1, 2], np.uint64),
        "clock.episode": np.array([0, 2**32 - 1]),
        "clock.t": np.array(t),
    }
    return Case(**{"starts": starts, "actions": np.array(actions, np.int64), **parts})


def test_what_a_check_may_write_fits() -> None:
    check_fit(TOYWALK, case())
    check_fit(TOYWALK, case(t=(60, 0), options={"device": "cpu", "resets": "masked", "compile": True}))
    check_fit(TOYWALK, Case(seeds=np.array([2**64 - 1], np.uint64)))
    for small in TOYWALK.spec.small_worlds:
        check_fit(TOYWALK, Case(seeds=np.array([1], np.uint64), constants=small.constants))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position": (1, 99)}, r"state\.position: expected values in -5 \.\. 5, got 99 in row 1"),
        ({"position": np.array([1, 2])}, r"state\.position: expected int32 \[2\], got int64 \[2\]"),
        ({"position": np.array([[1], [2]], np.int32)}, r"expected int32 \[2\], got int32 \[2, 1\]"),
        ({"t": (61, 0)}, r"clock\.t: expected values in 0 \.\. 60, got 61 in row 0"),
        ({"actions": ((0, 1), (0, 9))}, r"case\.actions, step 2: .*Discrete\(2\), got 9 in row 1"),
        ({"actions": (((0,), (1,)),)}, r"case\.actions: expected int64 \[1, 2\], got int64 \[1, 2, 1\]"),
        ({"constants": {"L": 10**30}}, r"case\.constants: expected those of a small world"),
        ({"constants": {"nothing": 1}}, r"case\.constants: expected those of a small world"),
        ({"options": {"device": "nowhere"}}, "device 'nowhere': expected one that torch can use here"),
        ({"options": {"device": "meta"}}, "device 'meta': expected one that torch can use here"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PackageError, match=message) as raised:
        check_fit(TOYWALK, case(**changes))
    assert f"simulacrum validate {TOYWALK.path}" in str(raised.value)


@pytest.mark.parametrize("speed", [np.nan, np.inf])
def test_a_nan_lies_in_no_bounds(speed: float) -> None:
    starts = {
        f"state.{name}": np.zeros((1, *field.shape), field.dtype)
        for name, field in COURIER.spec.fields.items()
        if name != "t"
    }
    clock = {"clock.seed": np.zeros(1, np.uint64), "clock.episode": np.zeros(1, np.int64)}
    starts |= {**clock, "clock.t": np.zeros(1, np.int64)}
    check_fit(COURIER, Case(starts=starts))
    with pytest.raises(PackageError, match=r"state\.speed: expected values in"):
        check_fit(COURIER, Case(starts={**starts, "state.speed": np.array([speed], np.float32)}))
