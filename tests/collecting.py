"""What the tests of the collector share: environments, policies, and batches compared with those of TorchRL's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from environments import FORAGER, TOYWALK, CountdownFast, MirrorFast, frozen
from tensordict import TensorDictBase
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose

from simulacrum.collector import BatchCollector
from simulacrum.spec import Package

PACKAGES = Path(__file__).resolve().parent / "packages"
ENVIRONMENTS: dict[str, Callable[..., Any]] = {
    **{f"toywalk {form}": make for form, make in TOYWALK.forms.items()},
    **{f"forager {form}": make for form, make in FORAGER.forms.items()},
    "cards": Package.read(PACKAGES / "cards").fast,
    "cards kernel": Package.read(PACKAGES / "cards").forms["kernel"],
    "courier": Package.read(PACKAGES / "courier").fast,
    "gates": Package.read(PACKAGES / "gates").fast,
    "countdown": CountdownFast,
    "mirror": MirrorFast,
}


class Scripted:
    """A policy without weights: at call k the k-th of a few fixed actions, none of which is the same tensor twice."""

    def __init__(self, env: Any, seed: int = 0) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actions = [env.full_action_spec.rand()["action"] for _ in range(7)]
        self.calls = 0

    def __call__(self, td: TensorDictBase) -> TensorDictBase:
        self.calls += 1
        return td.set("action", self.actions[self.calls % 7].clone())


class Remembering(Scripted):
    """The same, with memory: the ``count`` of calls in a row's episode, a nested one, and the trajectory as ``ids``."""

    def __call__(self, td: TensorDictBase) -> TensorDictBase:
        td = super().__call__(td)
        zero = torch.zeros(*td.batch_size, 2)
        count = td.get("count", zero) + 1
        deep = td.get(("deep", "sum"), zero) * 2 + count
        td.set("count", count).set(("deep", "sum"), deep)
        return td.set("ids", td["collector", "traj_ids"].clone())


class Linear(nn.Module):
    """A policy with weights: of an observation ``[..., size]`` it makes an action below ``actions``."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(5)
            self.layer = nn.Linear(size, actions)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.layer(observation).argmax(-1)


def transformed(env: Any) -> TransformedEnv:
    return TransformedEnv(env, Compose(StepCounter(), RewardSum()))


def both(make: Callable[[], Any], policy: Callable[[Any], Any], **options: Any) -> tuple[Collector, BatchCollector]:
    """TorchRL's collector and ours with environments and policies of their own, made and seeded alike."""
    made = []
    for kind in (Collector, BatchCollector):
        torch.manual_seed(2)
        env = make()
        made.append(kind(env, policy(env), auto_register_policy_transforms=False, **options))
    return made[0], made[1]


def shown(batch: Any) -> Any:
    """A batch as its form and its bits; None stays None."""
    if batch is None:
        return None
    parts = [batch, *(part for part in batch.values(True, False) if isinstance(part, TensorDictBase))]
    return frozen(batch), [(part.batch_size, part.names, part.device, set(part.keys())) for part in parts]


def batches(collector: Collector, count: int | None = None, seed: int = 11) -> Iterator[Any]:
    """The batches as :func:`shown` gives them, drawn under a seed of torch's own generator."""
    torch.manual_seed(seed)
    for number, batch in enumerate(collector, 1):
        yield shown(batch)
        if number == count:
            return


def assert_same(pair: tuple[Collector, BatchCollector], count: int | None = None, ends: bool = True) -> None:
    """Both iterate batches of the same form and bits, and rows end in them."""
    expected, got = (list(batches(one, count)) for one in pair)
    assert len(expected) == len(got) > 0
    for one, other in zip(expected, got, strict=True):
        assert one == other
    if ends:
        done = b"".join(batch[0]["next", "done"][2] for batch in got)
        assert b"\1" in done
        assert b"\0" in done
