"""``integrations/sb3_vec_env.py`` beside SB3's own ``DummyVecEnv`` over references, and ``sb3_ppo.py``."""

from __future__ import annotations

import copy
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from environments import acting, showing
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from registered import registered
from vector_worlds import ENVS, NEXT_STEP, PAIRS, SAME_STEP, TOYWALK, actions_of, assert_same, fast_vector

from simulacrum.errors import ActionError, SeedError, SpaceError
from simulacrum.harness import fingerprint
from simulacrum.spec import Package
from simulacrum.vector import FastVectorEnv

pytest.importorskip("stable_baselines3")
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import is_wrapped
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecCheckNan,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integrations"))

import sb3_ppo
from sb3_vec_env import FastVecEnv, make_vec_env


@pytest.fixture
def forager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ID of a copy of forager with a fabricated report."""
    return registered(tmp_path, monkeypatch)


def fast(name: str, rows: int, **options: Any) -> FastVecEnv:
    return FastVecEnv(fast_vector(name, rows, SAME_STEP, **options))


def dummy(reference: Any, rows: int) -> DummyVecEnv:
    return DummyVecEnv([reference] * rows)


# ---------------------------------------------------------------------- the same as DummyVecEnv over references


def compare(one: FastVecEnv, other: DummyVecEnv, actions: list[np.ndarray], seed: int = 11) -> int:
    """Steps of both; how many episodes ended."""
    assert one.seed(seed) == other.seed(seed)
    assert_same(one.reset(), dict(other.reset()) if isinstance(other.observation_space, spaces.Dict) else other.reset())
    assert_same(one.reset_infos, other.reset_infos)
    ended = 0
    for action in actions:
        got, expected = one.step(action), other.step(action)
        if isinstance(expected[0], dict):
            expected = (dict(expected[0]), *expected[1:])
        assert_same(got, expected)
        assert_same(one.reset_infos, other.reset_infos)
        ended += int(expected[2].sum())
    return ended


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("name", PAIRS)
def test_equals_dummy_vec_env(name: str, rows: int) -> None:
    reference, _ = PAIRS[name]
    one, other = fast(name, rows), dummy(reference, rows)
    assert one.observation_space == other.observation_space
    assert one.action_space == other.action_space
    assert compare(one, other, actions_of(name, rows, 420 if rows == 1 else 200)) >= 2 * rows
    assert compare(one, other, actions_of(name, rows, 20), seed=3) >= 0  # seeded again, in the middle of episodes


def test_many_agents_are_one_instance() -> None:
    """Snake's boards: joint spaces, the sum of the rewards, and ``rewards`` and ``died`` of each in the infos."""
    snake = Package.read(ENVS / "snake").configured("tiny")
    envs = FastVecEnv(FastVectorEnv(snake.fast(batch_size=[3]), autoreset_mode="SameStep"))
    space = envs.action_space
    space.seed(0)
    actions = [np.stack([space.sample() for _ in range(3)]) for _ in range(90)]
    assert compare(envs, dummy(snake.reference, 3), actions) >= 3
    *_, infos = envs.step(actions[0])
    assert {"rewards", "died"} <= infos[0].keys()
    assert {"rewards", "died"}.isdisjoint(envs.reset_infos[0])


def test_both_kinds_of_end_are_told_apart() -> None:
    """Ledge falls and reaches its cap, once both at the same step: only a cap alone is a ``TimeLimit.truncated``."""
    envs, plain = fast("ledge", 32), fast_vector("ledge", 32, SAME_STEP)
    envs.seed(0)
    envs.reset(), plain.reset(seed=0)
    kinds = set()
    for action in actions_of("ledge", 32, 60):
        *_, dones, infos = envs.step(action)
        _, _, terminated, truncated, _ = plain.step(action)
        late = [info["TimeLimit.truncated"] for info in infos]
        assert late == [bool(cap and not fell) for fell, cap in zip(terminated, truncated, strict=True)]
        assert ["terminal_observation" in info for info in infos] == dones.tolist()
        kinds |= set(zip(terminated.tolist(), truncated.tolist(), strict=True))
    assert kinds == {(False, False), (True, False), (False, True), (True, True)}


TAKEN: list[spaces.Space[Any]] = [
    spaces.Discrete(4),
    spaces.MultiDiscrete([3, 4]),
    spaces.MultiBinary(3),
    spaces.Box(-1.0, 2.0, (2,), np.float32),
    spaces.Box(-3, 5, (2,), np.int32),
    spaces.Box(0, 255, (2, 2), np.uint8),
]
DICT = spaces.Dict({f"part {number}": space for number, space in enumerate(TAKEN)})


