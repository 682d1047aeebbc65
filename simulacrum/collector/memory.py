"""A batch's memory: where it comes from, and how it is seen step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor

from ..fast import FastEnv
from ..fast.held import Lent, lend, provable, unseen
from ..fast.plain import OUTCOME

Rows = dict[Any, Tensor]  # tensors [N, ...] of one step, by key
TRAJECTORIES = ("collector", "traj_ids")
KEPT = 2  # a loop holds one batch while the next is collected


class Memories:
    """Memory for batches: new, or that of an earlier batch when it is proved that nobody can see it any more.

    New pages cost as much as what is written into them. The proof is that of :mod:`simulacrum.fast.held`.
    """

    def __init__(self, make: Callable[[], TensorDictBase]) -> None:
        self._make = make
        self._kept: list[tuple[TensorDictBase, Lent]] = []

    def take(self) -> TensorDictBase:
        """A TensorDict of any contents, that nobody else can see."""
        if torch.is_inference_mode_enabled() or not provable():
            return self._make()
        for memory, lent in self._kept:
            if unseen(lent, unwritten=False):
                return memory
        memory = self._make()
        leaves = list(memory.values(True, True))
        if all(leaf.device.type == "cpu" for leaf in leaves):  # elsewhere a stream may still read what Python let go
            self._kept = [*self._kept, (memory, lend(leaves, leaves))][-KEPT:]
        return memory


class Views:
    """A batch's memory by step, as :meth:`FastEnv.step_into` takes it: tensors ``[N, ...]``.

    ``actions`` of each step, what it ``ended`` with, and what each step, and the one after the batch, begins with:
    the observations ``now`` and the trajectories ``ids``.
    """

    def __init__(self, memory: TensorDictBase, after: TensorDictBase, env: FastEnv[Any]) -> None:
        self._rows, self._dims = env._rows, env.batch_dims
        observed = list(env.observation_spec.keys(True, True))
        self.actions = self._column(memory, "action")
        self.ended = self._steps(memory.get("next"), [*observed, *OUTCOME])
        last = after.unsqueeze(0)
        self.now = [*self._steps(memory, observed), *self._steps(last, observed)]
        if "collector" in memory.keys():
            self.ids = [*self._column(memory, TRAJECTORIES), *self._column(last, TRAJECTORIES)]

    def _column(self, td: TensorDictBase, key: Any) -> tuple[Tensor, ...]:
        leaf = td.get(key)
        return leaf.view(len(leaf), self._rows, *leaf.shape[1 + self._dims :]).unbind(0)

    def _steps(self, td: TensorDictBase, keys: list[Any]) -> list[Rows]:
        columns = [self._column(td, key) for key in keys]
        return [dict(zip(keys, step, strict=True)) for step in zip(*columns, strict=True)]


def record(
    td: TensorDictBase, given: dict[str, Any], columns: dict[str, Any], memory: TensorDictBase, t: int
) -> list[str]:
    """Write into a batch what a policy made of what was ``given``; the names of what it added beside the action."""
    added, missing = [], len(columns)
    for name, value in td.items():
        if value is given.get(name):
            continue
        if name in columns:
            columns[name][t].copy_(value)
            missing -= 1
        elif name in given:  # it has replaced what the environment shows
            memory.get(name)[t].copy_(value)
        if name != "action" and name not in given:
            added.append(name)
    if missing:
        lacks = [name for name in columns if name not in td.keys()]
        raise KeyError(
            f"policy: expected {lacks} at every step, as it wrote when it was first called; step {t} has none"
        )
    return added


class Trajectories:
    """The numbers of the rows' trajectories ``[N]``: each row that ends takes the next of TorchRL's pool, in order."""

    def __init__(self, pool: Any, ids: Tensor) -> None:
        self._pool, self._new = pool, torch.empty_like(ids)
        self._next = int(pool.state_dict()["traj_id"])

    def follow(self, ids: Tensor, done: Tensor, following: Tensor) -> None:
        """Write those of the step after one with ``ids`` in which the rows of ``done`` ended."""
        done = done.reshape(-1)
        new = torch.cumsum(done, 0, out=self._new)  # without a branch: it costs the same however many rows end
        ended = int(new[-1])
        torch.where(done, new.add_(self._next - 1), ids, out=following)
        self._next += ended

    def give_back(self) -> None:
        """Tell the pool what was taken."""
        self._pool.load_state_dict({"traj_id": torch.tensor(self._next)})
