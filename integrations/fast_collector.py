"""Train a validated environment with TorchRL's PPO on the batches of simulacrum's collector: GAE, loss, replay buffer.

Run it after ``simulacrum validate envs/toywalk``: ``python integrations/fast_collector.py [ID]``.
"""

import sys

import torch
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import simulacrum
from simulacrum.collector import BatchCollector

STEPS = 32  # of every instance in a batch


def layers(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, outputs))


def train(env: simulacrum.FastEnv, batches: int = 20) -> list[float]:
    """PPO with Discrete actions and a vector observation; gives the mean reward of a step in every batch."""
    size, actions = env.observation_spec["observation"].shape[-1], env.action_spec.space.n
    scores = TensorDictModule(layers(size, actions), in_keys=["observation"], out_keys=["logits"])
    draw = ProbabilisticTensorDictModule(
        in_keys=["logits"], out_keys=["action"], distribution_class=Categorical, return_log_prob=True
    )
    policy = ProbabilisticTensorDictSequential(scores, draw)
    value = TensorDictModule(layers(size, 1), in_keys=["observation"], out_keys=["state_value"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=value)
    loss = ClipPPOLoss(policy, value)
    optimizer = torch.optim.Adam(loss.parameters(), lr=3e-3)
    frames = env.batch_size.numel() * STEPS
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(frames), sampler=SamplerWithoutReplacement(), batch_size=frames // 4
    )
    collector = BatchCollector(env, policy, frames_per_batch=frames, total_frames=batches * frames)
    rewards = []
    for batch in collector:
        rewards.append(batch["next", "reward"].mean().item())
        for _ in range(3):
            with torch.no_grad():
                advantage(batch)
            buffer.extend(batch.reshape(-1))  # the policy is the collector's own, so there are no weights to send it
            for part in buffer:
                losses = loss(part)
                sum(losses[name] for name in losses.keys() if name.startswith("loss_")).backward()
                optimizer.step()
                optimizer.zero_grad()
    collector.shutdown()
    return rewards


def main(identifier: str = "simulacrum/toywalk-v0") -> None:
    """Train 256 instances and print how the mean reward of a step grows."""
    torch.manual_seed(0)
    for number, reward in enumerate(train(simulacrum.make_fast(identifier, batch_size=[256], seed=0))):
        print(f"batch {number}: mean reward {reward:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
