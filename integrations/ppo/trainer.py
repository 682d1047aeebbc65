"""``Trainer``: collect, learn, count, and go on from a checkpoint with the same bits."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDictBase

from simulacrum import FastEnv
from simulacrum.collector import BatchCollector

from .learner import Learner
from .policy import Acting, ActorCritic, Names
from .settings import Settings

PHASES = ("simulate", "policy", "learn")


class Trainer:
    """One training run on an environment, which :func:`ppo.settings.Settings.instances` says how many rows of.

    Attributes:
        network: the policy and the value, on ``device``; the environment stays where it is.
        frames: agent-steps so far; ``iteration`` counts the batches.
        seconds: what each of :data:`PHASES` took so far. ``simulate`` is all of the collector's time that is not the
            policy's.
    """

    def __init__(self, env: FastEnv[Any], settings: Settings, device: Any = "cpu") -> None:
        if env.batch_size != (settings.instances,):
            raise ValueError(f"env: expected a batch size of [{settings.instances}], got {list(env.batch_size)}")
        torch.manual_seed(settings.seed)
        self.settings, self.names = settings, Names(env)
        self.network = ActorCritic(settings, env).to(device)
        self.acting = Acting(self.network, env)
        self.learner = Learner(self.network, self.names, settings)
        self.collector = BatchCollector(
            env, self.acting, frames_per_batch=settings.instances * settings.steps, total_frames=-1
        )
        self._batches = iter(self.collector)
        self.frames = self.iteration = 0
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._returns = torch.zeros(settings.instances, dtype=torch.float64)  # of the running episodes

    @property
    def finished(self) -> bool:
        """Whether the run has had its frames."""
        return self.frames >= self.settings.frames

    def iterate(self) -> dict[str, float]:
        """Collect a batch and learn from it; what there is to say of both, by name."""
        before, begun = self.acting.seconds, time.perf_counter()
        batch = next(self._batches)
        collected = time.perf_counter()
        row = self._measures(batch)
        row |= self.learner.update(batch, 1 - min(1.0, self.frames / self.settings.frames))
        policy = self.acting.seconds - before
        times = dict(zip(PHASES, (collected - begun - policy, policy, time.perf_counter() - collected), strict=True))
        for phase, seconds in times.items():
            self.seconds[phase] += seconds
        frames = batch.get(self.names.action).numel()
        self.frames += frames
        self.iteration += 1
        total = sum(times.values())
        shares = {phase: seconds / total for phase, seconds in times.items()}
        return {"iteration": self.iteration, "frames": self.frames, **row, "steps_per_second": frames / total, **shares}

    def _measures(self, batch: TensorDictBase) -> dict[str, float]:
        """The mean reward of an agent-step, how many were above 0, how many died, and the mean return of the episodes
        that ended (of many agents, the sum of theirs; NaN where none ended)."""
        ended = batch.get("next")
        reward = ended.get(self.names.reward)
        died = ended.get(self.names.of("terminated"))
        total = reward.flatten(2).sum(-1, dtype=torch.float64)  # [N, T]
        returns = []
        for gained, done in zip(total.unbind(1), ended.get("done").squeeze(-1).unbind(1), strict=True):
            self._returns += gained
            returns.append(self._returns[done])
            self._returns[done] = 0.0
        return {
            "reward": reward.mean().item(),
            "rewarded": (reward > 0).float().mean().item(),
            "terminated": died.float().mean().item(),
            "return": torch.cat(returns).mean().item(),
        }

    # ------------------------------------------------------------------ checkpoints

    def state_dict(self) -> dict[str, Any]:
        """All that the run is: parameters, optimiser, the environment's rows and clocks, generators, counts."""
        return {
            "settings": self.settings.as_dict(),
            "network": self.network.state_dict(),
            "optimizer": self.learner.optimizer.state_dict(),
            "collector": self.collector.state_dict(),
            "returns": self._returns.clone(),
            "generator": torch.get_rng_state(),
            "generators_cuda": torch.cuda.get_rng_state_all(),
            "counts": {"frames": self.frames, "iteration": self.iteration, "seconds": dict(self.seconds)},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where :meth:`state_dict` was taken. Raises ValueError for a run with other settings, but for how long
        it goes on and how often it is saved: with others the bits would be another run's."""
        free = {"frames", "checkpoint_seconds"}
        own, saved = self.settings.as_dict(), state["settings"]
        other = sorted(name for name in own if name not in free and own[name] != saved.get(name))
        if other:
            raise ValueError(
                f"checkpoint: expected the settings of this run, but {', '.join(other)} differ: "
                f"{[saved.get(name) for name in other]} there, {[own[name] for name in other]} here; "
                "begin a new run with another --out"
            )
        self.network.load_state_dict(state["network"])
        self.learner.optimizer.load_state_dict(state["optimizer"])
        self.collector.load_state_dict(state["collector"])
        self._returns.copy_(state["returns"])
        self.frames, self.iteration = state["counts"]["frames"], state["counts"]["iteration"]
        self.seconds = dict(state["counts"]["seconds"])
        torch.set_rng_state(state["generator"])
        if len(state["generators_cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state["generators_cuda"])

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        part = path.with_suffix(".part")
        torch.save(self.state_dict(), part)
        os.replace(part, path)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint; raises FileNotFoundError where there is none."""
        self.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
