"""Actions that a fast environment refuses: which row, and what was expected."""

import numpy as np
import pytest
import torch
from environments import CountdownFast, MirrorFast, acting, actions, frozen, limits
from gymnasium import spaces
from spaces_in_use import LEAVES, identify
from tensordict import TensorDict
from torchrl.envs import StepCounter, TransformedEnv

from simulacrum.errors import ActionError
from simulacrum.fast.actions import ArrayActions


def started(space, **options):
    env = acting(space)[1](batch_size=[3], seed=0, **options)
    return env, env.reset()


def refused(env, td, action):
    """The message with which an action is refused, once it is sure that nothing changed."""
    before = frozen(env.get_state())
    messages = []
    for step in (env.step, env.step_and_maybe_reset):
        with pytest.raises(ActionError) as caught:
            step(td.clone().set("action", action))
        messages.append(str(caught.value))
    assert frozen(env.get_state()) == before
    assert messages[0] == messages[1]
    return messages[0]


OUTSIDE = [
    (spaces.Discrete(4), 4),
    (spaces.Discrete(4), -1),
    (spaces.Discrete(4, start=-2), 2),
    (spaces.Discrete(4, start=-2), -3),
    (spaces.MultiDiscrete([3, 4]), [3, 0]),
    (spaces.MultiDiscrete([3, 4]), [0, -1]),
    (spaces.MultiDiscrete([3, 4], start=[1, -2]), [0, 0]),
    (spaces.MultiDiscrete([[3, 4], [2, 5]]), [[0, 0], [2, 0]]),
    (spaces.MultiBinary(3), [0, 1, 2]),
    (spaces.MultiBinary([2, 3]), [[0, 1, 0], [0, -1, 0]]),
    (spaces.Box(-1.0, 2.0, (2,), np.float32), [0.0, np.nextafter(np.float32(2), np.float32(3))]),
    (spaces.Box(-1.0, 2.0, (2,), np.float32), [np.nan, 0.0]),
    (spaces.Box(-1.0, 2.0, (2,), np.float32), [0.0, -np.inf]),
    (spaces.Box(-1.0, 2.0, (), np.float32), 2.5),
    (spaces.Box(-np.inf, np.inf, (2,), np.float32), [0.0, np.nan]),
    (spaces.Box(-3, 5, (2,), np.int32), [0, 6]),
    (spaces.Box(-5, 5, (), np.int64), -6),
    (LEAVES[-1], [0.0, 0.0, 2.5, 0.0]),
]


@pytest.mark.parametrize(("space", "wrong"), OUTSIDE, ids=identify)
def test_an_action_outside_its_space_is_refused_by_row(space, wrong):
    env, td = started(space)
    action = actions(env, 1)[0]
    action[1] = torch.tensor(wrong, dtype=action.dtype)
    action[2] = torch.tensor(wrong, dtype=action.dtype)
    message = refused(env, td, action)
    assert message == f"action: expected elements of {space}, got {action[1].tolist()} in row 1"


@pytest.mark.parametrize("space", LEAVES, ids=identify)
def test_the_ends_of_a_space_are_taken(space):
    env, td = started(space)
    for bound in limits(space):
        bound = np.stack([bound] * 3).astype(space.dtype)
        env.step(td.clone().set("action", torch.from_numpy(bound)))


@pytest.mark.parametrize("space", LEAVES, ids=identify)
def test_an_action_of_another_form_is_refused(space):
    env, td = started(space)
    action = actions(env, 1)[0]
    other = torch.float64 if action.dtype != torch.float64 else torch.float32
    wanted = f"action: expected shape {tuple(action.shape)}, {action.dtype} on cpu, got shape"
    assert refused(env, td, action.to(other)) == f"{wanted} {tuple(action.shape)}, {other} on cpu"
    shape = (*action.shape, 1)
    assert refused(env, td, action.unsqueeze(-1)) == f"{wanted} {shape}, {action.dtype} on cpu"


def test_an_action_on_another_device_is_refused():
    env, td = started(spaces.Discrete(4))
    td = td.clone().clear_device_()
    with pytest.raises(ActionError, match=r"expected shape \(3,\), torch.int64 on cpu, got .* on meta"):
        env.step(td.set("action", torch.zeros(3, dtype=torch.int64, device="meta")))


