"""The fast side in TorchRL's machinery: transforms, rollouts, collectors and batches of environments."""

import multiprocessing
import warnings
from functools import partial

import pytest
import torch
from environments import FORAGER, TOYWALK, CountdownFast, actions, frozen, steps, trace
from torchrl._utils import seed_generator
from torchrl.collectors import Collector, MultiSyncCollector
from torchrl.envs import ParallelEnv, RewardSum, SerialEnv, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose
from torchrl.envs.utils import check_env_specs

RESETS = ["rows", "masked"]
FASTS = [CountdownFast, TOYWALK.fast, FORAGER.fast]


class Countdowns(CountdownFast):
    """Two, with a seed, made without arguments."""

    def __init__(self, batch_size=(2,), **options):
        super().__init__(batch_size=batch_size, **{"seed": 3, **options})


GIVEN = {  # what TorchRL is given to make environments with
    "object": lambda: Countdowns(),
    "class": lambda: Countdowns,
    "function": lambda: partial(CountdownFast, batch_size=[2], seed=3),
}


@pytest.fixture(scope="module", autouse=True)
def quick_workers():
    """Fresh processes from one that has imported TorchRL: as safe as spawned ones, and started ten times as fast."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_forkserver_preload(["torchrl.envs", "torchrl.collectors", "simulacrum.fast"])
    multiprocessing.set_start_method("forkserver", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def transformed(env):
    return TransformedEnv(env, Compose(StepCounter(), RewardSum()))


def replayed(env, data):
    """Feed an environment the actions of collected data [rows, time], and compare all that both hold."""
    td = env.reset()
    for time in range(data.shape[-1]):
        got = data[..., time]
        done, td = env.step_and_maybe_reset(td.set("action", got["action"].clone()))
        names = [name for name in done.keys(True, True) if name in got.keys(True, True)]
        assert ("next", "reward") in names
        assert ("next", "left") in names
        assert frozen(done.select(*names)) == frozen(got.select(*names)), time


# ---------------------------------------------------------------------- transforms


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize("expose_state", [False, True])
@pytest.mark.parametrize("fast", FASTS)
def test_check_env_specs_passes_with_transforms(fast, expose_state, resets, no_warnings):
    check_env_specs(transformed(fast(batch_size=[3], resets=resets, expose_state=expose_state)))


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize("fast", FASTS)
def test_transforms_see_the_rows_of_the_bare_environment(fast, resets, no_warnings):
    bare = fast(batch_size=[5], seed=1, expose_state=True)
    env = transformed(fast(batch_size=[5], seed=1, resets=resets, expose_state=True))
    returns = torch.zeros(5, 1)
    for one, other in zip(steps(bare, 70), steps(env, 70), strict=True):
        assert frozen(one) == {name: frozen(other)[name] for name in frozen(one)}
        assert torch.equal(other["step_count"].squeeze(-1), one["clock", "t"])
        assert torch.equal(other["next", "step_count"].squeeze(-1), one["next", "clock", "t"])
        returns = returns + one["next", "reward"]
        assert torch.equal(other["next", "episode_reward"], returns)
        returns = returns * ~one["next", "done"]


# ---------------------------------------------------------------------- steps and rollouts


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize("expose_state", [False, True])
@pytest.mark.parametrize("rows", [1, 20])
def test_a_fused_step_is_a_step_and_a_reset(rows, expose_state, resets, no_warnings):
    options = {"batch_size": [rows], "seed": 1, "resets": resets, "expose_state": expose_state}
    env, other = CountdownFast(**options), CountdownFast(**options)
    td, expected = env.reset(), other.reset()
    for action in actions(env, 12):
        given = {"action": action, "hidden": torch.rand(rows, 4), ("deep", "hidden"): torch.rand(rows)}
        for name, value in given.items():
            td.set(name, value)
            expected.set(name, value)
        done, td = env.step_and_maybe_reset(td)
        shown = other.step(expected)
        expected = other.maybe_reset(other.step_mdp(shown))
        expected.pop("_reset", None)
        assert frozen(done) == frozen(shown)
        assert frozen(td.exclude("action")) == frozen(expected.exclude("action"))  # TorchRL pads that one too


def test_a_policys_memory_survives_a_fused_step_while_its_row_goes_on():
    env = CountdownFast(batch_size=[20], seed=1)
    td, partly = env.reset(), False
    for action in actions(env, 12):
        hidden = torch.rand(20, 4)
        done, td = env.step_and_maybe_reset(td.set("action", action).set("hidden", hidden.clone()))
        over = done["next", "done"].squeeze(-1)
        partly |= bool(over.any() and not over.all())
        assert torch.equal(done["hidden"], hidden)
        assert torch.equal(td["hidden"][~over], hidden[~over])
    assert partly


@pytest.mark.parametrize("key", ["next", "_step"])
def test_torchrls_own_rules_hold_for_its_own_keys(key):
    env, other = (CountdownFast(batch_size=[20], seed=1) for _ in range(2))
    td, expected = env.reset(), other.reset()
    for action in actions(env, 6):
        value = {"next": {"hidden": torch.rand(20, 2)}, "_step": torch.rand(20, 1) < 0.5}[key]
        done, td = env.step_and_maybe_reset(td.set("action", action).set(key, value))
        shown = other.step(expected.set("action", action).set(key, value))
        expected = other.maybe_reset(other.step_mdp(shown))
        assert frozen(done) == frozen(shown)
        assert frozen(td) == frozen(expected)


def test_the_root_and_the_next_hold_what_torchrl_expects(no_warnings):
    env = CountdownFast(batch_size=[3], seed=1)
    shown = {"left", "gained", "pair", "action_mask", "info", "done", "terminated", "truncated"}
    td = env.reset()
    assert set(td.keys()) == shown
    done, td = env.step_and_maybe_reset(td.set("action", torch.ones(3, dtype=torch.int64)))
    assert set(done.keys()) == shown | {"action", "next"}
    assert set(done["next"].keys()) == shown | {"reward"}
    assert set(td.keys()) == shown | {"action"}
    assert td.batch_size == done.batch_size == done["next"].batch_size == (3,)
    assert td.device == done.device == env.device


@pytest.mark.parametrize("transforms", [False, True])
def test_a_rollout_goes_on_when_rows_end(transforms, no_warnings):
    env = CountdownFast(batch_size=[4], seed=3)
    data = (transformed(env) if transforms else env).rollout(12, break_when_any_done=False)
    assert data.shape == (4, 12)
    assert int(data["next", "done"].sum()) > 8
    replayed(CountdownFast(batch_size=[4], seed=3), data)


@pytest.mark.parametrize("transforms", [False, True])
def test_a_rollout_waits_until_every_row_has_ended(transforms, no_warnings):
    env = CountdownFast(batch_size=[30], seed=3, expose_state=True)
    data = (transformed(env) if transforms else env).rollout(12, break_when_all_done=True, break_when_any_done=False)
    ended = data["next", "done"].squeeze(-1)
    assert data.shape[1] == 3
    assert ended[:, -1].all()
    assert not ended[:, 0].any()
    assert 0 < int(ended[:, 1].sum()) < 30
    other = CountdownFast(batch_size=[30], seed=3, expose_state=True)
    td = other.reset()
    for time in range(3):
        td = other.step(td.set("action", data["action"][:, time].clone()))
        running = ~ended[:, time - 1] if time else torch.ones(30, dtype=torch.bool)
        for name in ("left", "gained", "reward", "terminated", "truncated", ("clock", "t"), ("state", "left")):
            assert torch.equal(td["next"][name][running], data["next", name][running, time]), name
        td = other.step_mdp(td)


def test_a_rollout_stops_when_a_row_ends(no_warnings):
    data = CountdownFast(batch_size=[30], seed=3).rollout(12)
    assert data.shape[1] == 2
    assert data["next", "done"][:, -1].any()


# ---------------------------------------------------------------------- batches of environments


def both_workers(env, seed=None):
    """The steps of a batch of two workers."""
    if seed is not None:
        env.set_seed(seed)
    try:
        return trace(env, 8)
    finally:
        env.close()


def stacked(envs):
    """The steps of environments in one process, as a batch of them shows them."""
    chosen = actions(SerialEnv(len(envs), [partial(lambda env: env, env) for env in envs]), 8)
    tds, seen = [env.reset() for env in envs], []
    for action in chosen:
        rows = zip(envs, tds, action, strict=True)
        pairs = [env.step_and_maybe_reset(td.set("action", part)) for env, td, part in rows]
        tds = [td for _, td in pairs]
        seen.append(frozen(torch.stack([done for done, _ in pairs])))
    return seen


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("batch", [SerialEnv, ParallelEnv])
def test_batches_take_objects_classes_and_functions(batch, given):
    expected = stacked([Countdowns(seed=5), Countdowns(seed=seed_generator(5))])
    assert both_workers(batch(2, GIVEN[given]()), seed=5) == expected


@pytest.mark.parametrize("batch", [SerialEnv, ParallelEnv])
def test_a_class_without_a_batch_gives_single_instances(batch):
    expected = stacked([CountdownFast(seed=5), CountdownFast(seed=seed_generator(5))])
    assert both_workers(batch(2, CountdownFast), seed=5) == expected


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_two_processes_show_the_rows_of_one(method):
    parts = [partial(TOYWALK.fast, batch_size=[2], seed=3, first_instance=first) for first in (0, 2)]
    whole = trace(TOYWALK.fast(batch_size=[4], seed=3), 8)
    seen = both_workers(ParallelEnv(2, parts, mp_start_method=method))
    for one, other in zip(seen, whole, strict=True):
        assert one.keys() == other.keys()
        assert all(one[name][::2] == other[name][::2] for name in one)


# ---------------------------------------------------------------------- collectors


@pytest.mark.parametrize("given", GIVEN)
def test_a_collector_gathers_the_rows_of_the_bare_environment(given, no_warnings):
    collector = Collector(GIVEN[given](), None, frames_per_batch=16, total_frames=32)
    data = torch.cat([batch.clone() for batch in collector], -1)
    collector.shutdown()
    assert data.shape == (2, 16)
    replayed(Countdowns(), data)


@pytest.mark.parametrize("given", GIVEN)
def test_two_processes_gather_the_rows_of_the_bare_environment(given):
    collector = MultiSyncCollector([GIVEN[given]()] * 2, None, frames_per_batch=32, total_frames=64)
    data = torch.cat([batch.clone() for batch in collector], -1)
    collector.shutdown()
    assert data.shape == (2, 2, 16)
    for worker in range(2):
        replayed(Countdowns(), data[worker])


def test_two_processes_gather_the_rows_of_one():
    parts = [partial(CountdownFast, batch_size=[2], seed=3, first_instance=first) for first in (0, 2)]
    collector = MultiSyncCollector(parts, None, frames_per_batch=32, total_frames=64)
    data = torch.cat([batch.clone() for batch in collector], -1)
    collector.shutdown()
    replayed(CountdownFast(batch_size=[4], seed=3), data.reshape(4, 16))


def test_a_collector_takes_a_transformed_environment(no_warnings):
    collector = Collector(transformed(Countdowns()), None, frames_per_batch=16, total_frames=16)
    (data,) = [batch.clone() for batch in collector]
    collector.shutdown()
    replayed(Countdowns(), data)
    assert int(data["next", "step_count"].max()) == 3
