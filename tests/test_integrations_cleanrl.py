"""``integrations/cleanrl_ppo.py``: what is a transition, advantages beside a plain computation, learning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from environments import TOYWALK, acting
from gymnasium import spaces
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from registered import registered
from vector_worlds import DISABLED, NEXT_STEP, PAIRS, SAME_STEP, fast_vector

from simulacrum.vector import FastVectorEnv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integrations"))

import cleanrl_ppo
from cleanrl_ppo import Args

GAMMA, LAMBDA = 0.95, 0.75


def value(obs: torch.Tensor) -> torch.Tensor:
    """A value that is a sum in a stated order, so that its bits do not depend on the batch."""
    return obs[..., 0] * 2.0 + obs[..., 1] * 3.0 + 1.0


class Scripted:
    """An agent that plays given actions [T, N]."""

    def __init__(self, actions: np.ndarray) -> None:
        self.actions = iter(torch.from_numpy(actions))

    def act(self, obs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return next(self.actions), torch.zeros(len(obs)), value(obs)


def played(name: str, rows: int, batches: int, steps: int) -> tuple[list[Any], np.ndarray, list[float]]:
    """Batches of random actions, in several pieces: [(batch, last value)], the actions [T, N], the returns."""
    envs = fast_vector(name, rows, NEXT_STEP)
    count = int(envs.single_action_space.n)
    actions = np.random.default_rng(0).integers(0, count, (batches * steps, rows))
    if name == "toywalk":  # some walk to the goal or the lava, others to and fro until the cap
        actions[:, ::2] = np.arange(len(actions))[:, None] % 2
    envs, agent = RecordEpisodeStatistics(envs), Scripted(actions)
    place, found, returns = cleanrl_ppo.start(envs, seed=5), [], []
    for _ in range(batches):
        batch, place, ended = cleanrl_ppo.collect(envs, agent, place, steps)
        found.append((batch, value(place.obs)))
        returns += ended
    return found, actions, returns


def episodes(name: str, row: int, actions: np.ndarray) -> list[Any]:
    """The reference alone: [place in time of each transition, (obs, reward, what it led to, terminated, truncated)]. It
    skips the action that the vector environment ignores."""
    env, found, t = PAIRS[name][0](), [], 0
    obs, _ = env.reset(seed=5 + row)
    while t < len(actions):
        following, reward, terminated, truncated, _ = env.step(int(actions[t, row]))
        found.append((t, obs, np.float32(reward), following, terminated, truncated))
        obs, t = following, t + 1
        if terminated or truncated:
            obs, t = env.reset()[0], t + 1
    return found


def plain(part: list[Any]) -> dict[int, float]:
    """GAE of a piece of one row's time, an episode at a time, from its end to its beginning, float32."""
    found: dict[int, float] = {}
    running = np.float32(0)
    for t, obs, reward, following, terminated, truncated in reversed(part):
        if terminated or truncated:
            running = np.float32(0)
        after = np.float32(0) if terminated else value(torch.from_numpy(following)).numpy()
        delta = reward + np.float32(GAMMA) * after - value(torch.from_numpy(obs)).numpy()
        running = delta + np.float32(GAMMA * LAMBDA) * running
        found[t] = running
    return found


@pytest.mark.parametrize("name", ["toywalk", "forager"])
def test_advantages_are_those_of_the_episodes(name: str) -> None:
    """Over several batches that cut episodes: the same transitions, and the advantages of each episode by itself."""
    rows, batches, steps = 6, 5, 37
    found, actions, returns = played(name, rows, batches, steps)
    ends = {"terminated": 0, "truncated": 0, "skipped": 0, "cut": 0}
    summed: list[float] = []
    for row in range(rows):
        transitions = episodes(name, row, actions)
        total = 0.0
        for _, _, reward, _, terminated, truncated in transitions:
            total += float(reward)
            if terminated or truncated:
                summed.append(total)
                total = 0.0
        for number, (batch, last) in enumerate(found):
            first = number * steps
            part = [one for one in transitions if first <= one[0] < first + steps]
            times = [one[0] - first for one in part]
            assert batch.real[:, row].nonzero().squeeze(-1).tolist() == times
            for t, obs, reward, _, terminated, truncated in part:
                here = t - first
                assert batch.obs[here, row].numpy().tobytes() == obs.tobytes()
                assert batch.rewards[here, row].item() == reward
                assert batch.terminated[here, row].item() is terminated
                assert batch.ended[here, row].item() is (terminated or truncated)
                ends["terminated"] += terminated
                ends["truncated"] += truncated and not terminated
            ends["skipped"] += steps - len(times)
            ends["cut"] += not (part[-1][4] or part[-1][5])
            gains = cleanrl_ppo.advantages(batch, last, GAMMA, LAMBDA)[:, row]
            expected = plain(part)
            np.testing.assert_array_max_ulp(gains[times].numpy(), np.array([expected[first + t] for t in times]), 4)
    assert min(ends.values()) > 0, ends
    np.testing.assert_allclose(sorted(returns), sorted(summed), rtol=1e-6)  # the statistics add in float64


