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
        self.actions = self._column(memory, env.action_key)
        shown = {**{key: key for key in (*observed, *OUTCOME)}, "reward": env.reward_key}
        self.ended = self._steps(memory.get("next"), shown)
        last = after.unsqueeze(0)
        self.now = [rows for td in (memory, last) for rows in self._steps(td, {key: key for key in observed})]
        if "collector" in memory.keys():
            self.ids = [*self._column(memory, TRAJECTORIES), *self._column(last, TRAJECTORIES)]

    def _column(self, td: TensorDictBase, key: Any) -> tuple[Tensor, ...]:
        leaf = td.get(key)
        return leaf.view(len(leaf), self._rows, *leaf.shape[1 + self._dims :]).unbind(0)

    def _steps(self, td: TensorDictBase, keys: dict[Any, Any]) -> list[Rows]:
        """Each step's rows under the names of ``keys``, which are found under their values."""
        columns = [self._column(td, key) for key in keys.values()]
        return [dict(zip(keys, step, strict=True)) for step in zip(*columns, strict=True)]


def is_nested(env: Any) -> bool:
    """Whether what a policy reads and writes stands under the agents' key."""
    return isinstance(env, FastEnv) and env.environment.agents is not None


def names_in(td: TensorDictBase, env: Any) -> list[Any]:
    """The names in a TensorDict of an environment's: with many agents also of what stands under their key."""
    nested = is_nested(env)
    return list(td.keys(nested, nested))


def replaces(name: Any, shown: TensorDictBase, env: Any) -> bool:
    """Whether what a policy writes under a name would take the place of something that it is shown."""
    nested = is_nested(env)
    return (name if nested or isinstance(name, str) else name[0]) in shown.keys(nested, nested)


class Recorder:
    """Writes into a batch's memory what a policy made of what it was given: ``names`` at every step."""

    def __init__(self, memory: TensorDictBase, names: list[Any], env: Any) -> None:
        self._memory, self._nested, self._action = memory, is_nested(env), env.action_key
        self._columns = {name: memory.get(name).unbind(0) for name in names}

    def given(self, td: TensorDictBase) -> dict[Any, Any]:
        """What a policy is given, by name."""
        return dict(td.items(self._nested, self._nested))

    def record(self, td: TensorDictBase, given: dict[Any, Any], t: int) -> list[Any]:
        """Write step ``t``; the names of what the policy added beside the action."""
        added, columns, missing = [], self._columns, len(self._columns)
        for name, value in td.items(self._nested, self._nested):
            if value is given.get(name):
                continue
            if name in columns:
                columns[name][t].copy_(value)
                missing -= 1
            elif name in given:  # it has replaced what the environment shows
                self._memory.get(name)[t].copy_(value)
            if name != self._action and name not in given:
                added.append(name)
        if missing:
            lacks = [name for name in columns if name not in td.keys(self._nested, self._nested)]
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
