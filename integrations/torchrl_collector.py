"""Collect frames of a validated environment with TorchRL: 1,024 instances, a random policy, one process.

Run it after ``simulacrum validate envs/forager``: ``python integrations/torchrl_collector.py [ID]``.
"""

import argparse

from torchrl.collectors import Collector
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose

import simulacrum


def main(identifier: str = "simulacrum/forager-v0") -> None:
    """Collect eight batches and print the mean return of the episodes that ended."""
    env = TransformedEnv(
        simulacrum.make_fast(identifier, batch_size=[1024], seed=0), Compose(StepCounter(), RewardSum())
    )
    collector = Collector(env, env.rand_action, frames_per_batch=1024 * 64, total_frames=8 * 1024 * 64)
    for number, batch in enumerate(collector):
        ended = batch["next", "done"]
        returns = batch["next", "episode_reward"][ended]
        print(f"batch {number}: {batch.numel()} frames, {len(returns)} episodes, mean return {returns.mean():.3f}")
    collector.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Collect frames with TorchRL's Collector and a random policy.")
    parser.add_argument("id", nargs="?", default="simulacrum/forager-v0", metavar="ID", help="a validated environment")
    main(parser.parse_args().id)