@pytest.mark.parametrize("space", [*TAKEN, DICT], ids=str)
def test_observation_spaces(space: spaces.Space[Any]) -> None:
    reference, other = showing(space)
    envs = FastVecEnv(FastVectorEnv(other(batch_size=[3]), autoreset_mode="SameStep"))
    actions = [np.array([0, 1, 0])] * 30
    assert compare(envs, dummy(reference, 3), actions) > 6


@pytest.mark.parametrize("space", TAKEN, ids=str)
def test_action_spaces(space: spaces.Space[Any]) -> None:
    reference, other = acting(space)
    envs = FastVecEnv(FastVectorEnv(other(batch_size=[3]), autoreset_mode="SameStep"))
    space.seed(0)
    actions = [np.stack([space.sample() for _ in range(3)]) for _ in range(30)]
    assert compare(envs, dummy(reference, 3), actions) > 6
    with pytest.raises(ActionError, match="shape"):
        envs.step(np.zeros((4, *space.shape), space.dtype))


def test_what_sb3_would_misread_is_refused() -> None:
    for space in (spaces.Discrete(3, start=1), spaces.Dict({"a": spaces.MultiDiscrete([2, 2], start=[0, 1])})):
        envs = FastVectorEnv(showing(space)[1](batch_size=[2]), autoreset_mode="SameStep")
        with pytest.raises(SpaceError, match=r"observation.* starts at 0, as Stable-Baselines3 counts"):
            FastVecEnv(envs)
    pair = spaces.Tuple((spaces.Discrete(3), spaces.Discrete(2)))
    with pytest.raises(SpaceError, match=r"observation.*expected no Tuple, for which Stable-Baselines3 has no policy"):
        FastVecEnv(FastVectorEnv(showing(pair)[1](batch_size=[2]), autoreset_mode="SameStep"))
    envs = FastVectorEnv(acting(spaces.Discrete(3, start=-1))[1](batch_size=[2]), autoreset_mode="SameStep")
    with pytest.raises(SpaceError, match="action: expected a space that starts at 0"):
        FastVecEnv(envs)
    with pytest.raises(ValueError, match=r"expected autoreset_mode='SameStep', as SB3 resets, got .*NEXT_STEP"):
        FastVecEnv(fast_vector("toywalk", 2, NEXT_STEP))
    with pytest.raises(TypeError, match="expected a FastVectorEnv, bare of wrappers, got "):
        FastVecEnv(TOYWALK.fast(batch_size=[2]))


# ---------------------------------------------------------------------- memory


@pytest.mark.parametrize("name", ["toywalk", "ledge", "point"])
def test_what_was_returned_stays_as_it_was(name: str) -> None:
    envs = fast(name, 4)
    held: list[tuple[Any, Any]] = []

    def hold(value: Any) -> None:
        held.append((value, copy.deepcopy(value)))

    envs.seed(0)
    hold(envs.reset())
    for action in actions_of(name, 4, 40):
        before = action.copy()
        hold(envs.step(action))
        hold(envs.reset_infos[0])
        assert_same(action, before)
    assert any(done for (_, _, dones, _), _ in held[1::2] for done in dones)
    for value, before in held:
        assert_same(value, before)


def test_writing_to_what_was_returned_changes_nothing() -> None:
    """SB3 does: a truncated step's reward becomes the bootstrapped one, in place."""
    one, other = fast("ledge", 4), fast("ledge", 4)
    one.seed(0), other.seed(0)
    assert_same(one.reset(), other.reset())
    for action in actions_of("ledge", 4, 40):
        got = one.step(action)
        expected = other.step(action)
        assert_same(got, expected)
        assert_same(one.env_method("action_masks"), other.env_method("action_masks"))
        for part in (*got[0].values(), got[1], got[2]):
            part[...] = 1
        for info in got[3]:
            info["action_mask"][...] = True
            info["pair"][...] = 99
        assert_same(one.env_method("action_masks"), other.env_method("action_masks"))


def test_observations_are_the_tensors_memory() -> None:
    envs = fast("toywalk", 8)
    seen, step = [], envs.envs.fast.plain_step_and_reset

    def stepping(action: Any) -> Any:
        seen.append(step(action))
        return seen[-1]

    envs.envs.fast.plain_step_and_reset = stepping
    envs.reset()
    observations, *_ = envs.step(np.ones(8, np.int64))
    assert np.shares_memory(observations, seen[0][1]["observation"].numpy())


# ---------------------------------------------------------------------- seeds, rows, frames


