"""The exceptions that simulacrum raises.

::

    SimulacrumError
    ├── SpecError (ValueError)         spec.md, or what a package declares, is wrong or incomplete
    ├── SpaceError (TypeError)         a space that is not supported
    ├── DrawError (ValueError)         a draw's argument is out of range, or the draw is made in the wrong phase
    ├── DrawTypeError (TypeError)      a draw's argument has the wrong type
    ├── SeedError (ValueError)         a seed, an episode or an instance number out of range
    ├── ActionError (ValueError)       an action outside its space, of another shape, dtype or device
    ├── StateError (ValueError)        a state that lacks a field, or whose field has another shape or dtype
    ├── OutputError (TypeError)        an implementation returned another shape or dtype than it declares
    ├── PackageError                   an environment package that cannot be found or loaded
    ├── BuildError                     a native helper could not be built
    └── GateError (gymnasium.error.Error)   no fresh report admits the environment
"""

from __future__ import annotations

import gymnasium.error

__all__ = [
    "ActionError",
    "BuildError",
    "DrawError",
    "DrawTypeError",
    "GateError",
    "OutputError",
    "PackageError",
    "SeedError",
    "SimulacrumError",
    "SpaceError",
    "SpecError",
    "StateError",
]


class SimulacrumError(Exception):
    """The base of all of them.

    Example:
        >>> import simulacrum
        >>> try:
        ...     simulacrum.make_fast("nowhere", [4])
        ... except simulacrum.SimulacrumError as error:
        ...     print(type(error).__name__)
        PackageError
    """


class SpecError(SimulacrumError, ValueError):
    """``spec.md``, or what a package declares, is wrong or incomplete.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> from simulacrum import Environment
        >>> Environment("walk", Discrete(2), Discrete(5), max_episode_steps=60)
        Traceback (most recent call last):
            ...
        simulacrum.errors.SpecError: id: expected <namespace>/<name>-v<k>, got 'walk'
    """


class SpaceError(SimulacrumError, TypeError):
    """A space that is not supported.

    Example:
        >>> from gymnasium.spaces import Discrete, Text
        >>> from simulacrum import Environment
        >>> Environment("me/walk-v0", Text(3), Discrete(5), max_episode_steps=60)
        Traceback (most recent call last):
            ...
        simulacrum.errors.SpaceError: action space: expected Discrete, MultiDiscrete, MultiBinary or Box, got Text(...)
    """


class DrawError(SimulacrumError, ValueError):
    """A draw's argument is out of range, or the draw is made in the wrong phase.

    Example:
        >>> from simulacrum.rng import Draw
        >>> Draw.at(seed=0, episode=0, t=0).randint(0, n=0)
        Traceback (most recent call last):
            ...
        simulacrum.errors.DrawError: n: expected 1..2**31, got 0
    """


class DrawTypeError(SimulacrumError, TypeError):
    """A draw's argument has the wrong type.

    Example:
        >>> from simulacrum.rng import Draw
        >>> Draw.at(seed=0, episode=0, t=0).randint(0, n=2.5)
        Traceback (most recent call last):
            ...
        simulacrum.errors.DrawTypeError: n: expected an integer, got 2.5
    """


class SeedError(SimulacrumError, ValueError):
    """A seed, an episode or an instance number out of range.

    Example:
        >>> from simulacrum.rng import seed_key
        >>> seed_key(-1)
        Traceback (most recent call last):
            ...
        simulacrum.errors.SeedError: seed: expected an integer in 0..2**64-1, got -1
    """


class ActionError(SimulacrumError, ValueError):
    """An action outside its space, or of another shape, dtype or device.

    Example:
        >>> from simulacrum.spec import Package
        >>> env = Package.read("envs/toywalk").reference()
        >>> _ = env.reset(seed=0)
        >>> env.step(7)
        Traceback (most recent call last):
            ...
        simulacrum.errors.ActionError: action: expected an element of Discrete(2), got 7
    """


class StateError(SimulacrumError, ValueError):
    """A state that lacks a field, or whose field has another shape or dtype.

    Example:
        >>> from simulacrum.spec import Package
        >>> env = Package.read("envs/toywalk").reference()
        >>> env.set_state({"state": {}, "clock": {"seed": 0, "episode": 0, "t": 3}})
        Traceback (most recent call last):
            ...
        simulacrum.errors.StateError: state: expected the fields ['position']; missing ['position'], unknown []
    """


class OutputError(SimulacrumError, TypeError):
    """An implementation returned another shape or dtype than it declares.

    Example:
        >>> from simulacrum.spec import Package
        >>> class Wrong(Package.read("envs/toywalk").fast):
        ...     def observation(self, state):
        ...         return super().observation(state).double()
        >>> Wrong(batch_size=[2])
        Traceback (most recent call last):
            ...
        simulacrum.errors.OutputError: fast.py, observation: expected torch.float32 [N, 2] ..., got torch.float64 ...
    """


class PackageError(SimulacrumError):
    """An environment package that cannot be found or loaded.

    Example:
        >>> from simulacrum.spec import Package
        >>> Package.read("envs/nowhere")
        Traceback (most recent call last):
            ...
        simulacrum.errors.PackageError: no environment package at ...nowhere: it is no folder
    """


class BuildError(SimulacrumError):
    """A native helper could not be built.

    Example:
        >>> from pathlib import Path
        >>> from simulacrum.native import Source, build
        >>> build(Source(Path("broken.pyx"), b"def f(:"))
        Traceback (most recent call last):
            ...
        simulacrum.errors.BuildError: building broken.pyx failed: ...
    """


class GateError(SimulacrumError, gymnasium.error.Error):
    """No fresh report admits the environment. ``reason`` is a :class:`simulacrum.harness.gate.Refusal`.

    Example:
        >>> import simulacrum
        >>> try:
        ...     simulacrum.make_fast("simulacrum/forager-v0", [4])  # not validated here
        ... except simulacrum.GateError as error:
        ...     print(error.reason)
        Refusal.NO_REPORT
    """

    def __init__(self, message: str, reason: object = None) -> None:
        super().__init__(message)
        self.reason = reason
