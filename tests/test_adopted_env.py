"""``adopt`` and ``AdoptedEnv``: an unmodified ``gymnasium.Env`` as a reference."""

import copy
import warnings
from typing import ClassVar

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env

import simulacrum
from simulacrum import Adoption
from simulacrum.errors import ActionError, DrawError, OutputError, SpecError
from simulacrum.originals import KeyedGenerator
from simulacrum.rng import Draw

ADOPTED = {
    "FrozenLake-v1": {"state": ["s"], "observation": "s"},
    "FrozenLake8x8-v1": {"state": {"cell": "s"}, "observation": lambda env: int(env.s)},
    "CliffWalking-v1": {"state": ["s"], "observation": "s"},
    "CliffWalkingSlippery-v1": {"state": ["s"], "observation": "s"},
    "Taxi-v4": {
        "state": ["s", "fickle_step"],
        "observation": "s",
        "action_mask": lambda env: env.action_mask(env.s),
        "fickle_passenger": True,
        "is_rainy": True,
    },
}


def played(env, seeds, steps):
    """What some episodes show: observations, rewards, flags."""
    rng, shown = np.random.default_rng(0), []
    for seed in seeds:
        shown.append(env.reset(seed=seed))
        for _ in range(steps):
            shown.append(env.step(int(rng.integers(env.action_space.n))))
            if shown[-1][2] or shown[-1][3]:
                break
    return shown


@pytest.mark.parametrize("name", ADOPTED)
def test_it_does_what_the_original_does_with_its_own_wrappers_and_the_same_numbers(name):
    """The original as ``gymnasium.make`` gives it, TimeLimit and all, its generator keyed by hand."""
    options = dict(ADOPTED[name])
    state, observation, mask = options.pop("state"), options.pop("observation"), options.pop("action_mask", None)
    adopted = simulacrum.adopt(name, state=state, observation=observation, action_mask=mask, **options)()
    original = gymnasium.make(name, **options)
    assert adopted.action_space == original.action_space
    assert adopted.observation_space == original.observation_space
    generator = KeyedGenerator()
    original.unwrapped.np_random = generator
    rng, ends = np.random.default_rng(1), [0, 0]
    for seed in [0, 5, 2**40, *range(100, 130)]:
        seen, info = adopted.reset(seed=seed)
        with generator.drawing(Draw.at(seed, 0, 0), [0], "reset"):
            theirs, their_info = original.reset()
        assert seen == theirs
        for t in range(250):
            assert ("action_mask" in info) == ("action_mask" in their_info)
            if "action_mask" in info:
                assert info["action_mask"].tolist() == their_info["action_mask"].astype(bool).tolist()
            action = int(rng.integers(adopted.action_space.n))
            seen, reward, terminated, truncated, info = adopted.step(action)
            with generator.drawing(Draw.at(seed, 0, t), [1], "step"):
                theirs, their_reward, *flags, their_info = original.step(action)
            assert (seen, reward, terminated, truncated) == (theirs, their_reward, *map(bool, flags))
            ends[0] += terminated
            ends[1] += truncated
            if terminated or truncated:
                break
    assert sum(ends) or original.spec.max_episode_steps is None


def test_episodes_follow_the_contract():
    env = simulacrum.adopt("FrozenLake-v1", state=["s"], observation="s")()
    first = played(env, [3], 30)
    assert env.reset()[1] == {"seed": 3}
    assert env.get_state()["clock"] == {"seed": 3, "episode": 1, "t": 0}
    assert played(env, [3], 30) == first
    assert played(env, [4], 30) != first


@pytest.mark.parametrize("name", ADOPTED)
def test_it_goes_on_from_a_state_that_was_put_into_it(name):
    options = ADOPTED[name]
    cls = simulacrum.adopt(name, **options)
    one, other, rng = cls(), cls(), np.random.default_rng(2)
    one.reset(seed=9)
    other.reset(seed=1)
    for _ in range(60):
        snapshot = one.get_state()
        assert snapshot["state"].keys() == set(one._field_names)
        other.step(int(rng.integers(one.action_space.n)))  # which must not matter
        other.set_state(snapshot)
        action = int(rng.integers(one.action_space.n))
        assert repr(one.step(action)) == repr(other.step(action))
        assert one.get_state() == other.get_state()
        if one._over:
            one.reset()
        other.reset()


def test_gymnasiums_checker_passes_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*spec.*")  # it is not registered
        check_env(simulacrum.adopt("Taxi-v4", state=["s", "fickle_step"], observation="s")(), skip_render_check=True)


def test_copies_and_pickles_go_on_alike():
    env = simulacrum.adopt("FrozenLake-v1", state=["s"], observation="s")()
    env.reset(seed=7)
    env.step(2)
    expected = copy.deepcopy(env).step(1)
    assert cloudpickle.loads(cloudpickle.dumps(env)).step(1) == expected
    assert env.step(1) == expected
    assert env.original.np_random is env._generator


