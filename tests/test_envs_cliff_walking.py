"""cliff_walking: every form beside Gymnasium's own environment, the returns it states, and its pictures."""

from __future__ import annotations

import re
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import torch
from beside_original import assert_same, printed, program
from environments import ENVS

from simulacrum import native
from simulacrum.spec import Package

CLIFF = Package.read(ENVS / "cliff_walking")
MADE = {"not-slippery": "CliffWalking-v1", "slippery": "CliffWalkingSlippery-v1"}


@pytest.mark.parametrize("config", list(MADE))
def test_a_configuration_is_what_gymnasium_makes(config):
    package, made = CLIFF.configured(config), gymnasium.make(MADE[config])
    assert package.reference.adopts.original == MADE[config]
    assert package.reference().original.P == made.unwrapped.P
    environment = package.environment
    assert (environment.action_space, environment.observation_space) == (made.action_space, made.observation_space)
    assert environment.max_episode_steps is None
    assert made.spec.max_episode_steps is None
    assert next(iter(CLIFF.spec.configurations)) == "not-slippery"


@pytest.mark.parametrize("form", ["tensor", "kernel"])
@pytest.mark.parametrize("config", list(MADE))
def test_rollouts_are_those_of_gymnasium_with_its_own_wrappers(config, form):
    if form == "kernel" and not native.enabled():
        pytest.skip("kernels need a C compiler")
    package, rng = CLIFF.configured(config), np.random.default_rng(0)
    policy = package.checks.along_the_top
    others = 0.05 if config == "slippery" else 0.2  # how often an action is any other one

    def choose(step: int, seen: np.ndarray) -> np.ndarray:
        way = policy(SimpleNamespace(cell=seen), seen)
        chance = np.where(np.arange(len(seen)) < 4, 1.0, others)  # the first four rows walk at random
        return np.where(rng.random(len(seen)) < chance, rng.integers(0, 4, len(seen)), way)

    ended = assert_same(package, form, MADE[config], choose, steps=400)
    assert ended["terminated"] > 20
    assert ended["truncated"] == 0


def test_the_returns_on_slippery_ground_are_those_that_the_program_of_the_spec_prints():
    lines = printed(program(CLIFF))
    assert len(lines) == 2
    words = " ".join(CLIFF.files["spec.md"].decode().split())
    for name, mean, deviation in map(str.split, lines):
        assert re.search(f"`{name}` (earns )?{mean} with (the standard deviation )?{deviation}", words)


def test_a_policy_earns_on_slippery_ground_what_the_program_says():
    package, rows = CLIFF.configured("slippery"), 2048
    env, policy = package.fast(batch_size=[rows], seed=3), package.checks.along_the_top
    _, mean, deviation = printed(program(CLIFF))[0].split()
    td, earned, running = env.reset(), torch.zeros(rows), torch.ones(rows, dtype=torch.bool)
    while running.any():
        cells = td["observation"].numpy()
        done, td = env.step_and_maybe_reset(
            td.set("action", torch.from_numpy(policy(SimpleNamespace(cell=cells), cells)))
        )
        earned += done["next", "reward"].squeeze(-1) * running
        running &= ~done["next", "done"].squeeze(-1)
    assert abs(earned.mean() - float(mean)) < 5 * float(deviation) / rows**0.5
    assert abs(earned.std() / float(deviation) - 1) < 0.1


@pytest.mark.parametrize(("cell", "mark"), [(0, "A"), (36, "A"), (35, "A"), (47, "*")])
def test_pictures_show_the_agent_in_its_cell(cell, mark):
    render = CLIFF.module("render")
    state = SimpleNamespace(cell=np.int64(cell), t=np.int32(9))
    *rows, last = render.render_text(state).splitlines()
    assert (rows[cell // 12].split()[cell % 12], last) == (mark, "step 9")
    assert sum(row.count("#") for row in rows) == 10
    picture, size = render.render_rgb(state), render.CELL
    middles = picture[size // 2 :: size, size // 2 :: size].reshape(-1, 3)
    assert np.flatnonzero((middles == render.AGENT_COLOR).all(axis=1)).tolist() == [cell]
