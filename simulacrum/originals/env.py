"""``AdoptedEnv``: an unmodified ``gymnasium.Env`` as a package's reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np

from ..errors import OutputError, SpecError
from ..reference import ReferenceEnv, StateT
from ..rng import Draw
from ..spec.environment import Environment
from ..spec.state import build
from .adoption import Adoption
from .generator import KeyedGenerator

__all__ = ["AdoptedEnv"]


def call_slots(environment: Environment) -> tuple[list[int], list[int]]:
    """The slots that the calls of a reset and of a step take, in the order of their numbers."""
    first = sorted(map(int, environment.reset_slots))
    return first, sorted(set(map(int, environment.slots)) - set(first))


class AdoptedEnv(ReferenceEnv[StateT]):
    """A reference whose rules are an unmodified environment of somebody else.

    A subclass sets ``environment`` and ``adopts``, and writes no rule. The original's ``np_random`` is a
    :class:`~simulacrum.originals.KeyedGenerator`; its wrappers are off; clock, seeds, episodes and the step cap are the
    base class's. While an episode runs the original goes on by itself; only a state that is put in is written into it.

    Errors: as :class:`~simulacrum.ReferenceEnv`; further :class:`~simulacrum.errors.SpecError` where the original
    truncates before the declared step cap, counts other steps than the clock, or puts another generator in the place of
    its ``np_random``; :class:`~simulacrum.errors.OutputError` for a reward that the declared dtype cannot hold;
    :class:`~simulacrum.errors.DrawError` for a draw that the contract does not have.

    Example:
        >>> import simulacrum
        >>> env = simulacrum.adopt("FrozenLake-v1", state=["s"], observation="s")()
        >>> observation, info = env.reset(seed=7)
        >>> env.step(2)[0], env.get_state()["state"]
        (1, {'s': 1})
    """

    adopts: ClassVar[Adoption]
    _open: ClassVar[bool] = True  # to subclasses, which declare the environment

    def __init__(self, render_mode: str | None = None, render_options: Mapping[str, Any] | None = None) -> None:
        super().__init__(render_mode=render_mode, render_options=render_options)
        self._generator = KeyedGenerator()
        self._reset_slots, self._step_slots = call_slots(self.environment)
        self._original: Any = self.adopts.make()
        self._original.np_random = self._generator
        self._held: Any = None  # the state that the original is in
        self._seen: Any = None  # what it showed of it
        self.initial(Draw.at(0, 0, 0))  # some attributes come to be in a reset

    @property
    def original(self) -> gymnasium.Env[Any, Any]:
        """The adopted environment, in the state of the last call, to look at."""
        return self._original  # type: ignore[no-any-return]

    def initial(self, draw: Draw) -> StateT:
        """The first state, by the original's ``reset``. Raises as the class does, and
        :class:`~simulacrum.errors.StateError` for a field of another type than the ``State`` declares."""
        self._held = None  # until it has gone well: an error may leave the original in any state
        with self._generator.drawing(draw, self._reset_slots, "reset"):
            observation, _ = self._original.reset()
        return self._hold(observation, 0)

    def transition(self, state: StateT, action: Any, draw: Draw) -> tuple[StateT, Any, Any]:
        """What the original's ``step`` leads to. Raises as the class does; :class:`~simulacrum.errors.OutputError` for
        a reward that the declared dtype cannot hold, :class:`~simulacrum.errors.StateError` as :meth:`initial`."""
        t = state.t  # type: ignore[attr-defined]
        if state is not self._held:
            self._put(state)
        self._held = None  # until it has gone well: a step that raised is tried again from the same state
        with self._generator.drawing(draw, self._step_slots, "step"):
            observation, reward, terminated, truncated, _ = self._original.step(action)
        if truncated and t + 1 < self._cap:
            raise SpecError(
                f"{self.adopts.name}: it truncates after {t + 1} steps, expected at the declared step cap only "
                f"(max_episode_steps is {self.environment.max_episode_steps})"
            )
        if float(self._reward_type(reward)) != float(reward):
            raise OutputError(
                f"{self.adopts.name}: the reward {reward!r} is no {self._reward_type.__name__}: declare "
                "reward_dtype=np.float64 in __init__.py, and float64 in spec.md"
            )
        return self._hold(observation, t + 1), reward, bool(terminated)

    def observation(self, state: StateT) -> Any:
        """What the original showed of a state that it led to; what it shows of one that was put into it."""
        if state is not self._held:
            self._put(state)
        return self.adopts.translated(self._seen) if self._shown else self.adopts.observe(self._original)

    def action_mask(self, state: StateT) -> np.ndarray | None:
        """The original's mask of a state, bool [n] for ``Discrete(n)``; None where the adoption names none."""
        if self.adopts.action_mask is None:
            return None
        if state is not self._held:
            self._put(state)
        return self.adopts.mask(self._original)

    def _put(self, state: Any) -> None:
        self.adopts.write(self._original, state)
        self._held, self._shown = state, False

    def _hold(self, observation: Any, t: int) -> Any:
        """The state that the original is in after a reset or a step, and what it showed there."""
        if self._original.np_random is not self._generator:
            raise SpecError(
                f"{self.adopts.name}: it replaced its np_random; expected draws from the one that it is given"
            )
        values = self.adopts.read(self._original)
        counted = values.pop("t", t)
        if counted != t:
            raise SpecError(f"{self.adopts.name}: it counts {counted} steps where the clock has {t}")
        self._held, self._seen, self._shown = build(self._state_class, values, self._converters), observation, True
        self._held.t = t
        return self._held
