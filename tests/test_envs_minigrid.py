"""minigrid_empty and minigrid_door_key: every form beside what Gymnasium makes of minigrid's own environments, every
state of a small world, the view's occlusion, the returns that the specs state, and pictures."""

from __future__ import annotations

import itertools
import re
import shutil
import sys
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from beside_original import printed, program
from environments import ENVS

from simulacrum import native
from simulacrum.errors import PackageError
from simulacrum.harness.injection import SingleFast, SingleReference
from simulacrum.harness.records import difference
from simulacrum.originals import KeyedGenerator
from simulacrum.rng import Draw
from simulacrum.spec import Package

pytest.importorskip("minigrid", reason='minigrid is not installed: pip install "minigrid>=3.2,<4"')
from minigrid.core.grid import Grid
from minigrid.core.world_object import Wall

EMPTY, DOOR_KEY = Package.read(ENVS / "minigrid_empty"), Package.read(ENVS / "minigrid_door_key")
MADE = {
    "minigrid_empty": {
        "8x8": "MiniGrid-Empty-8x8-v0",
        "5x5": "MiniGrid-Empty-5x5-v0",
        "6x6": "MiniGrid-Empty-6x6-v0",
        "16x16": "MiniGrid-Empty-16x16-v0",
        "random-5x5": "MiniGrid-Empty-Random-5x5-v0",
        "random-6x6": "MiniGrid-Empty-Random-6x6-v0",
    },
    "minigrid_door_key": {
        "8x8": "MiniGrid-DoorKey-8x8-v0",
        "5x5": "MiniGrid-DoorKey-5x5-v0",
        "6x6": "MiniGrid-DoorKey-6x6-v0",
        "16x16": "MiniGrid-DoorKey-16x16-v0",
    },
}
CONFIGS = [(package, config) for package in (EMPTY, DOOR_KEY) for config in MADE[package.name]]
BUILT = ("random-5x5", "8x8")  # a kernel takes seconds to build
FORMS = [(*one, "tensor") for one in CONFIGS] + [(*one, "kernel") for one in CONFIGS if one[1] in BUILT]
ROWS = 3


def some_form(package: Package, form: str, **options: Any) -> Any:
    if form == "kernel" and not native.enabled():
        pytest.skip("kernels need a C compiler")
    return package.forms[form](**options)


class Original:
    """One of ``gymnasium.make``, wrappers and all, its ``np_random`` replaced by hand: episodes of one seed."""

    def __init__(self, name: str, seed: int, slots: list[int]) -> None:
        self.env, self.slots = gymnasium.make(name), slots
        self.generator = self.env.unwrapped.np_random = KeyedGenerator()
        self.seed, self.episode = seed, -1

    def reset(self) -> Any:
        self.episode += 1
        with self.generator.drawing(Draw.at(self.seed, self.episode, 0), self.slots, "reset"):
            return self.env.reset()[0]


def assert_shown(seen: dict[str, Any], td: Any, row: int, where: str) -> None:
    assert np.array_equal(seen["image"], td["image"][row].numpy()), where
    assert seen["image"].dtype == td["image"].numpy().dtype
    assert (int(seen["direction"]), 0) == (int(td["direction"][row]), int(td["mission"][row])), where


@pytest.mark.parametrize(("package", "config"), CONFIGS)
def test_a_configuration_is_what_gymnasium_makes(package, config):
    name = MADE[package.name][config]
    assert list(package.spec.configurations) == list(MADE[package.name])
    configured = package.configured(config)
    made, adopted = gymnasium.make(name).unwrapped, configured.reference().original
    assert type(adopted) is type(made)
    assert (adopted.width, adopted.height, adopted.max_steps) == (made.width, made.height, made.max_steps)
    assert adopted.see_through_walls == made.see_through_walls
    assert getattr(adopted, "agent_start_pos", 0) == getattr(made, "agent_start_pos", 0)
    environment, space = configured.environment, made.observation_space
    assert environment.action_space == made.action_space
    assert environment.max_episode_steps == made.max_steps
    assert [environment.observation_space[key] for key in ("image", "direction")] == [
        space["image"],
        space["direction"],
    ]
    assert [made.mission] == configured.module("reference").MISSIONS


