"""What a fast environment returns: its forms, its constants, and whose memory it is."""

import itertools

import numpy as np
import pytest
import torch
from environments import (
    FORAGER,
    TOYWALK,
    CountdownFast,
    CountdownRows,
    MirrorFast,
    actions,
    frozen,
    steps,
    trace,
)

from simulacrum.errors import OutputError

RESETS = ["rows", "masked"]
FASTS = [CountdownFast, MirrorFast, TOYWALK.fast, FORAGER.fast]


def with_result(**changes):
    """A countdown some of whose functions' results are changed."""

    class Changed(CountdownFast):
        def initial(self, draw):
            return changes.get("initial", lambda state: state)(super().initial(draw))

        def transition(self, state, action, draw):
            return changes.get("transition", lambda *parts: parts)(*super().transition(state, action, draw))

        def observation(self, state):
            return changes.get("observation", lambda seen: seen)(super().observation(state))

        def action_mask(self, state):
            return changes.get("action_mask", lambda mask: mask)(super().action_mask(state))

    return Changed


def left(change):
    """Changes the field of a state."""
    return lambda state: CountdownRows(left=change(state.left), gained=state.gained)


# ---------------------------------------------------------------------- forms


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transition": lambda after, reward, over: (after, reward.unsqueeze(-1), over)},
            r"transition: reward: expected torch.float32 \[N\] .*got torch.float32 \[3, 1\]",
        ),
        (
            {"transition": lambda after, reward, over: (after, reward[0], over)},
            r"transition: reward: expected torch.float32 \[N\] .*got torch.float32 \[\]",
        ),
        (
            {"transition": lambda after, reward, over: (after, 1.0, over)},
            r"transition: reward: expected torch.float32 \[N\] .*got 1.0",
        ),
        (
            {"transition": lambda after, reward, over: (after, reward.double(), over)},
            r"transition: reward: expected torch.float32 \[N\] .*got torch.float64 \[3\]",
        ),
        (
            {"transition": lambda after, reward, over: (after, reward, over.int())},
            r"transition: terminated: expected torch.bool \[N\] .*got torch.int32 \[3\]",
        ),
        (
            {"transition": lambda after, reward, over: (after, reward, over.any())},
            r"transition: terminated: expected torch.bool \[N\] .*got torch.bool \[\]",
        ),
        (
            {"transition": lambda after, reward, over: (left(torch.Tensor.long)(after), reward, over)},
            r"transition: state field left: expected torch.int32 \[N\] .*got torch.int64 \[3\]",
        ),
        (
            {"transition": lambda after, reward, over: (left(lambda old: old[:1])(after), reward, over)},
            r"transition: state field left: expected torch.int32 \[N\] .*got torch.int32 \[1\]",
        ),
        (
            {"initial": left(lambda old: old[0])},
            r"initial: state field left: expected a tensor \[N, ...\] \(here N = 3\), got torch.int32 \[\]",
        ),
        ({"initial": left(lambda old: 2)}, r"initial: state field left: expected a tensor \[N, ...\] .* got 2"),
        (
            {"observation": lambda seen: {**seen, "gained": seen["gained"].double()}},
            r"observation 'gained': expected torch.float32 \[N\] .*got torch.float64 \[3\]",
        ),
        (
            {"observation": lambda seen: {**seen, "pair": seen["pair"].long()}},
            r"observation 'pair': expected torch.int32 \[N, 2\] .*got torch.int64 \[3, 2\]",
        ),
        (
            {"observation": lambda seen: {**seen, "pair": seen["pair"][:, :1]}},
            r"observation 'pair': expected torch.int32 \[N, 2\] .*got torch.int32 \[3, 1\]",
        ),
        (
            {"observation": lambda seen: {key: seen[key] for key in ("left", "pair")}},
            r"observation: expected the key 'gained', got \['left', 'pair'",
        ),
        ({"observation": lambda seen: {**seen, "more": seen["left"]}}, "observation: the key 'more' is not in Dict"),
        ({"observation": lambda seen: seen["left"]}, r"observation: expected the key '\w+', got \['observation'"),
        ({"action_mask": lambda mask: mask.any()}, r"observation 'action_mask': expected a tensor \[N, ...\]"),
    ],
)
def test_a_wrong_form_is_refused_when_the_environment_is_made(changes, message):
    with pytest.raises(OutputError, match=message):
        with_result(**changes)()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("reward", lambda reward: reward.double(), r"reward: expected torch.float32 \[N\] .*got torch.float64 \[4\]"),
        ("reward", lambda reward: reward.unsqueeze(-1), r"reward: expected torch.float32 \[N\] .*got .* \[4, 1\]"),
        ("left", lambda left: left.long(), r"observation 'left': expected torch.int64 \[N\] .*got torch.float32 \[4\]"),
    ],
)
def test_a_form_that_changes_later_is_refused_too(name, value, message):
    """With the number of rows, here: the trial step has three."""

    class Changing(CountdownFast):
        def transition(self, state, action, draw):
            after, reward, over = super().transition(state, action, draw)
            return after, value(reward) if name == "reward" and len(reward) == 4 else reward, over

        def observation(self, state):
            seen = super().observation(state)
            if name == "left" and len(state.left) == 4:
                seen["left"] = seen["left"].float()
            return seen

    with pytest.raises(OutputError, match=message):
        for _ in steps(Changing(batch_size=[4]), 1):
            pass


