"""Train the agents of one board with TorchRL's multi-agent PPO: one policy for all of them, and a critic.

    simulacrum validate envs/snake --config tiny
    python integrations/torchrl_multi_agent_ppo.py simulacrum/snake-v0 --config tiny --save policy.pt

Every agent acts on what it sees itself. The critic sees that too (IPPO), or with ``--critic centralised`` what all of
them see (MAPPO). It prints the boards' returns as it goes, and at the end those of whole episodes of other seeds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from ppo.evaluate import play
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.optim.lr_scheduler import LinearLR
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import EnvBase, ExplorationType, RewardSum, TransformedEnv, set_exploration_type
from torchrl.modules import MultiAgentMLP, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss, ValueEstimators
from torchrl.objectives.multiagent import IPPOLoss, MAPPOLoss

import simulacrum
from simulacrum.errors import SimulacrumError

EVALUATION_SEED = 1_000_003  # added to the run's: other episodes than those of the training
SEEN, LOGITS, ACTION, LOG_PROB = (("agents", name) for name in ("observation", "logits", "action", "action_log_prob"))
VALUE, REWARD, RETURN = ("agents", "state_value"), ("agents", "reward"), ("agents", "episode_reward")
KEYS = {
    "action": ACTION,
    "sample_log_prob": LOG_PROB,
    "value": VALUE,
    "reward": REWARD,
    "done": ("agents", "done"),
    "terminated": ("agents", "terminated"),
    "advantage": ("agents", "advantage"),
    "value_target": ("agents", "value_target"),
}


class Features(nn.Module):
    """What an agent sees, [..., agents, *shape], as float32 [..., agents, size]: small integers, such as the cells of a
    board, one-hot; floats as they are. Raises ValueError for other observations."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        super().__init__()
        if not isinstance(space, spaces.Box) or (space.dtype.kind != "f" and space.dtype.itemsize > 1):
            raise ValueError(f"expected observations of floats, or of integers of 8 bits, of each agent, got {space}")
        self.dims, self.size = len(space.shape), math.prod(space.shape)
        self.values: Tensor | None = None
        if space.dtype.kind != "f":
            self.values = torch.arange(int(space.low.min()), int(space.high.max()) + 1)
            self.dims, self.size = self.dims + 1, self.size * len(self.values)

    def forward(self, seen: Tensor) -> Tensor:
        if self.values is not None:
            seen = seen.unsqueeze(-1) == self.values
        return seen.flatten(-self.dims).float()


def network(environment: simulacrum.Environment, outputs: int, hidden: Sequence[int], **sharing: bool) -> nn.Module:
    """A network from what the agents see to ``outputs`` numbers of each agent, [..., agents, outputs]."""
    features = Features(environment.agent_observation_space)
    layers = MultiAgentMLP(features.size, outputs, environment.agents, num_cells=list(hidden), **sharing)
    return nn.Sequential(features, layers)


def make_policy(environment: simulacrum.Environment, hidden: Sequence[int]) -> ProbabilisticActor:
    """The policy that all agents share: an agent acts on its own observation. Raises ValueError unless an agent's
    actions are ``Discrete`` from 0."""
    space = environment.agent_action_space
    if not isinstance(space, spaces.Discrete) or space.start:
        raise ValueError(f"{environment.id}: expected an action of Discrete from 0 of each agent, got {space}")
    logits = network(environment, int(space.n), hidden, centralized=False, share_params=True)
    return ProbabilisticActor(
        TensorDictModule(logits, in_keys=[SEEN], out_keys=[LOGITS]),
        in_keys={"logits": LOGITS},
        out_keys=[ACTION],
        distribution_class=Categorical,
        return_log_prob=True,
        log_prob_key=LOG_PROB,
    )


def make_critic(environment: simulacrum.Environment, hidden: Sequence[int], centralised: bool) -> TensorDictModule:
    """The value of each agent, from its own observation by shared parameters, or from those of all agents.

    A shared network that sees what all see would give all agents one value. Here each has rewards and deaths of its
    own, so a centralised critic has parameters for each agent: it is for few of them.
    """
    values = network(environment, 1, hidden, centralized=centralised, share_params=not centralised)
    return TensorDictModule(values, in_keys=[SEEN], out_keys=[VALUE])


def make_loss(policy: ProbabilisticActor, critic: TensorDictModule, options: argparse.Namespace) -> ClipPPOLoss:
    """TorchRL's loss with the agents' keys and GAE. Its plain loop over time gives the bits of the definition."""
    kind = MAPPOLoss if options.critic == "centralised" else IPPOLoss
    loss = kind(policy, critic, entropy_coeff=options.entropy, loss_critic_type="l2", critic_coeff=0.5)
    loss.set_keys(**KEYS)
    loss.make_value_estimator(ValueEstimators.MAGAE, gamma=options.gamma, lmbda=options.lmbda, vectorized=False)
    return loss


@torch.no_grad()
def set_advantages(batch: TensorDictBase, loss: ClipPPOLoss) -> TensorDictBase:
    """Write the advantages and value targets of a collector's batch [N, T], [N, T, agents, 1] each.

    A death ends the agent's life and not the board: nothing is bootstrapped over it, and what the agent gets afterwards
    belongs to its next life, although it stays in its row. The board's end is a time limit: there every agent that
    lives takes the value of what it saw last, before the reset.
    """
    ended = batch.get("next")
    ended.set(KEYS["done"], ended.get(KEYS["terminated"]) | ended.get("done").unsqueeze(-2))
    loss.value_estimator(batch, params=loss.critic_network_params, target_params=loss.target_critic_network_params)
    return batch


