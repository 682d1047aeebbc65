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


class SimulacrumError(Exception):
    """The base of all of them."""


class SpecError(SimulacrumError, ValueError):
    """``spec.md``, or what a package declares, is wrong or incomplete."""


class SpaceError(SimulacrumError, TypeError):
    """A space that is not supported."""


class DrawError(SimulacrumError, ValueError):
    """A draw's argument is out of range, or the draw is made in the wrong phase."""


class DrawTypeError(SimulacrumError, TypeError):
    """A draw's argument has the wrong type."""


class SeedError(SimulacrumError, ValueError):
    """A seed, an episode or an instance number out of range."""


class ActionError(SimulacrumError, ValueError):
    """An action outside its space, or of another shape, dtype or device."""


class StateError(SimulacrumError, ValueError):
    """A state that lacks a field, or whose field has another shape or dtype."""


class OutputError(SimulacrumError, TypeError):
    """An implementation returned another shape or dtype than it declares."""


class PackageError(SimulacrumError):
    """An environment package that cannot be found or loaded."""


class BuildError(SimulacrumError):
    """A native helper could not be built."""


class GateError(SimulacrumError, gymnasium.error.Error):
    """No fresh report admits the environment. ``reason`` is a :class:`simulacrum.harness.gate.Refusal`."""

    def __init__(self, message: str, reason: object = None) -> None:
        super().__init__(message)
        self.reason = reason
