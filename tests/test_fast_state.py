"""States and clocks put into a fast environment: whole and in part, bare and transformed, and what is refused."""

import pytest
import torch
from environments import CountdownFast, CountdownReference, MirrorFast, Rows, actions, frozen, trace
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose

from simulacrum.errors import SeedError, StateError


def countdown(rows=4, **options):
    return CountdownFast(batch_size=[rows], **{"seed": 3, **options})


def mid_episode(env):
    """The state of an environment after one step."""
    td = env.reset()
    env.step(td.set("action", actions(env, 1, seed=9)[0]))
    return env.get_state()


def transformed(**options):
    return TransformedEnv(countdown(**options), Compose(StepCounter(), RewardSum()))


@pytest.mark.parametrize("expose_state", [False, True])
@pytest.mark.parametrize("size", [(), (4,), (2, 3)], ids=str)
def test_a_state_that_is_put_back_goes_on_in_the_same_way(size, expose_state):
    env = CountdownFast(batch_size=size, seed=3, expose_state=expose_state)
    state = mid_episode(env)
    other = CountdownFast(batch_size=size, seed=4, expose_state=expose_state)
    told = [each.reset(state.clone(), set_state=True) for each in (env, other)]
    assert frozen(told[0]) == frozen(told[1])
    assert frozen(env.get_state()) == frozen(other.get_state()) == frozen(state)
    assert torch.equal(told[0]["left"], state["state", "left"].to(torch.int64))
    assert torch.equal(env.instance_seeds, other.instance_seeds)
    for action in actions(env, 10):
        pairs = zip((env, other), told, strict=True)
        steps = [each.step_and_maybe_reset(td.set("action", action)) for each, td in pairs]
        assert frozen(steps[0][0]) == frozen(steps[1][0])
        told = [td for _, td in steps]


def test_both_sides_go_on_alike_from_a_state_that_was_put_in():
    rows = Rows(CountdownReference, countdown(expose_state=True))
    td = rows.td
    td.set(("state", "left"), torch.tensor([1, 2, 3, 4], dtype=torch.int32))
    td.set(("state", "gained"), torch.tensor([-0.0, 1.5, 2.5, 3.5]))
    td.set(("clock", "seed"), torch.tensor([-1, 0, 2**63 - 1, 5]))
    td.set(("clock", "episode"), torch.tensor([0, 1, 2**32 - 9, 7]))
    td.set(("clock", "t"), torch.tensor([0, 1, 2, 0]))
    rows.td = rows.fast.reset(td, set_state=True)
    for row, env in enumerate(rows.references):
        env.set_state(td[row].select("state", "clock").to_dict())
    for action in actions(rows.fast, 6):
        rows.step(action)
    assert rows.references[1].get_state()["clock"]["episode"] > 1


def test_a_mask_puts_in_its_rows_alone():
    env = countdown(expose_state=True)
    state = mid_episode(countdown(seed=8))
    td = env.reset()
    before = env.get_state()
    mask = torch.tensor([True, False, True, False]).unsqueeze(-1)
    told = env.reset(td.clone().update(state).set("_reset", mask), set_state=True)
    for row in range(4):
        assert frozen(env.get_state()[row]) == frozen((state if mask[row] else before)[row])
        assert frozen(told[row].select("state", "clock")) == frozen(state[row])  # TorchRL keeps what it was given
        assert int(told["left"][row]) == int(env.get_state()["state", "left"][row])


def test_a_reset_ignores_a_state_unless_it_is_asked_to_take_it():
    env = countdown(expose_state=True)
    td = env.reset()
    env.reset(td.clone(), set_state=False)
    assert env.get_state()["clock", "episode"].tolist() == [1] * 4
    with pytest.warns(FutureWarning, match="without specifying `set_state`"):
        env.reset(td.clone())
    assert env.get_state()["clock", "episode"].tolist() == [0] * 4


def test_a_seed_that_was_set_waits_for_a_full_reset_of_its_own():
    env = countdown()
    state = mid_episode(countdown(seed=8))
    env.set_seed(5)
    env.reset(state, set_state=True)
    assert torch.equal(env.instance_seeds, countdown(seed=8).instance_seeds)
    assert trace(env, 3) == trace(countdown(seed=5), 3)


