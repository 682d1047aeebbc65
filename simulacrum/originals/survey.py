"""What can be read from an environment that nobody here wrote: by making it, and by playing it at random.

It is what ``simulacrum new NAME --adopt ID`` fills a package's pages with. It says what was seen, not what can be: a
person has the last word.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ..errors import SpecError
from ..rng import Draw
from ..rng.recorded import Made, RecordedDraw
from .adoption import Adoption
from .generator import KeyedGenerator
from .inferred import step_cap

__all__ = ["Call", "Field", "Survey", "survey"]

STEPS = 3000
EPISODE = 300  # steps at most, where nothing ends an episode
OWN = ("np_random", "_np_random", "_np_random_seed", "render_mode", "action_space", "observation_space", "spec")
KINDS = {"randint": "randint({n})", "categorical": "categorical({weights})", "permutation": "permutation({n})"}
METHODS = ("_get_obs", "gen_obs")  # by which environments show their state, Gymnasium's and MiniGrid's
MANY = 1024  # elements of an attribute: more is a picture or a table


@dataclass
class Field:
    """An attribute that changed while it was played: its values' dtype, shape and bounds; no dtype where it holds
    other things than numbers."""

    name: str
    dtype: str | None
    shape: tuple[int, ...]
    low: float
    high: float


@dataclass
class Call:
    """The n-th number of a reset or of a step: the distributions that were seen there, and whether it always came."""

    distributions: list[str]
    always: bool


@dataclass
class Survey:
    """What was seen of an original.

    Attributes:
        fields: by attribute, those that changed, in the order in which they came to be.
        calls: by phase, one an element drawn.
        rewards: the least and the greatest; ``rewards32`` whether float32 held each of them.
        ends: terminations, and truncations by itself.
        observation: a name that gives its observation: an attribute, or a method without arguments; None: not found.
        masks: whether its infos have an ``action_mask``.
        counter: an attribute that counts the steps; None: none.
        steps: how many were played.
    """

    action_space: spaces.Space[Any]
    observation_space: spaces.Space[Any]
    cap: int | None
    fields: dict[str, Field] = field(default_factory=dict)
    calls: dict[str, list[Call]] = field(default_factory=dict)
    rewards: tuple[float, float] = (float("inf"), float("-inf"))
    rewards32: bool = True
    ends: Counter[str] = field(default_factory=Counter)
    observation: str | None = None
    masks: bool = False
    counter: str | None = None
    steps: int = 0


def survey(original: str | type[gymnasium.Env[Any, Any]], options: dict[str, Any], steps: int = STEPS) -> Survey:
    """Play ``steps`` random steps of an original, made with ``options``.

    Raises :class:`~simulacrum.errors.SpecError` where it cannot be made, or raises while it is played.

    Example:
        >>> from simulacrum.originals.survey import survey
        >>> seen = survey("FrozenLake-v1", {}, steps=500)
        >>> seen.cap, seen.observation, seen.fields["s"].dtype, seen.calls["step"]
        (100, 's', 'int32', [Call(distributions=['uniform(float64)'], always=True)])
    """
    adoption = Adoption(original, [], options=options)
    try:
        played = _Played(adoption)
        played.play(steps)
    except SpecError:
        raise
    except (Exception, SystemExit) as error:
        raise SpecError(f"{adoption.name}: playing the original raised {type(error).__name__}: {error}") from error
    return played.found()


class _Played:
    def __init__(self, adoption: Adoption) -> None:
        self.env: Any = adoption.make()
        self.generator = self.env.np_random = KeyedGenerator()
        self.seen = Survey(self.env.action_space, self.env.observation_space, step_cap(adoption))
        self.values: dict[str, list[Any]] = {}
        self.shown: list[Any] = []
        self.clocks: list[int] = []
        self.draws: dict[str, list[list[Made]]] = {"reset": [], "step": []}
        self.methods = [name for name in METHODS if callable(getattr(self.env, name, None))]

    def play(self, steps: int) -> None:
        self.env.action_space.seed(0)
        mask, seed = None, -1
        while self.seen.steps < steps:
            seed += 1
            shown, info = self._draw("reset", seed, 0, self.env.reset)
            self._note(shown, 0)
            for t in range(self.seen.cap or EPISODE):
                mask = info.get("action_mask") if isinstance(self.env.action_space, spaces.Discrete) else None
                action = self.env.action_space.sample(None if mask is None else np.array(mask, np.int8))
                shown, reward, terminated, truncated, info = self._draw(
                    "step", seed, t, lambda action=action: self.env.step(action)
                )
                self._note(shown, t + 1)
                self._score(float(reward), bool(terminated), bool(truncated), info)
                if terminated or truncated or self.seen.steps >= steps:
                    break

    def _draw(self, phase: str, seed: int, t: int, call: Any) -> Any:
        made: list[Made] = []
        draw: Any = RecordedDraw(Draw.at(seed, 0, t), made.append)
        with self.generator.drawing(draw, [0], phase):
            result = call()
        self.draws[phase].append(made)
        return result

    def _score(self, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]) -> None:
        seen = self.seen
        seen.steps += 1
        seen.rewards = (min(seen.rewards[0], reward), max(seen.rewards[1], reward))
        seen.rewards32 &= float(np.float32(reward)) == reward
        seen.ends.update(["terminated"] * terminated + ["truncated"] * truncated)
        seen.masks |= "action_mask" in info

    def _note(self, shown: Any, t: int) -> None:
        self.shown.append(copy.deepcopy(shown))
        self.clocks.append(t)
        for name, value in vars(self.env).items():
            if name not in OWN and not (isinstance(value, np.ndarray) and value.size > MANY):
                before = self.values.setdefault(name, [])
                if len(before) < len(self.shown):
                    before.extend([None] * (len(self.shown) - 1 - len(before)))
                    before.append(_plain(value))

    def found(self) -> Survey:
        """The survey."""
        seen = self.seen
        for name, values in self.values.items():
            if any(not _same(value, values[0]) for value in values):
                seen.fields[name] = _field(name, values)
        seen.counter = next(
            (name for name, values in self.values.items() if all(map(_same, values, self.clocks))), None
        )
        names = [name for name in self.values if all(map(_same, self.values[name], self.shown))]
        seen.observation = next(iter([*names, *self.methods]), None)
        for phase, made in self.draws.items():
            longest = max((len(one) for one in made), default=0)
            for place in range(longest):
                kinds = sorted({_distribution(one[place]) for one in made if len(one) > place})
                seen.calls.setdefault(phase, []).append(Call(kinds, all(len(one) > place for one in made)))
        return seen


def _plain(value: Any) -> Any:
    """A number, an array, or a list or tuple of numbers, copied; of anything else its type's name."""
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return copy.deepcopy(value)
    if isinstance(value, (list, tuple)) and all(isinstance(one, (bool, int, float, np.generic)) for one in value):
        return copy.deepcopy(value)
    return f"a {type(value).__name__}"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str) or isinstance(one, dict) or isinstance(other, dict):
        return type(one) is type(other) and repr(one) == repr(other)
    try:
        return bool(np.array_equal(np.asarray(one), np.asarray(other)))
    except ValueError:  # of no shape
        return False


def _field(name: str, values: list[Any]) -> Field:
    if any(isinstance(value, str) or value is None for value in values):
        return Field(name, None, (), 0, 0)
    arrays = [np.asarray(value) for value in values]
    shapes = {array.shape for array in arrays}
    kind = np.result_type(*{array.dtype for array in arrays if array.size} or {np.dtype(np.int64)})
    low = min((float(array.min()) for array in arrays if array.size), default=0.0)
    high = max((float(array.max()) for array in arrays if array.size), default=0.0)
    dtype = "bool" if kind.kind == "b" else ("int32" if kind.kind in "iu" else str(kind))
    return Field(name, dtype if len(shapes) == 1 else None, max(shapes), low, high)


def _distribution(made: Made) -> str:
    if made.kind == "uniform":
        return "uniform(float64)" if made.arguments.get("dtype") == "float64" else "uniform()"
    return KINDS[made.kind].format(**made.arguments)