@pytest.mark.parametrize(("package", "config", "form"), FORMS)
def test_rollouts_are_those_of_gymnasium_with_its_own_wrappers(package, config, form):
    package, name, rng = package.configured(config), MADE[package.name][config], np.random.default_rng(0)
    fast = some_form(package, form, batch_size=[ROWS], seed=5, expose_state=True)
    slots = sorted(int(slot) for slot in package.environment.reset_slots)
    td = fast.reset()
    originals = [Original(name, int(seed), slots) for seed in fast.instance_seeds.numpy().view(np.uint64)]
    for row, one in enumerate(originals):
        assert_shown(one.reset(), td, row, "the first observation")
    policy, ended = package.checks.POLICIES[0].policy, 0
    for step in range(120):
        state = SimpleNamespace(**{field: td["state", field].numpy() for field in package.spec.fields if field != "t"})
        actions = np.where(rng.random(ROWS) < 0.2, rng.integers(0, 7, ROWS), policy(state, None))
        done, td = fast.step_and_maybe_reset(td.set("action", torch.from_numpy(actions)))
        after = done["next"]
        for row, (one, action) in enumerate(zip(originals, actions.tolist(), strict=True)):
            seen, reward, terminated, truncated, _ = one.env.step(action)
            where = f"row {row}, step {step}, action {action}"
            assert_shown(seen, after, row, where)
            assert float(reward) == float(after["reward"][row]), where
            assert (terminated, truncated) == (bool(after["terminated"][row]), bool(after["truncated"][row])), where
            if terminated or truncated:
                ended += 1
                seen = one.reset()
            assert_shown(seen, td, row, f"{where}: what is seen next")
    assert ended >= 2


def every_state(package: Package) -> dict[str, np.ndarray]:
    """Every state in the bounds of its fields in which an agent can stand and a key can lie, t beside it."""
    fields = [field for field in package.spec.fields.values() if field.name != "t"]
    ranges = [range(int(field.low), int(field.high) + 1) for field in fields]
    columns = np.array(list(itertools.product(*ranges))).T.astype(np.int8)
    states = {field.name: column for field, column in zip(fields, columns, strict=True)}
    timeless = [law for law in package.checks.INVARIANTS if law.__name__ in ("agent_stands", "key_lies")]
    stand = np.all([law(SimpleNamespace(**states)) for law in timeless] or [np.ones(columns.shape[1], bool)], axis=0)
    return {name: values[stand] for name, values in states.items()}


@pytest.mark.parametrize(("package", "count"), [(EMPTY, 36), (DOOR_KEY, 792)])
def test_every_state_and_action_of_the_smallest_world_also_those_from_the_goal(package, count):
    package = package.configured("5x5")
    states = every_state(package)
    assert len(states["x"]) == count
    actions = np.tile(np.arange(7), count)
    record = {f"state.{name}": np.repeat(values, 7) for name, values in states.items()}
    t = np.arange(7 * count) % package.environment.max_episode_steps
    record |= {
        "clock.t": t,
        "clock.seed": np.zeros(7 * count, np.uint64),
        "clock.episode": np.zeros(7 * count, np.int64),
    }
    reference = SingleReference(package)(record, actions)
    assert 0 < reference.ended["terminated"].sum() < 7 * count / 20
    for form in package.forms if native.enabled() else ("tensor",):
        env = package.forms[form](batch_size=[7 * count], seed=0, expose_state=True)
        fast = SingleFast(package, env, record).step(actions)
        assert difference(reference.before, fast.before) is None, form
        assert difference(reference.ended, fast.ended) is None, form


