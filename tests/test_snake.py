"""snake: the kernel beside the reference with unusual constants, its memory, and its pictures' size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from simulacrum import bits
from simulacrum.harness.lockstep import FastRows, References
from simulacrum.harness.records import difference
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parent.parent / "envs"
SNAKE = Package.read(ENVS / "snake")
WORLDS = {
    "one cell": {"HEIGHT": 3, "WIDTH": 3, "SNAKES": 2, "FOODS": 1, "LONGEST": 2, "ATTEMPTS": 1},
    "a corridor": {"HEIGHT": 3, "WIDTH": 12, "SNAKES": 2, "FOODS": 3, "LONGEST": 6},
    "never longer than one": {"LONGEST": 1},
    "no food": {"FOODS": 0},
    "nothing but food": {"SNAKES": 1, "FOODS": 30, "LONGEST": 20},
    "no corpses": {"CORPSES": 0, "SNAKES": 6, "LONGEST": 3},
    "more snakes than cells": {"HEIGHT": 4, "WIDTH": 5, "SNAKES": 9, "LONGEST": 3},
    "many attempts": {"HEIGHT": 7, "WIDTH": 9, "ATTEMPTS": 50, "SNAKES": 20, "FOODS": 20, "LONGEST": 9},
    "far sight": {"HEIGHT": 20, "WIDTH": 22, "VISION": 7, "SNAKES": 5},
    "a hundred snakes": {"HEIGHT": 40, "WIDTH": 40, "SNAKES": 100, "FOODS": 200, "LONGEST": 30, "VISION": 5},
}
ROWS, STEPS = 3, 100  # of 40 steps an episode


@pytest.mark.parametrize("name", list(WORLDS))
def test_kernel_and_reference_agree_with_other_constants(name):
    package = SNAKE.with_constants(WORLDS[name])
    rng = np.random.default_rng(list(WORLDS).index(name))
    seeds = rng.integers(0, 2**63, ROWS, dtype=np.uint64)
    fast, references = FastRows(package, package.fast(batch_size=[ROWS], expose_state=True)), References(package, ROWS)
    shown = fast.reset(seeds), references.reset(seeds)
    assert difference(*reversed(shown)) is None
    agents = package.environment.agents
    held = rng.integers(0, 4, (ROWS, agents))
    for _ in range(STEPS):
        held = np.where(rng.random(held.shape) < 0.5, rng.integers(0, 4, held.shape), held)
        for one, other in zip(references.step(held), fast.step(held), strict=True):
            assert difference(one, other) is None


@pytest.mark.parametrize("config", ["tiny", "boards"])
def test_built_states_keep_every_invariant_and_so_do_the_states_after_them(config):
    package = SNAKE.configured(config)
    checks, rows = package.checks, 64 if config == "tiny" else 4
    states = checks.legal_states(np.random.default_rng(0), rows)
    env = package.fast(batch_size=[rows], seed=0, expose_state=True)
    td = env.reset()
    for name, value in states.items():
        td["state", name] = torch.from_numpy(value)
    td["clock", "t"].fill_(3)
    td = env.reset(td, set_state=True)  # refuses any state in which an invariant does not hold
    for _ in range(20):
        _, td = env.step_and_maybe_reset(env.rand_action(td))
    env.reset(td.clone(), set_state=True)
    kinds = {"waiting": (states["length"] == 0).any(), "longest": (states["length"] == states["turns"].shape[2]).any()}
    assert all(kinds.values()), kinds
    if config == "tiny":
        inside = states["board"] != 3
        full = ~((states["board"] == 0) | (states["board"] == 2)).any(axis=(1, 2))
        assert inside.any()
        assert full.any(), "no board without a free cell"


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads):
    package = SNAKE.configured("tiny")
    actions = torch.from_numpy(np.random.default_rng(0).integers(0, 4, (90, 7, 3)))
    before = torch.get_num_threads()
    digests = []
    try:
        for count in (1, threads):
            torch.set_num_threads(count)
            env, total = package.fast(batch_size=[7], seed=1), bits.Digest()
            td = env.reset()
            for action in actions:
                done, td = env.step_and_maybe_reset(td.set(("agents", "action"), action))
                for shown in (done["next"], td):
                    total.update(
                        {"-".join(key): shown[key].numpy() for key in shown.keys(True, True) if key[0] == "agents"}
                    )
            digests.append(total.hexdigest())
    finally:
        torch.set_num_threads(before)
    assert digests[0] == digests[1]


def test_the_memory_is_seen_from_python_without_a_copy():
    env = SNAKE.configured("tiny").fast(batch_size=[2], seed=0, expose_state=True)
    td = env.reset()
    views = env.state_views()
    assert views["board"].shape == (2, 6, 7)
    assert views["turns"].shape == (2, 3, 5)
    assert views["head"].dtype == np.int8  # as narrow as its bounds
    assert views["t"].tolist() == [0, 0]
    places = {name: value.ctypes.data for name, value in views.items()}
    for _ in range(5):
        _, td = env.step_and_maybe_reset(env.rand_action(td))
        for name, value in env.get_state()["state"].items():
            assert np.array_equal(views[name], value.numpy())
    assert views["t"].tolist() == [5, 5]
    with pytest.raises(ValueError, match="read-only"):
        views["board"][0, 0, 0] = 0
    assert {name: value.ctypes.data for name, value in env.state_views().items()} == places


@pytest.mark.parametrize("name", ["forager", "toywalk"])
def test_the_memory_of_blocks_is_seen_too(name):
    env = Package.read(ENVS / name).forms["kernel"](batch_size=[200], seed=0)
    env.reset()
    for field, value in env.get_state()["state"].items():
        view = env.state_views()[field]
        assert view.shape[:2] == (2, 128)
        assert np.array_equal(view.reshape(256, *view.shape[2:])[:200], value.numpy())


def test_kernel_and_renderers_are_small():
    lines = sum(len((ENVS / "snake" / name).read_text().splitlines()) for name in ("kernel.pyx", "render.py"))
    assert lines <= 450
