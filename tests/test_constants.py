"""The check of constants: a number that is written in place of one is found, on one side and on both."""

from dataclasses import replace
from pathlib import Path

import pytest
from edited import edited
from environments import FORAGER, TOYWALK

import simulacrum
from simulacrum.harness.checks.constants import Constant, numbers
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

TEMPLATE = Path(simulacrum.__file__).parent / "templates" / "package"


def checked(package):
    """The result of the check on a package."""
    return run_check("constants", package, replace(QUICK, seed=3))


def messages(package):
    """The findings' messages."""
    result = checked(package)
    assert result.outcome == "failed"
    return [finding.message for finding in result.findings]


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, Package.read(TEMPLATE)], ids=lambda package: package.name)
def test_the_examples_and_the_template_pass(package):
    result = checked(package)
    assert (result.outcome, result.findings) == ("passed", [])
    changed = [note for note in result.notes if note.startswith("kernel: constant ")]
    assert len(changed) == len(result.notes) == len(package.forms) - 1
    assert result.counts["values tried"] >= len(list(numbers(package.spec.constants)))


def test_numbers_and_elements_of_lists_are_changed():
    constants = {"N": 3, "ON": True, "P": 0.5, "GAINS": [1.0, 0.0], "NAME": "x"}
    found = list(numbers(constants))
    assert [one.label for one in found] == ["N", "P", "GAINS[0]", "GAINS[1]"]
    assert [one.candidates() for one in found] == [[2, 4], [0.375, 0.625], [0.75, 1.25], [0.25, -0.25]]
    changed = Constant("GAINS", 1, 0.15).changed(FORAGER, 0.5)
    assert changed.module().GAINS == changed.spec.constants["GAINS"] == [0.1, 0.5, 0.3]


# ---------------------------------------------------------------------- faults


def test_a_number_that_one_side_writes_is_found(tmp_path):
    (found,) = messages(edited(tmp_path, "toywalk", ("fast.py", "self.float32(GOAL_REWARD)", "self.float32(10.0)")))
    assert found.startswith("constant GOAL_REWARD: with 7.5 in place of 10.0 the two sides differ: reward in row ")
    assert "reference.py 7.5, fast.py 10." in found
    assert found.endswith("fast.py shows what it showed before: is the number written there?")


def test_a_number_in_one_of_several_places_is_found(tmp_path):
    change = (
        "reference.py",
        "if position < -L:\n            position = -L",
        "if position < -5:\n            position = -5",
    )
    (found,) = messages(edited(tmp_path, "toywalk", change))
    assert found.startswith("constant L: with 4 in place of 5 the two sides differ: ")
    assert "is the number written there" not in found  # reference.py follows in other places


def test_a_number_that_both_sides_write_is_found(tmp_path):
    changes = [(name, "Slots.SLIP, SLIP_P", "Slots.SLIP, 0.1") for name in ("reference.py", "fast.py")]
    (found,) = messages(edited(tmp_path, "toywalk", *changes))
    assert found.startswith(
        "constant SLIP_P: with 0.07500000000000001 or 0.125 in place of 0.1 nothing changes in reference.py and fast.py"
    )
    assert "EXCUSES = {'constant SLIP_P': 'why'}" in found


def test_an_element_that_both_sides_write_is_found(tmp_path):
    changes = ("reference.py", "for gain in GAINS]", "for gain in [0.1, 0.15, GAINS[2]]]")
    other = ("fast.py", "enumerate(GAINS[:-1])", "enumerate([0.1, 0.15])")
    found = messages(edited(tmp_path, "forager", changes, other))
    assert [message.split(":")[0] for message in found] == ["constant GAINS[0]", "constant GAINS[1]"]


def test_a_declaration_that_does_not_follow_is_found(tmp_path):
    (found,) = messages(
        edited(tmp_path, "toywalk", ("__init__.py", "max_episode_steps=MAX_STEPS", "max_episode_steps=60"))
    )
    assert found == "constant MAX_STEPS: with 59 in place of 60, max_episode_steps is 59 by spec.md, 60 by __init__.py"


