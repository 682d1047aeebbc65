"""The rules of the spec that the sources name where they set a field."""

from __future__ import annotations

import pytest
from edited import ENVS

from simulacrum.harness.rules import rules
from simulacrum.spec import Package

FORAGER, TOYWALK = (Package.read(ENVS / name) for name in ("forager", "toywalk"))


@pytest.mark.parametrize(
    ("field", "section", "numbers"),
    [
        ("state.x", "transition", [2]),
        ("state.berry_live", "transition", [3]),
        ("state.energy", "transition", [4]),
        ("reward", "transition", [5]),
        ("state.x", "reset", [1]),
        ("state.berry_x", "reset", [2]),
        ("state.energy", "reset", [3]),
        ("observation", "transition", []),
        ("clock.t", "transition", []),
    ],
)
def test_the_rules_of_a_field(field: str, section: str, numbers: list[int]) -> None:
    found = rules(FORAGER, field, section)
    assert [int(rule.split(":")[0].split()[1]) for rule in found if rule.startswith(f"{section} ")] == numbers


def test_a_rule_is_the_spec_s_text_on_one_line() -> None:
    (rule,) = rules(TOYWALK, "state.position", "transition")
    assert rule.startswith("transition 2: Move and clamp. `position = position + step`; below `-L`")
    assert rule.endswith("so the upper clamp never binds in an episode.")


def test_several_rules_in_one_comment() -> None:
    assert [rule[:13] for rule in rules(TOYWALK, "reward", "transition")] == ["transition 3:", "transition 4:"]


def test_without_a_comment_there_is_nothing_to_tell() -> None:
    files = {name: FORAGER.files[name].replace(b"# spec, transition", b"# transition") for name in FORAGER.files}
    assert rules(Package(FORAGER.path, files), "reward", "transition") == []


def test_a_field_that_is_added_to_is_set() -> None:
    before = b"energy = (state.energy - STEP_COST_FLOAT) + gained"
    added = b"energy = state.energy\n        energy += gained - STEP_COST_FLOAT"
    assert before in FORAGER.files["reference.py"]
    files = {**FORAGER.files, "reference.py": FORAGER.files["reference.py"].replace(before, added)}
    files["fast.py"] = b""
    assert [rule[:13] for rule in rules(Package(FORAGER.path, files), "state.energy", "transition")] == [
        "transition 4:"
    ]