def test_seeds() -> None:
    envs = fast("toywalk", 3)
    assert envs.seed(5) == [5, 6, 7]
    envs.reset()
    assert [info["seed"] for info in envs.reset_infos] == [5, 6, 7]
    first = envs.get_attr("environment")[0].id
    assert first == "simulacrum/toywalk-v0"
    one = envs.reset()  # a seed is used once: this is episode 1 of the same streams
    assert [info["seed"] for info in envs.reset_infos] == [5, 6, 7]
    assert [state["clock"]["episode"] for state in envs.env_method("get_state")] == [1, 1, 1]
    envs.seed(5), envs.reset()
    assert_same(envs.reset(), one)
    envs.set_options({"anything": 1})
    envs.reset()
    assert envs._options == [{}] * 3
    envs.seed(-1)
    with pytest.raises(SeedError, match="seed of row 0"):
        envs.reset()


def test_a_step_before_a_reset() -> None:
    with pytest.raises(ResetNeeded):
        fast("toywalk", 3).step(np.zeros(3, np.int64))


def test_rows_have_the_state_of_references() -> None:
    envs, other = fast("point", 3), dummy(PAIRS["point"][0], 3)
    compare(envs, other, actions_of("point", 3, 30))
    for got, expected in zip(envs.env_method("get_state"), other.env_method("get_state"), strict=True):
        assert got["clock"] == expected["clock"]
        assert_same(got["state"], expected["state"])
    (got,) = envs.env_method("get_state", indices=1)
    assert got["clock"] == other.env_method("get_state")[1]["clock"]


def test_attributes_of_rows() -> None:
    envs = fast("ledge", 3)
    for name in ("action_space", "observation_space"):
        assert envs.get_attr(name, indices=[0, 2]) == [getattr(envs, name)] * 2
    assert envs.get_attr("unwrapped") == envs.rows
    envs.set_attr("level", 7, indices=[1])
    assert envs.get_attr("level", indices=1) == [7]
    assert not envs.has_attr("level")  # not in every row
    with pytest.raises(AttributeError, match="has no 'level'; it has action_space, environment, get_state"):
        envs.get_attr("level")
    with pytest.raises(AttributeError, match="render_mode belongs to the environment, and all rows share it"):
        envs.set_attr("render_mode", "human")
    with pytest.raises(AttributeError, match="has no 'step'"):
        envs.env_method("step", 1)
    assert envs.env_is_wrapped(gymnasium.Wrapper) == [False] * 3
    assert is_wrapped(VecMonitor(envs), gymnasium.Wrapper) is False
    envs.close(), envs.close()


def test_action_masks_as_maskable_ppo_asks_for_them() -> None:
    envs, other = fast("ledge", 5), dummy(PAIRS["ledge"][0], 5)
    assert not envs.has_attr("action_masks")
    envs.seed(2), other.seed(2)
    envs.reset(), other.reset()
    assert envs.has_attr("action_masks")
    seen = set()
    for action in actions_of("ledge", 5, 20):
        envs.step(action), other.step(action)
        masks = np.stack(envs.env_method("action_masks"))
        expected = [env.action_mask(env._state) for env in (one.unwrapped for one in other.envs)]
        assert_same(masks, np.stack(expected))
        seen |= {tuple(mask) for mask in masks.tolist()}
    assert len(seen) > 1
    walk = fast("toywalk", 2)
    walk.reset()
    assert not walk.has_attr("action_masks")


def test_frames() -> None:
    made = FastVectorEnv(PAIRS["forager"][1](batch_size=[3]), autoreset_mode="SameStep", render_mode="rgb_array")
    envs, references = FastVecEnv(made), [PAIRS["forager"][0](render_mode="rgb_array") for _ in range(3)]
    other = DummyVecEnv([lambda env=env: env for env in references])
    compare(envs, other, actions_of("forager", 3, 12))
    assert envs.render_mode == "rgb_array"
    assert envs.metadata == {"render_modes": ["human", "rgb_array"]}
    assert_same(envs.render(), other.render())  # tiled
    assert_same(envs.env_method("render", indices=2)[0], references[2].render())
    assert_same(list(envs.get_images()), [env.render() for env in references])
    assert fast("forager", 2).get_images() == [None, None]
    made = FastVectorEnv(PAIRS["forager"][1](batch_size=[2]), autoreset_mode="SameStep", render_mode="ansi")
    texts = FastVecEnv(made)
    texts.seed(4), texts.reset()
    reference = PAIRS["forager"][0](render_mode="ansi")
    reference.reset(seed=5)
    assert texts.env_method("render")[1] == reference.render()


# ---------------------------------------------------------------------- SB3's own programs on it


@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
def test_sb3_check_env_of_the_reference(forager: str, render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(forager, render_mode=render_mode), warn=True, skip_render_check=render_mode is None)


