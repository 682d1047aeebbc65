"""``Adoption``: how an environment that nobody here wrote is made, read, written and seen."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from ..errors import SpecError

__all__ = ["Adoption"]

Read = Callable[[Any], Mapping[str, Any]]
Write = Callable[[Any, Any], None]
See = Callable[[Any], Any]
STATE = "a list of attributes, a dictionary of attributes by field, or a pair of functions (read, write)"


@dataclass(frozen=True)
class Adoption:
    """An unmodified ``gymnasium.Env`` and how its state is read and written.

    Args:
        original: a Gymnasium ID, made without wrappers, or the class.
        state: what its rules depend on: attributes by field (``{"cell": "s"}``), or a list of attributes that are also
            the fields; dotted names reach inside (``"agent.position"``). Or a pair of functions: ``read(env)`` gives
            the fields, ``write(env, state)`` puts a ``State`` into it. The field ``t``, where it is there, is the
            environment's own step counter: it is set from the clock, and must agree with it.
        observation: what the environment shows of its present state: the name of an attribute or of a method without
            arguments, or a function of the environment. None: ``_get_obs``, where it has such a method.
        translate: from an observation of the environment to an element of the package's observation space, where those
            are not alike.
        action_mask: which actions are legal: a name or a function as for ``observation``.
        options: keyword arguments that it is made with.
        rules: its methods, and functions of its module, that are its rules, ``reset`` and ``step`` among them: every
            line of them must be executed by compared transitions.

    Raises :class:`~simulacrum.errors.SpecError` for an ``original``, a ``state`` or ``rules`` of another form, and for
    a subclass, which could make another environment than the one that it names.

    Example:
        >>> from simulacrum import Adoption
        >>> lake = Adoption("FrozenLake-v1", state={"cell": "s"}, observation="s", options={"is_slippery": False})
        >>> env = lake.make()
        >>> type(env).__name__, env.observation_space
        ('FrozenLakeEnv', Discrete(16))
    """

    original: str | type[gymnasium.Env[Any, Any]]
    state: Mapping[str, str] | Sequence[str] | tuple[Read, Write]
    observation: str | See | None = None
    translate: See | None = None
    action_mask: str | See | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[str, ...] = ("reset", "step")

    def __init_subclass__(cls, **arguments: Any) -> None:
        raise SpecError(f"{cls.__qualname__}: expected an Adoption, which has no subclasses")

    def __post_init__(self) -> None:
        original, attributes = self.original, self.state
        if not isinstance(original, str) and not (isinstance(original, type) and issubclass(original, gymnasium.Env)):
            raise SpecError(f"original: expected a Gymnasium ID or a class of gymnasium.Env, got {original!r}")
        if isinstance(attributes, str) or not isinstance(attributes, (Mapping, Sequence)):
            raise SpecError(f"state: expected {STATE}, got {attributes!r}")
        names = attributes.values() if isinstance(attributes, Mapping) else attributes
        if not self.functions and not all(isinstance(name, str) for name in names):
            raise SpecError(f"state: expected {STATE}, got {attributes!r}")
        if self.options.get("render_mode") == "human":
            raise SpecError('options: expected no render_mode "human": the original would show every step, and wait')
        if isinstance(self.rules, str) or not {"reset", "step"} <= set(self.rules):
            raise SpecError(f'rules: expected names of functions, "reset" and "step" among them, got {self.rules!r}')

    @property
    def functions(self) -> tuple[Read, Write] | None:
        """The pair of functions, where the state is read and written by such."""
        pair = self.state
        if isinstance(pair, tuple) and len(pair) == 2 and all(callable(one) for one in pair):
            return pair  # type: ignore[return-value]
        return None

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes by field; none where functions read and write."""
        if self.functions:
            return {}
        return dict(self.state if isinstance(self.state, Mapping) else zip(self.state, self.state, strict=True))  # type: ignore[arg-type]

    def make(self) -> gymnasium.Env[Any, Any]:
        """A new instance of the original, without wrappers. Raises :class:`SpecError` where it cannot be made."""
        try:
            if isinstance(self.original, str):
                made = gymnasium.make(self.original, disable_env_checker=True, **self.options).unwrapped
            else:
                made = self.original(**self.options)
        except (Exception, SystemExit) as error:
            raise SpecError(f"{self.name}: making the original raised {type(error).__name__}: {error}") from error
        if getattr(made, "_np_random", None) is not None:
            raise SpecError(
                f"{self.name}: it draws while it is made, before a seed can be given; expected draws in reset and step "
                "only: give by its options what it drew"
            )
        return made

    @property
    def name(self) -> str:
        """The original's ID, or the class's name."""
        return self.original if isinstance(self.original, str) else self.original.__qualname__

    @property
    def id(self) -> str:
        """The name without the module that registers it, the second part of ``"minigrid:MiniGrid-Empty-8x8-v0"``."""
        return self.name.rpartition(":")[2]

    def read(self, env: Any) -> dict[str, Any]:
        """Its fields as they are, copied; with ``t`` where it counts steps itself."""
        if self.functions:
            return copy.deepcopy(dict(self.functions[0](env)))
        return {name: copy.deepcopy(_reached(env, path)) for name, path in self.attributes.items()}

    def write(self, env: Any, state: Any) -> None:
        """Put a state's fields into it, each in the type that the attribute has now, where that holds it."""
        if self.functions:
            self.functions[1](env, copy.deepcopy(state))
            return
        for name, path in self.attributes.items():
            *parents, last = path.split(".")
            owner = _reached(env, ".".join(parents)) if parents else env
            setattr(owner, last, _like(_reached(env, path), getattr(state, name)))

    def observe(self, env: Any) -> Any:
        """What it shows of its present state, translated. Raises :class:`SpecError` where nothing tells how."""
        see = self.observation
        if see is None:
            see = "_get_obs"
            if not callable(getattr(env, see, None)):
                raise SpecError(
                    f"{self.name}: expected observation=, the name of an attribute or a method, or a function of the "
                    "environment, that gives its observation of a state that was put into it; it has no _get_obs"
                )
        return self.translated(_asked(env, see))

    def translated(self, observation: Any) -> Any:
        """An observation of the original as the package's space has it, a copy."""
        seen = copy.deepcopy(observation)  # translate may hand on a part of it
        return seen if self.translate is None else self.translate(seen)

    def mask(self, env: Any) -> np.ndarray | None:
        """Which actions are legal, bool [n] for ``Discrete(n)``; None where all are."""
        return None if self.action_mask is None else np.array(_asked(env, self.action_mask), np.bool_)