def train(env: EnvBase, policy: ProbabilisticActor, loss: ClipPPOLoss, options: argparse.Namespace) -> Iterator[float]:
    """Train for about ``options.frames`` agent-steps; after each batch, the mean return of the boards that ended in it
    (the sum over agents), NaN where none did."""
    boards = options.instances * options.steps  # of steps, in a batch
    batches = max(1, options.frames // (boards * env.base_env.environment.agents))
    optimizer = torch.optim.Adam(loss.parameters(), lr=options.learning_rate, eps=1e-5)
    schedule = LinearLR(optimizer, 1.0, 1 / batches, total_iters=batches)
    sampler, size = SamplerWithoutReplacement(), max(1, boards // options.minibatches)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(boards), sampler=sampler, batch_size=size)
    collector = Collector(
        env, policy, frames_per_batch=boards, total_frames=batches * boards, auto_register_policy_transforms=False
    )  # the transforms are for policies that remember; it collects with the very policy that is trained
    for batch in collector:
        buffer.extend(set_advantages(batch, loss).reshape(-1))
        for _ in range(options.epochs):
            for part in buffer:
                losses = loss(part)
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        schedule.step()
        ended = batch["next", "done"].squeeze(-1)
        yield batch["next"][RETURN][ended].sum((-2, -1)).mean().item()
    collector.shutdown()


def sizes(environment: simulacrum.Environment) -> list[int]:
    """How many inputs and actions a policy of one agent has."""
    return [Features(environment.agent_observation_space).size, int(environment.agent_action_space.n)]


def save(path: Path, policy: ProbabilisticActor, environment: simulacrum.Environment, hidden: Sequence[int]) -> None:
    """Write a policy that :func:`load` reads."""
    torch.save({"sizes": sizes(environment), "hidden": list(hidden), "policy": policy.state_dict()}, path)


def load(path: Path, environment: simulacrum.Environment) -> ProbabilisticActor:
    """The policy of a file, for any number of agents; raises ValueError where its agents see or do something else,
    OSError where there is no file."""
    saved = torch.load(path, weights_only=True)
    if saved["sizes"] != sizes(environment):
        raise ValueError(f"{path}: expected [inputs, actions] of {sizes(environment)}, got {saved['sizes']}")
    policy = make_policy(environment, saved["hidden"])
    policy.load_state_dict(saved["policy"])
    return policy


def make_env(options: argparse.Namespace, seed: int, **kept: bool) -> simulacrum.FastEnv[Any]:
    """The boards, through the gate; raises ValueError for an environment of one agent."""
    env = simulacrum.make_fast(
        options.environment, batch_size=[options.instances], config=options.config, seed=seed, **kept
    )
    if env.environment.agents is None:
        raise ValueError(f"{options.environment}: expected an environment of many agents, it declares none")
    return env


def evaluate(options: argparse.Namespace, policy: ProbabilisticActor) -> None:
    """Play whole episodes by sampling, greedily, and at random, each of the same seeds, and print what came of it."""
    for name in ("sampled", "greedy", "random"):
        env = make_env(options, options.seed + EVALUATION_SEED, expose_state=True)
        torch.manual_seed(options.seed)
        greedy = ExplorationType.DETERMINISTIC if name == "greedy" else ExplorationType.RANDOM
        with set_exploration_type(greedy):
            print(f"{name:<8} {play(env, env.rand_action if name == 'random' else policy)}")


def parse(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", nargs="?", default="simulacrum/snake-v0", help="an ID, a bare name or a path")
    parser.add_argument("--config", help="one of the environment's configurations (default: its first)")
    parser.add_argument("--critic", choices=("decentralised", "centralised"), default="decentralised")
    parser.add_argument("--frames", type=int, default=10_000_000, help="agent-steps")
    parser.add_argument("--instances", type=int, default=256, help="boards")
    parser.add_argument("--steps", type=int, default=32, help="of every board in a batch")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--minibatches", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=2e-3, help="at the beginning; it goes down to 0")
    parser.add_argument("--gamma", type=float, default=0.95)
    parser.add_argument("--lmbda", type=float, default=0.9)
    parser.add_argument("--entropy", type=float, default=0.003)
    parser.add_argument("--hidden", type=int, nargs="+", default=[128, 128], help="widths of the hidden layers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch")
    parser.add_argument("--save", type=Path, help="write the trained policy to this file")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Train and evaluate; 0, or 1 where the environment does not load or has other spaces."""
    options = parse(given)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    try:
        bare = make_env(options, options.seed)
        policy = make_policy(bare.environment, options.hidden)
        critic = make_critic(bare.environment, options.hidden, options.critic == "centralised")
    except (SimulacrumError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    env = TransformedEnv(bare, RewardSum(in_keys=[REWARD], out_keys=[RETURN]))
    batch = options.instances * options.steps * bare.environment.agents
    shown, latest = max(1, options.frames // batch // 10), math.nan
    for number, mean in enumerate(train(env, policy, make_loss(policy, critic, options), options), 1):
        latest = latest if math.isnan(mean) else mean
        if number % shown == 0:
            print(f"{number * batch:>13,} agent-steps  mean return of a board {latest:9.3f}", flush=True)
    if options.save:
        save(options.save, policy, bare.environment, options.hidden)
    evaluate(options, policy)
    return 0


if __name__ == "__main__":
    sys.exit(main())