@pytest.mark.parametrize("wrapper", ["monitor", "normalize", "stack", "nan"])
def test_wrappers_of_sb3(wrapper: str) -> None:
    wrap = {
        "monitor": VecMonitor,
        "normalize": VecNormalize,
        "stack": lambda envs: VecFrameStack(envs, 3),
        "nan": lambda envs: VecCheckNan(envs, raise_exception=True),
    }[wrapper]
    one, other = wrap(fast("toywalk", 4)), wrap(dummy(PAIRS["toywalk"][0], 4))
    one.seed(1), other.seed(1)
    assert_same(one.reset(), other.reset())
    episodes = 0
    for action in actions_of("toywalk", 4, 150):
        got, expected = one.step(action), other.step(action)
        for info in (*got[3], *expected[3]):
            if "episode" in info:
                info["episode"].pop("t")  # a time of day
                episodes += 1
        assert_same(got, expected)
    assert episodes > 8 or wrapper != "monitor"


def test_ppo_learns_the_same_from_both_sides() -> None:
    """The same parameters to the bit after two rollouts: rewards bootstrapped at truncations, statistics and all."""
    results = []
    for envs in (fast("toywalk", 8), dummy(PAIRS["toywalk"][0], 8)):
        torch.manual_seed(0)
        model = PPO("MlpPolicy", VecMonitor(envs), n_steps=64, batch_size=128, n_epochs=2, seed=3, device="cpu")
        model.learn(1024)
        episodes = [(float(one["r"]), int(one["l"])) for one in model.ep_info_buffer]
        results.append((episodes, {name: value.numpy() for name, value in model.policy.state_dict().items()}))
    assert_same(results[0][1], results[1][1])
    assert results[0][0] == results[1][0]
    assert len(results[0][0]) > 8


def test_dqn_remembers_the_same_from_both_sides() -> None:
    """The replay buffers to the bit: terminal observations are what comes after ends, caps are marked."""
    reference, other = showing(spaces.Box(-1.0, 2.0, (2,), np.float32))
    memories = []
    for envs in (FastVecEnv(FastVectorEnv(other(batch_size=[4]), autoreset_mode="SameStep")), dummy(reference, 4)):
        model = DQN("MlpPolicy", envs, learning_starts=200, buffer_size=4000, train_freq=4, seed=0, device="cpu")
        model.learn(400)
        names = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
        memories.append({name: getattr(model.replay_buffer, name)[: model.replay_buffer.pos] for name in names})
    assert_same(memories[0], memories[1])
    begun = memories[0]["observations"][1:]
    assert (begun != memories[0]["next_observations"][:-1])[memories[0]["dones"][:-1] == 1].any()
    assert 0 < memories[0]["timeouts"].sum() < memories[0]["dones"].sum()


def test_ppo_samples_multi_binary_actions_as_floats() -> None:
    other = acting(spaces.MultiBinary(3))[1]
    envs = FastVecEnv(FastVectorEnv(other(batch_size=[4]), autoreset_mode="SameStep"))
    PPO("MlpPolicy", envs, n_steps=16, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(64)
    with pytest.raises(ActionError, match="float"):
        envs.step(np.full((4, 3), 0.5, np.float32))


def test_the_program_trains_on_forager(forager: str, capsys: pytest.CaptureFixture[str]) -> None:
    envs = sb3_ppo.environment(forager, 16, seed=0)
    assert envs.spec.id == forager
    model = sb3_ppo.train(envs, 4096, seed=0, rollout=64)
    assert len(capsys.readouterr().out.splitlines()) >= 3
    assert all(torch.isfinite(value).all() for value in model.policy.parameters())
    assert len(model.ep_info_buffer) >= 32
    assert np.isfinite(model.logger.name_to_value["train/loss"])
    mean, _ = evaluate_policy(model, envs, n_eval_episodes=20)
    assert -10.0 < mean < 17.0


def test_ppo_learns_toywalk() -> None:
    """Action 1 everywhere is the best policy, and returns about 5; random actions return about -33."""
    model = sb3_ppo.train(VecMonitor(fast("toywalk", 32)), 32_768, seed=0)
    mean, _ = evaluate_policy(model, fast("toywalk", 32), n_eval_episodes=64, warn=False)
    assert mean > 3.0


def test_the_program_from_end_to_end(forager: str, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--steps", "2048", "--instances", "8", "--episodes", "8", "--threads", "1"]
    assert sb3_ppo.main([forager, *short]) == 0
    assert "8 episodes of other seeds: mean return" in capsys.readouterr().out
    assert sb3_ppo.main(["tests/nowhere-v0"]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_the_gate_is_asked(forager: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "forager" / "reference.py").open("a") as file:
        file.write("# changed since\n")
    fingerprint.forget()
    assert sb3_ppo.main([forager]) == 1
    assert "simulacrum validate" in capsys.readouterr().err
    with pytest.raises(gymnasium.error.Error, match="simulacrum validate"):
        make_vec_env(forager, 2)