def test_a_missing_action_is_refused():
    env, td = started(spaces.Discrete(4))
    for step in (env.step, env.step_and_maybe_reset):
        with pytest.raises(ActionError, match="the TensorDict has no 'action'"):
            step(td.clone())


def test_rows_are_counted_row_major():
    env = CountdownFast(batch_size=[2, 3])
    td = env.reset()
    with pytest.raises(ActionError, match="got 7 in row 5"):
        env.step(td.set("action", torch.tensor([[0, 1, 2], [0, 1, 7]])))


def test_a_single_instance_is_row_0():
    env = CountdownFast()
    with pytest.raises(ActionError, match="got 3 in row 0"):
        env.step(env.reset().set("action", torch.tensor(3)))


def test_an_action_is_refused_inside_a_transformed_environment():
    env = TransformedEnv(CountdownFast(batch_size=[2]), StepCounter())
    with pytest.raises(ActionError, match="row 1"):
        env.step(env.reset().set("action", torch.tensor([0, 3])))


def test_a_partial_step_checks_its_action_too():
    env = CountdownFast(batch_size=[2])
    td = env.reset().set("_step", torch.tensor([[True], [False]]))
    with pytest.raises(ActionError, match="row 0"):
        env.step(td.set("action", torch.tensor([3, 0])))


@pytest.mark.parametrize("resets", ["rows", "masked"])
def test_one_switch_leaves_values_unchecked_and_forms_checked(resets):
    env, td = started(spaces.Box(-1.0, 2.0, (2,), np.float32), validate_actions=False, resets=resets)
    td = env.step(td.set("action", torch.tensor([[9.0, 0.0], [0.0, torch.nan], [0.0, 0.0]])))
    assert td["next", "reward"].tolist()[0] == [9.0]
    with pytest.raises(ActionError, match="expected shape"):
        env.step(td.set("action", torch.zeros(3)))
    assert not env.validate_actions
    assert CountdownFast().validate_actions


def test_the_action_is_neither_written_nor_kept():
    env = MirrorFast(batch_size=[3], seed=0, expose_state=True)
    td = env.reset()
    for action in actions(env, 3):
        kept = action.clone()
        done, td = env.step_and_maybe_reset(td.set("action", action))
        assert torch.equal(action, kept)
        before = frozen(env.get_state())
        action.fill_(torch.nan)
        assert frozen(env.get_state()) == before
        assert torch.equal(done["next", "info", "last"], kept)


def test_an_expanded_action_is_taken_as_any_other():
    envs = [MirrorFast(batch_size=[3], seed=0) for _ in range(2)]
    action = torch.tensor([0.5, -0.5])
    given = (action.expand(3, 2), action.repeat(3, 1))
    tds = [env.reset().set("action", value) for env, value in zip(envs, given, strict=True)]
    assert frozen(envs[0].step(tds[0])) == frozen(envs[1].step(tds[1]))


def test_actions_of_an_environment_may_have_names_beside_them():
    env = CountdownFast(batch_size=[2])
    td = TensorDict({"action": torch.zeros(2, dtype=torch.int64), "hidden": torch.ones(2, 4)}, [2])
    env.reset()
    assert torch.equal(env.step(td)["hidden"], torch.ones(2, 4))


# ---------------------------------------------------------------------- actions as NumPy code gives them


def test_arrays_keep_what_loses_nothing():
    taken = ArrayActions(spaces.Box(-3, 5, (2,), np.int32), 2)
    for values in ([[0, 1], [2, 3]], np.array([[0, 1], [2, 3]], np.int64), np.array([[0, 1], [2, 3]], np.uint8)):
        array = taken.convert(values)
        assert array.dtype == np.int32
        assert array.tolist() == [[0, 1], [2, 3]]
    given = np.zeros((2, 2), np.int32)
    assert not np.shares_memory(taken.convert(given), given)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 2), np.float64), "expected int32 .* got float64"),
        ([[0.0, 1.0], [0.0, 1.0]], "expected int32 .* got float64"),
        (np.zeros((2, 3), np.int32), r"expected shape \(2, 2\), got \(2, 3\)"),
        (np.array([[0, 0], [2**40, 0]]), r"got \[1099511627776, 0\] in row 1"),
        ([[0, 0], [0]], "got no array"),
    ],
)
def test_arrays_that_would_lose_are_refused(values, message):
    with pytest.raises(ActionError, match=message):
        ArrayActions(spaces.Box(-3, 5, (2,), np.int32), 2).convert(values)
