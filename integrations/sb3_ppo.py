"""Train PPO of Stable-Baselines3 on a validated environment.

    simulacrum validate envs/forager
    python integrations/sb3_ppo.py simulacrum/forager-v0 --steps 1000000

It prints the mean return of the episodes that ended as it goes, and at the end that of whole episodes of other seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import torch
from sb3_vec_env import make_vec_env
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

from simulacrum.errors import SimulacrumError

EVALUATION_SEED = 1_000_003  # added to the run's: other episodes than those of the training


class Progress(BaseCallback):
    """A line whenever a further tenth of the steps is done, with the mean return of the last hundred episodes."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.every = max(1, steps // 10)
        self.next = self.every

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        ended: Any = self.model.ep_info_buffer
        if self.num_timesteps >= self.next and ended:
            mean = sum(float(episode["r"]) for episode in ended) / len(ended)
            print(f"{self.num_timesteps:>12,} steps  mean return {mean:8.3f}", flush=True)
            self.next += self.every


def environment(identifier: str, instances: int, seed: int, form: str | None = None) -> VecMonitor:
    """The instances with the statistics of their episodes; the seed is that of the next reset."""
    envs = VecMonitor(make_vec_env(identifier, instances, form=form))
    envs.seed(seed)
    return envs


def train(envs: VecMonitor, steps: int, seed: int, rollout: int = 128) -> PPO:
    """A policy, trained for about ``steps`` steps of all instances together; a batch has ``rollout`` of each."""
    model = PPO(
        "MlpPolicy",
        envs,
        n_steps=rollout,
        batch_size=max(64, envs.num_envs * rollout // 8),
        n_epochs=4,
        learning_rate=1e-3,
        ent_coef=0.01,
        seed=seed,
        device="cpu",
    )
    return model.learn(steps, callback=Progress(steps))


def main(given: Sequence[str] | None = None) -> int:
    """Train and evaluate; 0, or 1 where the environment does not load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", nargs="?", default="simulacrum/forager-v0", help="a registered ID")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of all instances together")
    parser.add_argument("--instances", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=1000, help="to play at the end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--form", choices=("tensor", "kernel"), help="the fast form (default: the fastest)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch")
    options = parser.parse_args(given)
    torch.set_num_threads(options.threads)
    try:
        envs = environment(options.environment, options.instances, options.seed, options.form)
        others = environment(options.environment, options.instances, options.seed + EVALUATION_SEED, options.form)
    except (SimulacrumError, gymnasium.error.Error) as error:
        print(error, file=sys.stderr)
        return 1
    model = train(envs, options.steps, options.seed)
    mean, deviation = evaluate_policy(model, others, n_eval_episodes=options.episodes, deterministic=False)
    print(f"{options.episodes:,} episodes of other seeds: mean return {mean:.3f}, standard deviation {deviation:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
