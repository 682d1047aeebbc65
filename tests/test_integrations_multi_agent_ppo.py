"""``integrations/torchrl_multi_agent_ppo.py``: who sees what, advantages beside a plain computation, learning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from environments import ENVS, TOYWALK
from gymnasium import spaces
from snakes import AGENTS, CAP, TINY, fast, references
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import Collector
from torchrl.envs import RewardSum, TransformedEnv

from simulacrum import bits
from simulacrum.reference import state_of
from simulacrum.spec import Package

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integrations"))

import torchrl_multi_agent_ppo as program
from ppo.evaluate import play

KINDS = ["decentralised", "centralised"]
GAMMA, LAMBDA = np.float32(0.95), np.float32(0.75)


def options(*given: str) -> Any:
    return program.parse(["--gamma", str(GAMMA), "--lmbda", str(LAMBDA), *given])


def parts(kind: str, *given: str, hidden: tuple[int, ...] = (32,)) -> tuple[Any, Any, Any]:
    """A policy, a critic, and their loss."""
    policy = program.make_policy(TINY.environment, hidden)
    critic = program.make_critic(TINY.environment, hidden, kind == "centralised")
    return policy, critic, program.make_loss(policy, critic, options("--critic", kind, *given))


def seen(rows: int = 5, seed: int = 0) -> TensorDictBase:
    """Observations of boards."""
    td = TensorDict(batch_size=[rows])
    cells = np.random.default_rng(seed).integers(0, 6, (rows, *TINY.environment.observation_space.shape), np.uint8)
    td[program.SEEN] = torch.from_numpy(cells)
    return td


# ---------------------------------------------------------------------- who sees what


def test_cells_are_one_hot_and_floats_stay():
    cells = program.Features(spaces.Box(2, 4, (2, 2), np.uint8))
    assert cells.size == 12
    made = cells(torch.tensor([[[[2, 4], [3, 2]]]], dtype=torch.uint8))
    assert made.dtype == torch.float32
    assert made.tolist() == [[[1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0]]]
    floats = program.Features(spaces.Box(-1, 1, (2, 2), np.float64))
    assert floats.size == 4
    assert floats(torch.tensor([[[[0.5, -1], [1, 0.25]]]], dtype=torch.float64)).tolist() == [[[0.5, -1, 1, 0.25]]]


@pytest.mark.parametrize("space", [spaces.Box(0, 9, (2,), np.int32), spaces.Dict({"a": spaces.Discrete(2)})])
def test_other_observations_are_refused(space):
    with pytest.raises(ValueError, match="expected observations of floats, or of integers of 8 bits, of each agent"):
        program.Features(space)


def test_the_policy_is_one_for_all_and_sees_what_its_agent_sees():
    policy, td = parts("centralised")[0].module[0], seen()
    logits = policy(td)[program.LOGITS]
    assert logits.shape == (5, AGENTS, 4)
    td[program.SEEN][:, 0] = td[program.SEEN][:, 2]
    changed = policy(td)[program.LOGITS]
    assert torch.equal(changed[:, 0], changed[:, 2])
    assert torch.equal(changed[:, 1:], logits[:, 1:])
    assert not torch.equal(changed[:, 0], logits[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_critic_sees(kind):
    critic, td = parts(kind)[1], seen()
    values = critic(td)[program.VALUE]
    assert values.shape == (5, AGENTS, 1)
    td[program.SEEN][:, 0] = td[program.SEEN][:, 2]
    changed = critic(td)[program.VALUE]
    others_see_it = not torch.equal(changed[:, 1:], values[:, 1:])
    assert others_see_it == (kind == "centralised")
    same_for_both = torch.equal(changed[:, 0], changed[:, 2])
    assert same_for_both == (kind == "decentralised")


# ---------------------------------------------------------------------- advantages


def plain(reference: Any, actions: np.ndarray, critic: Any) -> tuple[np.ndarray, np.ndarray, int, int]:
    """GAE of a row's actions [T, agents] from the definition, float32, agent by agent, on a reference that was reset.

    A life is from a death, or the board's first step, to the next death, the board's end or the end of the batch. Gives
    advantages and value targets [T, agents], deaths, and lives that the board's end cut.
    """

    def value() -> np.ndarray:
        td = TensorDict({program.SEEN: torch.from_numpy(shown[None])}, batch_size=[1])
        with torch.no_grad():
            return critic(td)[program.VALUE].numpy()[0, :, 0]

    lives: list[Any] = [[[]] for _ in range(AGENTS)]
    shown, cut = reference.observation(state_of(reference)), 0
    for t, action in enumerate(actions):
        before = value()
        shown, _, _, truncated, info = reference.step(action)
        after = value()
        for agent, own in enumerate(lives):
            died = bool(info["died"][agent])
            own[-1].append((t, info["rewards"][agent], before[agent], np.float32(0) if died else after[agent]))
            cut += truncated and not died
            if died or truncated:
                own.append([])
        if truncated:
            shown, _ = reference.reset()
    advantage = np.zeros(actions.shape, np.float32)
    target = np.zeros(actions.shape, np.float32)
    for agent, own in enumerate(lives):
        for life in own:
            running = np.float32(0)
            for t, reward, before, after in reversed(life):
                running = reward + GAMMA * after - before + running * (LAMBDA * GAMMA)
                advantage[t, agent], target[t, agent] = running, running + before
    return advantage, target, sum(len(own) - 1 for own in lives) - cut, cut


@pytest.mark.parametrize("kind", KINDS)
def test_advantages_are_those_of_the_lives_that_references_show(kind):
    rows, steps, batches = 3, 32, 4
    _, critic, loss = parts(kind, hidden=())
    generator = torch.Generator().manual_seed(1)
    for one in critic.parameters():  # whole numbers, whose sums have the same bits in every order
        one.data = torch.randint(-3, 4, one.shape, generator=generator).float()
    env = fast(7, rows)
    beside, deaths, cuts = references(env), 0, 0
    torch.manual_seed(2)
    collector = Collector(env, env.rand_action, frames_per_batch=rows * steps, total_frames=batches * rows * steps)
    for batch in collector:
        program.set_advantages(batch, loss)
        for row, reference in enumerate(beside):
            advantage, target, died, cut = plain(reference, batch[program.ACTION][row].numpy(), critic)
            assert bits.same(batch["agents", "advantage"][row, ..., 0].numpy(), advantage)
            assert bits.same(batch["agents", "value_target"][row, ..., 0].numpy(), target)
            deaths, cuts = deaths + died, cuts + cut
    collector.shutdown()
    assert deaths > 100
    assert cuts > rows * (batches * steps // CAP)  # of most boards more than one agent lived to the end


# ---------------------------------------------------------------------- learning


def trained(kind: str, frames: int) -> tuple[Any, list[float]]:
    given = options("--critic", kind, "--frames", str(frames), "--instances", "128")
    torch.manual_seed(3)
    policy, _, loss = parts(kind, hidden=(64,))
    env = TransformedEnv(fast(3, 128), RewardSum(in_keys=[program.REWARD], out_keys=[program.RETURN]))
    return policy, list(program.train(env, policy, loss, given))


@pytest.mark.parametrize("kind", KINDS)
def test_snakes_learn(kind):
    """A board's return: of random snakes about -42.5, with a standard deviation of 5 over boards; of trained ones far
    nearer to that of the script that goes for food (-6.85, spec.md)."""
    policy, returns = trained(kind, 200_000)
    ended = [one for one in returns if one == one]
    assert len(returns) == 200_000 // (128 * 32 * AGENTS)
    own, env = play(fast(11, 128), policy), fast(11, 128)  # greedy: outside a collector that is TorchRL's default
    random = play(env, env.rand_action)
    assert abs(random.returns + 42.5) < 3
    assert own.returns > random.returns + 25
    assert ended[-1] > ended[0] + 20
    assert own.terminated < 0.5 * random.terminated


def test_a_run_is_its_seeds():
    (one, first), (other, second) = (trained("decentralised", 40_000) for _ in range(2))
    assert repr(first) == repr(second)
    for name, value in one.state_dict().items():
        assert bits.same(value.numpy(), other.state_dict()[name].numpy()), name


# ---------------------------------------------------------------------- files, refusals


def test_a_saved_policy_is_read_again(tmp_path):
    policy = parts("decentralised", hidden=(8, 16))[0]
    program.save(tmp_path / "policy.pt", policy, TINY.environment, (8, 16))
    again, td = program.load(tmp_path / "policy.pt", TINY.environment), seen()
    assert torch.equal(policy.module[0](td.clone())[program.LOGITS], again.module[0](td)[program.LOGITS])
    classic = Package.read(ENVS / "snake").configured("classic").environment
    with pytest.raises(ValueError, match=r"expected \[inputs, actions\] of \[1936, 4\], got \[54, 4\]"):
        program.load(tmp_path / "policy.pt", classic)


def test_an_environment_of_one_agent_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(program.simulacrum, "make_fast", lambda *given, **kept: TOYWALK.fast(batch_size=[2], seed=0))
    assert program.main(["simulacrum/toywalk-v0"]) == 1
    assert "simulacrum/toywalk-v0: expected an environment of many agents" in capsys.readouterr().err