def test_an_observation_with_other_keys_is_refused_later_too():
    class Changing(CountdownFast):
        def observation(self, state):
            seen = super().observation(state)
            return {**seen, "more": seen["left"]} if len(state.left) == 4 else seen

    with pytest.raises(OutputError, match="observation: expected the keys"):
        Changing(batch_size=[4]).reset()


# ---------------------------------------------------------------------- memory


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize("expose_state", [False, True])
@pytest.mark.parametrize("fast", FASTS)
def test_what_was_returned_is_never_written_again(fast, expose_state, resets):
    env = fast(batch_size=[4], seed=0, resets=resets, expose_state=expose_state)
    td = env.reset()
    held = [(td, frozen(td))]
    for number, action in enumerate(actions(env, 8)):
        if number % 2:
            done = env.step(td.clone(recurse=False).set("action", action))
            td = env.maybe_reset(env.step_mdp(done))
        else:
            done, td = env.step_and_maybe_reset(td.clone(recurse=False).set("action", action))
        for each in (done, td, env.get_state()):
            held.append((each, frozen(each)))
    env.reset()
    assert all(frozen(td) == bits for td, bits in held)


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize("expose_state", [False, True])
@pytest.mark.parametrize("fast", FASTS)
def test_writing_to_what_was_returned_changes_nothing_inside(fast, expose_state, resets):
    def written(td):
        for value in td.values(True, True):
            value.logical_not_() if value.dtype == torch.bool else value.fill_(3)

    env, other = (fast(batch_size=[4], seed=0, resets=resets, expose_state=expose_state) for _ in range(2))
    td, expected = env.reset(), other.reset()
    for action in actions(env, 8):
        written(td)
        (done, td), (shown, expected) = (
            each.step_and_maybe_reset(given.empty().set("action", action.clone()))
            for each, given in ((env, td), (other, expected))
        )
        assert frozen(done) == frozen(shown)
        assert frozen(td) == frozen(expected)
        written(done)
        written(env.get_state())
        assert frozen(env.get_state()) == frozen(other.get_state())


def test_no_two_values_of_a_step_share_memory():
    env = MirrorFast(batch_size=[4], seed=0, expose_state=True)
    for td in steps(env, 4):
        places = sorted((value.data_ptr(), value.data_ptr() + value.nbytes) for value in td.values(True, True))
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(places))


def test_a_partial_step_leaves_the_other_rows_and_what_was_returned():
    env = CountdownFast(batch_size=[4], seed=0, expose_state=True)
    td = env.reset()
    before = frozen(td)
    mask = torch.tensor([True, False, False, True])
    given = td.clone(recurse=False).set("action", torch.ones(4, dtype=torch.int64)).set("_step", mask.unsqueeze(-1))
    after = env.step(given)["next"]
    assert frozen(td) == before
    assert after["clock", "t"].tolist() == [1, 0, 0, 1]
    assert after["reward"].squeeze(-1).tolist() == [np.float32(0.1), 0.0, 0.0, np.float32(0.1)]
    for row in (1, 2):
        names = env.observation_keys
        assert frozen(after[row].select(*names)) == frozen(td[row].select(*names))
        assert frozen(env.get_state()[row]) == frozen(td[row].select("state", "clock"))


