"""``FastVectorEnv``: a ``FastEnv`` as a ``gymnasium.vector.VectorEnv``, NumPy in and NumPy out."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from torch import Tensor

from . import render
from .errors import SeedError
from .fast import FastEnv
from .fast.actions import ArrayActions
from .fast.core import INFO, Fields, Outcome
from .reference import ReferenceEnv
from .rng.threefry import unsigned
from .spec.agents import GROUP
from .spec.observations import parts

__all__ = ["FastVectorEnv"]

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Infos = dict[str, Any]
RENDER_MODES = tuple(mode for mode in render.MODES if mode != "human")  # there is no window for N instances


class FastVectorEnv(VectorEnv[Any, Any, Any]):
    """N instances behind Gymnasium's vector API, with the bits of ``SyncVectorEnv`` over N references.

    Args:
        env: a :class:`~simulacrum.FastEnv` with a batch size ``[N]``. From here on it belongs to this adapter: reset
            and step it through the adapter only. Its ``validate_actions`` switches the checks of action values.
        autoreset_mode: an ``AutoresetMode`` or its value. ``"NextStep"``: the step after a row's end ignores its
            action, begins its next episode and gives reward 0 and no flag. ``"SameStep"``: the step that ends a row
            gives the first observation of its next episode, and the last one in ``infos["final_obs"]``, with
            ``infos["final_info"]``. ``"Disabled"``: a row that has ended cannot be stepped, and is reset by
            ``reset(options={"reset_mask": mask})``.
        render_mode: None, ``"ansi"`` or ``"rgb_array"``.

    Observations have the dtype of ``single_observation_space`` and the shape ``[N, ...]``; a Dict or a Tuple gives a
    dict or a tuple of these. Rewards are float64 [N], as ``SyncVectorEnv`` gives them; flags bool [N]. Every returned
    array is the caller's own: it is never written again, and writing to it changes nothing here. Nor does writing to an
    array that was passed in.

    Actions ``[N, ...]`` may be what ``action_space`` contains, integers of any width that hold an integer space's
    values, or lists. Floats for an integer space are refused, and so is a float64 array for a float32 space: the
    reference refuses it as well, and rounding it here would change it unseen (pass ``actions.astype(numpy.float32)``).
    A list's numbers have no dtype; they become the space's.

    ``infos`` has the form of Gymnasium's ``_add_info``: arrays [N] by name, each with a mask ``_name`` of the rows
    that have it. Every reset and step tells ``action_mask`` and the implementation's own ``info``, and of the rows that
    it began ``seed`` (uint64). In ``"SameStep"`` the seed is not told, for TorchRL's ``GymWrapper`` demands of every
    step the keys that its first reset had. :attr:`instance_seeds` and :attr:`instance_episodes` tell both always.

    With many agents a row's reward is the sum of theirs in their order, and the infos have ``rewards`` and ``died`` of
    each of them, [N, agents].

    Errors: :class:`~simulacrum.errors.ActionError` for actions of another shape or dtype, or outside the space (it
    names the row), :class:`~simulacrum.errors.SeedError` for seeds, ``gymnasium.error.ResetNeeded`` for a step before
    a reset or, with autoresets disabled, after a row's end; TypeError or ValueError for an argument of the constructor.

    Example:
        >>> import numpy as np
        >>> from simulacrum.spec import Package
        >>> from simulacrum.vector import FastVectorEnv
        >>> envs = FastVectorEnv(Package.read("envs/toywalk").fast(batch_size=[3]), autoreset_mode="SameStep")
        >>> observations, infos = envs.reset(seed=0)
        >>> observations.shape, observations.dtype, envs.instance_seeds.tolist()
        ((3, 2), dtype('float32'), [0, 1, 2])
        >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([1, 1, 0]))
        >>> rewards.tolist()
        [-1.0, -1.0, -1.0]
    """

    def __init__(
        self,
        env: FastEnv[Any],
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        if not isinstance(env, FastEnv):
            raise TypeError(f"env: expected a FastEnv, bare of transforms, got {type(env).__name__}")
        if len(env.batch_size) != 1:
            raise ValueError(f"batch_size: expected one size [N], got {list(env.batch_size)}")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode: expected None or one of {list(RENDER_MODES)}, got {render_mode!r}")
        self.fast = env
        self.num_envs = env.batch_size[0]
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.render_mode = render_mode
        self.metadata = {
            **copy.deepcopy(ReferenceEnv.metadata),
            "render_modes": list(RENDER_MODES),
            "autoreset_mode": self.autoreset_mode,
        }
        environment = env.environment
        self.single_action_space = copy.deepcopy(environment.action_space)
        self.single_observation_space = copy.deepcopy(environment.observation_space)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._parts = parts(self.single_observation_space)
        self._whole = len(self._parts) == 1 and self._parts[0].place is None
        self._actions = ArrayActions(self.single_action_space, self.num_envs)
        self._over: Mask | None = None  # [N] bool: ended, and waits for its reset; None before a reset

    @property
    def instance_seeds(self) -> NDArray[np.uint64]:
        """The seed of each row, uint64 [N], the one in use, or before a reset the one that it will take."""
        return _numpy(self.fast.instance_seeds).view(np.uint64)

    @property
    def instance_episodes(self) -> NDArray[np.int64]:
        """The running episode of each row, int64 [N], counted from 0; raises ``ResetNeeded`` before the first reset."""
        if self._over is None:
            raise ResetNeeded("instance_episodes: no episode has begun; call reset() first")
        return _numpy(self.fast.instance_episodes)

    # ------------------------------------------------------------------ Gymnasium's API

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Infos]:
        """Begin episodes in all rows, or in those of ``options["reset_mask"]`` (bool [N], one true at least).

        Args:
            seed: an int s gives row i episode 0 of the stream ``s + i``; N ints give each row its own, and a None
                among them, or None alone, the next episode of the row's present stream. The first reset without a
                seed begins episode 0 of the environment's own seeds (:attr:`FastEnv.instance_seeds`).
                0 <= seed < 2**64.
            options: ``reset_mask`` is read and, unlike in ``SyncVectorEnv``, not removed, so that a wrapper around
                this environment sees it too; others are ignored, as the reference ignores them.

        Returns:
            (observations, infos): the observations of all rows ([N, ...] in the space's dtype), those outside the mask
            as they were; the infos of the rows that were reset.

        Raises:
            SeedError: a seed out of range or of another type, or not N of them.
            TypeError, ValueError: a mask that is no bool array, or has another shape, or no true element.
            ResetNeeded: the first reset leaves rows out.
        """
        mask = self._reset_mask(options)
        seeds, seeded = self._seeds(seed)
        if self._over is None and mask is not None and not mask.all():
            raise ResetNeeded("reset: outside the mask no episode has begun; call reset() without a mask first")
        if seeded is not None and np.ndim(seed) == 0:
            super().reset(seed=int(seed))  # np_random
        seen = self.fast.plain_reset(*(self._tensor(value) for value in (seeds, seeded, mask)))
        self._over = np.zeros(self.num_envs, np.bool_) if mask is None or self._over is None else self._over & ~mask
        begun = np.ones(self.num_envs, np.bool_) if mask is None else mask
        infos: Infos = {}
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            self._tell(infos, "seed", self.instance_seeds, begun)
        for name, value in self._extras(seen).items():
            self._tell(infos, name, value, begun)
        return self._observation(seen), infos

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float64], Mask, Mask, Infos]:
        """Advance all rows by one step: (observations [N, ...], rewards float64 [N], terminations bool [N], truncations
        bool [N], infos); see the class.

        Raises:
            ActionError: ``actions`` is no element of ``action_space``; the state is then unchanged.
            ResetNeeded: before the first reset; with autoresets disabled, when a row's episode is over.
        """
        if self._over is None:
            raise ResetNeeded("step: no episode has begun; call reset() first")
        waiting = self._over if self._over.any() else None
        if waiting is not None and self.autoreset_mode is AutoresetMode.DISABLED:
            rows = waiting.nonzero()[0].tolist()
            raise ResetNeeded(
                f"step: the episodes of the rows {rows} are over; call reset(options={{'reset_mask': mask}}) first, "
                f"with a bool mask of shape ({self.num_envs},) that is True in those rows"
            )
        action = self._action(actions, waiting)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            outcome, seen = self.fast.plain_step_and_reset(action)
        else:
            outcome = self.fast.plain_step(action, self._tensor(waiting))
            seen = outcome.observation
        ended = _numpy(outcome.done)
        infos: Infos = {}
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            self._over = ended
        elif ended.any():
            self._tell_final(infos, outcome, ended)
        if waiting is not None:
            self._tell(infos, "seed", self.instance_seeds, waiting)
        every = np.ones(self.num_envs, np.bool_)
        for name, value in self._extras(seen).items():
            self._tell(infos, name, value, every)
        rewards = _numpy(outcome.reward)
        if self.fast.environment.agents is not None:
            for name, value in self._of_agents(outcome).items():
                self._tell(infos, name, value, every if waiting is None else ~waiting)
            rewards = np.add.accumulate(rewards, axis=1)[:, -1]  # in the agents' order, as the reference adds
        rewards = rewards.astype(np.float64)
        return self._observation(seen), rewards, _numpy(outcome.terminated), _numpy(outcome.truncated), infos

    def render(self) -> tuple[Any, ...] | None:
        """The frame of every row's present state in ``render_mode``: texts, or RGB arrays uint8 [H, W, 3]. Raises
        ``ResetNeeded`` before the first reset."""
        if self.render_mode is None:
            gymnasium.logger.warn("render: no render_mode was given; make the environment with render_mode='rgb_array'")
            return None
        if self._over is None:
            raise ResetNeeded("render: no episode has begun; call reset() first")
        snapshot = self.fast.get_state()
        fields = {name: _numpy(value) for name, value in snapshot["state"].items()}
        fields["t"] = _numpy(snapshot["clock", "t"])
        states = [SimpleNamespace(**{name: value[i] for name, value in fields.items()}) for i in range(self.num_envs)]
        return tuple(render.frame(type(self.fast), state, self.render_mode) for state in states)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the :class:`~simulacrum.FastEnv`; what :meth:`close` calls."""
        self.fast.close(raise_if_closed=False)

    # ------------------------------------------------------------------ actions, seeds and masks as they come in

    def _action(self, actions: Any, waiting: Mask | None) -> Tensor:
        """Actions as a tensor of their own, checked; those of rows that wait for their reset are replaced, unseen."""
        array = self._actions.convert(actions, waiting)
        if waiting is not None:
            array[waiting] = self._actions.neutral
        action = torch.from_numpy(array)
        if self.fast.validate_actions:
            self._actions.check_values(action)
        return action.to(self.fast.device)

    def _seeds(self, seed: Any) -> tuple[Array | None, Mask | None]:
        """(the bits of the u64 as int64 [N], which rows are given one) of a seed; (None, None) of None."""
        if seed is None:
            return None, None
        if np.ndim(seed) == 0:
            first = unsigned(seed, 64, "seed")
            unsigned(first + self.num_envs - 1, 64, f"seed of row {self.num_envs - 1}, seed + {self.num_envs - 1}")
            values = np.arange(self.num_envs, dtype=np.uint64) + np.uint64(first)
            return values.view(np.int64), np.ones(self.num_envs, np.bool_)
        if len(seed) != self.num_envs:
            raise SeedError(f"seed: expected an int or {self.num_envs} of them, got {len(seed)}")
        numbers = [0 if one is None else unsigned(one, 64, f"seed of row {row}") for row, one in enumerate(seed)]
        return np.array(numbers, np.uint64).view(np.int64), np.array([one is not None for one in seed])

    def _reset_mask(self, options: Mapping[str, Any] | None) -> Mask | None:
        """A copy of ``options["reset_mask"]``."""
        if options is None or "reset_mask" not in options:
            return None
        mask, what = options["reset_mask"], f"options['reset_mask']: expected a bool array of shape ({self.num_envs},)"
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"{what}, got {mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__}")
        if mask.shape != (self.num_envs,):
            raise ValueError(f"{what}, got {mask.shape}")
        if not mask.any():
            raise ValueError(f"{what} with at least one True, got none")
        return mask.copy()

    def _tensor(self, array: Array | None) -> Tensor | None:
        return None if array is None else torch.from_numpy(array).to(self.fast.device)

    # ------------------------------------------------------------------ observations and infos as they go out

    def _observation(self, seen: Fields) -> Any:
        if self._whole:
            return _numpy(seen[self._key("observation")])
        return self._joined([_numpy(seen[self._key(part.key)]) for part in self._parts])

    def _joined(self, values: list[Any]) -> Any:
        """The parts of an observation, in order, as the space has them together."""
        if self._whole:
            return values[0]
        if isinstance(self.single_observation_space, spaces.Tuple):
            return tuple(values)
        return {part.key: value for part, value in zip(self._parts, values, strict=True)}

    def _key(self, name: Any) -> Any:
        """The key of a part of the observation among what is seen."""
        return name if self.fast.environment.agents is None else (GROUP, name)

    @staticmethod
    def _of_agents(outcome: Outcome) -> dict[str, Array]:
        """What a step gave each agent, as the reference's info has it: [N, agents] each."""
        return {"rewards": _numpy(outcome.reward), "died": _numpy(outcome.observation[GROUP, "terminated"].squeeze(-1))}

    def _extras(self, seen: Fields) -> dict[str, Array]:
        """The implementation's infos by name, and ``action_mask``."""
        infos = {key[1]: _numpy(value) for key, value in seen.items() if isinstance(key, tuple) and key[0] == INFO}
        if "action_mask" in seen:
            infos["action_mask"] = _numpy(seen["action_mask"])
        return infos

    def _tell(self, infos: Infos, name: str, value: Array, rows: Mask) -> None:
        """Set ``name`` to ``value`` where ``rows`` (bool [N]) is true and zeros elsewhere, and the mask beside it."""
        if not rows.all():
            value = np.where(rows.reshape(-1, *(1,) * (value.ndim - 1)), value, np.zeros((), value.dtype))
        infos[name], infos[f"_{name}"] = value, rows.copy()

    def _tell_final(self, infos: Infos, outcome: Outcome, ended: Mask) -> None:
        """``final_obs`` (object [N], None where a row goes on) and ``final_info``, with their masks."""
        rows = ended.nonzero()[0]
        last = [_numpy(outcome.observation[self._key(part.key)])[rows] for part in self._parts]
        final = np.full(self.num_envs, None, dtype=object)
        for place, row in enumerate(rows):
            pairs = zip(self._parts, last, strict=True)
            final[row] = self._joined([_element(part.space, values, place) for part, values in pairs])
        final_info: Infos = {}
        extras = self._extras(outcome.observation)
        if self.fast.environment.agents is not None:
            extras |= self._of_agents(outcome)
        for name, value in extras.items():
            self._tell(final_info, name, value, ended)
        infos.update(final_obs=final, _final_obs=ended.copy(), final_info=final_info, _final_info=ended.copy())


def _numpy(tensor: Tensor) -> Array:
    """The tensor as an array, each element in memory of its own; no copy where the tensor is so on the CPU."""
    array: Array = tensor.contiguous().cpu().numpy()
    return array


def _element(space: spaces.Space[Any], part: Array, place: int) -> Any:
    """One row of a part: an array, or a scalar of a Discrete space."""
    return part[place] if isinstance(space, spaces.Discrete) else part[place, ...]
