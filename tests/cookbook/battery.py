"""Each check that the page names as a trap's finder finds it: run by hand, ``pytest tests/cookbook/battery.py``.

The idiom is an environment of its own then, its fast side the trap's. It takes minutes, for it is a piece of the
battery for each of them. With the right form in its place the same checks pass.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from simulacrum.harness import checks
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check

from .cases import CASES
from .page import IDIOMS
from .whole import write_whole

SIZES = {1: (1, 60), 6: (6, 60), 65: (17, 30)}
PROFILE = replace(QUICK, seed=3, sizes=SIZES, transitions=6000, independence=(64, 20))
SELDOM = {"a_categorical_draw"}  # traps whose input no run is likely to meet
CLAIMS = [
    (idiom, name)
    for idiom in IDIOMS.values()
    for name in re.findall(r"`(\w+)`", idiom.prose.split("**Trap.**")[1])
    if name in checks.NAMES
]


def test_every_trap_has_a_check_that_finds_it():
    named = {idiom.name for idiom, _ in CLAIMS}
    raises = {name for name, case in CASES.items() if case.trap.raises}  # in every check
    assert IDIOMS.keys() - named == SELDOM | raises


@pytest.mark.parametrize(("idiom", "name"), CLAIMS, ids=[f"{idiom.name}-{name}" for idiom, name in CLAIMS])
def test_the_check_finds_the_trap(tmp_path, idiom, name):
    assert run_check(name, write_whole(tmp_path / "wrong", idiom, wrong=True), PROFILE).outcome == "failed"
    assert run_check(name, write_whole(tmp_path / "right", idiom, wrong=False), PROFILE).outcome == "passed"
