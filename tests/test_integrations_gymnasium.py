"""Gymnasium's own tools on a registered ID, as their users call them, with warnings as errors."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import gymnasium.utils.play
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils import performance
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector
from registered import registered
from vector_worlds import LEDGE, NEXT_STEP, LedgeFast, LedgeReference, assert_same, assert_same_reset, assert_same_step

from simulacrum.reference import ReferenceEnv
from simulacrum.vector import FastVectorEnv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integrations"))

import gymnasium_tools

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def forager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ID of a copy of forager with a fabricated report."""
    return registered(tmp_path, monkeypatch)


def trace(env: gymnasium.Env[Any, Any], steps: int = 100, seed: int = 3) -> list[Any]:
    """What an environment shows for random actions, with a reset wherever an episode ends."""
    env.action_space.seed(seed)
    found: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        found.append(env.step(env.action_space.sample()))
        if found[-1][2] or found[-1][3]:
            found.append(env.reset())
    return found


# ---------------------------------------------------------------------- specs, names, the registry


def test_a_spec_goes_to_json_and_back(forager: str) -> None:
    spec = gymnasium.spec(forager)
    again = EnvSpec.from_json(spec.to_json())
    assert again == spec
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec
    assert json.loads(spec.to_json())["kwargs"] == {"environment": forager}
    assert_same(trace(gymnasium.make(again)), trace(gymnasium.make(forager)))


def test_a_spec_with_wrappers_and_options_goes_to_json_and_back(forager: str) -> None:
    env = wrappers.FlattenObservation(wrappers.TimeLimit(gymnasium.make(forager, render_mode="ansi"), 7))
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert str(again) == str(env)
    assert again.render_mode == "ansi"
    assert_same(trace(again), trace(env))


def test_specs_of_vector_environments(forager: str) -> None:
    envs = gymnasium.make_vec(forager, num_envs=3, form="tensor", autoreset_mode="SameStep")
    for spec in (envs.spec, EnvSpec.from_json(envs.spec.to_json()), pickle.loads(pickle.dumps(envs.spec))):
        again = gymnasium.make_vec(spec)
        assert isinstance(again, FastVectorEnv)
        assert again.autoreset_mode is AutoresetMode.SAME_STEP
        assert_same(again.reset(seed=1), envs.reset(seed=1))


def test_what_the_registry_prints(forager: str, capsys: pytest.CaptureFixture[str]) -> None:
    gymnasium.pprint_registry()
    shown = capsys.readouterr().out.split()
    assert forager in shown
    assert shown[shown.index(forager) - 2 : shown.index(forager)] == ["tests", "====="]
    assert gymnasium.spec(forager).pprint(disable_print=True, include_entry_points=True).splitlines() == [
        f"id={forager}",
        "entry_point=simulacrum.registry:make_reference",
    ]
    assert str(gymnasium.make(forager)) == f"<OrderEnforcing<PassiveEnvChecker<ForagerReference<{forager}>>>>"
    assert str(gymnasium.make_vec(forager, num_envs=2)) == f"FastVectorEnv({forager}, num_envs=2)"


