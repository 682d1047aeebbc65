"""PPO in one file, in the manner of CleanRL, on the vector environment that Gymnasium makes of a validated ID.

    simulacrum validate envs/forager
    python integrations/cleanrl_ppo.py simulacrum/forager-v0 --steps 1000000

For Discrete actions and Box observations. Needs gymnasium, torch and simulacrum alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from torch import Tensor, nn
from torch.distributions import Categorical

import simulacrum  # noqa: F401 - registers the IDs

# Autoreset. This file is written for Gymnasium's default, NextStep: the step that ends an episode shows its last
# observation, and the step after it ignores its action, shows the first observation of the next episode, and gives
# reward 0 and no flag. Two things follow.
#   1. What a step led to is always what the next row of the batch shows. So a truncated step takes the value of what
#      would have come from there, and no `final_obs` has to be looked up (in SameStep it would have to be).
#   2. The step after an end is no transition: nobody acted. It is in the batch, for all instances step together, but
#      `real` is False there: no loss sees it, and no advantage runs over it.
# A time limit is a truncation: the episode could have gone on, so its last value is bootstrapped. A termination ends
# what there is to gain: nothing is bootstrapped.


@dataclass
class Args:
    """What the command line sets."""

    environment: str = "simulacrum/forager-v0"
    form: str | None = None  # "tensor" or "kernel"; None is the fastest
    seed: int = 0
    steps: int = 1_000_000  # of all instances together
    instances: int = 64
    rollout: int = 128  # steps of each instance in a batch
    minibatches: int = 8
    epochs: int = 4
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    max_norm: float = 0.5
    threads: int = 1


class Agent(nn.Module):
    """Actor and critic, two hidden layers each."""

    def __init__(self, envs: gymnasium.vector.VectorEnv) -> None:
        super().__init__()
        observations, actions = envs.single_observation_space, envs.single_action_space
        if not isinstance(observations, spaces.Box) or not isinstance(actions, spaces.Discrete) or actions.start != 0:
            raise SystemExit(f"expected Box observations and Discrete(n) actions, got {observations}, {actions}")
        size = int(np.prod(observations.shape))
        self.critic = nn.Sequential(nn.Flatten(), *layers(size), layer(64, 1, 1.0))
        self.actor = nn.Sequential(nn.Flatten(), *layers(size), layer(64, int(actions.n), 0.01))

    def act(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Actions, their log probabilities, and the values of what was seen, [N] each."""
        chances = Categorical(logits=self.actor(obs))
        actions = chances.sample()
        return actions, chances.log_prob(actions), self.critic(obs).squeeze(-1)


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


def layers(inputs: int) -> tuple[nn.Module, ...]:
    return layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh()


class Batch(NamedTuple):
    """``rollout`` steps of all instances: [T, N, ...] each."""

    obs: Tensor  # float32: what was seen before the step
    actions: Tensor  # int64
    log_probs: Tensor  # float32
    rewards: Tensor  # float32
    values: Tensor  # float32: of obs
    terminated: Tensor  # bool
    ended: Tensor  # bool: terminated or truncated
    real: Tensor  # bool: a transition; False where the environment only began an episode


class Place(NamedTuple):
    """Where the instances stand between two batches."""

    obs: Tensor  # [N, ...] float32
    begins: Tensor  # [N] bool: the episode is over, and the next step begins another


def start(envs: gymnasium.vector.VectorEnv, seed: int) -> Place:
    obs, _ = envs.reset(seed=seed)
    return Place(torch.from_numpy(obs).float(), torch.zeros(envs.num_envs, dtype=torch.bool))


def collect(envs: gymnasium.vector.VectorEnv, agent: Any, place: Place, steps: int) -> tuple[Batch, Place, list[float]]:
    """``steps`` steps of all instances: the batch, where they stand then, the returns of the episodes that ended."""
    rows, returns = [], []
    for _ in range(steps):
        with torch.no_grad():
            actions, log_probs, values = agent.act(place.obs)
        obs, rewards, terminated, truncated, infos = envs.step(actions.numpy())
        flags = torch.from_numpy(terminated), torch.from_numpy(terminated | truncated)
        rows.append((place.obs, actions, log_probs, torch.from_numpy(rewards).float(), values, *flags, ~place.begins))
        place = Place(torch.from_numpy(obs).float(), flags[1])
        if "episode" in infos:
            returns += infos["episode"]["r"][infos["_episode"]].tolist()
    return Batch(*(torch.stack(parts) for parts in zip(*rows, strict=True))), place, returns