def _asked(env: Any, see: str | See) -> Any:
    if not isinstance(see, str):
        return see(env)
    found = _reached(env, see)
    return found() if callable(found) else found


def _reached(env: Any, path: str) -> Any:
    value = env
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise SpecError(
                f"{type(env).__name__}: expected an attribute {path!r} after a reset; {type(value).__name__} has "
                f"{sorted(getattr(value, '__dict__', ()))}"
            ) from None
    return value


def _like(present: Any, value: Any) -> Any:
    """``value``, copied, in the type of ``present``, for the original finds its own types; as it is where that type
    does not hold it, as an attribute that begins as 0 and becomes 0.5."""
    if isinstance(present, np.ndarray):
        array = np.array(value)
        with np.errstate(invalid="ignore"):
            held = array.astype(present.dtype)
        return held if np.array_equal(held, array, equal_nan=held.dtype.kind == "f") else array
    if isinstance(present, tuple) and hasattr(present, "_make"):  # a namedtuple
        return present._make(copy.deepcopy(value))
    if isinstance(present, (list, tuple)):
        return type(present)(copy.deepcopy(value))
    if isinstance(present, (bool, int, float, np.generic)):
        cast = type(present)(value)
        return cast if cast == value or value != value else copy.deepcopy(value)
    return copy.deepcopy(value)