class Counting(gymnasium.Env):
    """A walk that counts its own steps, and truncates itself, as MiniGrid does; it can be spoilt."""

    action_space, observation_space = Discrete(3), Box(-100, 100, (2,), np.float32)
    spoilt: ClassVar[str] = ""

    def __init__(self, limit=10, spoilt=""):
        self.limit, self.spoilt = limit, spoilt
        if spoilt == "drawn while made":
            self.start = self.np_random.integers(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = np.array([self.np_random.normal() if self.spoilt == "normal" else 0.0, 1.0]), 0
        return self._get_obs(), {}

    def step(self, action):
        self.steps += 1
        self.place[0] += action - 1 + self.np_random.integers(2)
        if self.spoilt == "reseeded":
            self.np_random = np.random.default_rng(0)
        if self.spoilt == "miscounted":
            self.steps += 1
        reward = 1 - 0.9 * (self.steps / self.limit)
        early = self.spoilt == "early" and self.steps == 3
        return self._get_obs(), reward, False, self.steps >= self.limit or early, {}

    def _get_obs(self):
        return self.place.astype(np.float32)


COUNTING = {"state": {"place": "place", "t": "steps"}, "max_episode_steps": 10}


def test_an_environment_may_count_its_own_steps():
    env = simulacrum.adopt(Counting, **COUNTING)()
    assert env.environment.id == "adopted/Counting-v0"
    env.reset(seed=0)
    for t in range(10):
        seen, reward, _, truncated, _ = env.step(2)
        assert reward == 1 - 0.9 * ((t + 1) / 10)
        assert truncated == (t == 9)
    snapshot = env.get_state()
    assert snapshot["state"]["place"].tolist() == [seen[0], 1.0]
    other = simulacrum.adopt(Counting, **COUNTING)()
    other.set_state({"state": {"place": np.array([4.0, 1.0])}, "clock": {"seed": 1, "episode": 0, "t": 6}})
    assert other.original.steps == 6
    assert other.step(1)[1] == 1 - 0.9 * (7 / 10)


@pytest.mark.parametrize(
    ("spoilt", "error", "message"),
    [
        ("drawn while made", SpecError, "draws while it is made"),
        ("normal", DrawError, r"np_random\.normal: expected one of"),
        ("reseeded", SpecError, "it replaced its np_random"),
        ("miscounted", SpecError, "it counts 2 steps where the clock has 1"),
        ("early", SpecError, r"it truncates after 3 steps, expected at the declared step cap only .*10"),
    ],
)
def test_what_breaks_the_contract_is_told(spoilt, error, message):
    def play():
        env = simulacrum.adopt(Counting, spoilt=spoilt, **COUNTING)()
        env.reset(seed=0)
        for _ in range(3):
            env.step(1)

    with pytest.raises(error, match=message):
        play()


def test_rewards_that_the_declared_dtype_cannot_hold_are_told():
    environment = simulacrum.Environment(
        "me/counting-v0",
        Counting.action_space,
        Counting.observation_space,
        max_episode_steps=10,
        slots=simulacrum.originals.inferred.CallSlots,
        reset_slots={simulacrum.originals.inferred.CallSlots.RESET},
    )
    env = simulacrum.adopt(Counting, state=COUNTING["state"], environment=environment)()
    env.reset(seed=0)
    with pytest.raises(OutputError, match=r"reward .* is no float32: declare reward_dtype=np\.float64"):
        env.step(0)


def test_bad_adoptions_are_told():
    with pytest.raises(SpecError, match="state: expected a list of attributes"):
        Adoption("FrozenLake-v1", state="s")
    with pytest.raises(SpecError, match="state: expected a list of attributes"):
        Adoption("FrozenLake-v1", state=[1])
    with pytest.raises(SpecError, match=r"NoLake-v1: making the original raised NameNotFound"):
        simulacrum.adopt("NoLake-v1", state=["s"])
    with pytest.raises(SpecError, match=r"making the original raised TypeError.*icy"):
        simulacrum.adopt("FrozenLake-v1", state=["s"], icy=True)
    with pytest.raises(SpecError, match=r"FrozenLakeEnv: expected an attribute 'cell' after a reset; .*'lastaction'"):
        simulacrum.adopt("FrozenLake-v1", state=["cell"])
    env = simulacrum.adopt("FrozenLake-v1", state=["s"])()
    assert env.reset(seed=0)[0] == 0  # the original's own reset tells it
    with pytest.raises(SpecError, match=r"expected observation=.*it has no _get_obs"):
        env.set_state({"state": {"s": 3}, "clock": {"seed": 0, "episode": 0, "t": 0}})
    with pytest.raises(ActionError, match="action: expected"):
        env.step(4)


def test_a_state_by_a_pair_of_functions():
    def read(env):
        return {"row": env.s // 4, "column": env.s % 4}

    def write(env, state):
        env.s = 4 * state.row + state.column

    env = simulacrum.adopt("FrozenLake-v1", state=(read, write), observation="s", is_slippery=False)()
    env.reset(seed=0)
    env.step(1)
    assert env.get_state()["state"] == {"row": 1, "column": 0}
    seen, _ = env.set_state({"state": {"row": 2, "column": 2}, "clock": {"seed": 0, "episode": 0, "t": 4}})
    assert seen == 10
    assert env.step(2)[:3] == (11, 0.0, True)