def test_only_the_rows_of_partial_steps_come_to_an_end():
    env = CountdownFast(batch_size=[4], seed=0, expose_state=True)
    td, mask = env.reset(), torch.tensor([True, False, False, True]).unsqueeze(-1)
    for action in actions(env, 3):
        td = env.step_mdp(env.step(td.set("action", action).set("_step", mask.clone())))
    assert torch.equal(td["done"], mask)
    assert torch.equal(td["terminated"] | td["truncated"], mask)
    assert td["clock", "t"].tolist() == [3, 0, 0, 3]


def test_a_partial_step_keeps_the_flags_of_the_rows_that_have_ended():
    env = CountdownFast(batch_size=[4], seed=0, expose_state=True)
    td = env.reset()
    for action in actions(env, 3):
        after = env.step(td.set("action", action))
        td = env.step_mdp(after)
    assert after["next", "done"].all()
    told = env.step(td.set("_step", torch.tensor([True, False, False, False]).unsqueeze(-1)).set("action", action))
    for name in ("done", "terminated", "truncated"):
        assert torch.equal(told["next", name][1:], after["next", name][1:])


# ---------------------------------------------------------------------- constants and numbers


def test_constants_are_exact_and_made_once():
    env = CountdownFast()
    before = torch.get_default_dtype()
    try:
        for default in (torch.float32, torch.float64, torch.float16):
            torch.set_default_dtype(default)
            assert env.float32(0.1).dtype == torch.float32
            assert env.float32(0.1).item() == float(np.float32(0.1))
            assert env.float64(0.1).item() == 0.1
            assert env.int32([1, 2**31 - 1]).tolist() == [1, 2**31 - 1]
            assert env.constant([True, False], torch.bool).tolist() == [True, False]
    finally:
        torch.set_default_dtype(before)
    assert env.float32(0.1) is env.float32(0.1)
    assert env.float32(1) is not env.float64(1)


def test_constants_that_print_alike_are_told_apart():
    env = CountdownFast()
    assert env.float32(0.0).signbit().item() is False
    assert env.float32(-0.0).signbit().item() is True
    assert env.float64(np.array([0.1])).item() != env.float64(np.array([np.nextafter(0.1, 1)])).item()
    long, longer = np.arange(5000), np.arange(5000)
    longer[2500] = -1
    assert env.int32(long)[2500] == 2500
    assert env.int32(longer)[2500] == -1
    assert env.float32(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("fast", FASTS)
def test_nothing_depends_on_the_default_dtype(fast):
    expected = trace(fast(batch_size=[4], seed=0, expose_state=True), 10)
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        env = fast(batch_size=[4], seed=0, expose_state=True)
        assert [spec.dtype for spec in env.specs.values(True, True)] == [
            spec.dtype for spec in fast(batch_size=[4], expose_state=True).specs.values(True, True)
        ]
        kept = actions(fast(batch_size=[4]), 10)
        td = env.reset()
        for action, bits in zip(kept, expected, strict=True):
            done, td = env.step_and_maybe_reset(td.set("action", action))
            assert frozen(done) == bits
    finally:
        torch.set_default_dtype(before)


def test_no_global_generator_is_touched():
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    env = CountdownFast(batch_size=[4], seed=0)
    td = env.reset()
    for _ in range(8):
        _, td = env.step_and_maybe_reset(td.set("action", torch.ones(4, dtype=torch.int64)))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_an_implementation_that_writes_into_its_input_is_refused():
    class Writing(CountdownFast):
        def transition(self, state, action, draw):
            state.left.sub_(1)
            return super().transition(state, action, draw)

    with pytest.raises(OutputError, match=r"writes into its input \(state field left\): give new tensors"):
        Writing(batch_size=[2])
