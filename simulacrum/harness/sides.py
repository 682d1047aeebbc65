"""Both sides of a comparison, each with the same calls: ``reset``, ``enter`` a state, ``step``."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from tensordict import TensorDictBase
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose

from .. import bits
from ..errors import StateError
from ..fast import FastEnv
from ..fast.copying import duplicate
from ..reference import ReferenceEnv
from ..spec import Package
from ..vector import FastVectorEnv
from .records import (
    OUTCOME,
    Record,
    action_key,
    fast_record,
    observation_names,
    observation_record,
    reference_record,
    snapshot,
)

HELD, HELD_ROWS = 4, 65  # how many records are held against later writes, and in batches of how many rows


class Step(NamedTuple):
    """One step as it was: what was shown before, the actions, what the step showed, and what is shown now."""

    before: Record
    action: np.ndarray
    ended: Record
    now: Record


class References:
    """Some references, each stepped through Gymnasium's API."""

    def __init__(self, package: Package, count: int) -> None:
        self.package = package
        self.envs: list[ReferenceEnv[Any]] = [package.reference() for _ in range(count)]
        self._discrete = isinstance(package.environment.action_space, spaces.Discrete)
        self._seen: list[Any] = [None] * count
        self._infos: list[dict[str, Any]] = [{}] * count

    def reset(self, seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> Record:
        """Reset the rows of a mask (all without one), with seeds or to the next episode; what all rows show."""
        for row, env in enumerate(self.envs):
            if mask is None or mask[row]:
                self._seen[row], self._infos[row] = env.reset(seed=None if seeds is None else int(seeds[row]))
        return self._record()

    def enter(self, states: Record, mask: np.ndarray | None = None) -> Record:
        """Put the rows of a mask into the states and clocks of a record."""
        for row, env in enumerate(self.envs):
            if mask is None or mask[row]:
                self._seen[row], self._infos[row] = env.set_state(snapshot(self.package, states, row))
        return self._record()

    def step(self, actions: np.ndarray) -> tuple[Record, Record]:
        """Step every row, and reset those that ended: (what the step showed, what is shown now)."""
        outcomes, finished = [], []
        chosen = actions.tolist() if self._discrete else actions  # plain ints, which a reference takes the quickest
        for row, env in enumerate(self.envs):
            self._seen[row], reward, terminated, truncated, self._infos[row] = env.step(chosen[row])
            outcomes.append((reward, terminated, truncated))
            if terminated or truncated:
                finished.append(row)
        ended = self._record(outcomes)
        for row in finished:
            self._seen[row], self._infos[row] = self.envs[row].reset()
        now = {name: value for name, value in ended.items() if name not in OUTCOME}
        if finished:
            part = reference_record(
                self.package,
                [self.envs[r] for r in finished],
                [self._seen[r] for r in finished],
                [self._infos[r] for r in finished],
            )
            now = {name: _replaced(value, finished, part[name]) for name, value in now.items()}
        return ended, now

    def _record(self, outcomes: Any = None) -> Record:
        return reference_record(self.package, self.envs, self._seen, self._infos, outcomes)


class FastRows:
    """All rows of a fast environment that exposes its state, stepped through TorchRL's API.

    ``fused`` takes ``step_and_maybe_reset``; else ``step`` and a ``reset`` with a ``_reset`` mask, as a TransformedEnv
    does.
    """

    def __init__(self, package: Package, env: FastEnv[Any], fused: bool = True) -> None:
        self.package, self.env, self.fused = package, env, fused
        self.td: TensorDictBase = env.fake_tensordict()
        self.action: torch.Tensor | None = None  # the last step's, as it was handed over

    def reset(self, seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> Record:
        """Reset the rows of a mask (all without one), with seeds or to the next episode; what all rows show."""
        if seeds is not None:
            self.bare._next_seeds = torch.from_numpy(seeds.view(np.int64).copy()).to(self.env.device)
        if mask is None:
            self.td = self.env.reset()
            return self.record(self.td)
        self.td = self.env.reset(duplicate(self.td).set("_reset", self._tensor(mask).unsqueeze(-1)), set_state=False)
        shown = self.record(self.td)  # TorchRL shows the rows outside of the mask as they were, whatever became of them
        return {**shown, **self.kept()} if self.bare.expose_state else shown

    def enter(self, states: Record, mask: np.ndarray | None = None) -> Record:
        """Put the rows of a mask (all without one) into the states and clocks of a record; what all rows show."""
        td = duplicate(self.td) if self._begun() else self.env.reset()
        for name, value in states.items():
            group, _, key = name.partition(".")
            if group in ("state", "clock"):
                value = value.view(np.int64) if name == "clock.seed" else value
                td.set((group, key), self._tensor(value).reshape(*self.env.batch_size, *value.shape[1:]))
        if mask is not None:
            td.set("_reset", self._tensor(mask).unsqueeze(-1))
        self.td = self.env.reset(td, set_state=True)
        if not self.bare.expose_state:
            self.td = self.td.exclude("state", "clock")  # what was injected is not what is shown
        return self.record(self.td)

    def kept(self) -> Record:
        """The states and clocks that the environment itself keeps of all rows."""
        return {
            f"{group}.{name}": value.view(np.uint64) if name == "seed" and group == "clock" else value
            for group, values in self.bare.get_state().to_dict().items()
            for name, value in ((name, tensor.cpu().numpy()) for name, tensor in values.items())
        }

    def step_some(self, actions: np.ndarray, mask: np.ndarray) -> Record:
        """Step the rows of a mask by TorchRL's ``_step``, without a reset; what the step shows of all rows."""
        td = self.td.set(action_key(self.package), self._tensor(actions)).set("_step", self._tensor(mask).unsqueeze(-1))
        return self.record(self.env.step(td).get("next"))

    def step(self, actions: np.ndarray) -> tuple[Record, Record]:
        """Step every row, and reset those that ended: (what the step showed, what is shown now)."""
        self.action = self._tensor(actions).reshape((*self.env.batch_size, *actions.shape[1:]))
        self.td.set(action_key(self.package), self.action)
        if self.fused:
            done, self.td = self.env.step_and_maybe_reset(self.td)
            return self.record(done.get("next")), self.record(self.td)
        done = self.env.step(self.td)
        ended = self.record(done.get("next"))
        self.td = self.env.maybe_reset(self.env.step_mdp(done))
        return ended, self.record(self.td)

    @property
    def bare(self) -> FastEnv[Any]:
        """The environment itself, within a transform."""
        env: FastEnv[Any] = getattr(self.env, "base_env", self.env)
        return env

    @property
    def options(self) -> dict[str, Any]:
        """How the environment runs: ``resets`` and ``device``, and of the others those that are not as by default."""
        env = self.bare
        others = {
            "expose_state": (env.expose_state, True),
            "compile": (getattr(env, "_compile_options", None) is not None, False),
            "kernel": (type(env) is self.package.forms.get("kernel"), False),
        }
        special = {name: value for name, (value, usual) in others.items() if value != usual}
        return {"resets": env.resets, "device": str(env.device), **special}

    def wrote(self, actions: np.ndarray) -> bool:
        """Whether the last step wrote into the actions that it was given."""
        return self.action is not None and not bits.same(self.action.cpu().numpy().reshape(actions.shape), actions)

    def record(self, td: TensorDictBase) -> Record:
        """What a TensorDict of this environment shows of all rows."""
        return fast_record(self.package, td)

    def _begun(self) -> bool:
        try:
            self.bare.get_state()
        except StateError:
            return False
        return True

    def _tensor(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.array(values)).to(self.env.device)


class VectorRows(FastRows):
    """The same rows behind Gymnasium's vector API, in the autoreset mode ``Disabled`` or ``SameStep``.

    Its records hold observations, rewards (in the declared dtype) and flags.
    """

    def __init__(self, package: Package, env: FastEnv[Any], mode: str) -> None:
        super().__init__(package, env)
        self.vector = FastVectorEnv(env, autoreset_mode=mode)

    def reset(self, seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> Record:
        """Reset as :class:`FastRows` does."""
        options = None if mask is None else {"reset_mask": mask}
        return self._seen(self.vector.reset(seed=None if seeds is None else seeds.tolist(), options=options)[0])

    def enter(self, states: Record, mask: np.ndarray | None = None) -> Record:
        """Put the rows into the states and clocks of a record."""
        self.vector.reset()
        entered = super().enter(states, mask)
        return {name: entered[name] for name in observation_names(self.package)}

    def step(self, actions: np.ndarray) -> tuple[Record, Record]:
        """Step every row, and reset those that ended."""
        seen, reward, terminated, truncated, infos = self.vector.step(actions)
        of_agents = {}
        if self.package.environment.agents is not None:
            reward, of_agents = infos["rewards"], {"died": infos["died"]}
        done, ended = terminated | truncated, self._seen(seen)
        now = ended
        if done.any() and self.vector.autoreset_mode is AutoresetMode.SAME_STEP:
            ended = {name: value.copy() for name, value in ended.items()}
            for row in np.flatnonzero(done):
                for name, last in self._seen(infos["final_obs"][row]).items():
                    ended[name][row] = last
        elif done.any():
            now = self.reset(mask=done)
        reward = reward.astype(self.package.environment.reward_dtype)
        return {**ended, "reward": reward, "terminated": terminated, "truncated": truncated, **of_agents}, now

    def _seen(self, seen: Any) -> Record:
        return observation_record(self.package, seen)


class Held:
    """What earlier calls returned, held against later writes (in small batches)."""

    def __init__(self) -> None:
        self.records: deque[tuple[Record, Record]] = deque(maxlen=HELD)  # what was returned, and copies of it

    def written(self) -> str | None:
        """The field of which a returned tensor was written again; None where there is none."""
        return next(
            (name for one, copies in self.records for name in one if not bits.same(one[name], copies[name])), None
        )

    def hold(self, *records: Record) -> None:
        """Hold records whose arrays are the returned tensors' own memory."""
        for record in records:
            if all(len(value) <= HELD_ROWS for value in record.values()):
                self.records.append((record, {name: value.copy() for name, value in record.items()}))


def transformed(env: FastEnv[Any]) -> Any:
    """A fast environment in a ``TransformedEnv``, as it is trained on."""
    return TransformedEnv(env, Compose(StepCounter(), RewardSum()))


def _replaced(values: np.ndarray, rows: list[int], new: np.ndarray) -> np.ndarray:
    values = values.copy()
    values[rows] = new
    return values
