"""Train a policy on a validated environment with DQN: TorchRL's loss and replay buffer, simulacrum's collector.

    python integrations/torchrl_dqn.py simulacrum/toywalk-v0 --steps 200000              # into runs/dqn
    python integrations/torchrl_dqn.py simulacrum/toywalk-v0 --steps 200000 --resume     # go on from its checkpoint

For one Discrete action and a Box of observations; where the environment has an action mask, all keep to it. Ctrl-C (or
SIGTERM) ends it after the batch in hand, with a checkpoint that holds the replay buffer too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from ppo.evaluate import Played, play
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import Tensor, nn
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import ActionMask, TransformedEnv
from torchrl.modules import EGreedyModule, QValueModule
from torchrl.objectives import DQNLoss, SoftUpdate
from torchrl_ppo import EVALUATION_SEED, Interrupted

import simulacrum
from simulacrum import FastEnv
from simulacrum.collector import BatchCollector
from simulacrum.errors import SimulacrumError

MASK = "action_mask"
TRANSITION = ["observation", "action", MASK]
AFTER = [("next", name) for name in ("observation", MASK, "reward", "done", "terminated")]


@dataclass(frozen=True)
class Args:
    """What the command line sets; ``steps`` are those of all instances together."""

    environment: str = "simulacrum/toywalk-v0"
    steps: int = 200_000
    instances: int = 64
    rollout: int = 8  # steps of each instance in a batch
    memory: int = 50_000  # transitions in the replay buffer
    updates: int = 8  # of the network for every batch
    batch: int = 256  # transitions for an update
    hidden: int = 64
    learning_rate: float = 1e-3
    gamma: float = 0.99
    tau: float = 0.01  # how far the target network goes towards the network at an update
    explore: float = 0.5  # the share of the steps over which random actions fall from all to one in twenty
    seed: int = 0


class Values(nn.Module):
    """The value of each action, [B, actions], of observations [B, ...]."""

    def __init__(self, env: FastEnv[Any], hidden: int) -> None:
        super().__init__()
        seen, actions = env.environment.observation_space, env.environment.action_space
        if not isinstance(seen, spaces.Box) or not isinstance(actions, spaces.Discrete) or env.environment.agents:
            raise ValueError(f"expected a Box of observations and one Discrete action, got {seen}, {actions}")
        self.dims, size = len(seen.shape), int(torch.Size(seen.shape).numel())
        self.layers = nn.Sequential(
            nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, int(actions.n))
        )

    def forward(self, observation: Tensor) -> Tensor:
        flat = observation.flatten(-self.dims) if self.dims else observation.unsqueeze(-1)
        values: Tensor = self.layers(flat.to(torch.float32))
        return values


class Trainer:
    """One run on an environment of ``args.instances`` rows.

    Attributes:
        actor: the greedy policy; the collector's takes random actions too.
        buffer: the replay buffer: transitions [memory].
        frames: steps so far, of all instances together.
    """

    def __init__(self, env: FastEnv[Any], args: Args) -> None:
        torch.manual_seed(args.seed)
        mask = MASK if MASK in env.observation_spec.keys() else None
        self.args, self.frames = args, 0
        best = QValueModule(action_space="categorical", action_mask_key=mask)
        values = TensorDictModule(Values(env, args.hidden), in_keys=["observation"], out_keys=["action_value"])
        self.actor = TensorDictSequential(values, best)
        self.loss = DQNLoss(self.actor, action_space="categorical", double_dqn=True)
        self.loss.make_value_estimator(gamma=args.gamma)
        self.target = SoftUpdate(self.loss, tau=args.tau)
        self.optimizer = torch.optim.Adam(self.loss.parameters(), lr=args.learning_rate)
        self.random = EGreedyModule(
            env.action_spec,
            eps_init=1.0,
            eps_end=0.05,
            annealing_num_steps=max(1, int(args.explore * args.steps)),
            action_mask_key=mask,
        )
        self.collector = BatchCollector(
            env,
            TensorDictSequential(self.actor, self.random),
            frames_per_batch=args.instances * args.rollout,
            total_frames=-1,
        )
        self._batches = iter(self.collector)
        self.buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(args.memory), batch_size=args.batch)

    @property
    def finished(self) -> bool:
        return self.frames >= self.args.steps

    def iterate(self) -> dict[str, float]:
        """Collect a batch into the replay buffer, and learn from what is there; what there is to say of both."""
        batch = next(self._batches)
        self.frames += batch.numel()
        self.random.step(batch.numel())
        self.buffer.extend(batch.select(*TRANSITION, *AFTER, strict=False).reshape(-1))
        losses = [self.update() for _ in range(self.args.updates)]
        reward, ended = batch["next", "reward"], batch["next", "done"].float()
        return {
            "reward": reward.mean().item(),
            "ended": ended.mean().item(),
            "loss": sum(losses) / len(losses) if losses else float("nan"),
            "random": self.random.eps.item(),
        }

    def update(self) -> float:
        """One step of the optimiser on transitions of the buffer; the loss before it.

        What follows a termination is worth nothing; what follows a truncation is worth what the target network says of
        the last observation, which the collector keeps.
        """
        loss = self.loss(self.buffer.sample())["loss"]
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.loss.parameters(), 10.0)
        self.optimizer.step()
        self.target.step()
        return float(loss.item())

    # ------------------------------------------------------------------ checkpoints

    def state_dict(self) -> dict[str, Any]:
        """All that the run is: networks, optimiser, rows and clocks, the buffer, torch's generator, the steps."""
        return {
            "args": asdict(self.args),
            "loss": self.loss.state_dict(),  # with the target network
            "optimizer": self.optimizer.state_dict(),
            "random": self.random.state_dict(),
            "collector": self.collector.state_dict(),
            "buffer": self.buffer.state_dict(),
            "generator": torch.get_rng_state(),
            "frames": self.frames,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where :meth:`state_dict` was taken; raises ValueError for a run with other arguments."""
        own, saved = asdict(self.args), state["args"]
        other = sorted(name for name in own if own[name] != saved.get(name))
        if other:
            raise ValueError(
                f"checkpoint: expected the arguments of this run, but {', '.join(other)} differ: "
                f"{[saved.get(name) for name in other]} there, {[own[name] for name in other]} here; "
                "give the same ones, or begin a new run with another --out"
            )
        for name in ("loss", "optimizer", "random", "collector", "buffer"):
            getattr(self, name).load_state_dict(state[name])
        torch.set_rng_state(state["generator"])
        self.frames = state["frames"]

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        part = path.with_suffix(".part")
        torch.save(self.state_dict(), part)
        os.replace(part, path)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint; raises FileNotFoundError where there is none."""
        self.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))


