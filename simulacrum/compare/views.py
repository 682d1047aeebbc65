"""One small view of any batched environment, Gymnasium's or TorchRL's: what each call gave, row by row.

How a row that has ended begins anew is normalised. In each :class:`Moment` a row made a transition of the game
(``stepped``), or began an episode (``began``), or both, as an environment does that resets in the same step.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode

from .errors import CompareError
from .leaves import Leaves, leaves, row_of

NEXT_STEP, SAME_STEP, DISABLED = "next step", "same step", "disabled"
MODES = {AutoresetMode.NEXT_STEP: NEXT_STEP, AutoresetMode.SAME_STEP: SAME_STEP, AutoresetMode.DISABLED: DISABLED}
NEEDED = ("reset", "step", "num_envs", "single_observation_space", "single_action_space", "action_space")
FINALS = ("final_obs", "final_observation")  # Gymnasium's names since 1.1 and before


class Moment(NamedTuple):
    """What a reset or a step gave.

    ``observation`` [N, ...] as returned; ``final`` the terminal observations that were told apart, by row; ``given``
    everything as it was returned, by name, not copied. ``reward``, ``terminated``, ``truncated`` [N]; None of a reset.
    """

    observation: Leaves
    reward: np.ndarray | None
    terminated: np.ndarray | None
    truncated: np.ndarray | None
    final: dict[int, Leaves]
    stepped: np.ndarray  # bool [N]
    began: np.ndarray  # bool [N]
    given: dict[str, Any]

    @property
    def ended(self) -> np.ndarray:
        """The rows whose episode ended in this step: bool [N]."""
        if self.terminated is None or self.truncated is None:
            return np.zeros_like(self.began)
        return (self.terminated.astype(bool) | self.truncated.astype(bool)) & self.stepped

    def after(self, row: int) -> Leaves | None:
        """The observation of the state that a row's transition led to; None where it was not told."""
        if row in self.final:
            return self.final[row]
        return None if self.began[row] else row_of(self.observation, row)

    def numbers(self) -> Leaves:
        """All that is compared between two runs: observations, rewards, flags, terminal observations."""
        table = {f"observation {name}": value for name, value in self.observation.items()}
        for name in ("reward", "terminated", "truncated"):
            if (value := getattr(self, name)) is not None:
                table[name] = value
        for row, final in self.final.items():
            table |= {f"terminal observation {name} of row {row}": value for name, value in final.items()}
        return table


class View:
    """A batched environment: :meth:`reset` and :meth:`step` give a :class:`Moment` each."""

    kind = ""

    def __init__(self, env: Any, num_envs: int, mode: str | None) -> None:
        self.env, self.num_envs, self.mode = env, num_envs, mode
        self.declared: str | None = None  # the mode that the environment declares
        self._waiting = np.zeros(num_envs, bool)  # rows that the next step begins anew

    def reset(self, seed: Any = None, mask: np.ndarray | None = None) -> Moment:
        """Begin episodes, in all rows or in those of a mask (bool [N])."""
        raise NotImplementedError

    def step(self, actions: np.ndarray) -> Moment:
        """One step with actions [N, ...]."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the environment."""
        close = getattr(self.env, "close", None)
        if close is not None:
            close()

    def attribute(self, path: str) -> Any:
        """What the environment has at a dotted path, its wrappers passed."""
        env = getattr(self.env, "unwrapped", self.env)
        value = env
        for name in path.split("."):
            if not hasattr(value, name):
                raise CompareError(f"--state: the candidate {type(env).__name__} has no {path!r}: {name!r} is missing")
            value = getattr(value, name)
        return value

    def _begun(self, observation: Any, given: dict[str, Any], began: np.ndarray) -> Moment:
        self._waiting = self._waiting & ~began
        return Moment(leaves(observation), None, None, None, {}, np.zeros(self.num_envs, bool), began, given)


