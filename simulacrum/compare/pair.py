"""``Pair``: a reference and a candidate, and what is found out about them before anything is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

from ..errors import SpaceError
from .errors import CompareError
from .leaves import Leaves, leaves, row_of, spaces_of, unlike
from .modes import detected
from .references import Firsts, Links, draws_in_steps, links_of, play
from .targets import Target
from .views import DISABLED, NEXT_STEP, SAME_STEP, VectorView, View, view_of

TRIED = 8  # seeds by which it is found out whether seeds mean the same on both sides
PROBED = 5  # steps of each


@dataclass
class Pair:
    """Two targets, and how the one is to be run beside the other.

    Attributes:
        state: ``ATTRIBUTE=SOURCE`` texts, how a reference's state is set from a candidate's: see :class:`Links`.
        autoreset: what the candidate does at an episode's end where it does not say so, or says it wrongly.
    """

    reference: Target
    candidate: Target
    state: tuple[str, ...] = ()
    autoreset: str | None = None

    # ------------------------------------------------------------------ the reference

    @cached_property
    def single(self) -> gymnasium.Env[Any, Any]:
        """One reference, whose spaces and tables are read."""
        return self.reference.reference()

    def references(self, number: int, limit: int | None = None) -> list[gymnasium.Env[Any, Any]]:
        """References of their own."""
        return [self.reference.reference(limit) for _ in range(number)]

    @cached_property
    def spaces(self) -> dict[str, Any]:
        """The reference's observation space by leaf. Raises :class:`~simulacrum.errors.SpaceError`."""
        return spaces_of(self.single.observation_space, "REFERENCE: observation space")

    @cached_property
    def action_space(self) -> Any:
        """The reference's action space. Raises :class:`~simulacrum.errors.SpaceError` for a Dict or Tuple."""
        space = self.single.action_space
        if not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Box)):
            raise SpaceError(
                f"REFERENCE: action space: expected Discrete, MultiDiscrete, MultiBinary or Box, got {space!r}"
            )
        return space

    def actions(self, rng: np.random.Generator, steps: int, rows: int) -> np.ndarray:
        """Random actions [steps, rows, ...]; every fourth row repeats each of its own some times, to get further."""
        space = self.action_space
        if isinstance(space, spaces.Discrete):
            chosen = rng.integers(space.start, space.start + space.n, (steps, rows), dtype=space.dtype)
        else:
            space.seed(int(rng.integers(1 << 31)))
            chosen = np.array([[space.sample() for _ in range(rows)] for _ in range(steps)], space.dtype)
            chosen = chosen.reshape(steps, rows, *space.shape)
        for row in range(3, rows, 4):
            length = int(rng.integers(2, 9))
            chosen[:, row] = chosen[np.arange(steps) // length * length, row]
        return chosen

    @cached_property
    def limit(self) -> int | None:
        """The time limit of the reference: that of its ``TimeLimit`` wrapper."""
        env: Any = self.single
        while isinstance(env, gymnasium.Wrapper):
            if isinstance(env, TimeLimit):
                return int(env._max_episode_steps)
            env = env.env
        return None

    @cached_property
    def limits(self) -> bool:
        """Whether a shorter time limit can be put on both."""
        return self.reference.limits and self.candidate.limits

    @cached_property
    def table(self) -> Mapping[int, Mapping[int, Sequence[Any]]] | None:
        """``P`` of the reference: ``P[state][action]`` lists (probability, next state, reward, terminated)."""
        found = getattr(self.single.unwrapped, "P", None)
        return found if isinstance(self.single.observation_space, spaces.Discrete) else None

    @cached_property
    def firsts(self) -> Firsts:
        """First observations of the reference."""
        return Firsts.of(self.single)

    @cached_property
    def draws(self) -> bool:
        """Whether the reference draws random numbers in its steps, and its table, if it has one, has a use for them."""
        if self.table is not None and all(_certain(row) for rows in self.table.values() for row in rows.values()):
            return False
        return draws_in_steps(self.reference.reference(), self.actions(np.random.default_rng(0), 64, 1)[:, 0])

    @cached_property
    def determined(self) -> bool:
        """Whether the first observation determines all that follows, as far as the reference shows."""
        return not self.draws and self.firsts.determine(self.references(2), self)

    # ------------------------------------------------------------------ the candidate

    def view(self, rows: int, seed: int, limit: int | None = None, mode: str | None = None) -> View:
        """A fresh candidate of so many rows; its episodes do not begin yet. Raises CompareError."""
        return view_of(self.candidate.candidate(rows, seed, limit), rows, mode or self.mode)

    def begin(self, view: View, seed: int) -> Any:
        """The moment in which all rows begin, seeded unless that was done when the candidate was made."""
        return view.reset(seed=None if self.seeding == "make" else seed)

    def played(self, rows: int, seed: int, actions: np.ndarray, limit: int | None = None) -> list[Any]:
        """All moments of a fresh candidate: its reset, and its steps with actions [steps, rows, ...]."""
        view = self.view(rows, seed, limit)
        try:
            return [self.begin(view, seed), *(view.step(action) for action in actions)]
        finally:
            view.close()

    @cached_property
    def vector(self) -> bool:
        """Whether the candidate is a VectorEnv, and no EnvBase."""
        view = self.view(1, 0)
        view.close()
        return isinstance(view, VectorView)

    @cached_property
    def seeding(self) -> str:
        """How a candidate is seeded: by ``reset``, or when it is made, or not at all."""
        rows, rng = 4, np.random.default_rng(1)
        actions = self.actions(rng, 12, rows)

        def run(made: int, seed: int | None) -> list[Leaves]:
            view = view_of(self.candidate.candidate(rows, made, None), rows, self.autoreset)
            try:
                return [view.reset(seed=seed).numbers(), *(view.step(action).numbers() for action in actions)]
            finally:
                view.close()

        def by_reset(made: int, seed: int) -> list[Leaves]:
            return run(made, seed)

        def by_making(made: int, seed: int) -> list[Leaves]:
            return run(seed, None)

        for name, seeded in (("reset", by_reset), ("make", by_making)):
            one, again, other = seeded(81, 5), seeded(82, 5), seeded(82, 6)
            if _alike(one, again) and not (self.varies and _alike(one, other)):
                return name
        return "none"

    @cached_property
    def varies(self) -> bool:
        """Whether the reference's episodes differ from seed to seed."""
        env, actions = self.reference.reference(), self.actions(np.random.default_rng(2), 12, 1)[:, 0]
        runs = [play(env, seed, actions) for seed in range(TRIED)]
        return any(not _alike([leaves(one) for one in runs[0]], [leaves(one) for one in run]) for run in runs)

    @cached_property
    def behaviour(self) -> Any:
        """What the candidate does when an episode ends: see :func:`.modes.detected`."""
        return detected(self)

    @property
    def mode(self) -> str | None:
        """The way in which a candidate's rows begin anew, as it behaves."""
        if self.autoreset is not None:
            return self.autoreset
        return self.__dict__["behaviour"].mode if "behaviour" in self.__dict__ else None

    def prepare(self) -> None:
        """Find out how the candidate is seeded and begins anew; the errors of bad targets come now."""
        _ = self.spaces, self.action_space
        self.view(1, 0).close()
        _ = self.seeding, self.behaviour

    @cached_property
    def links(self) -> Links | None:
        """How a reference's state is set from a candidate's; None where nobody said how."""
        return links_of(self.state) if self.state else None

    def row_seeds(self, view: View, seed: int) -> list[int]:
        """The seeds of the rows: what the environment tells as ``instance_seeds``, else ``seed + i``."""
        told = getattr(view.env, "instance_seeds", None)
        if told is None:
            return [seed + row for row in range(view.num_envs)]
        return [int(number) % (1 << 64) for number in np.asarray(told).ravel()]

    @cached_property
    def comparable(self) -> bool:
        """Whether one row with a seed plays what the reference plays with it: most seeds tried do."""
        return self.varies and sum(self._as_reference(1, 100 + number)[0] for number in range(TRIED)) > TRIED * 0.7

    @cached_property
    def comparable_rows(self) -> bool:
        """Whether that holds for most rows of a batch too, by Gymnasium's rule or the seeds that it tells."""
        matches = self._as_reference(TRIED, 100)
        return self.comparable and sum(matches) >= len(matches) / 2

    def _as_reference(self, rows: int, seed: int) -> list[bool]:
        """Which rows show the observations that the reference shows, with their seeds, in their first few steps."""
        actions = self.actions(np.random.default_rng(seed), PROBED, rows)
        view = self.view(rows, seed)
        try:
            moments = [self.begin(view, seed)]
            seeds = self.row_seeds(view, seed)
            moments += [view.step(action) for action in actions]
        finally:
            view.close()
        env = self.references(1)[0]
        matches = []
        for row in range(rows):
            expected = play(env, seeds[row], actions[:, row])
            seen = [row_of(moments[0].observation, row), *(moment.after(row) for moment in moments[1 : len(expected)])]
            pairs = zip(expected, seen, strict=True)
            matches.append(all(one is None or unlike(leaves(value), one) is None for value, one in pairs))
        return matches


def _certain(entries: Sequence[Any]) -> bool:
    """Whether a state and action of ``P`` have one outcome alone."""
    return len({tuple(entry[1:]) for entry in entries if entry[0] > 0}) <= 1


def mode_named(text: str | None) -> str | None:
    """A mode by its name on the command line, ``next-step``, ``same-step`` or ``disabled``. Raises CompareError."""
    name = None if text is None else text.replace("-", " ").replace("_", " ").lower()
    if name not in (None, NEXT_STEP, SAME_STEP, DISABLED):
        raise CompareError(f"autoreset: expected next-step, same-step or disabled, got {text!r}")
    return name


def _alike(one: list[Leaves], other: list[Leaves]) -> bool:
    if len(one) != len(other):
        return False
    return all(
        mine.keys() == yours.keys() and all(np.array_equal(mine[name], yours[name], equal_nan=True) for name in mine)
        for mine, yours in zip(one, other, strict=True)
    )
