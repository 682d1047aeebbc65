"""The moments of a trajectory file: each state with what led to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..errors import SimulacrumError
from ..spec import Package
from ..trajectory import End, First, Metadata, Step, events


class Moment(NamedTuple):
    """One state.

    Attributes:
        part: how the episode begins, or the step after which the state is.
        seed: the instance seed of the episode.
        place: which episode of the file it is, from 0 on.
        total: the return so far; with many agents a list of theirs.
    """

    part: First | Step
    seed: int
    place: int
    total: Any

    @property
    def clock(self) -> int:
        """The step counter of the state."""
        if isinstance(self.part, Step):
            return self.part.t + 1
        return int(self.part.state.get("t", 0))

    def caption(self, agent: int | None = None) -> list[str]:
        """Two lines: which state it is, and what came of the step; of one agent where there are many."""
        part = self.part
        if isinstance(part, First):
            return [f"episode {part.episode}  step {self.clock}  first state", ""]
        end = "  terminated" if part.terminated else "  truncated" if part.truncated else ""
        action = "" if isinstance(part.action, list) and len(part.action) > 8 else f"action {part.action}  "
        what = f"{action}reward {amount(part.reward, agent)}  return {amount(self.total, agent)}"
        return [f"episode {part.episode}  step {self.clock}{end}", what]


def amount(value: Any, agent: int | None = None) -> str:
    """A reward or a return; with many agents that of one, or the sum."""
    if isinstance(value, list):
        return f"{value[agent]:.6g}" if agent is not None and agent < len(value) else f"{sum(value):.6g} (the sum)"
    return f"{value:.6g}"


def moments(
    file: str | os.PathLike[str],
    find: Callable[[Metadata], Package],
    episode: int | None = None,
    cut_off: Callable[[str], Any] = print,
) -> Iterator[Moment]:
    """The moments of a file, as they are asked for.

    Args:
        file: a trajectory.
        find: what finds the package from the metadata, by whose schema the file is checked.
        episode: which episode of the file alone, from 0 on.
        cut_off: is told where the file ends before it is whole.

    Raises :class:`~simulacrum.trajectory.TrajectoryError` as :func:`~simulacrum.trajectory.events`, and SimulacrumError
    for an episode that the file does not have, and for a file without any.
    """
    place, seed, total = -1, 0, 0.0
    for part in events(file, find):
        if isinstance(part, End):
            if part.cut_off:
                cut_off(part.cut_off)
        elif not isinstance(part, Metadata):
            if isinstance(part, First):
                place, seed, total = place + 1, part.seed, 0.0
            else:
                total = _added(total, part.reward)
            if episode is not None and place > episode:
                return
            if episode is None or place == episode:
                yield Moment(part, seed, place, total)
    if place < (episode or 0):
        has = f"it has {place + 1}, numbered from 0 on" if place >= 0 else "it has none"
        raise SimulacrumError(f"{os.fspath(file)}: expected an episode {episode or 0}: {has}")


def _added(total: Any, reward: Any) -> Any:
    if not isinstance(reward, list):
        return total + reward
    return [one + other for one, other in zip(total or [0.0] * len(reward), reward, strict=True)]