class VectorView(View):
    """A ``gymnasium.vector.VectorEnv``, or whatever has its methods."""

    kind = "VectorEnv"

    def __init__(self, env: Any, num_envs: int, mode: str | None) -> None:
        super().__init__(env, num_envs, mode)
        declared = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
        self.declared = None if declared is None else MODES.get(declared)
        self.mode = mode or self.declared
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space
        self._dtype = getattr(env.action_space, "dtype", None)

    def reset(self, seed: Any = None, mask: np.ndarray | None = None) -> Moment:
        arguments: dict[str, Any] = {} if seed is None else {"seed": seed}
        if mask is not None:
            arguments["options"] = {"reset_mask": mask.copy()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a seed is not looked at is found, not read
            observation, infos = self.env.reset(**arguments)
        began = np.ones(self.num_envs, bool) if mask is None else mask.copy()
        return self._begun(observation, {"observation": observation, "infos": infos}, began)

    def step(self, actions: np.ndarray) -> Moment:
        given = self.raw_step(actions)
        observation, reward, terminated, truncated, infos = given.values()
        reward, terminated, truncated = (np.array(value) for value in (reward, terminated, truncated))
        seen, every = leaves(observation), np.ones(self.num_envs, bool)
        final = finals_of(infos, self.num_envs)
        if self.mode == NEXT_STEP:
            waited = self._waiting
            stepped, began = ~waited, waited
            self._waiting = (terminated.astype(bool) | truncated.astype(bool)) & stepped
            return Moment(seen, reward, terminated, truncated, {}, stepped, began, given)
        ended = terminated.astype(bool) | truncated.astype(bool)
        if self.mode == DISABLED and ended.any():
            final = {int(row): row_of(seen, int(row)) for row in np.flatnonzero(ended)}
            seen = self.reset(mask=ended).observation
        return Moment(seen, reward, terminated, truncated, final, every, ended, given)

    def raw_step(self, actions: np.ndarray) -> dict[str, Any]:
        """What the environment's own ``step`` gives, by name; the actions in the dtype of its action space."""
        if isinstance(self._dtype, np.dtype) and actions.dtype != self._dtype:
            actions = actions.astype(self._dtype)
        names = ("observation", "reward", "terminated", "truncated", "infos")
        return dict(zip(names, self.env.step(actions), strict=True))


class TensorView(View):
    """A TorchRL ``EnvBase`` with the batch size [N], stepped by ``step_and_maybe_reset``."""

    kind = "EnvBase"

    def __init__(self, env: Any, num_envs: int, mode: str | None) -> None:
        super().__init__(env, num_envs, SAME_STEP)
        self.declared = SAME_STEP  # step_and_maybe_reset: every EnvBase
        if list(env.batch_size) != [num_envs]:
            raise CompareError(f"CANDIDATE: expected an EnvBase of batch size [{num_envs}], got {list(env.batch_size)}")
        self.observation_space = self.action_space = None
        flags = set(env.done_keys)
        self._keys = [key for key in env.observation_spec.keys(True, True) if key not in flags and key != "action_mask"]
        self._td: Any = None

    def reset(self, seed: Any = None, mask: np.ndarray | None = None) -> Moment:
        import torch

        if seed is not None:
            self.env.set_seed(seed)
        if mask is None:
            self._td = self.env.reset()
        else:
            asked = self._td.clone().set("_reset", torch.from_numpy(mask.copy()).unsqueeze(-1))
            self._td = self.env.reset(asked)
        began = np.ones(self.num_envs, bool) if mask is None else mask.copy()
        return self._begun(self._seen(self._td), self._given(self._td), began)

    def step(self, actions: np.ndarray) -> Moment:
        done, self._td = self.env.step_and_maybe_reset(self._td.set(self.env.action_key, self._action(actions)))
        done = done.get("next")
        reward, terminated = self._flat(done, self.env.reward_key), self._flat(done, "terminated")
        truncated = self._flat(done, "truncated") if "truncated" in done.keys() else np.zeros_like(terminated)
        ended = terminated.astype(bool) | truncated.astype(bool)
        last = leaves(self._seen(done))
        final = {int(row): row_of(last, int(row)) for row in np.flatnonzero(ended)}
        given = {f"next {name}": value for name, value in self._given(done).items()} | self._given(self._td)
        given["reward"] = done.get(self.env.reward_key)
        every = np.ones(self.num_envs, bool)
        return Moment(leaves(self._seen(self._td)), reward, terminated, truncated, final, every, ended, given)

    def _action(self, actions: np.ndarray) -> Any:
        import torch

        spec = self.env.action_spec
        action = torch.from_numpy(actions.copy())
        if type(spec).__name__ == "OneHot":
            action = torch.nn.functional.one_hot(action.long(), spec.shape[-1])
        return action.to(spec.dtype).reshape(spec.shape)

    def _seen(self, td: Any) -> Any:
        values = {_named(key): td.get(key).detach().cpu().numpy() for key in self._keys}
        return next(iter(values.values())) if len(values) == 1 else values

    def _given(self, td: Any) -> dict[str, Any]:
        return {_named(key): td.get(key) for key in (*self._keys, "terminated", "truncated") if key in td.keys(True)}

    def _flat(self, td: Any, key: Any) -> np.ndarray:
        return td.get(key).detach().cpu().numpy().reshape(self.num_envs).copy()


def view_of(env: Any, num_envs: int, mode: str | None = None) -> View:
    """The view of an environment. ``mode`` overrides what a VectorEnv declares. Raises CompareError for another."""
    batch_size = getattr(env, "batch_size", None)
    if batch_size is not None and hasattr(env, "step_and_maybe_reset"):
        return TensorView(env, num_envs, mode)
    lacking = [name for name in NEEDED if not hasattr(env, name)]
    if lacking:
        raise CompareError(
            f"CANDIDATE: expected a gymnasium.vector.VectorEnv or a torchrl EnvBase, got {type(env).__name__} without "
            f"{', '.join(lacking)}"
        )
    if env.num_envs != num_envs:
        raise CompareError(f"CANDIDATE: expected num_envs {num_envs}, got {env.num_envs}")
    return VectorView(env, num_envs, mode)


def _named(key: Any) -> str:
    return key if isinstance(key, str) else ".".join(key)


def finals_of(infos: Any, num_envs: int) -> dict[int, Leaves]:
    """The terminal observations among infos, by row."""
    for name in FINALS:
        if name not in infos:
            continue
        values = infos[name]
        told = np.asarray(infos.get(f"_{name}", [value is not None for value in values])).astype(bool)
        if isinstance(values, np.ndarray) and values.dtype == object:
            return {row: leaves(values[row]) for row in range(num_envs) if told[row] and values[row] is not None}
        table = leaves(values)
        return {row: row_of(table, row) for row in range(num_envs) if told[row]}
    return {}
