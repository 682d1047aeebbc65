"""What is learned from a batch: generalised advantages, and TorchRL's clipped PPO loss over shuffled minibatches."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.objectives.value.functional import generalized_advantage_estimate

from .policy import ActorCritic, Names
from .settings import Settings


class Batch:
    """A collector's batch ``[N, T]`` as rows: every entry ``[T, M, ...]``, M instances or agents."""

    def __init__(self, batch: TensorDictBase, names: Names, keys: list[str]) -> None:
        self._dims = names.dims
        self.seen = {key: self._rows(batch.get(names.of(key))) for key in keys}
        self.next_seen = {key: self._rows(batch.get("next").get(names.of(key))) for key in keys}
        self.action, self.log_prob = self._rows(batch.get(names.action)), self._rows(batch.get(names.log_prob))
        self.value = self._rows(batch.get(names.value))  # [T, M, 1], as all below
        self.reward = self._rows(batch.get("next").get(names.reward))
        self.done, self.terminated = (self._flag(batch, names, name) for name in ("done", "terminated"))

    def _rows(self, entry: Tensor) -> Tensor:
        entry = entry.transpose(0, 1)  # the memory's own order, in which it need not be copied
        return entry.reshape(len(entry), -1, *entry.shape[self._dims + 1 :])

    def _flag(self, batch: TensorDictBase, names: Names, name: str) -> Tensor:
        """A flag of the instance; of many agents one's death ends its own row of values too, and resets nothing."""
        flag = batch.get("next").get(name)  # [N, T, 1]
        if not names.agents:
            return self._rows(flag)
        return self._rows(flag.unsqueeze(2) | batch.get("next").get(names.of("terminated")))


def advantages(batch: Batch, network: ActorCritic, settings: Settings) -> tuple[Tensor, Tensor]:
    """Advantages and value targets, [T, M, 1] each: nothing is bootstrapped over a death or a terminal state, and a
    time limit is bootstrapped from the last observation of its episode."""
    following = torch.zeros_like(batch.value)  # of a terminal state 0 stays
    following[:-1] = batch.value[1:]
    asked = batch.done & ~batch.terminated  # where the next row begins another episode
    asked[-1] = ~batch.terminated[-1]
    asked = asked.squeeze(-1)
    device = network.actor.weight.device
    following[asked] = network.value(*(entry[asked].to(device) for entry in batch.next_seen.values())).to(following)
    return generalized_advantage_estimate(
        settings.gamma,
        settings.lmbda,
        batch.value,
        following,
        batch.reward,
        batch.done,
        batch.terminated,
        time_dim=0,
    )


class Learner:
    """The loss and its optimiser."""

    def __init__(self, network: ActorCritic, names: Names, settings: Settings) -> None:
        self.network, self.names, self.settings = network, names, settings
        self.loss = network.loss(settings)
        self.optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=1e-5, foreach=True)

    def update(self, batch: TensorDictBase, share_left: float) -> dict[str, float]:
        """Learn from a batch at a share of the learning rate; the means of the losses and of what describes them."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * share_left
        with torch.no_grad():
            rows = self._rows(batch)
        found: dict[str, list[Tensor]] = {}
        for part in self._minibatches(rows):
            losses = self.loss(part)
            total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
            self.optimizer.zero_grad()
            total.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.max_grad_norm, foreach=True)
            self.optimizer.step()
            for name in ("loss_objective", "loss_critic", "entropy", "kl_approx", "clip_fraction"):
                found.setdefault(name, []).append(losses[name].detach())
        return {name: torch.stack(values).mean().item() for name, values in found.items()}

    def _rows(self, batch: TensorDictBase) -> TensorDict:
        """What the loss reads, [T * M], on the network's device."""
        entries = Batch(batch, self.names, list(self.network.features.keys))
        advantage, target = advantages(entries, self.network, self.settings)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        values = {
            **entries.seen,
            "action": entries.action,
            "action_log_prob": entries.log_prob,
            "advantage": advantage,
            "value_target": target,
        }
        device = self.network.actor.weight.device
        rows = TensorDict({}, batch_size=[advantage[..., 0].numel()], device=device)
        for key, value in values.items():
            rows.set(key, value.flatten(0, 1).to(device))
        return rows

    def _minibatches(self, rows: TensorDict) -> Iterator[TensorDict]:
        """Each epoch's minibatches, shuffled by torch's generator."""
        for _ in range(self.settings.epochs):
            order = torch.randperm(len(rows), device=rows.device)
            for part in order.tensor_split(self.settings.minibatches):
                yield rows[part]
