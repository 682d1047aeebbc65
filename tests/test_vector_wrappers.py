"""``FastVectorEnv`` in Gymnasium's vector wrappers and in TorchRL's ``GymWrapper``."""

from __future__ import annotations

import copy
import sys
import types
from pathlib import Path
from typing import Any

import gymnasium
import gymnasium.wrappers
import gymnasium.wrappers.vector as wrappers
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor
from torchrl.envs import GymWrapper
from vector_worlds import (
    DISABLED,
    FORAGER,
    MODES,
    NEXT_STEP,
    PAIRS,
    POINT,
    SAME_STEP,
    PointFast,
    actions_of,
    assert_same,
    fast_vector,
)

from simulacrum.vector import FastVectorEnv


class WithoutSeed(gymnasium.Wrapper):
    """A reference without the info ``seed``."""

    def reset(self, **arguments: Any) -> Any:
        observation, infos = self.env.reset(**arguments)
        return observation, {key: value for key, value in infos.items() if key != "seed"}


def without_seed(infos: Any) -> Any:
    if isinstance(infos, list):
        return [without_seed(part) for part in infos]
    return {key: value for key, value in infos.items() if key.removeprefix("_") != "seed"}


def half(observation: Any) -> Any:
    return observation / 2


W = wrappers
POINT_SPACE = POINT.observation_space
WRAPPERS: dict[str, tuple[str, Any, list[AutoresetMode]]] = {
    # name: (environment, how it is made, the modes that it takes)
    "DictInfoToList": ("ledge", W.DictInfoToList, MODES),
    "NormalizeObservation": ("point", W.NormalizeObservation, [NEXT_STEP]),
    "TransformObservation": ("point", lambda env: W.TransformObservation(env, half), [NEXT_STEP, DISABLED]),
    "VectorizeTransformObservation": (
        "point",
        lambda env: W.VectorizeTransformObservation(
            env, gymnasium.wrappers.TransformObservation, func=half, observation_space=POINT_SPACE
        ),
        [NEXT_STEP, DISABLED],
    ),
    "FilterObservation": ("ledge", lambda env: W.FilterObservation(env, ["place", "cell"]), [NEXT_STEP, DISABLED]),
    "FlattenObservation": ("ledge", W.FlattenObservation, [NEXT_STEP, DISABLED]),
    "ReshapeObservation": ("point", lambda env: W.ReshapeObservation(env, (2, 1)), [NEXT_STEP, DISABLED]),
    "RescaleObservation": ("point", lambda env: W.RescaleObservation(env, -1.0, 1.0), [NEXT_STEP, DISABLED]),
    "DtypeObservation": ("point", lambda env: W.DtypeObservation(env, np.float64), [NEXT_STEP, DISABLED]),
    "NormalizeReward": ("point", W.NormalizeReward, MODES),
    "TransformReward": ("point", lambda env: W.TransformReward(env, half), MODES),
    "ClipReward": ("point", lambda env: W.ClipReward(env, -0.5, 0.5), MODES),
    "VectorizeTransformReward": (
        "point",
        lambda env: W.VectorizeTransformReward(env, gymnasium.wrappers.TransformReward, func=half),
        MODES,
    ),
    "TransformAction": ("point", lambda env: W.TransformAction(env, half), MODES),
    "ClipAction": ("point", W.ClipAction, MODES),
    "RescaleAction": ("point", lambda env: W.RescaleAction(env, -1.0, 1.0), MODES),
    "VectorizeTransformAction": (
        "point",
        lambda env: W.VectorizeTransformAction(
            env, gymnasium.wrappers.TransformAction, func=half, action_space=POINT.action_space
        ),
        MODES,
    ),
}
CASES = [(name, mode) for name, (_, _, modes) in WRAPPERS.items() for mode in modes]
NO_CASES = [(name, mode) for name, (_, _, modes) in WRAPPERS.items() for mode in MODES if mode not in modes]


