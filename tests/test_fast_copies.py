"""A fast environment as it is copied, pickled and moved, in the middle of an episode."""

import copy
import pickle
import subprocess
import sys

import cloudpickle
import pytest
import torch
from environments import (
    COUNTDOWN,
    FORAGER,
    TOYWALK,
    CountdownFast,
    CountdownReference,
    CountdownRows,
    CountdownState,
    MirrorFast,
    actions,
    frozen,
)

from simulacrum import FastEnv, ReferenceEnv

WAYS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "cloudpickle": lambda value: cloudpickle.loads(cloudpickle.dumps(value)),
}
FASTS = [CountdownFast, MirrorFast, TOYWALK.fast, FORAGER.fast]

AGAIN = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    env, td, kind = pickle.load(file)
assert type(env) is kind, (type(env), kind)
for _ in range(4):
    done, td = env.step_and_maybe_reset(td)
    print(done["next", "observation"].tolist(), td["observation"].tolist())
"""


def go_on(env, td, count=6):
    """The next steps of an environment."""
    seen = []
    for action in actions(env, count, seed=5):
        done, td = env.step_and_maybe_reset(td.empty().set("action", action))
        seen += [frozen(done), frozen(td), frozen(env.get_state())]
    return [*seen, frozen(env.reset())]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fast", FASTS)
def test_a_copy_goes_on_in_the_same_way_and_apart(fast, way):
    env = fast(batch_size=[3], seed=2, resets="masked", expose_state=True, validate_actions=False)
    fresh = WAYS[way](env)
    assert torch.equal(fresh.instance_seeds, env.instance_seeds)
    td = env.reset()
    assert frozen(fresh.reset()) == frozen(td)
    td = env.step_mdp(env.step(td.set("action", actions(env, 1)[0])))
    other = WAYS[way](env)
    assert type(other) is fast
    assert (other.resets, other.expose_state, other.validate_actions) == ("masked", True, False)
    assert other._constants.keys() == env._constants.keys()  # made before a graph asks for them
    expected = go_on(env, td)
    assert go_on(other, td) == expected


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_that_waits_is_copied(way):
    env = CountdownFast(batch_size=[3], seed=2)
    env.reset()
    env.set_seed(9)
    assert frozen(WAYS[way](env).reset()) == frozen(CountdownFast(batch_size=[3], seed=9).reset())


def test_a_fast_class_made_in_a_function_pickles_by_value():
    """As one made in a script or a notebook does, on its way to a worker."""

    class Local(FastEnv[CountdownRows]):
        environment = COUNTDOWN
        initial, transition, observation = CountdownFast.initial, CountdownFast.transition, CountdownFast.observation

    for each in (cloudpickle.loads(cloudpickle.dumps(Local))(), cloudpickle.loads(cloudpickle.dumps(Local()))):
        assert isinstance(each, FastEnv)
        each.set_seed(1)
        expected = CountdownFast(seed=1).reset().exclude("action_mask", "info")
        assert frozen(each.reset()) == frozen(expected)


def test_a_reference_class_made_in_a_function_pickles_by_value():
    class Local(ReferenceEnv[CountdownState]):
        environment = COUNTDOWN
        initial, transition = CountdownReference.initial, CountdownReference.transition
        observation = CountdownReference.observation

    for each in (cloudpickle.loads(cloudpickle.dumps(Local))(), cloudpickle.loads(cloudpickle.dumps(Local()))):
        assert isinstance(each, ReferenceEnv)
        assert repr(each.reset(seed=1)[0]) == repr(CountdownReference().reset(seed=1)[0])


def test_a_class_that_a_package_made_is_the_same_in_another_process(tmp_path):
    env = TOYWALK.fast(batch_size=[3], seed=2)
    td = env.reset().set("action", torch.tensor([0, 1, 1]))
    file = tmp_path / "env.pickle"
    file.write_bytes(pickle.dumps((env, td, TOYWALK.fast)))
    told = subprocess.run([sys.executable, "-c", AGAIN, str(file)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    expected = []
    for _ in range(4):
        done, td = env.step_and_maybe_reset(td)
        expected.append(f"{done['next', 'observation'].tolist()} {td['observation'].tolist()}")
    assert told.stdout.splitlines() == expected


def test_moving_to_where_it_is_changes_nothing():
    env, other = (CountdownFast(batch_size=[3], seed=2, expose_state=True) for _ in range(2))
    assert env.to("cpu") is env
    td = env.reset()
    other.reset()
    assert env.to(torch.device("cpu")) is env
    assert go_on(env, td) == go_on(other, td)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("fast", FASTS)
def test_moving_to_a_device_takes_the_running_episodes_along(fast):
    env, other = (fast(batch_size=[3], seed=2, expose_state=True) for _ in range(2))
    td = env.step_mdp(env.step(env.reset().set("action", actions(env, 1)[0])))
    other.step(other.reset().set("action", actions(other, 1)[0]))
    env.to("cuda")
    for spec in env.specs.values(True, True):
        assert spec.device.type == "cuda"
    moved = td.to("cuda")
    for action in actions(other, 6, seed=5):
        done, moved = env.step_and_maybe_reset(moved.set("action", action.cuda()))
        expected, td = other.step_and_maybe_reset(td.set("action", action))
        assert done["next", "reward"].device.type == "cuda"
        assert frozen(done) == frozen(expected)
        assert frozen(moved) == frozen(td)
    assert frozen(env.to("cpu").reset()) == frozen(other.reset())
