"""frozen_lake: its maps, every form beside Gymnasium's own environment, the returns it states, and its pictures."""

from __future__ import annotations

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from beside_original import assert_same, printed, program
from environments import ENVS

from simulacrum import native
from simulacrum.spec import Package

LAKE = Package.read(ENVS / "frozen_lake")
MADE = {
    "4x4": ("FrozenLake-v1", {}),
    "8x8": ("FrozenLake8x8-v1", {}),
    "4x4-not-slippery": ("FrozenLake-v1", {"is_slippery": False}),
    "8x8-not-slippery": ("FrozenLake8x8-v1", {"is_slippery": False}),
}
BUILT = ("4x4-not-slippery", "8x8")  # a kernel takes seconds to build: one of each size, one of each kind of ice
UP = 3


def test_the_first_configuration_is_the_environment_as_it_is_registered():
    assert list(LAKE.spec.configurations) == list(MADE)
    assert not LAKE.configured().is_variant


@pytest.mark.parametrize("config", list(MADE))
def test_a_configuration_is_what_gymnasium_makes(config):
    package, (name, options) = LAKE.configured(config), MADE[config]
    made, adopted = gymnasium.make(name, **options), package.reference().original
    assert np.array_equal(adopted.desc, made.unwrapped.desc)
    assert adopted.P == made.unwrapped.P
    assert (adopted.action_space, adopted.observation_space) == (made.action_space, made.observation_space)
    environment = package.environment
    assert (environment.action_space, environment.observation_space) == (made.action_space, made.observation_space)
    assert environment.max_episode_steps == made.spec.max_episode_steps


@pytest.mark.parametrize(
    ("config", "form"), [*((config, "tensor") for config in MADE), *((config, "kernel") for config in BUILT)]
)
def test_rollouts_are_those_of_gymnasium_with_its_own_wrappers(config, form):
    if form == "kernel" and not native.enabled():
        pytest.skip("kernels need a C compiler")
    rng, (name, options) = np.random.default_rng(0), MADE[config]

    def choose(step: int, seen: np.ndarray) -> np.ndarray:
        chosen = rng.integers(0, 4, len(seen))
        chosen[:2] = UP  # never leaves the first row: truncated
        return chosen

    ended = assert_same(LAKE.configured(config), form, name, choose, steps=450, **options)
    assert ended["terminated"] > 50
    assert ended["truncated"] >= 4


def test_the_returns_in_the_spec_are_those_that_its_program_prints():
    spec, lines = LAKE.spec, printed(program(LAKE))
    stated = {("whole", name): figures[:2] for name, figures in _figures(spec.policies).items()}
    for world in spec.small_worlds:
        stated |= {(world.name, name): figures for name, figures in world.returns.items()}
    assert len(stated) > 15
    for (world, policy), (mean, deviation) in stated.items():
        assert f"{world} {policy} [{mean:.6f}, {deviation:.6f}]" in lines


def _figures(policies):
    return {name: (policy.expected_return, policy.standard_deviation) for name, policy in policies.items()}


@pytest.mark.parametrize(("cell", "mark"), [(0, "A"), (5, "X"), (10, "A"), (15, "*")])
def test_pictures_show_the_agent_in_its_cell(cell, mark):
    render = LAKE.module("render")
    state = SimpleNamespace(cell=np.int64(cell), t=np.int32(9))
    *rows, last = render.render_text(state).splitlines()
    assert (rows[cell // 4].split()[cell % 4], last) == (mark, "step 9/100")
    assert sum(row.count("O") + row.count("X") for row in rows) == 4
    picture, size = render.render_rgb(state), render.CELL
    middles = picture[size // 2 :: size, size // 2 :: size].reshape(-1, 3)
    assert np.flatnonzero((middles == render.AGENT_COLOR).all(axis=1)).tolist() == [cell]
