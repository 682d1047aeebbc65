"""The reference side: Gymnasium's API from three functions, and any state at any clock."""

import copy
import pickle
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from environments import (
    COUNTDOWN,
    FORAGER,
    TOYWALK,
    CountdownFast,
    CountdownReference,
    CountdownState,
    Slots,
    acting,
    showing,
)
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from spaces_in_use import ACTIONS, OBSERVATIONS, identify

from simulacrum import Environment, ReferenceEnv
from simulacrum.errors import ActionError, SeedError, SpecError, StateError
from simulacrum.rng import Draw


class Endless(CountdownReference):
    environment = replace(COUNTDOWN, max_episode_steps=None)

    def transition(self, state, action, draw):
        return CountdownState(state.left, state.gained), np.float32(0), False


def checked(reference, mode=None, skip_render_check=False):
    """Gymnasium's checker, with its warnings as errors but for its advice on unusual ranges."""
    env = reference(render_mode=mode)
    env.spec = EnvSpec(id=env.environment.id, entry_point=reference, disable_env_checker=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "(?s).*For Box action spaces, we recommend")
        warnings.filterwarnings("ignore", "(?s).*A Box (action|observation) space (minimum|maximum) value is")
        check_env(env, skip_render_check=skip_render_check)
    env.close()


def episode(env, seed=None):
    """The observations, rewards and flags of an episode with the action 1."""
    seen = [env.reset(seed=seed)[0]]
    while True:
        *step, _ = env.step(1)
        seen.append(step)
        if step[2] or step[3]:
            return repr(seen)


# ---------------------------------------------------------------------- Gymnasium's checker


@pytest.mark.parametrize("mode", [None, "ansi", "rgb_array", "human"])
@pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=["toywalk", "forager"])
def test_check_env_passes_without_a_warning_in_every_render_mode(package, mode, capsys):
    checked(package.reference, mode)


@pytest.mark.parametrize("space", ACTIONS, ids=identify)
def test_check_env_passes_for_every_action_space(space):
    checked(acting(space)[0], skip_render_check=True)


@pytest.mark.parametrize("space", OBSERVATIONS, ids=identify)
def test_check_env_passes_for_every_observation_space(space):
    checked(showing(space)[0], skip_render_check=True)


def test_check_env_passes_with_a_mask_and_infos():
    checked(CountdownReference, skip_render_check=True)


# ---------------------------------------------------------------------- seeds and episodes


def test_a_seed_begins_episode_0_and_a_later_reset_the_next():
    env = CountdownReference()
    told = []
    for seed in (7, None, None, 8, 7):
        info = env.reset(seed=seed)[1]
        told.append((info["seed"], env.get_state()["clock"]["episode"]))
    assert told == [(7, 0), (7, 1), (7, 2), (8, 0), (7, 0)]


def test_an_episode_draws_with_its_own_seed_number_and_step():
    env = CountdownReference()
    env.reset(seed=7)
    for number in range(20):
        left = 2 + Draw.at(7, number, 0).randint(Slots.LEFT, 3)
        assert env.get_state()["state"]["left"] == left
        for t in range(2):
            env.step(0)
            left -= not Draw.at(7, number, t).bernoulli(Slots.PAUSE, 0.25)
            assert env.get_state()["state"]["left"] == left
            if left == 0:
                break
        env.reset()


def test_an_episode_is_the_same_whatever_was_done_before():
    one, other = CountdownReference(), CountdownReference()
    other.reset(seed=3)
    other.step(2)
    expected = [episode(one, seed=7), episode(one), episode(one)]
    assert [episode(other, seed=7), episode(other), episode(other)] == expected


def test_without_a_seed_one_comes_from_the_operating_system_and_is_told():
    told = [CountdownReference().reset()[1] for _ in range(3)]
    assert len({info["seed"] for info in told}) == 3
    assert all(0 <= info["seed"] < 2**63 for info in told)
    env = CountdownReference()
    first = episode(env)
    assert episode(env, seed=env.get_state()["clock"]["seed"]) == first


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1, np.uint64(2**64 - 1), np.int64(5)])
def test_every_seed_of_64_bits_is_taken(seed):
    assert CountdownReference().reset(seed=seed)[1]["seed"] == int(seed)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_other_seeds_are_refused_and_change_nothing(seed):
    env = CountdownReference()
    env.reset(seed=3)
    with pytest.raises(SeedError, match=r"seed: expected an integer in 0\.\.2\*\*64-1"):
        env.reset(seed=seed)
    assert env.get_state()["clock"] == {"seed": 3, "episode": 0, "t": 0}
    env.reset()
    assert env.get_state()["clock"] == {"seed": 3, "episode": 1, "t": 0}


