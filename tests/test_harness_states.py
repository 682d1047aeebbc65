"""Generated states: legal, near the bounds and near each other, and what is not legal is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulacrum.harness.context import Context
from simulacrum.harness.profile import QUICK
from simulacrum.harness.records import Record, state_namespace
from simulacrum.harness.states import States, rollout_states, steps_from_the_end
from simulacrum.spec import Package

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [ROOT / "envs" / "forager", ROOT / "envs" / "toywalk", *sorted((ROOT / "tests" / "packages").iterdir())]


def made(path: Path, seed: int = 3) -> States:
    package, rng = Package.read(path), np.random.default_rng(seed)
    context = Context("test", package, QUICK)
    return States(package, rng, rollout_states(package, context.env(64, seed), rng, steps=40))


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.name)
def test_drawn_states_are_legal_and_have_the_spec_s_forms(path: Path) -> None:
    states = made(path)
    drawn = states.draw(500)
    assert len(drawn["clock.t"]) == 500
    assert states.legal(drawn).all()
    view = state_namespace(states.package, drawn)
    for invariant in states.package.checks.INVARIANTS:
        assert np.asarray(invariant(view)).all()
    for name, field in states.fields.items():
        assert drawn[name].dtype == field.dtype
        assert drawn[name].shape == (500, *field.shape)
        assert (drawn[name] >= field.low).all()
        assert (drawn[name] <= field.high).all()
    assert drawn["clock.seed"].dtype == np.uint64
    assert drawn["clock.episode"].max() >= 2**31


def test_the_draws_follow_from_the_generator() -> None:
    one, other = (made(PACKAGES[0]).draw(100) for _ in range(2))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not np.array_equal(made(PACKAGES[0], seed=4).draw(100)["state.x"], one["state.x"])


def test_forager_s_rare_states_are_drawn() -> None:
    drawn = made(PACKAGES[0]).draw(4000)
    same_cell = (drawn["state.berry_x"][:, :, None] == drawn["state.berry_x"][:, None]) & (
        drawn["state.berry_y"][:, :, None] == drawn["state.berry_y"][:, None]
    )
    assert (same_cell.sum(axis=2).max(axis=1) >= 5).any()  # five berries on a cell
    assert ((drawn["state.energy"] == np.float32(0.02)) & (drawn["clock.t"] > 0)).any()  # which the next step spends
    assert (drawn["state.berry_live"].sum(axis=1) == 1).any()
    assert (drawn["clock.t"] == 79).any()
    assert (drawn["clock.t"] == 0).any()
    distance = np.abs(drawn["state.berry_x"] - drawn["state.x"][:, None])
    distance = distance + np.abs(drawn["state.berry_y"] - drawn["state.y"][:, None])
    assert ((distance == 1) & drawn["state.berry_live"]).any(axis=1).mean() > 0.1


def test_ended_states_are_drawn_only_where_an_example_steps_from_one() -> None:
    forager, courier = made(PACKAGES[0]), made(ROOT / "tests" / "packages" / "courier")
    assert steps_from_the_end(forager.package)
    assert not steps_from_the_end(courier.package)
    assert not forager.draw(500)["state.berry_live"].any(axis=1).all()
    assert courier.draw(500)["state.cargo"].any(axis=1).all()


def test_a_state_is_told_apart_from_those_of_rollouts() -> None:
    states = made(PACKAGES[0])
    assert states.reached(states.pool, 7) == "a state that rollouts reached"
    other: Record = {name: value[:1].copy() for name, value in states.pool.items()}
    other["state.energy"] = np.nextafter(other["state.energy"], np.float32(0.0))
    assert states.reached(other, 0) == "a generated state, which no rollout of this run reached"


def test_no_legal_state_gives_none() -> None:
    states = made(PACKAGES[1])
    states.legal = lambda record: np.zeros(len(record["clock.t"]), np.bool_)  # type: ignore[method-assign]
    assert len(states.draw(10)["clock.t"]) == 0


def test_a_single_state_is_drawn_however_few_of_those_that_are_proposed_are_legal() -> None:
    states = made(ROOT / "envs" / "snake")  # where many that it builds are illegal at the t that chance gives them
    assert all(len(states.draw(1)["clock.t"]) == 1 for _ in range(300))
    courier = made(ROOT / "tests" / "packages" / "courier")
    legal, chance = courier.legal, np.random.default_rng(0)
    courier.legal = lambda record: legal(record) & (chance.random(len(record["clock.t"])) < 0.02)  # type: ignore
    assert all(len(courier.draw(1)["clock.t"]) == 1 for _ in range(50))


def test_states_that_a_package_builds_may_have_a_t() -> None:
    states = made(PACKAGES[1])
    built: dict[str, Any] = {"position": np.zeros(400, np.int32), "t": np.full(400, 7)}
    states._build = lambda rng, rows: {name: values[:rows] for name, values in built.items()}
    drawn = states.built(400)
    assert (drawn["clock.t"] == 7).mean() > 0.5
    assert (drawn["clock.t"] != 7).any()  # at its bounds as well