def test_only_an_environment_that_exposes_its_state_shows_it():
    hidden, shown = countdown(), countdown(expose_state=True)
    names = {("state", "left"), ("state", "gained"), ("clock", "seed"), ("clock", "episode"), ("clock", "t")}
    assert names.isdisjoint(hidden.reset().keys(True, True))
    assert names <= set(shown.reset().keys(True, True))
    for spec in (shown.observation_spec, shown.state_spec):
        assert names <= set(spec.keys(True, True))
    assert names.isdisjoint(hidden.observation_spec.keys(True, True))
    assert len(list(hidden.state_spec.keys())) == 0


# ---------------------------------------------------------------------- inside a TransformedEnv


def test_a_transformed_environment_takes_a_state_that_it_exposes():
    env = transformed(expose_state=True)
    state = mid_episode(countdown(seed=8))
    td = env.reset(state.clone(), set_state=True)
    assert frozen(env.base_env.get_state()) == frozen(state)
    assert frozen(td.select("state", "clock")) == frozen(state)
    assert td["step_count"].tolist() == [[0]] * 4


def test_a_transformed_environment_that_hides_its_state_says_how_to_expose_it():
    env = transformed()
    env.reset()
    state = env.base_env.get_state()
    with pytest.raises(StateError, match=r"lacks \[\('state', 'left'\).*make the environment with expose_state=True"):
        env.reset(state, set_state=True)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("lost", [("state", "left"), ("clock", "seed"), ("clock", "t"), "clock", "state"], ids=str)
def test_a_state_that_lacks_a_key_is_refused_by_name(lost):
    env = countdown()
    state = mid_episode(env)
    before = frozen(state)
    name = lost if isinstance(lost, tuple) else (lost, "episode" if lost == "clock" else "gained")
    with pytest.raises(StateError, match=f"{name[1]}.*expose_state=True"):
        env.reset(state.clone().exclude(lost), set_state=True)
    assert frozen(env.get_state()) == before


def test_a_state_must_be_given():
    with pytest.raises(StateError, match=r"the TensorDict lacks .*expose_state=True"):
        countdown().reset(set_state=True)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        (("state", "left"), torch.zeros(4, dtype=torch.int64), StateError, r"expected torch.int32 \[4\], got .*int64"),
        (("state", "left"), torch.zeros(4, 1, dtype=torch.int32), StateError, r"expected .* \[4\], .* \[4, 1\]"),
        (("state", "gained"), torch.zeros(4, dtype=torch.float64), StateError, r"'gained'\): expected torch.float32"),
        (("clock", "t"), torch.zeros(4, dtype=torch.int32), StateError, r"'t'\): expected torch.int64 \[4\]"),
        (("clock", "t"), torch.tensor([0, -1, 0, 0]), SeedError, r"t: expected 0\.\.2\*\*32-1, got -1 in row 1"),
        (("clock", "episode"), torch.tensor([0, 0, 2**32, 0]), SeedError, "episode: .* in row 2"),
    ],
)
def test_a_field_of_another_form_is_refused(name, value, error, message):
    env = countdown()
    state = mid_episode(env)
    before = frozen(state)
    with pytest.raises(error, match=message):
        env.reset(state.set(name, value), set_state=True)
    assert frozen(env.get_state()) == before


# ---------------------------------------------------------------------- whose memory it is


@pytest.mark.parametrize("env", [countdown(expose_state=True), MirrorFast(batch_size=[4], expose_state=True)], ids=str)
def test_a_state_is_copied_in_and_out(env):
    state = mid_episode(env)
    kept = frozen(state)
    told = env.reset(state.clone(recurse=False), set_state=True)
    for td in (state, told, env.get_state()):
        for value in td.values(True, True):
            value.zero_()
    assert frozen(env.get_state()) == kept
    state = env.get_state()
    env.reset(state.clone(recurse=False), set_state=True)
    for action in actions(env, 3):
        env.step(told.set("action", action))
    assert frozen(state) == kept


def test_after_an_injection_the_next_episode_is_of_the_injected_stream():
    one, other = CountdownFast(batch_size=[3], seed=1), CountdownFast(batch_size=[3], seed=2)
    one.reset()
    state = one.get_state()
    other.reset(state.clone(), set_state=True)
    assert frozen(one.reset()) == frozen(other.reset())
    assert other.get_state()["clock", "episode"].tolist() == [1, 1, 1]