def run_wrapped(name: str, make: Any, mode: AutoresetMode) -> None:
    """The wrapper around the adapter gives what it gives around SyncVectorEnv."""
    reference, fast = PAIRS[name]
    one = make(FastVectorEnv(fast(batch_size=[3]), autoreset_mode=mode))
    other = make(SyncVectorEnv([lambda: WithoutSeed(reference())] * 3, autoreset_mode=mode))
    assert one.single_observation_space == other.single_observation_space
    assert one.action_space == other.action_space

    def reset(**arguments: Any) -> None:
        results = [env.reset(**copy.deepcopy(arguments)) for env in (one, other)]
        got, expected = ((observation, without_seed(infos)) for observation, infos in results)
        assert_same(got, expected)

    reset(seed=3)
    one.action_space.seed(0)
    ended = 0
    for _ in range(40):
        actions = one.action_space.sample()
        if actions.dtype == np.float32:
            actions = np.clip(actions, -1.0, 1.0)
        got, expected = one.step(actions.copy()), other.step(actions.copy())
        assert_same((*got[:4], without_seed(got[4])), expected)
        over = expected[2] | expected[3]
        ended += int(over.sum())
        if mode is DISABLED and over.any():
            partly = not isinstance(one, W.NormalizeObservation)
            reset(options={"reset_mask": over} if partly else {})
    assert ended > 6


@pytest.mark.parametrize(("wrapper", "mode"), CASES)
def test_wrappers(wrapper: str, mode: AutoresetMode) -> None:
    name, make, _ = WRAPPERS[wrapper]
    run_wrapped(name, make, mode)