def test_a_wrong_flag_shows() -> None:
    """The comparison above can fail: bootstrapped terminations, cut truncations, advantages over an end all show."""
    found, _, _ = played("toywalk", 6, 1, 150)
    batch, last = found[0]
    right = cleanrl_ppo.advantages(batch, last, GAMMA, LAMBDA)
    for wrong in (
        batch._replace(terminated=torch.zeros_like(batch.terminated)),
        batch._replace(terminated=batch.ended),
        batch._replace(ended=batch.terminated),
    ):
        other = cleanrl_ppo.advantages(wrong, last, GAMMA, LAMBDA)
        assert (other != right)[batch.real].any()


def test_the_loss_sees_no_step_that_only_resets() -> None:
    """Garbage there changes no parameter."""
    found, _, _ = played("toywalk", 6, 1, 150)
    batch, last = found[0]
    gains = cleanrl_ppo.advantages(batch, last, GAMMA, LAMBDA)
    assert 0 < (~batch.real).sum() < batch.real.sum()
    results = []
    for spoiled in (0.0, torch.nan):
        torch.manual_seed(0)
        agent = cleanrl_ppo.Agent(fast_vector("toywalk", 6, NEXT_STEP))
        optimizer = torch.optim.Adam(agent.parameters())
        parts = {name: getattr(batch, name).clone() for name in ("obs", "log_probs", "values")}
        for part in (*parts.values(), gains):
            part[~batch.real] += spoiled
        cleanrl_ppo.learn(agent, optimizer, batch._replace(**parts), gains, Args(epochs=1, minibatches=3))
        results.append([parameter.detach().clone() for parameter in agent.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))
    assert all(parameter.isfinite().all() for parameter in results[0])


def test_it_learns_action_1_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    args = Args(steps=65_536, instances=64, rollout=64, minibatches=4, learning_rate=2e-3)
    agent = cleanrl_ppo.train(FastVectorEnv(TOYWALK.forms["kernel"](batch_size=[64])), args)
    lines = capsys.readouterr().out.splitlines()
    means = [float(line.split("mean return")[1].split()[0]) for line in lines]
    assert means[0] < 0 < 4 < means[-1]
    length, cap = 5, 60
    places = [[place / length, t / cap] for place in range(-length + 1, length) for t in range(cap)]
    assert agent.actor(torch.tensor(places)).argmax(-1).unique().tolist() == [1]


def test_what_it_is_not_written_for_is_refused() -> None:
    for mode in (SAME_STEP, DISABLED):
        with pytest.raises(SystemExit, match="expected autoreset_mode='NextStep', for which this is written, got"):
            cleanrl_ppo.train(fast_vector("toywalk", 2, mode), Args())
    boxes = FastVectorEnv(acting(spaces.Box(-1.0, 1.0, (2,), np.float32))[1](batch_size=[2]))
    for envs in (boxes, fast_vector("ledge", 2, NEXT_STEP)):
        with pytest.raises(SystemExit, match=r"expected Box observations and Discrete\(n\) actions, got "):
            cleanrl_ppo.train(envs, Args())


def test_the_program_on_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    identifier = registered(tmp_path, monkeypatch)
    short = ["--steps", "4096", "--instances", "16", "--rollout", "64", "--form", "tensor"]
    assert cleanrl_ppo.main([identifier, *short]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 3
    assert cleanrl_ppo.main(["tests/nowhere-v0", *short]) == 1
    assert "nowhere" in capsys.readouterr().err
