"""Run a validated environment as a Gymnasium vector environment: 256 instances, episode statistics.

Run it after ``simulacrum validate envs/forager``: ``python integrations/gymnasium_vector.py [ID]``.
"""

import sys

import gymnasium
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import simulacrum  # noqa: F401 - registers the IDs


def main(identifier: str = "simulacrum/forager-v0") -> None:
    """Take 500 random steps and print the mean return of the episodes that ended."""
    envs = RecordEpisodeStatistics(gymnasium.make_vec(identifier, num_envs=256), buffer_length=10_000)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    for _ in range(500):
        envs.step(envs.action_space.sample())
    print(f"{len(envs.return_queue)} episodes, mean return {sum(envs.return_queue) / len(envs.return_queue):.3f}")
    envs.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