def test_instances_share_no_random_generator():
    one, other = CountdownReference(), CountdownReference()
    for space in ("action_space", "observation_space"):
        getattr(one, space).seed(1)
        expected = [getattr(one, space).sample() for _ in range(5)]
        getattr(one, space).seed(1)
        getattr(other, space).seed(2)
        assert repr([getattr(one, space).sample() for _ in range(5)]) == repr(expected)


# ---------------------------------------------------------------------- steps and ends


def test_terminated_and_truncated_are_told_apart_and_together():
    ends = {}
    env = CountdownReference()
    for seed in range(40):
        env.reset(seed=seed)
        start = env.get_state()["state"]["left"]
        while True:
            _, _, terminated, truncated, _ = env.step(0)
            clock, left = env.get_state()["clock"]["t"], env.get_state()["state"]["left"]
            assert terminated is (left <= 0)
            assert truncated is (clock >= 3)
            if terminated or truncated:
                ends[terminated, truncated] = start
                with pytest.raises(ResetNeeded):
                    env.step(0)
                break
    assert ends.keys() == {(True, False), (False, True), (True, True)}


def test_the_step_cap_counts_steps_of_an_episode():
    env = CountdownReference()
    for _ in range(3):
        env.reset()
        env.set_state({"state": {"left": 9, "gained": 0}, "clock": {"seed": 0, "episode": 0, "t": 0}})
        assert [env.step(0)[3] for _ in range(3)] == [False, False, True]


def test_without_a_cap_no_episode_is_truncated():
    env = Endless()
    env.reset(seed=0)
    assert not any(env.step(0)[3] for _ in range(1000))
    env.set_state({"state": {"left": 3, "gained": 0}, "clock": {"seed": 0, "episode": 0, "t": 2**30}})
    assert env.step(0)[2:4] == (False, False)


def test_a_step_needs_a_running_episode():
    env = CountdownReference()
    with pytest.raises(ResetNeeded, match=r"no episode has begun; call reset\(\) first"):
        env.step(0)
    for name in ("get_state", "render"):
        with pytest.raises(ResetNeeded, match="no episode has begun"):
            getattr(TOYWALK.reference(render_mode="ansi"), name)()
    episode(env, seed=0)
    before = env.get_state()
    with pytest.raises(ResetNeeded, match=r"the episode is over; call reset\(\) first"):
        env.step(0)
    assert env.get_state() == before
    env.reset()
    env.step(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rewards_are_floats_in_the_declared_precision(dtype):
    class Paying(CountdownReference):
        environment = replace(COUNTDOWN, reward_dtype=dtype)

        def transition(self, state, action, draw):
            return state, 0.1, False

    env = Paying()
    env.reset(seed=0)
    reward = env.step(1)[1]
    assert type(reward) is float
    assert reward == float(dtype(0.1))


def test_masks_and_infos_are_told_at_resets_and_steps():
    env = CountdownReference()
    _, info = env.reset(seed=0)
    assert info.keys() == {"seed", "odd", "seen", "action_mask"}
    *_, info = env.step(0)
    assert info.keys() == {"odd", "seen", "action_mask"}
    left = env.get_state()["state"]["left"]
    assert info["action_mask"].tolist() == [True, left > 1, left > 2]
    assert info["seen"].tolist() == [left, 1]


# ---------------------------------------------------------------------- actions


WRONG = [
    (spaces.Discrete(4), [4, -1, 1.0, "1", None, np.array([1]), np.float32(1.0), np.nan]),
    (spaces.Discrete(4, start=-2), [2, -3]),
    (spaces.MultiDiscrete([3, 4]), [[3, 0], [0, -1], [0], [[0, 0]], [0.0, 1.0], 1]),
    (spaces.MultiDiscrete([[3, 4], [2, 5]]), [[[0, 4], [0, 0]], [0, 0, 0, 0]]),
    (spaces.MultiBinary(3), [[0, 1, 2], [0, 1], [0.0, 1.0, 0.0], [0, 1, np.nan], [0, 1, -1]]),
    (spaces.Box(-1.0, 1.0, (2,), np.float32), [[1.5, 0.0], [np.nan, 0.0], [0.0], [np.inf, 0.0]]),
    (spaces.Box(-3, 5, (2,), np.int32), [[6, 0], [-4, 0], [0.5, 0.0]]),
]


@pytest.mark.parametrize(("space", "wrong"), WRONG, ids=[identify(space) for space, _ in WRONG])
def test_actions_outside_the_space_are_refused_and_change_nothing(space, wrong):
    env = acting(space)[0]()
    env.reset(seed=0)
    before = repr(env.get_state())
    for action in wrong:
        action = np.array(action) if isinstance(action, list) else action
        with pytest.raises(ActionError) as caught:
            env.step(action)
        assert str(caught.value) == f"action: expected an element of {space}, got {action!r}"
    assert repr(env.get_state()) == before


def test_a_float64_array_is_no_action_of_a_float32_space():
    env = acting(spaces.Box(-1.0, 1.0, (2,), np.float32))[0]()
    env.reset(seed=0)
    with pytest.raises(ActionError):
        env.step(np.zeros(2, np.float64))


@pytest.mark.parametrize("action", [1, np.int64(1), np.uint8(1), np.array(1)], ids=repr)
def test_a_discrete_action_reaches_the_rules_as_an_int(action):
    class Typed(CountdownReference):
        environment = COUNTDOWN

        def transition(self, state, action, draw):
            assert type(action) is int
            return super().transition(state, action, draw)

    env = Typed()
    env.reset(seed=0)
    env.step(action)


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (spaces.MultiDiscrete([3, 4]), [1, 2]),
        (spaces.MultiBinary(2), np.array([True, False])),
        (spaces.MultiBinary(2), np.array([1, 0])),
        (spaces.Box(-1.0, 1.0, (2,), np.float32), np.array([1, 0], np.float16)),
    ],
    ids=identify,
)
def test_other_actions_reach_the_rules_as_an_array_of_the_spaces_dtype(space, action):
    kept = []

    class Keeping(acting(space)[0]):
        def transition(self, state, action, draw):
            kept.append(action)
            return super().transition(state, action, draw)

    env = Keeping()
    env.reset(seed=0)
    env.step(action)
    assert isinstance(kept[0], np.ndarray)
    assert kept[0].dtype == space.dtype
    assert kept[0] is not action


