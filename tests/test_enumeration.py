"""A small world is visited wholly, once a state, and gives exact returns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edited import edited
from environments import FORAGER, TOYWALK

from simulacrum import ScriptedPolicy
from simulacrum.harness import enumeration
from simulacrum.harness.context import CheckFailed, Context
from simulacrum.harness.enumeration import World
from simulacrum.harness.outcomes import TooLarge
from simulacrum.harness.profile import QUICK


def explored(package, **constants):
    """A world of a package, every state of it visited."""
    world = World(Context("small_worlds", package, QUICK), "the world", constants)
    world.explore()
    return world


WALK = explored(TOYWALK, L=2, START_RANGE=1, MAX_STEPS=3)


def walks(world):
    """The states of each level as sorted positions."""
    return [sorted(level.states["state.position"].tolist()) for level in world.levels]


def test_every_state_is_visited_once():
    assert walks(WALK) == [[-1, 0, 1], [-2, -1, 0, 1], [-2, -1, 0, 1]]
    assert [set(level.states["clock.t"].tolist()) for level in WALK.levels] == [{0}, {1}, {2}]
    assert (WALK.states, WALK.transitions) == (11, 11 * 2 * 2)
    assert WALK.exhaustive
    assert WALK.first.tolist() == pytest.approx([1 / 3] * 3)


def test_every_transition_leads_where_the_rules_say():
    for level, later in zip(WALK.levels, [*WALK.levels[1:], None], strict=True):
        for row in range(len(level.state)):
            position = level.states["state.position"][level.state[row]]
            right = (WALK.actions[level.action[row]] == 1) != bool(WALK.steps.draws[1][level.outcome[row], 0])
            moved = max(position + (1 if right else -1), -2)
            assert level.reward[row] == (10.0 if moved == 2 else -1.0)
            if moved == 2 or later is None:
                assert level.follow[row] == -1
            else:
                assert later.states["state.position"][level.follow[row]] == moved


def test_first_states_that_many_outcomes_lead_to_have_their_probability(tmp_path):
    changes = [(name, ") - START_RANGE", ") // 2 * 2 - START_RANGE") for name in ("fast.py", "reference.py")]
    world = explored(edited(tmp_path, "toywalk", *changes))  # the draws 0 .. 4 lead to -2, -2, 0, 0 and 2
    assert dict(zip(world.levels[0].states["state.position"].tolist(), world.first, strict=True)) == {
        -2: 0.4,
        0: 0.4,
        2: 0.2,
    }


def test_returns_are_exact():
    right, left = TOYWALK.checks.POLICIES
    mean, deviation = WALK.returns(right)
    outcomes = played(1)
    assert mean == pytest.approx(sum(chance * total for chance, total in outcomes), abs=1e-12)
    assert deviation**2 == pytest.approx(sum(chance * (total - mean) ** 2 for chance, total in outcomes), abs=1e-12)
    assert WALK.returns(left)[0] < mean


def played(direction):
    """(probability, return) of every episode of the small walk, played by hand."""
    endings, going = [], [(1 / 3, start, 0.0) for start in (-1, 0, 1)]
    for _ in range(3):
        moved = []
        for chance, position, total in going:
            for share, step in ((0.9, direction), (0.1, -direction)):
                after = max(position + step, -2)
                (endings if after == 2 else moved).append(
                    (chance * share, after, total + (10.0 if after == 2 else -1.0))
                )
        going = moved
    return [(chance, total) for chance, _, total in endings + going]


def test_a_return_without_chance_has_no_deviation():
    world = explored(TOYWALK, L=9, START_RANGE=1, MAX_STEPS=4)
    mean, deviation = world.returns(TOYWALK.checks.POLICIES[1])
    assert (mean, deviation) == (-4.0, 0.0)


def test_the_chunks_are_no_part_of_the_result(monkeypatch):
    whole = explored(FORAGER, GRID=2, N_BERRIES=1, MAX_STEPS=2)
    monkeypatch.setattr(enumeration, "CHUNK", 7)
    parts = explored(FORAGER, GRID=2, N_BERRIES=1, MAX_STEPS=2)
    for one, other in zip(whole.levels, parts.levels, strict=True):
        assert np.array_equal(one.follow, other.follow)
        assert np.array_equal(one.reward, other.reward)


def test_a_world_that_is_too_large_is_told(monkeypatch):
    monkeypatch.setattr(enumeration, "LIMIT", 100)
    with pytest.raises(TooLarge, match=r"more than 100 states x actions x outcomes \(at t = 3\)"):
        explored(TOYWALK)


# ---------------------------------------------------------------------- what is found


def finding(package, **constants):
    """The finding that ends the visit of a world."""
    context = Context("small_worlds", package, QUICK)
    with pytest.raises(CheckFailed):
        World(context, "the world", constants).explore()
    (found,) = context.findings
    return found


GOAL = "at_goal = position == L"


def test_a_difference_names_state_action_draws_and_values(tmp_path):
    found = finding(
        edited(tmp_path, "toywalk", ("fast.py", GOAL, f"{GOAL}\n        at_goal = at_goal & (state.t != 7)"))
    )
    assert found.message == "the two sides differ after a step"
    assert found.setting.startswith("the world, from the state position = 4; t = 7, with the draws {'SLIP': [")
    assert (found.field, found.reference, found.fast, found.step) == ("reward", "10.", "-1.", 7)
    assert found.action in ("0", "1")
    assert (found.steps, found.rows) == (1, 1)  # replayed with a seed that makes these draws


def test_a_difference_in_a_shrunken_world_has_a_case_with_its_constants(tmp_path):
    package = edited(tmp_path, "toywalk", ("fast.py", GOAL, f"{GOAL}\n        at_goal = at_goal & (state.t != 2)"))
    found = finding(package, L=3, START_RANGE=1, MAX_STEPS=4)
    assert (found.field, found.step) == ("reward", 2)
    content = json.loads(Path(found.file).read_text())
    assert content["case"]["constants"] == {"L": 3, "START_RANGE": 1, "MAX_STEPS": 4}


def test_a_difference_of_first_states_is_found(tmp_path):
    found = finding(edited(tmp_path, "toywalk", ("fast.py", "2 * START_RANGE + 1) - START_RANGE", "5) % 4 - 2")))
    assert found.message == "the two sides differ in the first state"
    assert "with the draws {'INIT_POSITION': [4]}" in found.setting


def test_what_the_reference_raises_is_told_with_the_state(tmp_path):
    package = edited(tmp_path, "toywalk", ("reference.py", GOAL, f"{GOAL} and 1 // (state.t - 9)"))
    found = finding(package)
    assert found.message == "reference.py raised ZeroDivisionError: integer division or modulo by zero"
    assert "from the state position = 4; t = 9" in found.setting


def test_a_law_that_both_sides_break_is_found(tmp_path):
    changes = [(name, "position == L", "position == L - 1") for name in ("fast.py", "reference.py")]
    found = finding(edited(tmp_path, "toywalk", *changes))
    assert found.message.startswith("terminated without a declared cause after a step, on both sides: position = 4;")


def test_draws_that_are_not_the_tables_are_told(tmp_path):
    changes = [(name, "Slots.SLIP, SLIP_P", "Slots.SLIP, 0.2") for name in ("fast.py", "reference.py")]
    package = edited(tmp_path, "toywalk", *changes)
    context = Context("small_worlds", package, replace(QUICK, seed=3))
    World(context, "the world", {}).explore()
    assert [found.message for found in context.findings] == [
        f"the world: {side} draws slot SLIP as bernoulli(0.2,), spec.md says bernoulli(0.1,)"
        for side in ("reference.py", "fast.py")
    ]


def test_a_policy_that_takes_no_legal_action_is_told():
    wrong = ScriptedPolicy("wrong", lambda state, observation: 2, 0.0, 0.0, (0.0, 0.0))
    with pytest.raises(CheckFailed, match="the policy wrong takes an action that is not legal"):
        WALK.returns(wrong)