def test_a_bound_that_does_not_follow_is_found(tmp_path):
    found = messages(edited(tmp_path, "forager", ("__init__.py", "START_ENERGY + N_BERRIES * 0.3125", "2.875")))
    assert [message.split(":")[0] for message in found] == ["constant N_BERRIES", "constant START_ENERGY"]
    assert "observation_space is Box(" in found[0]


def test_sides_that_differ_with_the_constants_as_they_are_are_told_with_a_case(tmp_path):
    package = edited(tmp_path, "toywalk", ("fast.py", "self.float32(GOAL_REWARD)", "self.float32(9.0)"))
    (found,) = checked(package).findings
    assert found.message.startswith("the two sides differ with the constants as they are: reward in row ")
    assert (found.steps, found.rows) == (1, 1)


# ---------------------------------------------------------------------- what rightly changes nothing


UNUSED = (
    ("__init__.py", "SLIP_P = 0.1\n", "SLIP_P = 0.1\nWIDTH = 3\n"),
    ("spec.md", "| START_RANGE | 2 |", "| WIDTH | 3 | no | of a cell on the screen |\n| START_RANGE | 2 |"),
)


def excusing(name, reason):
    """A change that adds an excuse to toywalk's checks."""
    return "checks.py", "MIN_SPEEDUP = 5.0", f"MIN_SPEEDUP = 5.0\n\nEXCUSES = {{{name!r}: {reason!r}}}"


def test_a_constant_that_no_rule_uses_is_found_unless_it_is_excused(tmp_path):
    (found,) = messages(edited(tmp_path, "toywalk", *UNUSED))
    assert found.startswith("constant WIDTH: with 2 or 4 in place of 3 nothing changes in reference.py and fast.py")
    excused = edited(tmp_path / "excused", "toywalk", *UNUSED, excusing("constant WIDTH", "pictures alone use it"))
    result = checked(excused)
    assert result.outcome == "passed"
    assert result.notes == ["excused: WIDTH: pictures alone use it"]


def test_an_excuse_that_nothing_needs_is_a_finding(tmp_path):
    (found,) = messages(edited(tmp_path, "toywalk", excusing("constant SLIP_P", "why")))
    assert found == "EXCUSES['constant SLIP_P'] in checks.py excuses nothing: remove it"


def test_the_next_value_is_tried_where_one_does_not_run(tmp_path):
    one = edited(tmp_path, "toywalk", ("__init__.py", "class Slots", "assert GOAL_REWARD >= 10\n\n\nclass Slots"))
    assert checked(one).outcome == "passed"
    none = edited(tmp_path / "none", "toywalk", ("__init__.py", "class Slots", "assert L == 5\n\n\nclass Slots"))
    (found,) = messages(none)
    assert found.startswith("constant L: no other value runs (4: PackageError: importing ")


def test_a_constant_that_is_computed_is_changed_through_others_alone(tmp_path):
    computed = ("__init__.py", "SLIP_P = 0.1\n", "SLIP_P = 0.1\nCELLS = 2 * L + 1\n")
    row = ("spec.md", "| SLIP_P | 0.1 |", "| CELLS | 2 * L + 1 | no | |\n| SLIP_P | 0.1 |")
    result = checked(edited(tmp_path, "toywalk", computed, row))
    assert result.outcome == "passed"
    assert result.notes[0].startswith("constant CELLS is not changed: constant CELLS: expected CELLS = a plain literal")
    typed = (computed[0], computed[1], computed[2].replace("2 * L + 1", "11"))
    found = messages(edited(tmp_path / "typed", "toywalk", typed, row))
    assert found[0] == "constant L: with 4 in place of 5, CELLS is 9 by spec.md, 11 by __init__.py"


def test_without_constants_there_is_nothing_to_change(tmp_path):
    package = edited(tmp_path, "toywalk")
    package.spec.__dict__["constants"] = {"NAME": "x"}
    result = checked(package)
    assert (result.outcome, result.notes) == ("not_applicable", ["spec.md has no numeric constants"])
