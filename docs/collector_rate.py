"""How fast collectors are: frames a second of TorchRL's and of ours, by turns in one process (docs/collection.md).

``python docs/collector_rate.py [PATH [FORM]]``: toywalk's kernel where nothing is said. One thread, a scripted policy.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDictBase
from torchrl.collectors import Collector
from torchrl.envs import EnvBase

from simulacrum.bench.measure import Side, by_turns
from simulacrum.collector import BatchCollector
from simulacrum.spec import Package

SIZES, STEPS, ROUNDS, SECONDS = (8192, 65536), 32, 21, 0.1
TOYWALK = Path(__file__).resolve().parent.parent / "envs" / "toywalk"


class Idle(EnvBase):
    """An environment that computes nothing: it hands out what another showed in a batch's steps, again and again.

    Its specs are the other's, as many rows end, and its step is fused: no environment can cost a collector less.
    """

    def __init__(self, other: EnvBase, before: int = 200, steps: int = STEPS) -> None:
        super().__init__(device=other.device, batch_size=other.batch_size)
        for spec in ("observation_spec", "action_spec", "reward_spec", "done_spec"):
            setattr(self, spec, getattr(other, spec).clone())
        td, shown = other.reset(), []
        for _ in range(before + steps):  # until the rows are at all times of their episodes, and then some
            done, td = other.step_and_maybe_reset(other.rand_action(td))
            shown = [*shown, (done["next"], td.exclude("action"))][-steps:]
        self.shown, self.calls = shown, 0

    def _step_and_maybe_reset(self, td: TensorDictBase) -> tuple[TensorDictBase, TensorDictBase]:
        self.calls += 1
        ended, now = self.shown[self.calls % len(self.shown)]
        return td.set("next", ended.copy()), now.copy()

    def _step(self, td: TensorDictBase) -> TensorDictBase:
        return self._step_and_maybe_reset(td)[0]["next"]

    def _reset(self, td: TensorDictBase | None = None, **options: Any) -> TensorDictBase:
        return self.shown[-1][1].copy()

    def _set_seed(self, seed: int | None) -> None:
        pass


def side(kind: type[Collector], env: EnvBase) -> Side:
    """A collector that hands out actions made beforehand; one step of it is a batch."""
    actions = [env.action_spec.rand() for _ in range(8)]
    calls = iter(range(sys.maxsize))

    def policy(td: TensorDictBase) -> TensorDictBase:
        return td.set("action", actions[next(calls) % 8])

    frames = env.batch_size.numel() * STEPS
    batches = iter(kind(env, policy, frames_per_batch=frames, total_frames=-1))

    def run(steps: int) -> None:
        for _ in range(steps):
            next(batches)

    return Side(run, frames, warm=8)


def main(path: str = str(TOYWALK), form: str = "kernel") -> None:
    """Print millions of frames a second, and both ratios: medians over the rounds."""
    torch.set_num_threads(1)
    make = Package.read(path).forms[form]
    print("|       N | Collector, idle | Collector, ours | of idle | BatchCollector | of Collector | spread |")
    print("|--------:|----------------:|----------------:|--------:|---------------:|-------------:|-------:|")
    for rows in SIZES:
        sides = {
            "idle": side(Collector, Idle(make(batch_size=[rows], seed=0))),
            "stock": side(Collector, make(batch_size=[rows], seed=0)),
            "ours": side(BatchCollector, make(batch_size=[rows], seed=0)),
        }
        idle, stock, ours = by_turns(sides, SECONDS, ROUNDS).values()
        rates = [f"{timing.rate / 1e6:.1f}" for timing in (idle, stock, ours)]
        print(
            f"| {rows:7,} | {rates[0]:>15} | {rates[1]:>15} | {stock.over(idle):7.0%} | {rates[2]:>14} | "
            f"{ours.over(stock):12.1f} | {max(one.spread for one in (idle, stock, ours)):6.0%} |"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
