"""``integrations/pettingzoo_parallel.py``, PettingZoo's own tools, and TorchRL's ``PettingZooWrapper`` beside the fast
side. ``parallel_api_test`` and ``parallel_seed_test`` are in ``test_agents.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
import torch
from pettingzoo.utils import aec_to_parallel, parallel_to_aec
from pettingzoo.utils.wrappers.multi_episode_parallel_env import MultiEpisodeParallelEnv
from pettingzoo.utils.wrappers.record_video_parallel import RecordVideoParallel
from snakes import AGENTS, CAP, TINY, fast, random_actions, validated_copy
from torchrl.envs import ExplorationType, MarlGroupMapType, PettingZooWrapper, set_exploration_type
from torchrl.envs.utils import check_env_specs

from simulacrum import bits
from simulacrum.parallel import ParallelView

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integrations"))

import pettingzoo_parallel as program
import torchrl_multi_agent_ppo

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:The old environment creation API:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using:UserWarning"),
]
NAMES = [f"agent_{number}" for number in range(AGENTS)]


def view(render_mode: str | None = None) -> ParallelView:
    return ParallelView(TINY.reference(render_mode=render_mode))


def expected(actions: Any, seed: int, episodes: int = 1) -> list[program.Episode]:
    """What references give for actions [T, agents], an episode after another."""
    reference, found, played = TINY.reference(), [], iter(actions)
    for number in range(episodes):
        reference.reset(seed=seed if number == 0 else None)
        returns, deaths, truncated = [0.0] * AGENTS, [0] * AGENTS, False
        while not truncated:
            _, _, _, truncated, info = reference.step(np.asarray(next(played)))
            returns = [one + reward for one, reward in zip(returns, info["rewards"].tolist(), strict=True)]
            deaths = [one + died for one, died in zip(deaths, info["died"].tolist(), strict=True)]
        found.append(program.Episode(dict(zip(NAMES, returns, strict=True)), dict(zip(NAMES, deaths, strict=True))))
    return found


class Scripted:
    """A policy that plays given actions [T, agents]."""

    def __init__(self, actions: Any) -> None:
        self.actions = iter(actions.tolist())

    def __call__(self, seen: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(seen, next(self.actions), strict=True))


# ---------------------------------------------------------------------- PettingZoo's own loop and tools


def test_episodes_are_those_of_the_reference():
    actions = random_actions(3 * CAP, 1)[:, 0]
    played = list(program.play(view(), Scripted(actions), 3, seed=5))
    assert played == expected(actions.numpy(), 5, 3)
    assert sum(sum(one.deaths.values()) for one in played) > 20


def test_seeds_decide_to_the_end_of_an_episode():
    """PettingZoo's ``parallel_seed_test`` compares one step: its ``any`` sees the agents' names (#1437)."""

    def episodes(seed: int, of_actions: int) -> list[program.Episode]:
        env = view()
        return list(program.play(env, program.random_policy(env, of_actions), 2, seed))

    assert episodes(3, 0) == episodes(3, 0)
    assert episodes(3, 0) != episodes(4, 0)
    assert episodes(3, 0) != episodes(3, 1)


def test_pettingzoos_tests_of_turns_state_and_frames():
    from pettingzoo.test import api_test, seed_test, state_test
    from pettingzoo.test.render_test import collect_render_results  # render_test itself opens a window

    api_test(parallel_to_aec(view()), num_cycles=3 * CAP)
    seed_test(lambda: parallel_to_aec(view()), num_cycles=CAP)
    state_test(parallel_to_aec(view()), view())
    drawn = []
    for mode in ("ansi", "rgb_array"):
        frames = collect_render_results(parallel_to_aec(view(mode)))
        drawn.append({type(one) for one in frames})
    assert drawn == [{str}, {np.ndarray}]


def test_turn_by_turn_and_back_is_the_same():
    actions = random_actions(CAP, 1)[:, 0]
    both = [view(), aec_to_parallel(parallel_to_aec(view()))]
    told = [env.reset(seed=6)[0] for env in both]
    for action in actions.tolist():
        for agent in NAMES:
            assert bits.same(told[0][agent], told[1][agent])
        one, other = (env.step(dict(zip(NAMES, action, strict=True))) for env in both)
        assert one[1:4] == other[1:4]
        told = [one[0], other[0]]
    assert set(one[3].values()) == {True}
    assert [env.agents for env in both] == [[], []]


def test_many_episodes_as_one():
    """Episode k of the wrapper is episode 0 of the seed plus k; a seed of 0 is lost after the first (#1459)."""
    actions = random_actions(3 * CAP, 1)[:, 0]
    (whole,) = program.play(MultiEpisodeParallelEnv(view(), 3), Scripted(actions), 1, seed=5)
    parts = [expected(actions[k * CAP : (k + 1) * CAP].numpy(), 5 + k)[0] for k in range(3)]
    for agent in NAMES:
        assert whole.deaths[agent] == sum(part.deaths[agent] for part in parts)
        assert whole.returns[agent] == pytest.approx(sum(part.returns[agent] for part in parts))


def test_a_video(tmp_path):
    env = RecordVideoParallel(view("rgb_array"), str(tmp_path / "films"), episode_trigger=lambda number: number == 1)
    played = list(program.play(env, Scripted(random_actions(2 * CAP, 1)[:, 0]), 2, seed=1))
    env.close()
    assert len(played) == 2
    (film,) = (tmp_path / "films").iterdir()
    assert film.name == "rl-video-episode-1.mp4"
    assert film.stat().st_size > 1000


# ---------------------------------------------------------------------- TorchRL's wrapper


def test_the_groups_of_agents():
    assert PettingZooWrapper(view()).group_map == {"agent": NAMES}
    assert program.torchrl_env(view()).group_map == {"agents": NAMES}
    alone = PettingZooWrapper(view(), group_map=MarlGroupMapType.ONE_GROUP_PER_AGENT)
    assert alone.group_map == {name: [name] for name in NAMES}
    check_env_specs(alone)


def test_the_wrapper_has_the_fast_sides_keys_and_specs():
    wrapped, env = program.torchrl_env(view()), fast(range(1))
    check_env_specs(wrapped)
    assert wrapped.action_keys == env.action_keys == [("agents", "action")]
    assert wrapped.reward_keys == env.reward_keys == [("agents", "reward")]
    for key in (("agents", "observation"), ("agents", "action"), ("agents", "reward")):
        one, other = (spec_of(each, key) for each in (wrapped, env))
        assert (one.shape, one.dtype) == (other.shape[1:], other.dtype), key
    for bound in ("low", "high"):
        one, other = (getattr(spec_of(each, ("agents", "observation")).space, bound) for each in (wrapped, env))
        assert torch.equal(one.expand_as(other), other)


def spec_of(env: Any, key: Any) -> Any:
    specs = env.observation_spec, env.full_action_spec, env.full_reward_spec
    return next(spec[key] for spec in specs if key in spec.keys(True))


def test_the_wrapper_gives_the_fast_sides_bits():
    seeds = range(100, 104)
    env, wrapped = fast(seeds), [program.torchrl_env(view()) for _ in seeds]
    td, rows = env.reset(), [one.reset(seed=seed) for one, seed in zip(wrapped, seeds, strict=True)]
    deaths, ends = 0, 0
    for action in random_actions(2 * CAP + 5, len(seeds)):
        done, td = env.step_and_maybe_reset(td.set(torchrl_multi_agent_ppo.ACTION, action))
        ended = done["next"]
        for row, one in enumerate(wrapped):
            told, rows[row] = one.step_and_maybe_reset(rows[row].set(("agents", "action"), action[row]))
            told = told["next"]
            for key in (("agents", "observation"), ("agents", "reward"), "done", "terminated", "truncated"):
                assert bits.same(told[key].numpy(), ended[key][row].numpy()), key
            assert bits.same(rows[row]["agents", "observation"].numpy(), td["agents", "observation"][row].numpy())
            died = told["agents", "info", "died"].bool()
            assert torch.equal(died, ended["agents", "terminated"][row, :, 0])
            assert not told["agents", "terminated"].any()  # PettingZoo's: the agent would leave
            assert torch.equal(told["agents", "truncated"][:, 0], told["truncated"].expand(AGENTS))
            deaths += int(died.sum())
        ends += int(ended["done"].sum())
    assert deaths > 200
    assert ends == 2 * len(seeds)


def test_set_seed_resets_so_that_the_next_reset_is_the_second_episode():
    """TorchRL's wrapper resets in ``set_seed`` (pytorch/rl#1554); ``reset(seed=)`` begins with episode 0."""
    wrapped, reference = program.torchrl_env(view()), TINY.reference()
    wrapped.set_seed(8)
    second = wrapped.reset()["agents", "observation"]
    first = wrapped.reset(seed=8)["agents", "observation"]
    assert bits.same(first.numpy(), reference.reset(seed=8)[0])
    assert bits.same(second.numpy(), reference.reset()[0])
    assert not torch.equal(first, second)


def test_the_wrapper_takes_seeds_of_63_bits():
    env = view()
    assert env.reset(seed=2**63)[1]["agent_0"]["seed"] == 2**63
    with pytest.raises(ValueError, match="Overflow"):
        program.torchrl_env(view()).reset(seed=2**63)


def test_a_policy_goes_over_unchanged():
    """One that was made for the fast side acts in the wrapper; its actions give the fast side the same rewards."""
    torch.manual_seed(0)
    wrapped, env = program.torchrl_env(view()), fast(range(9, 10))
    policy = torchrl_multi_agent_ppo.make_policy(TINY.environment, (16,))
    start = wrapped.reset(seed=9)
    with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
        played = wrapped.rollout(CAP + 10, policy, tensordict=start, auto_reset=False, break_when_any_done=False)
    td = env.reset()
    for t in range(CAP + 10):
        done, td = env.step_and_maybe_reset(td.set(("agents", "action"), played["agents", "action"][t][None]))
        assert bits.same(done["next", "agents", "reward"][0].numpy(), played["next", "agents", "reward"][t].numpy())
    assert played["agents", "action"].unique().tolist() == [0, 1, 2, 3]


def test_a_policy_of_a_file_samples(tmp_path):
    policy, env = torchrl_multi_agent_ppo.make_policy(TINY.environment, (8,)), view()
    torchrl_multi_agent_ppo.save(tmp_path / "policy.pt", policy, TINY.environment, (8,))
    act, (seen, _) = program.trained_policy(tmp_path / "policy.pt", env), env.reset(seed=0)
    torch.manual_seed(1)
    drawn = [act(seen) for _ in range(200)]
    for agent in NAMES:
        assert {actions[agent] for actions in drawn} == {0, 1, 2, 3}
    torch.manual_seed(1)
    assert [act(seen) for _ in range(200)] == drawn


# ---------------------------------------------------------------------- through the gate


def test_the_programs_from_training_to_pettingzoo(tmp_path, monkeypatch, capsys):
    folder, file = validated_copy(tmp_path, monkeypatch), tmp_path / "policy.pt"
    given = [str(folder), "--config", "tiny"]
    size = ["--frames", "2000", "--instances", "16", "--hidden", "16", "--threads", "1"]
    assert torchrl_multi_agent_ppo.main([*given, *size, "--save", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "1,536 agent-steps  mean return of a board" in printed
    assert [line.split()[0] for line in printed.splitlines()[-3:]] == ["sampled", "greedy", "random"]
    assert program.main([*given, "--episodes", "2", "--policy", str(file)]) == 0
    trained = capsys.readouterr().out
    assert trained.splitlines()[-1].startswith("2 episodes: mean return of all agents together -")
    assert program.main([*given, "--episodes", "2"]) == 0
    assert capsys.readouterr().out != trained
    assert program.main([*given, "--policy", str(tmp_path / "none.pt")]) == 1
    assert "none.pt" in capsys.readouterr().err
    for other in (program, torchrl_multi_agent_ppo):
        assert other.main([str(folder), "--config", "classic"]) == 1
        assert "--config classic" in capsys.readouterr().err


def test_pettingzoos_registry(tmp_path, monkeypatch):
    folder = validated_copy(tmp_path, monkeypatch)
    monkeypatch.setattr("pettingzoo.env_registry.registration.parallel_registry", {})
    pettingzoo.register(
        "parallel", "tests/snake-v0", "simulacrum.parallel:parallel_env", kwargs={"environment": str(folder)}
    )
    env = pettingzoo.make("parallel", "tests/snake-v0", config="tiny", render_mode="ansi")
    other = view("ansi")
    seen, expected_to_see = env.reset(seed=3)[0], other.reset(seed=3)[0]
    assert all(bits.same(seen[agent], expected_to_see[agent]) for agent in NAMES)
    assert env.render() == other.render()
