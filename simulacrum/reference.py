"""``ReferenceEnv``: the readable side, one instance, a ``gymnasium.Env``."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces

from . import render
from .errors import ActionError, OutputError, SpecError, StateError
from .rng import Draw, episode_key
from .rng.threefry import unsigned
from .spec.environment import Environment, check_environment, has_body
from .spec.package import pickle_by_loader
from .spec.state import build, clock_values, converters, field_names, read, state_class

__all__ = ["ReferenceEnv", "state_of"]

StateT = TypeVar("StateT")
NO_CAP = 1 << 32


class _ReferenceMeta(type(gymnasium.Env)):  # type: ignore[misc]
    """Checks classes when they are made; those that the loader made pickle by (path, digest, module, name)."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(name, bases, namespace, **kwargs)
        if has_body(namespace) and any(isinstance(base, _ReferenceMeta) for base in bases) and "_open" not in namespace:
            cls._declare()


pickle_by_loader(_ReferenceMeta)


class ReferenceEnv(gymnasium.Env[Any, Any], Generic[StateT], metaclass=_ReferenceMeta):
    """An environment as its spec tells it: a dataclass ``State`` and three pure functions.

    A subclass sets ``environment`` and writes :meth:`initial`, :meth:`transition` and :meth:`observation`; it may write
    :meth:`action_mask` and :meth:`info`. This base keeps the clock (seed, episode, ``t``), applies the step cap as
    ``truncated``, and turns them into Gymnasium's API.

    ``reset(seed=s)`` begins episode 0 of stream ``s`` (0 <= s < 2**64); a later ``reset()`` begins the next episode of
    the same stream. With no seed ever given, one comes from the operating system. ``reset``'s info tells
    ``seed``.

    With many agents (``environment.agents``) the reward is the sum of theirs in their order, and a step's info has
    ``rewards`` and ``died`` of each of them, [agents]; a death ends nothing.

    Args:
        render_mode: None, ``"ansi"``, ``"rgb_array"`` or ``"human"``; another one raises ValueError.
        render_options: keywords of the package's ``render.py``, as ``{"around": 3}`` of snake's.

    Errors: :class:`~simulacrum.errors.SpecError` for a subclass that declares no ``environment`` or no ``State``,
    :class:`~simulacrum.errors.ActionError` for an action outside its space,
    :class:`~simulacrum.errors.SeedError` for a seed out of range, ``gymnasium.error.ResetNeeded`` for a step before a
    reset or after the end of an episode.

    Example:
        >>> from simulacrum.spec import Package
        >>> env = Package.read("envs/toywalk").reference()
        >>> observation, info = env.reset(seed=7)
        >>> observation.shape, observation.dtype, info
        ((2,), dtype('float32'), {'seed': 7})
        >>> observation, reward, terminated, truncated, info = env.step(1)
        >>> env.get_state()
        {'state': {'position': 2}, 'clock': {'seed': 7, 'episode': 0, 't': 1}}
    """

    environment: ClassVar[Environment]
    _state_class: ClassVar[type[Any]]
    _field_names: ClassVar[tuple[str, ...]]
    _converters: ClassVar[dict[str, Callable[[Any], Any]]]
    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(render.MODES), "render_fps": 8}  # type: ignore[misc]

    @classmethod
    def _declare(cls) -> None:
        check_environment(cls)
        state = vars(cls).get("_state_class") or state_class(cls, ReferenceEnv)
        if state is not None:
            cls._state_class = state
            cls._field_names = field_names(state)
            cls._converters = converters(state)
        if not hasattr(cls, "_state_class"):
            raise SpecError(
                f"{cls.__name__}: expected its State as a parameter: class {cls.__name__}(ReferenceEnv[State])"
            )

    def __init__(self, render_mode: str | None = None, render_options: Mapping[str, Any] | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode: expected one of {self.metadata['render_modes']}, got {render_mode!r}")
        self.render_mode = render_mode
        self._render_options = dict(render_options or {})
        environment = self.environment
        self.action_space = copy.deepcopy(environment.action_space)  # its random generator is this instance's own
        self.observation_space = copy.deepcopy(environment.observation_space)
        space = environment.action_space
        self._choices = (
            range(int(space.start), int(space.start + space.n)) if isinstance(space, spaces.Discrete) else range(0)
        )
        self._cap = environment.max_episode_steps or NO_CAP
        self._agents = environment.agents
        self._reward_type = environment.reward_dtype.type
        self._state: Any = None
        self._seed: int | None = None
        self._episode = 0
        self._t = 0
        self._key = (0, 0)
        self._over = True
        self._window: Any = None

    def initial(self, draw: Draw) -> StateT:
        """The first state of an episode, from the reset slots' draws."""
        raise NotImplementedError

    def transition(self, state: StateT, action: Any, draw: Draw) -> tuple[StateT, Any, Any]:
        """(next state, reward, terminated) from a state, an action and the step slots' draws.

        The action is an int of a ``Discrete`` space, else an array of the space's shape and dtype. With many agents:
        (next state, rewards [agents] of the declared dtype, died bool [agents]).
        """
        raise NotImplementedError

    def observation(self, state: StateT) -> Any:
        """What an agent sees of a state (with many agents, each of them: [agents, ...]): an element of the observation
        space, of its shape and dtype, a new array at every call."""
        raise NotImplementedError

    def action_mask(self, state: StateT) -> np.ndarray | None:
        """Which actions are legal: bool, [n] for ``Discrete(n)``, or None where all are; shown as
        ``info["action_mask"]``."""
        return None

    def info(self, state: StateT) -> dict[str, Any]:
        """Further values for ``info``: numbers or arrays, of the fast side's dtypes and of its shapes [N, ...] without
        N."""
        return {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episode 0 of stream ``seed``, or the next episode of the present stream. ``options`` are ignored.

        Returns (observation, info), ``info["seed"]`` an int. Raises :class:`~simulacrum.errors.SeedError` for a seed
        that is not in 0..2**64-1.
        """
        if seed is not None:
            seed = unsigned(seed, 64, "seed")
            super().reset(seed=seed)
            self._seed, self._episode = seed, 0
        elif self._seed is None:
            self._seed = int.from_bytes(os.urandom(8), "little") >> 1  # 63 bits: an int64 for those who stack infos
        else:
            self._episode = unsigned(self._episode + 1, 32, "episode")
        self._begin(self._seed, self._episode, 0)
        state: Any = self.initial(Draw(self._key, 0, self.environment.reset_phase))
        return self._enter(state)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by one step: (observation, reward, terminated, truncated, info).

        The reward is a float that the declared dtype holds exactly, the flags are bools. Raises
        :class:`~simulacrum.errors.ActionError` for an action outside the space, ``ResetNeeded`` where no episode runs,
        and with many agents :class:`~simulacrum.errors.OutputError` for rewards or deaths of another shape or dtype.
        """
        if self._over:
            what = "the episode is over" if self._state is not None else "no episode has begun"
            raise gymnasium.error.ResetNeeded(f"step: {what}; call reset() first")
        if not (action.__class__ is int and action in self._choices):  # the space's own test costs a third of a step
            action = self._element(action)
        t = self._t
        state: Any
        state, reward, terminated = self.transition(
            self._state, action, Draw(self._key, t, self.environment.step_phase)
        )
        self._t = state.t = t + 1
        self._state = state
        truncated = self._t >= self._cap
        infos = self._infos(state)
        if self._agents is not None:
            infos = {**infos, **self._of_agents(reward, terminated)}
            reward, terminated = self._joint(infos["rewards"]), False
        self._over = terminated = bool(terminated)
        if truncated:
            self._over = True
        if self.render_mode == "human":
            self.render()
        return self.observation(state), float(self._reward_type(reward)), terminated, truncated, infos

    def get_state(self) -> dict[str, dict[str, Any]]:
        """``{"state": {field: value}, "clock": {"seed", "episode", "t"}}``: copies. ``t`` is in the clock.

        Raises ``ResetNeeded`` before the first reset.
        """
        if self._state is None:
            raise gymnasium.error.ResetNeeded("get_state: no episode has begun; call reset() first")
        clock = {"seed": self._seed, "episode": self._episode, "t": self._t}
        return {"state": read(self._state, self._field_names), "clock": clock}

    def set_state(self, snapshot: dict[str, dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
        """Enter any legal state at any clock: what :meth:`get_state` gives, or the same with arrays or tensors.

        Returns (observation, info) as :meth:`reset` does. Raises :class:`~simulacrum.errors.StateError` for a missing
        or unknown field, :class:`~simulacrum.errors.SeedError` for a clock out of range.
        """
        parts = snapshot if isinstance(snapshot, dict) else {}
        missing = [name for name in ("state", "clock") if name not in parts]
        if missing:
            raise StateError(f"set_state: expected a snapshot with state and clock, missing {missing}")
        seed, episode, t = clock_values(snapshot["clock"])
        state = build(self._state_class, snapshot["state"], self._converters)
        self._begin(unsigned(seed, 64, "seed"), unsigned(episode, 32, "episode"), unsigned(t, 32, "t"))
        return self._enter(state)

    def render(self) -> Any:
        """The frame of the present state in ``render_mode``: text, an RGB array uint8 [H, W, 3], or None after showing
        it. Raises ``ResetNeeded`` before the first reset."""
        if self.render_mode is None:
            gymnasium.logger.warn("render: no render_mode was given; make the environment with render_mode='ansi'")
            return None
        if self._state is None:
            raise gymnasium.error.ResetNeeded("render: no episode has begun; call reset() first")
        if self.render_mode == "human":
            if self._window is None:
                self._window = render.open_window(
                    self.environment.id, self.metadata["render_fps"], **self._render_options
                )
            self._window.show(type(self), self._state)
            return None
        return render.frame(type(self), self._state, self.render_mode, **self._render_options)

    def close(self) -> None:
        """Close the window of the ``human`` mode; may be called again."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _element(self, action: Any) -> Any:
        """An element of the action space as transitions take it: an int, or an array of the space's dtype, a copy."""
        space = self.action_space
        if isinstance(action, np.generic) and not isinstance(space, spaces.Discrete):
            action = np.asarray(action)
        fits = space.contains(action)
        if isinstance(space, spaces.MultiBinary):  # whose own test takes 1.0
            fits = fits and np.asarray(action).dtype.kind in "biu"
        if not fits:
            wanted = f"an element of {space}"
            if self._agents is not None:
                wanted = f"{self._agents} elements of {self.environment.agent_action_space}, one an agent"
            raise ActionError(f"action: expected {wanted}, got {action!r}")
        return int(action) if isinstance(space, spaces.Discrete) else np.array(action, space.dtype)

    def _of_agents(self, rewards: Any, died: Any) -> dict[str, Any]:
        """What a transition gives of each agent, as ``info`` shows it."""
        for name, value, dtype in (("rewards", rewards, self._reward_type), ("died", died, np.bool_)):
            if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != (self._agents,):
                got = f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)
                raise OutputError(
                    f"reference.py, {name}: expected an array of {dtype.__name__} [{self._agents}], got {got}"
                )
        return {"rewards": rewards, "died": died}

    @staticmethod
    def _joint(rewards: np.ndarray) -> Any:
        """The sum of the agents' rewards in their order, rounded after each addition."""
        return np.add.accumulate(rewards)[-1]  # np.sum adds in pairs

    def _begin(self, seed: int, episode: int, t: int) -> None:
        self._seed, self._episode, self._t = seed, episode, t
        self._key = episode_key(seed, episode)

    def _enter(self, state: Any) -> tuple[Any, dict[str, Any]]:
        state.t = self._t
        self._state, self._over = state, False
        if self.render_mode == "human":
            self.render()
        return self.observation(state), {"seed": self._seed, **self._infos(state)}

    def _infos(self, state: Any) -> dict[str, Any]:
        infos = self.info(state)
        mask = self.action_mask(state)
        return infos if mask is None else {**infos, "action_mask": mask}

    def __getstate__(self) -> dict[str, Any]:
        values = {**self.__dict__, "_window": None}
        if self._state is not None:
            values["_state"] = read(self._state, self._field_names)
        return values

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        if self._state is not None:
            self._state = build(self._state_class, self._state, self._converters)
            self._state.t = self._t


def state_of(env: ReferenceEnv[StateT]) -> StateT:
    """The state dataclass of a reference, as it is: for the harness and for renderers, to read and not to change.

    Example:
        >>> from simulacrum.reference import state_of
        >>> from simulacrum.spec import Package
        >>> env = Package.read("envs/toywalk").reference()
        >>> _ = env.reset(seed=7)
        >>> state_of(env)
        State(position=1, t=0)
    """
    state: StateT = env._state
    return state
