"""Play an environment of many agents through PettingZoo: random actions, or a policy that TorchRL trained.

    simulacrum validate envs/snake --config tiny
    python integrations/pettingzoo_parallel.py simulacrum/snake-v0 --config tiny --episodes 100
    python integrations/pettingzoo_parallel.py simulacrum/snake-v0 --config tiny --episodes 100 --policy policy.pt

The policy is what ``torchrl_multi_agent_ppo.py --save policy.pt`` wrote: trained on the fast side, played on the
reference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from pettingzoo import ParallelEnv
from tensordict import TensorDict
from torchrl.envs import ExplorationType, MarlGroupMapType, PettingZooWrapper, set_exploration_type

from simulacrum.errors import SimulacrumError
from simulacrum.parallel import ParallelView, parallel_env

Policy = Callable[[dict[str, Any]], dict[str, Any]]  # the actions of all agents for what they see


class Episode(NamedTuple):
    """What every agent got in an episode, and how often it died."""

    returns: dict[str, float]
    deaths: dict[str, int]


def play(env: ParallelEnv[str, Any, Any], policy: Policy, episodes: int, seed: int) -> Iterator[Episode]:
    """Episodes 0, 1 ... of a seed. A death ends nothing and takes no agent out: it is told by ``infos``."""
    for number in range(episodes):
        seen, _ = env.reset(seed=seed if number == 0 else None)  # a later reset is the next episode of the seed
        returns, deaths = dict.fromkeys(env.agents, 0.0), dict.fromkeys(env.agents, 0)
        while env.agents:
            seen, rewards, _, _, infos = env.step(policy(seen))
            for agent, reward in rewards.items():
                returns[agent] += reward
                deaths[agent] += infos[agent]["died"]
        yield Episode(returns, deaths)


def random_policy(env: ParallelEnv[str, Any, Any], seed: int) -> Policy:
    """Every agent draws from its own action space, each from a seed of its own."""
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + number)
    return lambda seen: {agent: env.action_space(agent).sample() for agent in seen}


def trained_policy(path: Path, view: ParallelView) -> Policy:
    """The policy of a file, which draws from torch's generator; raises what ``torchrl_multi_agent_ppo.load`` raises."""
    from torchrl_multi_agent_ppo import ACTION, SEEN, load

    actor = load(path, view.env.environment)

    @torch.no_grad()
    def act(seen: dict[str, Any]) -> dict[str, Any]:
        td = TensorDict({SEEN: torch.from_numpy(np.stack(list(seen.values())))}, batch_size=[])
        with set_exploration_type(ExplorationType.RANDOM):
            return dict(zip(seen, actor(td)[ACTION].tolist(), strict=True))

    return act


def torchrl_env(view: ParallelView) -> PettingZooWrapper:
    """The view as TorchRL wraps it, with the keys of the fast side: all agents in the group ``"agents"``."""
    return PettingZooWrapper(view, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)


def main(given: Sequence[str] | None = None) -> int:
    """Play, and print the mean return and the deaths of every agent; 0, or 1 where it does not load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", nargs="?", default="simulacrum/snake-v0", help="an ID, a bare name or a path")
    parser.add_argument("--config", help="one of the environment's configurations (default: its first)")
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--policy", type=Path, help="what torchrl_multi_agent_ppo.py saved (default: random actions)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(given)
    torch.manual_seed(options.seed)
    try:
        env = parallel_env(options.environment, config=options.config)
        policy = trained_policy(options.policy, env) if options.policy else random_policy(env, options.seed)
    except (SimulacrumError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    played = list(play(env, policy, options.episodes, options.seed))
    for agent in env.possible_agents:
        mean = sum(one.returns[agent] for one in played) / len(played)
        print(f"{agent}: mean return {mean:.3f}, {sum(one.deaths[agent] for one in played) / len(played):.2f} deaths")
    total = sum(sum(one.returns.values()) for one in played) / len(played)
    print(f"{len(played):,} episodes: mean return of all agents together {total:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
