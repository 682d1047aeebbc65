"""Collect with TorchRL's RayCollector: two workers of a Ray cluster, whose joined rows are those of one process.

Run it after ``simulacrum validate envs/toywalk``: ``python integrations/ray_collector.py [ID]``. It needs Ray:
``pip install "simulacrum[ray]"``.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors.distributed import RayCollector

import simulacrum

# What ray.init takes: a cluster of this machine. {"address": "auto"} finds one that runs.
LOCAL = {"address": "local", "num_cpus": 2, "include_dashboard": False, "object_store_memory": 100 * 1024**2}
Make = Callable[..., simulacrum.FastEnv]


class Scores(nn.Module):
    """A linear policy: of an observation ``[..., size]`` the action with the greatest score, int64 ``[...]``.

    It adds one product after another. A matrix product may add them in another order for another number of rows, and a
    worker has fewer rows than one process.
    """

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, actions))

    def forward(self, observation: Tensor) -> Tensor:
        scores = torch.zeros(*observation.shape[:-1], self.weight.shape[-1])
        for feature, weight in zip(observation.unbind(-1), self.weight, strict=True):
            scores = scores + feature.unsqueeze(-1) * weight
        return scores.argmax(-1)


def policy_for(env: simulacrum.FastEnv, seed: int = 0) -> TensorDictModule:
    """The policy for a vector observation and Discrete actions, with weights drawn under a seed of torch's."""
    torch.manual_seed(seed)
    scores = Scores(env.observation_spec["observation"].shape[-1], env.action_spec.space.n)
    return TensorDictModule(scores, in_keys=["observation"], out_keys=["action"])


def number_trajectories(batch: TensorDictBase, running: Tensor, begun: int) -> tuple[Tensor, int]:
    """Number the trajectories of a batch ``[N, T]`` as one process does: by steps, then by rows.

    Each worker counts its own from 0, so that those of two workers have one number.

    Args:
        batch: its ``("collector", "traj_ids")`` are written, int64 ``[N, T]``.
        running: int64 ``[N]``: the trajectory of each row at the first step.
        begun: how many trajectories have begun.

    Returns ``running`` and ``begun`` after the last step.
    """
    ended = batch["next", "done"].squeeze(-1)  # [N, T]
    new = begun - 1 + ended.T.reshape(-1).cumsum(0).reshape(ended.T.shape).T
    after = torch.where(ended, new, running.unsqueeze(-1)).cummax(-1).values
    batch["collector", "traj_ids"] = torch.cat([running.unsqueeze(-1), after[:, :-1]], -1)
    return after[:, -1], begun + int(ended.sum())


class Rows:
    """A RayCollector over instances 0..N-1 of a run, shared out evenly; iterates batches ``[N, T]`` in their order.

    Args:
        make: makes a part of the environment: ``make([rows], seed=seed, first_instance=first)``. Workers get it
            pickled.
        rows: N, a multiple of ``workers``.
        seed: of the run; worker w holds the instances from ``w * N / workers`` on.
        policy: a module; workers get it pickled, with the weights that it has now. Others follow with
            :meth:`update_policy_weights_`.
        steps: T.
        batches: how many to collect.
        workers: how many Ray actors, one CPU each.
        ray_init: what ``ray.init`` gets, where the caller has not called it.

    Raises ValueError where the rows cannot be shared out evenly.
    """

    def __init__(
        self,
        make: Make,
        rows: int,
        seed: int,
        policy: nn.Module,
        *,
        steps: int,
        batches: int,
        workers: int = 2,
        ray_init: dict | None = None,
    ) -> None:
        if rows % workers:
            raise ValueError(f"rows: expected a multiple of {workers} workers, got {rows}")
        each = rows // workers
        self.collector = RayCollector(
            [partial(make, [each], seed=seed, first_instance=number * each) for number in range(workers)],
            policy,
            frames_per_batch=rows * steps,
            total_frames=rows * steps * batches,  # -1, which means without end elsewhere, gives no batch here
            sync=True,  # a batch of every worker, in the order of the workers
            collector_kwargs=[{} for _ in range(workers)],  # one dict is shared, and the last worker's values win
            remote_configs={"num_cpus": 1},
            ray_init_config=LOCAL if ray_init is None else ray_init,
        )
        self.policy, self.rows, self.workers = policy, rows, workers
        self._running, self._begun = torch.arange(rows), rows

    def __iter__(self) -> Iterator[TensorDictBase]:
        for parts in self.collector:  # [workers, N / workers, T]
            batch = parts.flatten(0, 1)
            self._running, self._begun = number_trajectories(batch, self._running, self._begun)
            yield batch

    def update_policy_weights_(self) -> None:
        """Give every worker the weights that the policy has now, and wait until they have them."""
        self.collector.update_policy_weights_(self.policy)

    def set_seed(self, seed: int) -> None:
        """Seed every worker with the run's seed; it takes effect at the next full reset, as TorchRL's does.

        ``RayCollector.set_seed`` gives the second worker what the first one's gave back: another run.
        """
        self.collector.map_fn("set_seed", [(seed,)] * self.workers)

    def reset(self) -> None:
        """Begin a new episode, and so a new trajectory, in every row."""
        self.collector.map_fn("reset")
        self._running, self._begun = torch.arange(self._begun, self._begun + self.rows), self._begun + self.rows

    def shutdown(self) -> None:
        """End the workers, and Ray where it was begun here."""
        self.collector.shutdown()


def main(identifier: str = "simulacrum/toywalk-v0") -> None:
    """Collect four batches of 64 instances on two workers, and print what they came to."""
    make = partial(simulacrum.make_fast, identifier)
    policy = policy_for(make([1]))
    collector = Rows(make, 64, 0, policy, steps=128, batches=4)
    try:
        for number, batch in enumerate(collector):
            ended = int(batch["next", "done"].sum())
            print(
                f"batch {number}: {batch.numel()} frames, {ended} episodes, reward {batch['next', 'reward'].sum():.3f}"
            )
    finally:
        collector.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Collect with a RayCollector of two workers, the rows of one process.")
    parser.add_argument("id", nargs="?", default="simulacrum/toywalk-v0", metavar="ID", help="a validated environment")
    main(parser.parse_args().id)
