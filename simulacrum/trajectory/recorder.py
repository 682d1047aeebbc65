"""``Recorder``: a reference whose episodes are recorded as they are played."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import gymnasium
import numpy as np

from ..reference import ReferenceEnv, state_of
from ..spec.package import package_of
from .metadata import Metadata
from .records import First, Step, Trajectory, TrajectoryError
from .values import plain
from .writing import Sink, Writer, create, kind_of, write


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Records every reset and step of a reference: in memory, or into a file as it goes.

    Args:
        env: a reference, or wrappers around one that leave actions and rewards as they are.
        file: ``.jsonl`` (or ``.jsonl.gz``) grows line by line; ``.json`` appears at :meth:`close`. None records into
            :attr:`trajectory`.

    Raises :class:`TypeError` for what is no reference; :class:`TrajectoryError` for a file of another name.

    Example:
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import Recorder, read
        >>> package = Package.read("envs/toywalk")
        >>> env = Recorder(package.reference())
        >>> env.reset(seed=7)
        (array([0.2, 0. ], dtype=float32), {'seed': 7})
        >>> env.step(1)[1:4]
        (-1.0, False, False)
        >>> env.trajectory.steps[0].state
        {'position': 2, 't': 1}
        >>> env.save("recorded.json")
        >>> read("recorded.json", package) == env.trajectory
        True
    """

    def __init__(self, env: gymnasium.Env[Any, Any], file: str | os.PathLike[str] | None = None) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, ReferenceEnv):
            raise TypeError(f"env: expected a simulacrum.ReferenceEnv, wrapped or not, got {env.unwrapped!r}")
        if file is not None:
            kind_of(file)
        self._reference: ReferenceEnv[Any] = env.unwrapped
        self._file = file
        self._sink: Sink | None = None

    @property
    def trajectory(self) -> Trajectory:
        """What was recorded in memory. Raises :class:`TrajectoryError` before the first reset, and where it goes into
        a file."""
        if not isinstance(self._sink, Trajectory):
            why = "no episode has begun: call reset() first" if self._sink is None else f"it is in {self._file}"
            raise TrajectoryError(f"nothing was recorded in memory: {why}")
        return self._sink

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and record how it begins.

        Returns and raises as :meth:`simulacrum.ReferenceEnv.reset`: (observation, info), the observation of its
        space's shape and dtype, with many agents [agents, ...]. Also raises OSError for a file that cannot be opened.
        """
        seen, info = super().reset(seed=seed, options=options)
        self._begin()
        return seen, info

    def set_state(self, snapshot: dict[str, dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
        """Enter a state, and record it as the beginning of an episode.

        Takes, returns and raises as :meth:`simulacrum.ReferenceEnv.set_state`: each state field in the spec's
        dtype, a number or an array of the spec's shape [...].
        """
        seen, info = self._reference.set_state(snapshot)
        self._begin()
        return seen, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and record it.

        Takes and returns as :meth:`simulacrum.ReferenceEnv.step`: an action and an observation of their spaces' shapes
        and dtypes, with many agents [agents, ...], and a float as the reward. Raises as that does, ``ResetNeeded``
        before the first reset, and :class:`TrajectoryError` for NaN in what goes into a file.
        """
        if self._sink is None:
            raise gymnasium.error.ResetNeeded("step: no episode has begun; call reset() first")
        t, episode = int(state_of(self._reference).t), self._reference._episode
        seen, reward, terminated, truncated, info = super().step(action)
        many = self._reference.environment.agents is not None
        self._sink.add(
            Step(
                t,
                episode,
                plain(np.asarray(action)),
                plain(np.asarray(info["rewards"] if many else reward)),
                bool(terminated),
                bool(truncated),
                self._state(),
                plain(np.asarray(info["died"])) if many else None,
            )
        )
        return seen, reward, terminated, truncated, info

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write what was recorded in memory up to now, as :func:`write` does.

        Raises :class:`TrajectoryError` where nothing was, for a file of another name, and for NaN.
        """
        write(self.trajectory, file)

    def close(self) -> None:
        """Finish the file, and close the environment."""
        if isinstance(self._sink, Writer):
            self._sink.close()
        super().close()

    def _begin(self) -> None:
        seed, episode = self._reference._seed, self._reference._episode
        assert seed is not None
        if self._sink is None:
            self._sink = self._opened(seed)
        self._sink.begin(First(seed, episode, self._state()))

    def _opened(self, seed: int) -> Sink:
        package = package_of(type(self._reference).__module__)
        metadata = Metadata.of(self._reference.environment, seed, package=package)
        return Trajectory(metadata) if self._file is None else create(self._file, metadata)

    def _state(self) -> dict[str, Any]:
        state = state_of(self._reference)
        return {field.name: plain(getattr(state, field.name)) for field in dataclasses.fields(state)}