def test_the_action_is_neither_written_nor_kept():
    class Keeping(acting(spaces.Box(-1.0, 1.0, (2,), np.float32))[0]):
        def transition(self, state, action, draw):
            action *= 2
            return type(state)(action), 0.0, False

    env = Keeping()
    env.reset(seed=0)
    action = np.array([0.5, 0.25], np.float32)
    env.step(action)
    assert action.tolist() == [0.5, 0.25]
    action[:] = 0
    assert env.get_state()["state"]["last"].tolist() == [1.0, 0.5]


# ---------------------------------------------------------------------- states


def test_a_state_that_is_put_back_goes_on_in_the_same_way():
    env, other = CountdownReference(), CountdownReference()
    env.reset(seed=11)
    env.step(2)
    snapshot = env.get_state()
    seen, info = other.set_state(snapshot)
    assert repr(other.get_state()) == repr(snapshot)
    assert repr(seen) == repr(env.observation(env._state))
    assert info["seed"] == 11
    assert repr(env.step(1)) == repr(other.step(1))
    assert repr(env.reset()) == repr(other.reset())


def test_a_state_comes_from_the_fast_side_as_tensors():
    fast = CountdownFast(batch_size=[3], seed=5)
    fast.reset()
    snapshot = fast.get_state()[1].to_dict()
    env = CountdownReference()
    env.set_state(snapshot)
    assert env.get_state()["clock"]["seed"] == int(fast.instance_seeds[1]) % 2**64
    assert type(env.get_state()["state"]["left"]) is int
    assert type(env.get_state()["state"]["gained"]) is np.float32


def test_an_episode_that_was_over_can_be_entered_again():
    env = CountdownReference()
    env.reset(seed=0)
    snapshot = env.get_state()
    episode(env)
    env.set_state(snapshot)
    env.step(0)


@dataclass
class NestedState:
    grid: list[list[int]]
    pair: tuple[float, ...]
    array: np.ndarray
    flag: bool
    t: int = 0


class Nested(ReferenceEnv[NestedState]):
    """Writes to its state where a careless author would."""

    environment = Environment("tests/nested-v0", spaces.Discrete(2), spaces.Discrete(9), None)

    def initial(self, draw):
        return NestedState([[0, 0], [0, 0]], (0.5, 1.5), np.zeros(2, np.int32), False)

    def transition(self, state, action, draw):
        state.grid[0][1] += 1
        state.array[0] += 1
        return state, 0.0, False

    def observation(self, state):
        return np.int64(min(state.grid[0][1], 8))


def test_a_snapshot_shares_nothing_with_the_environment():
    env = Nested()
    env.reset()
    snapshot = env.get_state()
    env.step(0)
    assert snapshot["state"]["grid"] == [[0, 0], [0, 0]]
    assert snapshot["state"]["array"].tolist() == [0, 0]
    env.set_state(snapshot)
    snapshot["state"]["grid"][0][1] = snapshot["state"]["array"][0] = 7
    assert env.get_state()["state"]["grid"] == [[0, 0], [0, 0]]
    assert env.get_state()["state"]["array"].tolist() == [0, 0]


