"""A trajectory in memory: episodes of steps. States and actions are JSON values: numbers, lists, dicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import SimulacrumError
from .metadata import Metadata


class TrajectoryError(SimulacrumError, ValueError):
    """A trajectory file that cannot be read, or a value that no trajectory file can hold. It names file and place."""


class First(NamedTuple):
    """How an episode begins.

    Attributes:
        seed: the instance seed, 0..2**64-1.
        episode: the number of the episode of that seed.
        state: its first state by field.
    """

    seed: int
    episode: int
    state: dict[str, Any]


class Step(NamedTuple):
    """One step of an episode.

    Attributes:
        t: the step counter before it.
        episode: the number of the episode.
        action: as in ``$defs/action`` of the package's schema.
        reward: a number; with many agents a list of theirs.
        terminated, truncated: how the episode ended with it, if it did.
        state: the state after it, the terminal one where the episode ended.
        died: with many agents, which of them died in it; else None.
    """

    t: int
    episode: int
    action: Any
    reward: Any
    terminated: bool
    truncated: bool
    state: dict[str, Any]
    died: list[bool] | None = None

    def as_json(self) -> dict[str, Any]:
        """For JSON: without ``died`` where there is one agent."""
        content = self._asdict()
        if self.died is None:
            del content["died"]
        return content


@dataclass
class Episode:
    """An episode: how it begins, as :class:`First` has it, and each :class:`Step`."""

    seed: int
    episode: int
    state: dict[str, Any]
    steps: list[Step] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether it terminated or was truncated."""
        return bool(self.steps) and (self.steps[-1].terminated or self.steps[-1].truncated)


@dataclass
class Trajectory:
    """Episodes of one instance, in their order.

    Attributes:
        metadata: where they come from.
        episodes: each with its first state and its steps.
        cut_off: in words, where the file was read from that ends before it is whole; empty for a whole one.

    Example:
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import First, Metadata, Step, Trajectory
        >>> made = Trajectory(Metadata.of(Package.read("envs/toywalk").environment, 7))
        >>> made.begin(First(7, 0, {"position": 1, "t": 0}))
        >>> made.add(Step(0, 0, 1, -1.0, False, False, {"position": 2, "t": 1}))
        >>> [step.state["position"] for step in made.steps], made.episodes[0].ended
        ([2], False)
        >>> [type(part).__name__ for part in made.parts()]
        ['First', 'Step']
    """

    metadata: Metadata
    episodes: list[Episode] = field(default_factory=list)
    cut_off: str = ""

    def begin(self, first: First) -> None:
        """Begin an episode."""
        self.episodes.append(Episode(*first))

    def add(self, step: Step) -> None:
        """Add a step to the latest episode; there has to be one."""
        self.episodes[-1].steps.append(step)

    @property
    def steps(self) -> list[Step]:
        """The steps of all episodes."""
        return [step for episode in self.episodes for step in episode.steps]

    def parts(self) -> Iterator[First | Step]:
        """How each episode begins, and each of its steps, in order."""
        for episode in self.episodes:
            yield First(episode.seed, episode.episode, episode.state)
            yield from episode.steps
