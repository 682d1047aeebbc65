"""Constants replaced in memory: both files follow, and nothing else changes."""

import pytest
from edited import edited
from environments import FORAGER, TOYWALK

from simulacrum.errors import PackageError


def test_no_values_are_the_same_package():
    assert TOYWALK.with_constants({}) is TOYWALK


def test_every_file_but_two_stays_byte_for_byte():
    changed = TOYWALK.with_constants({"L": 7})
    assert {name for name in changed.files if changed.files[name] != TOYWALK.files[name]} == {"__init__.py", "spec.md"}
    source, table = (changed.files[name].decode() for name in ("__init__.py", "spec.md"))
    assert source == TOYWALK.files["__init__.py"].decode().replace("\nL = 5\n", "\nL = 7\n")
    assert table == TOYWALK.files["spec.md"].decode().replace("| L | 5 |", "| L | 7 |")
    assert changed.digest != TOYWALK.digest
    assert changed.path == TOYWALK.path


def test_bounds_shapes_slots_and_both_sides_follow():
    changed = FORAGER.with_constants({"GRID": 3, "N_BERRIES": 2, "MAX_STEPS": 4, "GAINS": [0.5, 0.25, 0.125]})
    spec, environment = changed.spec, changed.environment
    assert (spec.fields["x"].high, spec.fields["berry_x"].shape, spec.fields["t"].high) == (2, (2,), 4)
    assert (spec.slots["BERRY_X"].count, spec.slots["BERRY_X"].arguments) == (2, (3,))
    assert spec.constants["GAINS"] == changed.module().GAINS == [0.5, 0.25, 0.125]
    assert spec.max_episode_steps == environment.max_episode_steps == 4
    assert environment.observation_space.high[2] == spec.observation_space.high[2] == 1.625
    assert changed.fast(batch_size=[2], seed=0, expose_state=True).reset()["state", "berry_x"].shape == (2, 2)
    env = changed.reference()
    env.reset(seed=0)
    assert len(env.get_state()["state"]["berry_x"]) == 2
    assert FORAGER.module().GRID == 8


def test_what_is_computed_from_a_constant_follows(tmp_path):
    package = edited(
        tmp_path,
        "toywalk",
        ("__init__.py", "MAX_STEPS = 60\n", "MAX_STEPS: int = 60  # é | L = 5\nTWICE = 2 * L\n"),
        ("__init__.py", "GOAL_REWARD = 10.0", "GOAL_REWARD = (\n    10.0\n)\nPAIR = (1, 2)"),
        ("spec.md", "| START_RANGE | 2 |", "| TWICE | 2 * L | no | é |\n| PAIR | [1, 2] | no | |\n| START_RANGE | 2 |"),
    )
    changed = package.with_constants({"MAX_STEPS": 9, "L": 3, "GOAL_REWARD": -1.5, "PAIR": [3, 4]})
    module, constants = changed.module(), changed.spec.constants
    assert (module.MAX_STEPS, module.L, module.TWICE, module.GOAL_REWARD, module.PAIR) == (9, 3, 6, -1.5, (3, 4))
    assert {**constants, "PAIR": tuple(constants["PAIR"])} == {name: getattr(module, name) for name in constants}
    with pytest.raises(PackageError, match="constant TWICE: expected TWICE = a plain literal at the top level"):
        package.with_constants({"TWICE": 4})


def test_a_constant_that_is_not_there_is_named():
    with pytest.raises(PackageError, match=r"no constants \['SIZE'\]: spec.md has \['L', 'MAX_STEPS'"):
        TOYWALK.with_constants({"SIZE": 3, "L": 2})