def test_by_module_in_a_process_that_imported_nothing(forager: str) -> None:
    code = f"""
import sys, gymnasium
assert "simulacrum" not in sys.modules
env = gymnasium.make("simulacrum:{forager}")
envs = gymnasium.make_vec("simulacrum:{forager}", num_envs=2)
print(env.reset(seed=1)[0].tolist() == envs.reset(seed=1)[0][0].tolist(), env.spec.id)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", forager], done.stderr


def test_an_unversioned_name_is_the_latest_version(forager: str) -> None:
    with pytest.warns(UserWarning, match="Using the latest versioned environment `tests/forager-v0`"):
        assert gymnasium.make("tests/forager").spec.id == forager


# ---------------------------------------------------------------------- make, with wrappers


def test_make_with_a_step_cap_of_ones_own(forager: str) -> None:
    env = gymnasium.make(forager, max_episode_steps=5)
    assert isinstance(env, wrappers.TimeLimit)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(5)] == [False] * 4 + [True]
    with pytest.raises(ValueError, match="max_episode_steps: expected None, got 5: the step cap is the environment's"):
        gymnasium.make_vec(forager, num_envs=2, max_episode_steps=5)
    envs = gymnasium.make_vec(forager, num_envs=2, max_episode_steps=5, vectorization_mode="sync")
    envs.reset(seed=0)
    assert [envs.step([0, 0])[3].tolist() for _ in range(5)] == [[False] * 2] * 4 + [[True] * 2]


def test_a_spec_with_additional_wrappers(forager: str) -> None:
    added = WrapperSpec("RescaleReward", "gymnasium.wrappers:TransformReward", {"func": abs})
    flat = WrapperSpec("FlattenObservation", "gymnasium.wrappers:FlattenObservation", {})
    spec = dataclasses.replace(gymnasium.spec(forager), additional_wrappers=(flat, added))
    env = gymnasium.make(spec)
    assert str(env) == f"<TransformReward<FlattenObservation{gymnasium.make(forager)}>>"
    env.reset(seed=0)
    assert env.step(0)[1] > 0
    envs = gymnasium.make_vec(spec, num_envs=2, vectorization_mode="sync")
    envs.reset(seed=0)
    assert (envs.step([0, 0])[1] > 0).all()
    with pytest.raises(gymnasium.error.Error, match="additional_wrappers"):  # Gymnasium's rule, its pull request 983
        gymnasium.make_vec(spec, num_envs=2)


def test_make_without_the_default_wrappers(forager: str) -> None:
    env = gymnasium.make(forager, disable_env_checker=True)
    assert str(env) == f"<OrderEnforcing<ForagerReference<{forager}>>>"
    assert isinstance(env.unwrapped, ReferenceEnv)


def test_vectorization_modes_give_the_same_bits(forager: str) -> None:
    """One, two processes and the fast side; Gymnasium's own two take wrappers around each instance."""
    made = {
        "vector_entry_point": gymnasium.make_vec(forager, num_envs=2, vectorization_mode="vector_entry_point"),
        "sync": gymnasium.make_vec(forager, num_envs=2, vectorization_mode="sync"),
        "async": gymnasium.make_vec(forager, num_envs=2, vectorization_mode="async"),
    }
    kinds = [FastVectorEnv, SyncVectorEnv, AsyncVectorEnv]
    assert [type(envs) for envs in made.values()] == kinds
    fast, *others = made.values()
    assert isinstance(gymnasium.make_vec(forager, num_envs=2), FastVectorEnv)  # the default
    try:
        expected = [envs.reset(seed=9) for envs in others]
        assert_same(expected[1], expected[0])
        assert_same_reset(fast.reset(seed=9), expected[0], NEXT_STEP)
        ended = 0
        for number in range(140):
            actions = np.array([number, number // 3]) % 4
            steps = [envs.step(actions) for envs in others]
            assert_same(steps[1], steps[0])
            assert_same_step(fast.step(actions), steps[0], NEXT_STEP)
            ended += int((steps[0][2] | steps[0][3]).sum())
        assert ended > 1
    finally:
        for envs in made.values():
            envs.close()


def test_wrappers_around_each_instance_need_gymnasiums_own_loop(forager: str) -> None:
    envs = gymnasium.make_vec(
        forager, num_envs=2, vectorization_mode="sync", wrappers=[lambda env: wrappers.ClipReward(env, 0.0, 1.0)]
    )
    envs.reset(seed=0)
    assert (envs.step([0, 1])[1] >= 0).all()
    with pytest.raises(gymnasium.error.Error, match="Cannot use `vector_entry_point` vectorization mode with the wrap"):
        gymnasium.make_vec(forager, num_envs=2, wrappers=[wrappers.FlattenObservation])


# ---------------------------------------------------------------------- wrappers, checkers


def test_order_enforcing(forager: str) -> None:
    env = gymnasium.make(forager, render_mode="ansi")
    for call in (lambda: env.step(0), env.render):
        with pytest.raises(ResetNeeded, match="before calling"):
            call()


def test_passive_env_checker_and_the_checkers(forager: str) -> None:
    """No warning, though they are errors here, over whole episodes; and it does look."""
    env = gymnasium.make(forager)
    plain = gymnasium.make(forager, disable_env_checker=True)
    assert env.get_wrapper_attr("checked_step") is False
    assert_same(trace(env), trace(plain))
    assert env.get_wrapper_attr("checked_step") is True
    for mode in (None, "ansi", "rgb_array"):
        check_env(gymnasium.make(forager, render_mode=mode).unwrapped)
    check_environments_match(env, plain, 200)


def test_time_limit_order_and_statistics(forager: str) -> None:
    """What RecordEpisodeStatistics tells, single and vector, is what was summed by hand."""
    env = wrappers.RecordEpisodeStatistics(wrappers.TimeLimit(gymnasium.make(forager), 40))
    envs = vector.RecordEpisodeStatistics(gymnasium.make_vec(forager, num_envs=1))
    for one, cap in ((env, 40), (envs, 80)):
        for seed in (1, 2):
            one.reset(seed=seed)
            total, steps, over = 0.0, 0, False
            while not over:
                action = steps % 4
                _, reward, terminated, truncated, info = one.step(action if one is env else np.array([action]))
                total, steps, over = total + float(np.squeeze(reward)), steps + 1, bool(np.any(terminated | truncated))
            assert steps <= cap
            assert float(np.squeeze(info["episode"]["r"])) == pytest.approx(total, abs=1e-9)
            assert int(np.squeeze(info["episode"]["l"])) == steps
    assert list(env.length_queue) == [40, 40]
    assert len(envs.return_queue) == 2


def test_flatten_observation_and_flat_spaces() -> None:
    """A Dict of unlike parts, on both sides: the wrapper gives what ``spaces.flatten`` does, and back."""
    space = LEDGE.observation_space
    plain, env = LedgeReference(), wrappers.FlattenObservation(LedgeReference())
    plain_vector = FastVectorEnv(LedgeFast(batch_size=[3]))
    envs = vector.FlattenObservation(FastVectorEnv(LedgeFast(batch_size=[3])))
    assert env.observation_space == envs.single_observation_space == spaces.flatten_space(space)
    seen, flat = plain.reset(seed=4)[0], env.reset(seed=4)[0]
    rows, flat_rows = plain_vector.reset(seed=4)[0], envs.reset(seed=4)[0]
    ended = 0
    for number in range(30):
        assert flat in env.observation_space
        assert_same(flat, spaces.flatten(space, seen))
        assert_same(dict(spaces.unflatten(space, flat)), seen)
        for row in range(3):
            assert_same(flat_rows[row], spaces.flatten(space, {key: part[row] for key, part in rows.items()}))
        action = number * 2 % 3
        seen, _, terminated, truncated, _ = plain.step(action)
        flat = env.step(action)[0]
        if terminated or truncated:
            seen, flat, ended = plain.reset()[0], env.reset()[0], ended + 1
        rows, flat_rows = plain_vector.step([action] * 3)[0], envs.step([action] * 3)[0]
    assert ended > 1


def test_time_aware_observation_wants_the_cap_told(forager: str) -> None:
    """The step cap is the environment's own, so no EnvSpec has it: say it when the environment is made."""
    with pytest.raises(ValueError, match="max_episode_steps"):
        wrappers.TimeAwareObservation(gymnasium.make(forager))
    env = wrappers.TimeAwareObservation(gymnasium.make(forager, max_episode_steps=80))
    plain = trace(gymnasium.make(forager))
    for got, expected in zip(trace(env), plain, strict=True):
        assert_same(got[0][:-1].astype(np.float32), expected[0])
        assert_same(got[1:], expected[1:])


# ---------------------------------------------------------------------- videos, play, benchmarks: the program


def frames_of(file: Path) -> list[np.ndarray]:
    imageio = pytest.importorskip("imageio")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # imageio's reader leaves ffmpeg's pipes open
        return list(imageio.v3.imiter(file, plugin="FFMPEG"))


def near(shown: np.ndarray, drawn: np.ndarray) -> bool:
    """Whether a frame of a video is the one that was drawn, but for what the codec loses."""
    return bool(np.abs(shown.astype(int) - drawn.astype(int)).mean() < 6)


def test_record_video(forager: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Real files by Gymnasium's wrappers, single and vector: each frame is the state's own."""
    pytest.importorskip("moviepy")
    assert gymnasium_tools.main(["record", forager, "--out", str(tmp_path / "videos")]) == 0
    one, nine = (tmp_path / "videos" / name / "rl-video-episode-0.mp4" for name in ("one", "nine"))
    assert capsys.readouterr().out.split()[-2:] == [str(nine), str(one)]
    env = gymnasium.make(forager, render_mode="rgb_array")
    env.action_space.seed(0)
    env.reset(seed=0)
    drawn, over = [env.render()], False
    while not over:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        over = terminated or truncated
        drawn.append(env.render())
    shown = frames_of(one)
    assert len(shown) == len(drawn)
    assert all(near(*pair) for pair in zip(shown, drawn, strict=True))
    assert not near(shown[0], drawn[-1])
    height, width, _ = drawn[0].shape
    wide = frames_of(nine)
    assert wide[0].shape == (3 * height, 3 * width, 3)
    envs = gymnasium.make_vec(forager, num_envs=9, render_mode="rgb_array")
    envs.reset(seed=0)
    for row, frame in enumerate(envs.render()):
        top, left = row // 3 * height, row % 3 * width
        assert near(wide[0][top : top + height, left : left + width], frame)


def test_play(forager: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are pressed reach the environment, and the window shows its frame."""
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make(forager, render_mode="rgb_array")
    keys = gymnasium_tools.keys_of(env)
    assert keys[pygame.K_UP] == keys["w"] == 0
    assert keys[pygame.K_LEFT] == keys["a"] == 3
    with pytest.raises(gymnasium.utils.play.MissingKeysToAction, match="does not have explicit key to action mapping"):
        gymnasium.utils.play.play(gymnasium.make(forager, render_mode="rgb_array"))

    taken: list[int] = []
    shown: list[np.ndarray] = []
    pressed = [pygame.K_UP, pygame.K_LEFT, ord("d"), pygame.K_DOWN]
    up, down = ([pygame.event.Event(kind, key=key) for key in pressed] for kind in (pygame.KEYUP, pygame.KEYDOWN))
    events = iter([[down[0]], *([up[i - 1], down[i]] for i in range(1, 4)), [up[3], pygame.event.Event(pygame.QUIT)]])

    class Clock:
        """In place of the wait for the next frame: what a player does meanwhile, a key at a time."""

        def tick(self, fps: float) -> None:
            assert fps == env.metadata["render_fps"]
            shown.append(pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1))
            for event in next(events, []):
                pygame.event.post(event)

    monkeypatch.setattr(pygame.time, "Clock", Clock)
    monkeypatch.setattr(gymnasium, "make", lambda *given, **named: Watched(env, taken))
    assert gymnasium_tools.main(["play", forager]) == 0
    assert taken == [0, 3, 1, 2]
    assert len(shown) == 6
    assert_same(shown[-1], env.render())
    assert (shown[0] != shown[-1]).any()


class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes down the actions."""

    def __init__(self, env: gymnasium.Env[Any, Any], taken: list[int]) -> None:
        super().__init__(env)
        self.taken = taken

    def step(self, action: Any) -> Any:
        self.taken.append(action)
        return super().step(action)


def test_measure(forager: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gymnasium_tools.main(["measure", forager, "--seconds", "0.05"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rates = [float(line.split()[0].replace(",", "")) for line in lines]
    assert len(rates) == 6
    assert min(rates) > 1
    assert rates[3] > rates[1]  # many instances a step


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_benchmark_vector_step_knows_the_mode(forager: str, mode: str) -> None:
    envs = gymnasium.make_vec(forager, num_envs=8, autoreset_mode=mode)
    assert performance.benchmark_vector_step(envs, 0.1, seed=0) > 1
    assert envs.instance_episodes.max() > 0 or mode == "Disabled"


def test_show(forager: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gymnasium_tools.main(["show", forager]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"id={forager}"
    assert json.loads(shown[-1])["id"] == forager
    assert gymnasium_tools.main(["show", "tests/nowhere-v0"]) == 1
    assert "nowhere" in capsys.readouterr().err
