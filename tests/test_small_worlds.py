"""The check of small worlds: what it finds, what it says, and where it does not apply."""

from dataclasses import replace
from pathlib import Path

import pytest
from edited import edited
from environments import FORAGER, TOYWALK

import simulacrum
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

TEMPLATE = Path(simulacrum.__file__).parent / "templates" / "package"
TABLE = "| small world | constants | returns | meaning |\n|---|---|---|---|\n"
WHOLE = "| `whole` | - | uniform = [-33.170631, 26.404404] | the environment as it is |\n"


def checked(package):
    """The result of the check on a package."""
    return run_check("small_worlds", package, replace(QUICK, seed=3))


def messages(package):
    """The findings' messages."""
    result = checked(package)
    assert result.outcome == "failed"
    return [finding.message for finding in result.findings]


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, Package.read(TEMPLATE)], ids=lambda package: package.name)
def test_the_examples_and_the_template_pass(package):
    result = checked(package)
    assert (result.outcome, result.findings) == ("passed", [])
    worlds = result.facts["worlds"]
    assert worlds.keys() == {small.name for small in package.spec.small_worlds}
    assert all(world["exhaustive"] for world in worlds.values())
    assert sum(world["transitions"] for world in worlds.values()) == result.counts["transitions"]
    assert result.counts["exact figures compared"] >= 4
    assert result.counts["truncations"] > 0
    assert result.counts["terminations"] > 0


def test_a_world_as_it_is_is_judged_by_the_policy_table():
    right = checked(TOYWALK).facts["worlds"]["whole"]["returns"]["always_right"]
    assert right == pytest.approx((4.750048, 2.576708), abs=1e-6)


# ---------------------------------------------------------------------- faults


def test_one_side_wrong_in_a_rare_state_is_found(tmp_path):
    rare = "reward = torch.where(at_goal, "
    package = edited(
        tmp_path, "toywalk", ("fast.py", rare, "reward = torch.where(at_goal & ((state.t != 58) | (action != 0)), ")
    )
    result = checked(package)
    (found,) = result.findings
    assert (found.message, found.field) == ("the two sides differ after a step", "reward")
    assert (found.step, found.action) == (58, "0")
    assert "position = 4; t = 58, with the draws {'SLIP': [True]}" in found.setting


def test_a_misreading_that_both_sides_share_is_found_by_the_exact_return(tmp_path):
    fast = next(line.strip() for line in TOYWALK.files["fast.py"].decode().splitlines() if "torch.clamp(" in line)
    package = edited(
        tmp_path,
        "toywalk",
        ("reference.py", "            position = -L\n", "            position = 1 - L\n"),
        ("fast.py", fast, f"{fast}\n        position = torch.where(state.position + step < -L, 1 - L, position)"),
    )
    found = messages(package)
    start = "the environment as it is, policy always_right: by spec.md the return has the mean 4.750048, by both sides'"
    assert found[0].startswith(start)
    assert "they misread the spec alike, or its figure is wrong" in found[0]


def test_a_misreading_in_a_shrunken_world_is_found(tmp_path):
    cost = "REWARD_SCALE_FLOAT * gained - REWARD_COST_FLOAT"
    other = "self.float32(REWARD_SCALE) * gained - self.float32(REWARD_COST)"
    changes = ("reference.py", cost, f"({cost}) * np.float32(0.999)"), ("fast.py", other, f"({other}) * 0.999")
    found = messages(edited(tmp_path, "forager", *changes))
    assert len(found) == 30  # two figures of three policies in five worlds
    assert found[0].startswith(
        "small world 'two berries', GRID = 2, N_BERRIES = 2, MAX_STEPS = 3, policy always_north:"
    )


def test_a_wrong_figure_is_found(tmp_path):
    package = edited(tmp_path, "toywalk", ("spec.md", "[5.366300, 5.023716]", "[5.366300, 5.023816]"))
    (found,) = messages(package)
    assert "policy always_right: by spec.md the return has the standard deviation 5.023816" in found


# ---------------------------------------------------------------------- what is declared


def test_without_a_table_the_environment_as_it_is_is_tried(tmp_path):
    text = TOYWALK.files["spec.md"].decode()
    table = text[text.index(TABLE) : text.index("## Worked examples")]
    result = checked(edited(tmp_path, "toywalk", ("spec.md", table, "")))
    assert result.outcome == "passed"
    assert result.facts["worlds"]["whole"]["transitions"] == 2364


def test_without_a_table_what_is_large_is_not_applicable_and_says_how(tmp_path):
    text = TOYWALK.files["spec.md"].decode()
    table = text[text.index(TABLE) : text.index("## Worked examples")]
    package = edited(tmp_path, "toywalk", ("spec.md", table, "")).with_constants({"L": 1000})
    result = checked(package)
    assert result.outcome == "not_applicable"
    (note,) = result.notes
    assert "may have 488244 states x actions x outcomes, of which 200000 are compared at most" in note
    assert "declare a smaller one in spec.md: | small world | constants | returns | meaning |" in note


def test_without_a_table_floats_are_not_applicable(tmp_path):
    text = FORAGER.files["spec.md"].decode()
    table = text[text.index(TABLE) : text.index("## Worked examples")]
    result = checked(edited(tmp_path, "forager", ("spec.md", table, "")))
    assert result.outcome == "not_applicable"
    assert "a state field is a float or has no bound" in result.notes[0]


def test_a_world_that_is_too_large_is_a_finding_that_says_so(tmp_path):
    rows = FORAGER.files["spec.md"].decode().partition(TABLE)[2].partition("\n\n")[0]
    package = edited(tmp_path, "forager", ("spec.md", rows, "| `large` | GRID = 4 | - | |"))
    (found,) = messages(package)
    assert found.startswith("small world 'large', GRID = 4: ")
    assert "outcomes of the reset draws, 200000 at most are enumerated; declare a smaller one in spec.md" in found


def test_a_world_that_does_not_load_hides_no_other(tmp_path):
    package = edited(tmp_path, "toywalk", ("spec.md", WHOLE, WHOLE + "| `none` | MAX_STEPS = 0 | - | |\n"))
    (found,) = messages(package)
    assert found.startswith("small world 'none', MAX_STEPS = 0: max_episode_steps: expected None or an int")
    assert "a short walk" in checked(package).facts["worlds"]


def test_edges_in_place_of_all_outcomes_are_noted(tmp_path):
    old = "draw.bernoulli(Slots.SLIP, SLIP_P)"
    package = edited(
        tmp_path,
        "toywalk",
        ("spec.md", "bernoulli(SLIP_P)", "uniform()"),
        ("reference.py", old, "draw.uniform(Slots.SLIP) < 0.75"),
        ("fast.py", old, "(draw.uniform(Slots.SLIP) < 0.75)"),
    )
    result = checked(package)
    assert result.outcome == "passed"
    assert result.facts["worlds"]["whole"] == {"states": 591, "transitions": 591 * 6, "exhaustive": False}
    assert result.notes[0].startswith("the environment as it is: edge values stand for floats and words")


def test_without_a_table_a_field_without_a_bound_is_not_applicable(tmp_path):
    text = TOYWALK.files["spec.md"].decode()
    table = text[text.index(TABLE) : text.index("## Worked examples")]
    unbounded = ("spec.md", "| [0, MAX_STEPS] | step counter", "| [0, inf] | step counter")
    assert checked(edited(tmp_path, "toywalk", ("spec.md", table, ""), unbounded)).outcome == "not_applicable"
