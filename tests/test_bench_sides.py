from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from fabricated import copy_package

from simulacrum.bench import memory, sides
from simulacrum.spec import Package

PACKAGES = Path(__file__).resolve().parent / "packages"


@pytest.fixture(scope="module")
def gates():
    return Package.read(PACKAGES / "gates")


def test_forms_are_those_that_a_package_has():
    tensor, kernel = object(), object()
    for forms, names in (
        ({"tensor": tensor}, ["eager", "compiled"]),
        ({"kernel": kernel}, ["kernel"]),
        ({"tensor": tensor, "kernel": kernel}, ["eager", "compiled", "kernel"]),
    ):
        assert sides.forms_of(SimpleNamespace(forms=forms)) == names


def test_actions_are_random_elements_and_leave_torchs_generator_alone(gates):
    env = sides.make(gates, "eager", 64)
    before = torch.get_rng_state()
    actions = sides.actions_for(env)
    assert torch.equal(torch.get_rng_state(), before)
    assert len(actions) == sides.ACTIONS
    assert all(env.action_spec.is_in(action) for action in actions)
    assert not torch.equal(actions[0], actions[1])
    assert torch.equal(actions[1], sides.actions_for(env)[1])


def test_the_rows_are_at_all_times_of_their_episodes(gates):
    cap, env = gates.environment.max_episode_steps, sides.make(gates, "eager", 64)
    env.reset()
    sides.stagger(env)
    assert env.get_state()["clock", "t"].tolist() == [row % cap for row in range(64)]


def test_a_side_makes_as_many_steps_as_it_is_told(gates):
    env = sides.make(gates, "eager", 3)
    side = sides.stepping(env)
    assert side.rows == 3
    seen = []
    env.step_and_maybe_reset = lambda td: (seen.append(td["action"].clone()), (td, td))[1]
    side.run(5)
    assert len(seen) == 5
    assert all(torch.equal(one, other) for one, other in zip(seen, sides.actions_for(env), strict=False))


def test_the_bytes_of_a_step_are_those_of_the_state_the_action_and_what_is_shown():
    env = sides.make(Package.read(PACKAGES.parents[1] / "envs" / "forager"), "eager", 5)
    env.reset()
    state = sum(leaf.numel() * leaf.itemsize for leaf in env.get_state()["state"].values()) // 5
    td = env.rand_step(env.fake_tensordict())
    kinds = {name: td["next", name] for name in {*env.observation_spec.keys(), "done", "terminated", "truncated"}}
    seen = sum(leaf.numel() * leaf.itemsize for leaf in kinds.values()) // 5
    rest = (td["action"].numel() * td["action"].itemsize + td["next", "reward"].numel() * 4) // 5
    assert sides.step_bytes(env) == 2 * (state + 8) + 8 + 2 * seen + rest


def test_an_environment_may_say_its_bytes_itself():
    for agents, each in ((None, 40), (5, 8)):  # a step is one of an agent
        env = SimpleNamespace(step_bytes=120, batch_size=torch.Size([3]), environment=SimpleNamespace(agents=agents))
        assert sides.step_bytes(env) == each


def test_a_copy_makes_the_bytes_read_and_written():
    side = sides.copying(64)
    side.run(2)
    assert side.rows == 128


def test_threads_come_back():
    before = torch.get_num_threads()
    with sides.threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_an_instance_is_weighed_in_a_process_of_its_own(gates):
    weight = memory.weigh(gates, "eager", 200_000)
    assert weight.batch_size == 200_000
    env = sides.make(gates, "eager", 1)
    env.reset()
    state = sum(leaf.itemsize * leaf.numel() for leaf in env.get_state().values(True, True))
    assert state < weight.instance < 100 * state


def test_what_cannot_be_weighed_says_why(tmp_path):
    package = Package.read(copy_package(tmp_path / "toywalk"))
    (tmp_path / "toywalk" / "fast.py").write_text("raise RuntimeError('no such luck')\n")
    assert "no such luck" in memory.weigh(package, "eager", 4)