@pytest.mark.parametrize(("wrapper", "mode"), NO_CASES)
def test_wrappers_refuse_the_modes_that_they_do_not_know(wrapper: str, mode: AutoresetMode) -> None:
    name, make, _ = WRAPPERS[wrapper]
    with pytest.raises(ValueError, match=r"[Ee]xpected .*autoreset_mode"):
        make(fast_vector(name, 3, mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["toywalk", "ledge"])
def test_record_episode_statistics(name: str, mode: AutoresetMode) -> None:
    """With its own key ``episode``; what it tells is counted here by hand."""
    env = wrappers.RecordEpisodeStatistics(fast_vector(name, 4, mode))
    env.reset(seed=0)
    returns, lengths, waiting, ended = np.zeros(4), np.zeros(4, int), np.zeros(4, np.bool_), 0
    for actions in actions_of(name, 4, 180):
        _, rewards, terminated, truncated, infos = env.step(actions)
        over = terminated | truncated
        returns, lengths = np.where(waiting, 0, returns + rewards), np.where(waiting, 0, lengths + 1)
        assert ("episode" in infos) == over.any()
        if over.any():
            np.testing.assert_array_equal(infos["_episode"], over)
            np.testing.assert_array_equal(infos["episode"]["r"], np.where(over, returns, 0))
            np.testing.assert_array_equal(infos["episode"]["l"], np.where(over, lengths, 0))
        ended += int(over.sum())
        if mode is DISABLED and over.any():
            env.reset(options={"reset_mask": over})
        if mode is not NEXT_STEP:
            returns[over], lengths[over] = 0, 0
        waiting = over & (mode is NEXT_STEP)
    assert env.episode_count == ended > 8


@pytest.mark.parametrize("mode", [NEXT_STEP, DISABLED])
@pytest.mark.parametrize("name", ["ledge", "point"])
def test_numpy_to_torch(name: str, mode: AutoresetMode) -> None:
    """In SAME_STEP Gymnasium's wrapper fails on any environment's ``final_obs``, which is an object array."""
    pytest.importorskip("array_api_compat")
    env, plain = wrappers.NumpyToTorch(fast_vector(name, 3, mode)), fast_vector(name, 3, mode)
    assert_same(to_numpy(env.reset(seed=0)), plain.reset(seed=0))
    for actions in actions_of(name, 3, 30):
        got, expected = env.step(torch.as_tensor(actions)), plain.step(actions)
        assert all(isinstance(part, Tensor) for part in got[1:4])
        assert_same(to_numpy(got), expected)
        over = expected[2] | expected[3]
        if mode is DISABLED and over.any():
            mask = torch.as_tensor(over)
            assert_same(to_numpy(env.reset(options={"reset_mask": mask})), plain.reset(options={"reset_mask": over}))


def to_numpy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: to_numpy(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(to_numpy(part) for part in value)
    return value.numpy() if isinstance(value, Tensor) else value


@pytest.mark.parametrize("mode", MODES)
def test_record_video(mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The wrapper with its encoder replaced: what it would have written is the frames of all rows side by side."""
    clips: list[Any] = []

    class Clip:
        def __init__(self, frames: Any, fps: float) -> None:
            clips.append((frames, fps))

        def write_videofile(self, path: str, logger: Any) -> None:
            pass

    module = types.ModuleType("moviepy.video.io.ImageSequenceClip")
    module.ImageSequenceClip = Clip
    for part in ("moviepy", "moviepy.video", "moviepy.video.io"):
        monkeypatch.setitem(sys.modules, part, types.ModuleType(part))
    monkeypatch.setitem(sys.modules, "moviepy.video.io.ImageSequenceClip", module)

    base = FastVectorEnv(FORAGER.fast(batch_size=[4]), autoreset_mode=mode, render_mode="rgb_array")
    options = {"video_length": 3, "episode_trigger": lambda episode: True, "gc_trigger": None}
    env = wrappers.RecordVideo(base, str(tmp_path / "videos"), **options)
    env.reset(seed=0)
    frames = [base.render()]
    for actions in actions_of("forager", 4, 3):
        env.step(actions)
        frames.append(base.render())
    ((images, fps),) = clips
    assert fps == env.metadata["render_fps"] == 8
    assert len(images) == len(frames) == 4
    for image, parts in zip(images, frames, strict=True):
        np.testing.assert_array_equal(image, np.block([[[parts[0]], [parts[1]]], [[parts[2]], [parts[3]]]]))
    env.close()


@pytest.mark.parametrize("mode", MODES)
def test_human_rendering(mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch) -> None:
    base = FastVectorEnv(FORAGER.fast(batch_size=[4]), autoreset_mode=mode, render_mode="rgb_array")
    env = wrappers.HumanRendering(base)
    assert env.render_mode == "human"
    assert "human" not in base.metadata["render_modes"]
    pygame = pytest.importorskip("pygame")
    pytest.importorskip("cv2")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env.reset(seed=0)
    env.step([0, 1, 2, 3])
    shown = pygame.surfarray.array3d(env.window).swapaxes(0, 1)
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 4
    env.close()


# ---------------------------------------------------------------------- TorchRL's GymWrapper


@pytest.mark.parametrize(
    ("name", "mode"),
    [("toywalk", SAME_STEP), ("toywalk", DISABLED), ("forager", SAME_STEP), ("forager", DISABLED), ("ledge", DISABLED)],
)
def test_torchrls_gym_wrapper(name: str, mode: AutoresetMode) -> None:
    """A rollout through it holds the episodes of the FastEnv itself with the same seeds and actions.

    (In SAME_STEP TorchRL 0.14 reads no final observation that is a dict, whichever the vector environment; and it
    resets once more when all rows end in one step, which these seeds do not bring about.)
    """
    env = GymWrapper(fast_vector(name, 8, mode), categorical_action_encoding=True)
    torch.manual_seed(0)  # of the random actions
    env.set_seed(30)  # a reset(seed=30) by its own
    got = env.rollout(120, break_when_any_done=False)  # begins with the next episode
    fast = PAIRS[name][1](batch_size=[8], seed=torch.arange(30, 38))
    fast.reset()
    tensordict, ended = fast.reset(), 0
    for k in range(120):
        tensordict["action"] = got["action"][:, k]
        tensordict, following = fast.step_and_maybe_reset(tensordict)
        keys = list(fast.environment.observation_space) if name == "ledge" else ["observation"]
        for key in [*keys, *(("next", part) for part in (*keys, "reward", "terminated", "truncated", "done"))]:
            assert torch.equal(got[:, k][key], tensordict[key]), (key, k)
            assert got[key].dtype == tensordict[key].dtype
        ended += int(tensordict["next", "done"].sum())
        tensordict = following
    assert ended >= 8


def test_torchrls_gym_wrapper_reads_infos() -> None:
    """In SAME_STEP it registers every info: they, and those of final_info, arrive where the FastEnv has them."""
    env = GymWrapper(fast_vector("point", 16, SAME_STEP))
    torch.manual_seed(0)
    env.set_seed(3)
    got = env.rollout(60, break_when_any_done=False)
    fast = PointFast(batch_size=[16], seed=torch.arange(3, 19))
    fast.reset()
    tensordict = fast.reset()
    for k in range(60):
        tensordict["action"] = got["action"][:, k]
        tensordict, following = fast.step_and_maybe_reset(tensordict)
        for key in ("last", "one"):
            assert torch.equal(got[:, k]["next", key], tensordict["next", "info", key])
        assert torch.equal(got[:, k]["next", "observation"], tensordict["next", "observation"])
        tensordict = following
    assert got["next", "done"].any()
    assert not got["next", "done"].all(0).any()


def test_torchrls_gym_wrapper_refuses_next_step() -> None:
    with pytest.raises(RuntimeError, match="SAME_STEP or DISABLED"):
        GymWrapper(fast_vector("toywalk", 2))