def advantages(batch: Batch, last_value: Tensor, gamma: float, gae_lambda: float) -> Tensor:
    """Generalised advantage estimates [T, N] (Schulman et al. 2016), of the real steps; others have no meaning.

    ``last_value`` [N] is the value of what is seen after the batch.
    """
    found, running, following = torch.zeros_like(batch.rewards), torch.zeros_like(last_value), last_value
    for t in reversed(range(len(found))):
        delta = batch.rewards[t] + gamma * following * ~batch.terminated[t] - batch.values[t]
        running = delta + gamma * gae_lambda * running * ~batch.ended[t]  # what comes after an end is another episode's
        found[t], following = running, batch.values[t]
    return found


def learn(agent: Agent, optimizer: torch.optim.Optimizer, batch: Batch, gains: Tensor, args: Args) -> float:
    """PPO's epochs over the real steps of a batch; the last loss."""
    real = batch.real.flatten().nonzero().squeeze(-1)
    obs, actions, log_probs = batch.obs.flatten(0, 1), batch.actions.flatten(), batch.log_probs.flatten()
    targets, gains = (gains + batch.values).flatten(), gains.flatten()
    loss = torch.zeros(())
    for _ in range(args.epochs):
        for rows in real[torch.randperm(len(real))].chunk(args.minibatches):
            chances = Categorical(logits=agent.actor(obs[rows]))
            ratio = (chances.log_prob(actions[rows]) - log_probs[rows]).exp()
            gain = (gains[rows] - gains[rows].mean()) / (gains[rows].std(correction=0) + 1e-8)
            policy = -torch.min(gain * ratio, gain * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
            value = (agent.critic(obs[rows]).squeeze(-1) - targets[rows]).square().mean()
            loss = policy + args.value * value - args.entropy * chances.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_norm)
            optimizer.step()
    return loss.item()


def train(envs: gymnasium.vector.VectorEnv, args: Args) -> Agent:
    """Train on a vector environment in NextStep mode; prints the mean return as it goes."""
    mode = envs.metadata["autoreset_mode"]
    if mode is not gymnasium.vector.AutoresetMode.NEXT_STEP:
        raise SystemExit(f"expected autoreset_mode='NextStep', for which this is written, got {mode}")
    torch.manual_seed(args.seed)
    envs = RecordEpisodeStatistics(envs)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    iterations = max(1, args.steps // (args.instances * args.rollout))
    place, began, recent = start(envs, args.seed), time.perf_counter(), []
    for iteration in range(1, iterations + 1):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - (iteration - 1) / iterations)
        batch, place, returns = collect(envs, agent, place, args.rollout)
        with torch.no_grad():
            last_value = agent.critic(place.obs).squeeze(-1)
        loss = learn(agent, optimizer, batch, advantages(batch, last_value, args.gamma, args.gae_lambda), args)
        recent += returns
        if recent and iteration % max(1, iterations // 10) == 0:
            steps = iteration * args.instances * args.rollout
            rate = steps / (time.perf_counter() - began)
            told = f"mean return {sum(recent) / len(recent):8.3f}  loss {loss:8.4f}  {rate:,.0f} steps/s"
            print(f"{steps:>12,} steps  {told}", flush=True)
            recent = []
    return agent


def main(given: list[str] | None = None) -> int:
    """Train; 0, or 1 where the environment does not load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", nargs="?", default=Args.environment, help="a registered ID")
    for field in fields(Args)[1:]:
        kind = str if field.default is None else type(field.default)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    args = Args(**vars(parser.parse_args(given)))
    torch.set_num_threads(args.threads)
    try:
        envs = gymnasium.make_vec(args.environment, num_envs=args.instances, form=args.form)
    except gymnasium.error.Error as error:
        print(error, file=sys.stderr)
        return 1
    train(envs, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