def test_what_is_seen_behind_any_pattern_of_walls_is_what_minigrid_says():
    rng, lit = np.random.default_rng(0), DOOR_KEY.module("fast").lit
    clear = rng.random((300, 7, 7)) < rng.choice([0.3, 0.6, 0.8], (300, 1, 1))
    seen = lit(clear)
    for pattern, found in zip(clear, seen, strict=True):
        grid = Grid(7, 7)
        for column, row in np.argwhere(~pattern):
            grid.set(column, row, Wall())
        assert np.array_equal(grid.process_vis((3, 6)), found)
    assert 0.2 < seen.mean() < 0.8


@pytest.mark.parametrize("package", [EMPTY, DOOR_KEY])
def test_the_returns_in_the_spec_are_those_that_its_program_prints(package):
    spec, lines = package.spec, printed(program(package))
    stated = [f"{world.name} {name}" for world in spec.small_worlds for name in world.returns if name == "uniform"]
    figures = [list(world.returns["uniform"]) for world in spec.small_worlds]
    if package is DOOR_KEY:
        policy = spec.policies["fetches"]
        stated, figures = [policy.name], [[policy.expected_return, policy.standard_deviation]]
    assert lines == [f"{name} {values}" for name, values in zip(stated, figures, strict=True)]


@pytest.mark.parametrize("name", ["minigrid_empty", "minigrid_door_key"])
def test_without_minigrid_the_error_tells_what_to_install(name, tmp_path, monkeypatch):
    shutil.copytree(ENVS / name, tmp_path / name, ignore=shutil.ignore_patterns("corpus", "failures", "*report*"))
    for module in [one for one in sys.modules if one.partition(".")[0] == "minigrid"] + ["minigrid"]:
        monkeypatch.setitem(sys.modules, module, None)
    package = Package.read(tmp_path / name)
    assert package.fast.environment.id == f"simulacrum/{name}-v0"  # the fast forms do not need it
    with pytest.raises((ImportError, PackageError), match=re.escape('pip install "minigrid>=3.2,<4"')):
        _ = package.reference


def state_of(package: Package, **values: int) -> Any:
    """A state of the lower left corner, where no value is given."""
    first = {"x": 1, "y": 6, "direction": 3, "t": 9}
    first |= {} if package is EMPTY else {"wall": 4, "door": 3, "lock": 2, "key_x": 2, "key_y": 5}
    return SimpleNamespace(**{name: np.int8(value) for name, value in {**first, **values}.items()})


@pytest.mark.parametrize("package", [EMPTY, DOOR_KEY])
def test_pictures_show_the_agent_and_where_it_looks(package):
    render, pictures = package.module("render"), []
    for direction, arrow in enumerate(">v<^"):
        state = state_of(package, direction=direction)
        rows = [line.split() for line in render.render_text(state).splitlines()]
        assert (rows[6][1], rows[6][6], rows[0]) == (arrow, "G", ["#"] * 8)
        assert rows[-1][1] == f"9/{package.environment.max_episode_steps}"
        pictures.append(render.render_rgb(state))
    size = render.CELL
    changed = [np.argwhere((one != other).any(axis=-1)) for one, other in itertools.combinations(pictures, 2)]
    for places in changed:
        assert (places // size == [6, 1]).all()


def test_pictures_show_door_and_key():
    render, pictures = DOOR_KEY.module("render"), set()
    for lock, mark in enumerate("_dD"):
        for key, tells in (({}, False), ({"key_x": 0, "key_y": 0}, True)):
            state = state_of(DOOR_KEY, lock=lock, **key)
            *rows, last = render.render_text(state).splitlines()
            cells = [row.split() for row in rows]
            assert (cells[3][4], cells[2][4], cells[5][2], "with the key" in last) == (
                mark,
                "#",
                ".k"[not tells],
                tells,
            )
            pictures.add(render.render_rgb(state).tobytes())
    assert len(pictures) == 6
