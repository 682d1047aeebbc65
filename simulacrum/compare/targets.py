"""What the texts REFERENCE and CANDIDATE may be, and how an environment is made from one."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium

from .errors import CompareError

VERSIONED = re.compile(r"-v\d+$")  # an ID of Gymnasium's, its module before a colon perhaps

LIMIT = "max_episode_steps"


@dataclass(frozen=True)
class Target:
    """An environment to be made, often and in any size.

    ``text`` as a candidate: ``gym:ID`` or a bare ID (``gymnasium.make_vec``: the vector form that the ID registers,
    else ``SyncVectorEnv``), ``envpool:ID``, ``gymnax:ID``, ``simulacrum:NAME``, ``module:function`` or
    ``file.py:function`` (a factory ``(num_envs) -> VectorEnv | EnvBase``, also given ``seed`` and
    ``max_episode_steps`` where it has arguments of these names). As a reference: an ID, or a factory ``() -> Env``.
    ``factory`` is such a function itself.
    """

    text: str
    options: Mapping[str, Any] = field(default_factory=dict)
    factory: Callable[..., Any] | None = None

    @property
    def kind(self) -> str:
        """``gym``, ``envpool``, ``gymnax``, ``simulacrum`` or ``factory``."""
        prefix, colon, _ = self.text.partition(":")
        if self.factory is not None or (colon and prefix not in MAKERS and not VERSIONED.search(self.text)):
            return "factory"
        return prefix if prefix in MAKERS else "gym"

    @property
    def name(self) -> str:
        """The text without the word for its kind."""
        prefix, colon, rest = self.text.partition(":")
        return rest if colon and prefix in MAKERS and self.factory is None else self.text

    @property
    def limits(self) -> bool:
        """Whether a time limit can be put on it."""
        return self.kind in ("gym", "envpool", "gymnax") or (
            self.kind == "factory" and LIMIT in inspect.signature(self._function()).parameters
        )

    def reference(self, limit: int | None = None) -> gymnasium.Env[Any, Any]:
        """A single environment. Raises :class:`~simulacrum.errors.CompareError`."""
        if self.kind not in ("gym", "factory"):
            raise CompareError(
                f"REFERENCE: expected a Gymnasium ID, or module:function or file.py:function that gives a "
                f"gymnasium.Env, got {self.text!r}"
            )
        limited = {} if limit is None else {LIMIT: limit}
        if self.kind == "factory":
            env = self._called("REFERENCE", limited)
        else:
            options = {"disable_env_checker": True, **limited, **self.options}
            env = _made("REFERENCE", self.text, gymnasium.make, self.name, **options)
        if not isinstance(env, gymnasium.Env):
            raise CompareError(f"REFERENCE {self.text}: expected a gymnasium.Env, got {type(env).__name__}")
        return env

    def candidate(self, num_envs: int, seed: int, limit: int | None = None) -> Any:
        """A batched environment; ``seed`` is for those that are seeded when they are made.

        Raises :class:`~simulacrum.errors.CompareError`.
        """
        if self.kind == "factory":
            limited = {} if limit is None else {LIMIT: limit}
            return self._called("CANDIDATE", {"num_envs": num_envs, **limited}, {"seed": seed})
        return _made("CANDIDATE", self.text, MAKERS[self.kind], self.name, num_envs, seed, limit, dict(self.options))

    def as_dict(self) -> dict[str, Any]:
        """For JSON. Raises :class:`~simulacrum.errors.CompareError` for a function that no text names."""
        if self.factory is not None:
            raise CompareError(f"{self.text}: a function given as an object cannot be written; name it by text")
        return {"text": self.text, "options": dict(self.options)}

    def _called(self, what: str, arguments: dict[str, Any], if_wanted: dict[str, Any] | None = None) -> Any:
        function = self._function()
        wanted = inspect.signature(function).parameters
        further = {name: value for name, value in (if_wanted or {}).items() if name in wanted}
        return _made(what, self.text, function, **arguments, **further, **self.options)

    def _function(self) -> Callable[..., Any]:
        if self.factory is not None:
            return self.factory
        place, _, name = self.text.rpartition(":")
        function = getattr(_module(place), name, None)
        if not callable(function):
            raise CompareError(f"{self.text}: {place} has no function {name}")
        return function


def _made(what: str, text: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a function makes; its own error told with what was to be made."""
    try:
        return function(*arguments, **options)
    except CompareError:
        raise
    except Exception as error:
        raise CompareError(f"{what} {text}: it could not be made: {type(error).__name__}: {error}") from error


def _module(place: str) -> ModuleType:
    """A module by its name or its file."""
    if not place.endswith(".py"):
        try:
            return importlib.import_module(place)
        except (ImportError, ValueError) as error:
            raise CompareError(
                f"{place}: expected gym:ID, envpool:ID, gymnax:ID, simulacrum:NAME, module:function or "
                f"file.py:function; no module {place!r} ({error})"
            ) from None
    path = Path(place).resolve()
    if not path.is_file():
        raise CompareError(f"{place}: no such file")
    name = f"_compared_{path.stem}_{abs(hash(str(path)))}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        lacking = error.name if error.name and not error.name.startswith(name) else name
        what = "it" if lacking == name else lacking
        raise CompareError(f"{name} cannot be imported here ({error}); install {what}: pip install {lacking}") from None


def _gym(name: str, num_envs: int, seed: int, limit: int | None, options: dict[str, Any]) -> Any:
    limited: dict[str, Any] = {} if limit is None else {LIMIT: limit}
    return gymnasium.make_vec(name, num_envs=num_envs, **limited, **options)


def _envpool(name: str, num_envs: int, seed: int, limit: int | None, options: dict[str, Any]) -> Any:
    envpool = _installed("envpool")
    limited = {} if limit is None else {LIMIT: limit}
    return envpool.make(name, env_type="gymnasium", num_envs=num_envs, seed=seed, **limited, **options)


def _gymnax(name: str, num_envs: int, seed: int, limit: int | None, options: dict[str, Any]) -> Any:
    gymnax = _installed("gymnax")
    from gymnax.wrappers.gym import GymnaxToVectorGymWrapper

    env, params = gymnax.make(name)
    changed = dict(options) if limit is None else {**options, "max_steps_in_episode": limit}
    return GymnaxToVectorGymWrapper(env, num_envs, params.replace(**changed), seed)


def _simulacrum(name: str, num_envs: int, seed: int, limit: int | None, options: dict[str, Any]) -> Any:
    from ..registry import make_fast

    return make_fast(name, [num_envs], seed=seed, **options)


MAKERS: dict[str, Callable[..., Any]] = {
    "gym": _gym,
    "envpool": _envpool,
    "gymnax": _gymnax,
    "simulacrum": _simulacrum,
}
