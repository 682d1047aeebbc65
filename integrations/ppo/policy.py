"""The networks of a policy and its value, and how they act in an environment: agents share one set of parameters."""

from __future__ import annotations

import itertools
import time
from typing import Any

import torch
from tensordict import TensorDictBase
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictModuleBase,
)
from torch import Tensor, nn
from torch.distributions import Categorical
from torchrl.data import Categorical as CategoricalSpec
from torchrl.envs import EnvBase
from torchrl.objectives import ClipPPOLoss

from .features import make_features
from .settings import Settings

GROUP = "agents"  # the entry of what many agents see, do and get


class Names:
    """The keys of an environment's entries: under ``"agents"`` where there are many of them."""

    def __init__(self, env: EnvBase) -> None:
        self.agents = isinstance(env.action_key, tuple)
        self.dims = env.batch_dims + self.agents  # before an entry's own
        self.action, self.reward = env.action_key, env.reward_key
        self.log_prob, self.value = self.of("action_log_prob"), self.of("state_value")

    def of(self, key: Any) -> Any:
        """The key of an entry; those of the state are the instance's."""
        return (GROUP, key) if self.agents and isinstance(key, str) else key


class ActorCritic(nn.Module):
    """Features, hidden layers, and on them two heads: the actions' logits [B, actions] and the value [B, 1]."""

    def __init__(self, settings: Settings, env: EnvBase) -> None:
        super().__init__()
        names = Names(env)
        spec = env.action_spec[GROUP]["action"] if names.agents else env.action_spec
        if not isinstance(spec, CategoricalSpec) or spec.shape[names.dims :]:
            raise ValueError(f"{settings.environment}: expected one Discrete action for each agent, got {spec}")
        shape = env.observation_spec[names.of("observation")].shape[names.dims :]
        self.features = make_features(settings, shape)
        sizes = [self.features.size, *settings.hidden]
        layers = []
        for inputs, outputs in itertools.pairwise(sizes):
            layers += [_linear(inputs, outputs, 2**0.5), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.actor, self.critic = _linear(sizes[-1], spec.space.n, 0.01), _linear(sizes[-1], 1, 1.0)

    def hidden(self, *seen: Tensor) -> Tensor:
        """The last hidden layer [B, width] of entries [B, ...]."""
        found: Tensor = self.body(self.features(*seen))
        return found

    def value(self, *seen: Tensor) -> Tensor:
        """The value [B, 1] of entries [B, ...]."""
        found: Tensor = self.critic(self.hidden(*seen))
        return found

    def loss(self, settings: Settings) -> ClipPPOLoss:
        """TorchRL's clipped PPO loss of rows [B] of entries under their own names: the hidden layers run once."""
        keys = list(self.features.keys)
        actor = ProbabilisticTensorDictSequential(
            TensorDictModule(_Hidden(self), in_keys=keys, out_keys=["hidden"]),
            TensorDictModule(self.actor, in_keys=["hidden"], out_keys=["logits"]),
            ProbabilisticTensorDictModule(["logits"], ["action"], distribution_class=Categorical),
        )
        return ClipPPOLoss(
            actor,
            TensorDictModule(self.critic, in_keys=["hidden"], out_keys=["state_value"]),
            clip_epsilon=settings.clip,
            entropy_coeff=settings.entropy,
            critic_coeff=settings.critic,
            loss_critic_type="l2",
            functional=False,
        )


class _Hidden(nn.Module):
    """The hidden layers as a module."""

    def __init__(self, network: ActorCritic) -> None:
        super().__init__()
        self.features, self.body = network.features, network.body

    def forward(self, *seen: Tensor) -> Tensor:
        found: Tensor = self.body(self.features(*seen))
        return found


class Acting(TensorDictModuleBase):
    """A policy for collectors and for play: writes actions and, where it samples, their log-probabilities and values.

    It runs where the network's parameters are, and gives what it writes where the environment's entries are.
    ``seconds`` counts the time that it took.
    """

    def __init__(self, network: ActorCritic, env: EnvBase, greedy: bool = False) -> None:
        super().__init__()
        self.network, self.names, self.greedy = network, Names(env), greedy
        self.in_keys = [self.names.of(key) for key in network.features.keys]
        self.out_keys = [self.names.action] if greedy else [self.names.action, self.names.log_prob, self.names.value]
        self.seconds = 0.0

    @torch.no_grad()
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        begun, dims = time.perf_counter(), self.names.dims
        seen = [tensordict.get(key) for key in self.in_keys]
        size, device, own = seen[0].shape[:dims], seen[0].device, self.network.actor.weight.device
        hidden = self.network.hidden(*(each.flatten(0, dims - 1).to(own) for each in seen))
        logits = self.network.actor(hidden)
        if self.greedy:
            made = [logits.argmax(-1)]
        else:
            choice = Categorical(logits=logits, validate_args=False)
            action = choice.sample()
            made = [action, choice.log_prob(action), self.network.critic(hidden)]
        for key, value in zip(self.out_keys, made, strict=True):
            tensordict.set(key, value.to(device).reshape(*size, *value.shape[1:]))
        self.seconds += time.perf_counter() - begun
        return tensordict


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A layer with orthogonal weights, as PPO is usually begun."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