def train(trainer: Trainer, checkpoint: Path, seconds: float = 60.0) -> bool:
    """Train to the run's last step or an interruption; whether it is finished.

    A line is printed for every tenth of the steps. A checkpoint is written about every ``seconds`` and at the end.
    """
    began = saved = time.monotonic()
    first, tenth = trainer.frames, max(1, trainer.args.steps // 10)
    with Interrupted() as interrupted:
        while not trainer.finished and not interrupted:
            before = trainer.frames // tenth
            row = trainer.iterate()
            if trainer.frames // tenth > before:
                told = "  ".join(f"{name} {value:.4g}" for name, value in row.items())
                rate = (trainer.frames - first) / (time.monotonic() - began)
                print(f"{trainer.frames:>12,} steps  {told}  {rate:,.0f} steps/s", flush=True)
            if time.monotonic() - saved >= seconds:
                trainer.save(checkpoint)
                saved = time.monotonic()
        trainer.save(checkpoint)
    return trainer.finished


def evaluate(env: FastEnv[Any], policy: Any = None) -> Played:
    """Play to the step cap from a reset: a policy, or random legal actions."""
    played = TransformedEnv(env, ActionMask()) if MASK in env.observation_spec.keys() else env
    return play(played, policy or played.rand_action)


def main(given: Sequence[str] | None = None) -> int:
    """Train and evaluate; 0 when the run is finished, 1 when it cannot begin, 130 when it was interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", nargs="?", default=Args.environment, help="a registered ID, or a path")
    for field in fields(Args)[1:]:
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    parser.add_argument("--out", type=Path, default=Path("runs/dqn"), help="the run's folder (default: runs/dqn)")
    parser.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch and of the kernel")
    options = vars(parser.parse_args(given))
    folder, resume, threads = (options.pop(name) for name in ("out", "resume", "threads"))
    args, checkpoint = Args(**options), folder / "checkpoint.pt"
    torch.set_num_threads(threads)
    try:
        made = [
            simulacrum.make_fast(args.environment, batch_size=[rows], seed=seed)
            for rows, seed in ((args.instances, args.seed), (1000, args.seed + EVALUATION_SEED))
        ]
        if resume != checkpoint.exists():
            wanted = "a checkpoint; train first" if resume else "no checkpoint; add --resume, or another --out"
            raise FileNotFoundError(f"{checkpoint}: expected {wanted}")
        trainer = Trainer(made[0], args)
        if resume:
            trainer.load(checkpoint)
    except (SimulacrumError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    if not train(trainer, checkpoint):
        print(f"interrupted; go on with the same arguments and --resume ({checkpoint})")
        return 130
    print(f"greedy  {evaluate(made[1], trainer.actor)}")
    print(f"random  {evaluate(made[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
