"""A fast environment as a ``VecEnv`` of Stable-Baselines3, with what ``DummyVecEnv`` over N references gives.

    from sb3_vec_env import make_vec_env
    model = PPO("MlpPolicy", VecMonitor(make_vec_env("simulacrum/forager-v0", 64)))

docs/integrations.md tells where arrays are copied; integrations/sb3_ppo.py trains with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvObs, VecEnvStepReturn

import simulacrum  # registers the IDs
from simulacrum import render
from simulacrum.errors import SpaceError
from simulacrum.vector import FastVectorEnv

__all__ = ["FastVecEnv", "Row", "make_vec_env"]


def make_vec_env(environment: str, n_envs: int, **options: Any) -> FastVecEnv:
    """N instances of a validated environment (an ID) for SB3.

    ``options`` are those of :func:`simulacrum.make_fast`, and ``render_mode``. Raises
    :class:`~simulacrum.errors.GateError` where no fresh report admits it, and what :class:`FastVecEnv` raises.
    """
    envs: Any = gymnasium.make_vec(environment, num_envs=n_envs, autoreset_mode="SameStep", **options)
    return FastVecEnv(envs)


class FastVecEnv(VecEnv):
    """N instances behind SB3's vector API, with the bits of ``DummyVecEnv`` over N references.

    Args:
        envs: a :class:`~simulacrum.vector.FastVectorEnv` with ``autoreset_mode="SameStep"``, which belongs to this
            adapter from here on.

    Observations are ``[N, ...]`` in the space's dtype, a Dict gives a dict of these. They are the memory of the fast
    side's own tensors, without a copy, on the CPU. Rewards are float32 [N], as SB3 holds them (a float64 reward is
    rounded, as ``DummyVecEnv`` rounds it), dones bool [N]. Every array is the caller's own, never written again here.

    Infos are a dict for each row, with ``TimeLimit.truncated``, and where an episode ended its
    ``terminal_observation``; the values are what the reference's ``info`` tells of the step that ended it.
    ``reset_infos`` has the rows' infos of their last resets. ``VecMonitor`` adds the statistics of episodes.

    ``seed(s)`` gives row i episode 0 of the stream ``s + i`` at the next reset. :meth:`get_attr` and
    :meth:`env_method` reach one :class:`Row` for each instance.

    Raises ValueError for another autoreset mode, TypeError for another environment,
    :class:`~simulacrum.errors.SpaceError` for a space that SB3 would misread. A step raises
    :class:`~simulacrum.errors.ActionError` for actions outside their space, ``gymnasium.error.ResetNeeded`` before the
    first reset.
    """

    def __init__(self, envs: FastVectorEnv) -> None:
        if not isinstance(envs, FastVectorEnv):
            raise TypeError(f"envs: expected a FastVectorEnv, bare of wrappers, got {type(envs).__name__}")
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"envs: expected autoreset_mode='SameStep', as SB3 resets, got {envs.autoreset_mode}")
        for what, space in (("action", envs.single_action_space), ("observation", envs.single_observation_space)):
            _check_starts(what, space)
        self.envs = envs
        self.spec = envs.spec
        self.rows = [Row(self, row) for row in range(envs.num_envs)]
        self.masks: np.ndarray | None = None  # [N, ...] bool: the present action masks, where there are any
        self._actions: Any = None
        self._reset_names: list[str] = []
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    # ------------------------------------------------------------------ resets and steps

    def reset(self) -> VecEnvObs:
        """Begin an episode in every row, with the seeds that :meth:`seed` gave: the observations. No options are known
        to a reference, so ``set_options`` changes nothing."""
        seeds = None if all(seed is None for seed in self._seeds) else self._seeds
        seen, infos = self.envs.reset(seed=seeds)
        self._reset_seeds()
        self._reset_options()
        self._reset_names = [name for name in _names(infos) if name != "seed"]
        self._keep_masks(infos)
        self._tell_resets(range(self.num_envs), infos)
        return seen

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions [N, ...] of the step that :meth:`step_wait` makes."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """One step of every row, and the next episode of those that ended: observations, rewards, dones, infos."""
        seen, rewards, terminated, truncated, infos = self.envs.step(self._whole(self._actions))
        dones = terminated | truncated
        names = _names(infos)
        told: list[dict[str, Any]] = [{"TimeLimit.truncated": late} for late in (truncated & ~terminated).tolist()]
        for name in names:
            for info, value in zip(told, infos[name], strict=True):
                info[name] = value
        if dones.any():
            ended = dones.nonzero()[0].tolist()
            self._tell_resets(ended, infos)
            for row in ended:
                told[row].update({name: infos["final_info"][name][row] for name in names})
                told[row]["terminal_observation"] = infos["final_obs"][row]
        self._keep_masks(infos)
        return seen, rewards.astype(np.float32), dones, told

    def _whole(self, actions: Any) -> Any:
        """SB3 samples a MultiBinary action as floats, which the reference and the fast side refuse."""
        if isinstance(self.action_space, spaces.MultiBinary) and np.asarray(actions).dtype.kind == "f":
            whole = np.asarray(actions).astype(np.int8)
            return whole if np.array_equal(whole, actions) else actions
        return actions

    def _keep_masks(self, infos: dict[str, Any]) -> None:
        self.masks = infos["action_mask"].copy() if "action_mask" in infos else None

    def _tell_resets(self, rows: Sequence[int], infos: dict[str, Any]) -> None:
        seeds = self.envs.instance_seeds
        for row in rows:
            told = {name: infos[name][row] for name in self._reset_names}
            self.reset_infos[row] = {"seed": int(seeds[row]), **told}

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A frame uint8 [H, W, 3] of every row, with ``render_mode="rgb_array"``."""
        frames = self.envs.render() if self.render_mode == "rgb_array" else None
        return [None] * self.num_envs if frames is None else list(frames)

    def close(self) -> None:
        """Close the fast environment; may be called again."""
        self.envs.close()

    # ------------------------------------------------------------------ rows as SB3 reaches them

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the rows; AttributeError where a :class:`Row` has none of this name."""
        return [getattr(self.rows[row], attr_name) for row in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Keep a value beside the rows, for :meth:`get_attr`; AttributeError for what a row has by itself."""
        for row in self._get_indices(indices):
            setattr(self.rows[row], attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """What a method of the rows returns; AttributeError where a :class:`Row` has none of this name."""
        return [getattr(self.rows[row], method_name)(*args, **kwargs) for row in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        """False for every row: there is nothing around one instance."""
        return [False for _ in self._get_indices(indices)]


class Row:
    """One instance: what ``get_attr`` and ``env_method`` reach. A row cannot step alone, and all share their rules.

    Where the environment has an action mask, the method ``action_masks()`` gives this row's present one, as
    ``MaskablePPO`` of sb3-contrib asks for it.
    """

    def __init__(self, whole: FastVecEnv, row: int) -> None:
        self.__dict__.update(_whole=whole, _row=row)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            raise AttributeError(f"{name} belongs to the environment, and all rows share it; make another environment")
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name == "action_masks" and self._whole.masks is not None:
            return self._action_masks
        had = [known for known in dir(type(self)) if not known.startswith("_")]
        raise AttributeError(f"a row of a FastVecEnv has no {name!r}; it has {', '.join(had)}")

    @property
    def unwrapped(self) -> Row:
        """The row itself."""
        return self

    @property
    def environment(self) -> simulacrum.Environment:
        """What the package declares."""
        return self._whole.envs.fast.environment

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The action space of one instance."""
        return self._whole.envs.single_action_space

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """The observation space of one instance."""
        return self._whole.envs.single_observation_space

    @property
    def metadata(self) -> dict[str, Any]:
        """Gymnasium's metadata: render modes, frames a second."""
        return self._whole.envs.metadata

    @property
    def render_mode(self) -> str | None:
        """None, ``"ansi"`` or ``"rgb_array"``."""
        return self._whole.envs.render_mode

    @property
    def spec(self) -> Any:
        """Gymnasium's ``EnvSpec``, where ``make_vec`` made the environment."""
        return self._whole.envs.spec

    def _action_masks(self) -> Any:
        return self._whole.masks[self._row]

    def get_state(self) -> dict[str, dict[str, Any]]:
        """``{"state": {field: value}, "clock": {"seed", "episode", "t"}}``, as the reference's ``get_state`` gives it:
        arrays, copies."""
        snapshot = self._whole.envs.fast.get_state()[self._row]
        state = {name: value.cpu().numpy()[()] for name, value in snapshot["state"].items()}
        clock = {name: int(value) for name, value in snapshot["clock"].items()}
        return {"state": state, "clock": {**clock, "seed": clock["seed"] % 2**64}}

    def render(self) -> Any:
        """The frame of this row's state in ``render_mode``: a text, or uint8 [H, W, 3]; None without a mode."""
        if self.render_mode is None:
            return None
        now = self.get_state()
        state = SimpleNamespace(**now["state"], t=now["clock"]["t"])
        return render.frame(type(self._whole.envs.fast), state, self.render_mode)


def _names(infos: dict[str, Any]) -> list[str]:
    """The infos by name, without their masks and what tells of ends."""
    return [name for name in infos if f"_{name}" in infos and name not in ("final_obs", "final_info")]


def _check_starts(what: str, space: spaces.Space[Any]) -> None:
    """Refuse a space that SB3 has no policy for, or that it reads wrong without an error, for it counts every discrete
    value from 0."""
    if isinstance(space, spaces.Tuple):
        raise SpaceError(f"{what}: expected no Tuple, for which Stable-Baselines3 has no policy, got {space}")
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            _check_starts(f"{what} {key!r}", part)
    elif np.any(np.asarray(getattr(space, "start", 0)) != 0):
        raise SpaceError(f"{what}: expected a space that starts at 0, as Stable-Baselines3 counts, got {space}")
