"""Reels: the shots of one file by number. Those of two files are in :mod:`.beside`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import SimulacrumError
from ..render.text import printable
from ..spec import Package
from ..trajectory import First
from ..trajectory.values import as_arrays
from .differences import located
from .moments import Moment, amount
from .shots import Panel, Shot
from .tape import Tape

if TYPE_CHECKING:
    from ..harness.scenes import Scene


class Reel(Protocol):
    """Shots by number, of which more may come."""

    @property
    def whole(self) -> bool:
        """Whether all of them are known."""

    @property
    def starts(self) -> list[int]:
        """At which number each episode begins."""

    @property
    def error(self) -> SimulacrumError | None:
        """What ended it before its end."""

    def __len__(self) -> int:
        """How many are known."""

    def __getitem__(self, number: int) -> Shot:
        """A known shot."""

    def read(self) -> bool:
        """Learn of one more; False where there are no more."""

    def first_difference(self) -> Iterator[int | None]:
        """Look for the first shot whose two sides differ: None while it is looked for, then its number."""


class Alone:
    """The shots of one trajectory. ``packages`` holds its package once the first moment was read."""

    def __init__(self, tape: Tape, packages: Sequence[Package], agent: int | None = None) -> None:
        self._tape, self._packages, self._agent = tape, packages, agent

    @property
    def whole(self) -> bool:
        """Whether the file was read to its end."""
        return self._tape.whole

    @property
    def starts(self) -> list[int]:
        """At which number each episode begins."""
        return self._tape.starts

    @property
    def error(self) -> SimulacrumError | None:
        """What ended the reading before its end."""
        return self._tape.error

    def __len__(self) -> int:
        return len(self._tape)

    def __getitem__(self, number: int) -> Shot:
        return alone(self._packages[0], self._tape[number], self._agent)

    def read(self) -> bool:
        """Read one more."""
        return self._tape.read()

    def first_difference(self) -> Iterator[int | None]:
        """There is none."""
        return iter(())


def alone(package: Package, moment: Moment, agent: int | None = None) -> Shot:
    """The shot of one moment."""
    lines = moment.caption(agent)
    lines[0] = f"seed {moment.seed}  {lines[0]}"
    return Shot((Panel("", lines, as_arrays(package, moment.part.state)),), title(moment))


def title(moment: Moment) -> str:
    """What is said above the text of a moment."""
    part = moment.part
    if isinstance(part, First):
        return f"seed {part.seed}  episode {part.episode}  first state"
    end = "  terminated" if part.terminated else "  truncated" if part.truncated else ""
    action = "" if isinstance(part.action, list) and len(part.action) > 8 else f"  action {part.action}"
    return f"episode {part.episode}  after step {part.t}{action}  reward {amount(part.reward)}{end}"


class Known:
    """Shots that are all there."""

    whole = True
    error: SimulacrumError | None = None

    def __init__(self, shots: Sequence[Shot]) -> None:
        self._shots, self.starts = shots, [0]

    def __len__(self) -> int:
        return len(self._shots)

    def __getitem__(self, number: int) -> Shot:
        return self._shots[number]

    def read(self) -> bool:
        """There are no more."""
        return False

    def first_difference(self) -> Iterator[int | None]:
        """The first shot whose two sides differ."""
        yield from (number for number, shot in enumerate(self._shots) if shot.first)


def of_finding(scenes: Sequence[Scene]) -> Known:
    """The shots of a finding's moments: the reference beside the fast side."""
    shots: list[Shot] = []
    told = ("", "")
    for scene in scenes:
        when = printable(f"step {scene.step}, {scene.when}", lines=False)
        first = scene.differs and not any(told)
        if first:
            differing = [field for field in scene.fields if field.differs]
            field = next((field for field in differing if field.name.startswith("state.")), differing[0])
            told = when, printable(str(located(field.name, field.reference, field.fast)), lines=False)
        what = [when, "" if scene.action is None else f"action {json.dumps(scene.action)}"]
        panels = tuple(_panel(side, scene, what) for side in ("reference", "fast"))
        shots.append(Shot(panels, "", *told, scene.differs, first))
    return Known(shots)


def _panel(side: str, scene: Scene, what: list[str]) -> Panel:
    state: Any = getattr(scene, side)
    return Panel(side, what if state is not None else [what[0], "no state was shown"], state)
