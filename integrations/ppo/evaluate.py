"""Play a policy and measure it: mean reward, deaths, meals, and the mean return of whole episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from tensordict import TensorDictBase
from torch import Tensor

from simulacrum import FastEnv

from .policy import Names

FOOD, CORPSE = 1, 2  # what snake's board holds


class Played(NamedTuple):
    """Means over the agent-steps of a play, and over the first episodes of all instances.

    ``food`` and ``corpses`` are the shares of agent-steps that ate such; None where the state has no board.
    """

    reward: float
    terminated: float
    returns: float | None  # None where an episode did not end
    deviation: float | None  # its standard deviation, over episodes
    food: float | None
    corpses: float | None

    def __str__(self) -> str:
        parts = [f"reward {self.reward:+.5f} an agent-step", f"terminated {self.terminated:.5f}"]
        if self.food is not None:
            parts.append(f"food {self.food:.5f}, corpses {self.corpses:.5f} an agent-step")
        if self.returns is not None:
            parts.append(f"return {self.returns:.4f} (standard deviation {self.deviation:.4f})")
        return ", ".join(parts)


@torch.no_grad()
def play(env: FastEnv[Any], policy: Callable[[TensorDictBase], TensorDictBase], steps: int | None = None) -> Played:
    """Play from a reset, by default to the step cap. With ``expose_state`` on a board, meals are told apart."""
    names, sums = Names(env), dict[str, float]()
    steps = steps or env.environment.max_episode_steps
    returns = torch.zeros(env.batch_size, dtype=torch.float64)
    over = torch.zeros(env.batch_size, dtype=torch.bool)
    td = env.reset()
    for _ in range(steps):
        stepped, td = env.step_and_maybe_reset(policy(td))
        ended = stepped.get("next")
        reward = ended.get(names.reward)
        measured = {"reward": reward, "terminated": ended.get(names.of("terminated")), **_meals(stepped, reward)}
        for name, value in measured.items():
            sums[name] = sums.get(name, 0.0) + value.double().mean().item()
        returns += torch.where(over, 0.0, reward.flatten(1).sum(-1, dtype=torch.float64))
        over |= ended.get("done").squeeze(-1)
    means = {name: value / steps for name, value in sums.items()}
    whole = bool(over.all())
    return Played(
        means["reward"],
        means["terminated"],
        returns.mean().item() if whole else None,
        returns.std().item() if whole and len(returns) > 1 else None,
        means.get("food"),
        means.get("corpses"),
    )


def _meals(stepped: TensorDictBase, reward: Tensor) -> dict[str, Tensor]:
    """Who ate what: what lay, before the step, where a snake that was rewarded has its head after it."""
    if ("state", "board") not in stepped.keys(True):
        return {}
    head = stepped["next", "state", "head"].long()
    lay = stepped["state", "board"].flatten(1).gather(1, head.clamp(min=0))
    ate = reward.squeeze(-1) > 0
    return {"food": ate & (lay == FOOD), "corpses": ate & (lay != FOOD)}