def test_every_annotation_gets_its_type():
    env = Nested()
    arrays = {"grid": np.ones((2, 2), np.int32), "pair": np.ones(2), "array": [1, 2], "flag": np.bool_(True)}
    env.set_state({"state": arrays, "clock": {"seed": 0, "episode": 0, "t": 0}})
    state = env.get_state()["state"]
    assert state["grid"] == [[1, 1], [1, 1]]
    assert type(state["grid"][0][0]) is int
    assert state["pair"] == (1.0, 1.0)
    assert type(state["pair"][0]) is float
    assert isinstance(state["array"], np.ndarray)
    assert state["flag"] is True


GOOD = {"state": {"left": 2, "gained": 0.5}, "clock": {"seed": 1, "episode": 2, "t": 1}}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"state": {"left": 2}}, StateError, r"missing \['gained'\]"),
        ({"state": {"left": 2, "gained": 0, "more": 1}}, StateError, r"unknown \['more'\]"),
        ({"state": {"left": 2, "gained": 0, "t": 1}}, StateError, r"unknown \['t'\]"),
        ({"state": {"left": 2.5, "gained": 0}}, StateError, "left: cannot take 2.5"),
        ({"state": {"left": np.array([2]), "gained": 0}}, StateError, r"left: .* got the shape \[1\]"),
        ({"state": {"left": 2, "gained": np.zeros(2)}}, StateError, r"gained: .* got the shape \[2\]"),
        ({"clock": {"seed": 1, "episode": 2}}, StateError, r"clock: .* missing \['t'\]"),
        ({"clock": {"seed": 1, "episode": 2.5, "t": 1}}, StateError, "clock: expected integers"),
        ({"clock": {"seed": np.zeros(2), "episode": 2, "t": 1}}, StateError, "clock: expected integers"),
        ({"clock": {"seed": 2**64, "episode": 2, "t": 1}}, SeedError, "seed: "),
        ({"clock": {"seed": -(2**63) - 1, "episode": 2, "t": 1}}, SeedError, "seed: "),
        ({"clock": {"seed": 1, "episode": 2**32, "t": 1}}, SeedError, "episode: "),
        ({"clock": {"seed": 1, "episode": 2, "t": -1}}, SeedError, "t: "),
    ],
)
def test_a_wrong_state_is_refused_and_changes_nothing(change, error, message):
    env = CountdownReference()
    env.reset(seed=3)
    before = env.get_state()
    with pytest.raises(error, match=message):
        env.set_state({**GOOD, **change})
    assert env.get_state() == before


def test_a_snapshot_without_a_part_is_refused():
    with pytest.raises(StateError, match=r"missing \['clock'\]"):
        CountdownReference().set_state({"state": GOOD["state"]})


def test_a_seed_may_come_as_the_bits_of_a_tensor():
    env = CountdownReference()
    env.set_state({**GOOD, "clock": {"seed": np.array(-1, np.int64), "episode": 2, "t": 1}})
    assert env.get_state()["clock"] == {"seed": 2**64 - 1, "episode": 2, "t": 1}


# ---------------------------------------------------------------------- copies


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
@pytest.mark.parametrize("reference", [CountdownReference, TOYWALK.reference, FORAGER.reference])
def test_a_copy_goes_on_in_the_same_way_and_apart(reference, again):
    env = reference()
    fresh = again(env)
    with pytest.raises(ResetNeeded):
        fresh.step(0)
    env.reset(seed=4)
    env.step(1)
    other = again(env)
    assert type(other) is type(env)
    expected = repr([env.step(0), env.reset(), env.step(1)])
    assert repr([other.step(0), other.reset(), other.step(1)]) == expected


# ---------------------------------------------------------------------- classes


def test_a_class_without_an_environment_is_refused():
    with pytest.raises(SpecError, match=r"Bare.environment: expected a simulacrum.Environment"):

        class Bare(ReferenceEnv[CountdownState]):
            pass


def test_a_class_without_its_state_is_refused():
    with pytest.raises(SpecError, match=r"expected its State as a parameter: class Bare\(ReferenceEnv\[State\]\)"):

        class Bare(ReferenceEnv):
            environment = COUNTDOWN


def test_a_state_that_is_no_dataclass_is_refused():
    class Plain:
        pass

    with pytest.raises(SpecError, match="Plain: expected a dataclass"):

        class Bare(ReferenceEnv[Plain]):
            environment = COUNTDOWN


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(ValueError, match=r"render_mode: expected one of .*, got 'video'"):
        CountdownReference(render_mode="video")
