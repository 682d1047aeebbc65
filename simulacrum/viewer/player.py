"""Playing shots on a terminal: at a speed, step by step, by episode."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from ..render.text import printable
from .drawing import Drawer, note
from .reels import Reel
from .shots import Shot

HELP = "space: pause  +/-: speed  arrows: step  [ ]: episode  Home, End  q: leave"
HELP_OF_TWO = "space: pause  +/-: speed  arrows: step  [ ]: episode  d: difference  q: leave"
AHEAD = 5000  # shots that are read before they are shown, while nothing else is to do
SLOWEST, FASTEST = 1 / 16, 64  # times the frames a second that were asked for
IDLE = 0.2  # seconds between looks at a screen on which nothing happens
READING = 0.02  # seconds of reading between two looks at the keys


class Screen(Protocol):
    """Where lines are drawn, and where keys come from."""

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""

    def draw(self, lines: list[str]) -> None:
        """Draw them."""

    def key(self, wait: float) -> str:
        """The name of the next key; empty where none was pressed within ``wait`` seconds."""


class Player:
    """Where a reel is being shown, and what keys do to it.

    Args:
        reel: the shots; at least one is known.
        fps: frames a second.

    Attributes:
        number: the shot that is shown.
        paused: whether it stays there.
        left: whether the viewer has left.
    """

    def __init__(self, reel: Reel, fps: float) -> None:
        self._reel, self._fps, self._factor = reel, fps, 1.0
        self.number, self.paused, self.left = 0, False, False
        self._errand: Iterator[int | None] | None = None  # a search for a shot that goes on between keys
        self._message = ""
        self._drawn: tuple[tuple[int, int, int], list[str]] | None = (
            None  # the latest shot's lines, for its number and room
        )
        self._does: dict[str, Callable[[], None]] = {
            " ": self._pause,
            "+": lambda: self._faster(2),
            "=": lambda: self._faster(2),
            "-": lambda: self._faster(0.5),
            "right": lambda: self._step(1),
            "left": lambda: self._step(-1),
            "]": lambda: self._begin(self._next_episode()),
            "[": self._episode_before,
            "home": lambda: self._go(0),
            "end": lambda: self._begin(self._last()),
            "d": lambda: self._begin(self._reel.first_difference()),
            **dict.fromkeys(("q", "Q", "escape"), self._leave),
        }

    @property
    def period(self) -> float:
        """Seconds that a shot is shown."""
        return 1 / (self._fps * self._factor)

    @property
    def running(self) -> bool:
        """Whether it moves on by itself."""
        return not (self.paused or self._errand or self._at_end)

    def press(self, key: str) -> None:
        """Do what a key means; a key that means nothing does nothing."""
        if key in self._does:
            self._errand, self._message = None, ""
            self._does[key]()

    def advance(self, shots: int = 1) -> None:
        """Go on by some shots, or to the end."""
        self._read_to(self.number + shots)
        self.number = min(self.number + shots, len(self._reel) - 1)

    def work(self, until: float) -> bool:
        """Go on with a search, or else read ahead, until a time; whether there is more of it to do."""
        while time.monotonic() < until:
            if self._errand is not None:
                self._pursue()
            elif self._reel.whole or len(self._reel) > self.number + AHEAD or not self._reel.read():
                return False
        return True

    def lines(self, drawer: Drawer, rows: int, columns: int) -> list[str]:
        """The whole screen: the shot, its words, where it is and the keys."""
        shot = self._reel[self.number]
        foot = ["", *_words(shot), *note(shot), self._place(), HELP if len(shot.panels) == 1 else HELP_OF_TWO]
        where = self.number, max(1, rows - len(foot)), columns
        if self._drawn is None or self._drawn[0] != where:
            self._drawn = where, drawer.fitted(shot, *where[1:])
        return [*self._drawn[1], *foot] if rows > len(foot) else foot[-rows:]

    def _place(self) -> str:
        count = f"{len(self._reel)}" if self._reel.whole else f"{len(self._reel)} or more"
        state = "searching" if self._errand else "the end" if self._at_end else "paused" if self.paused else "playing"
        error = self._reel.error if self._at_end else None
        broken = f"  it goes on, but: {printable(str(error), lines=False)}" if error else ""
        return f"frame {self.number + 1} of {count}  {state}  {1 / self.period:.4g} frames/s{self._message}{broken}"

    @property
    def _at_end(self) -> bool:
        return self._reel.whole and self.number == len(self._reel) - 1

    def _read_to(self, number: int) -> None:
        while len(self._reel) <= number and self._reel.read():
            pass

    def _pause(self) -> None:
        if self._at_end and len(self._reel) > 1:
            self.number, self.paused = 0, False
        else:
            self.paused = not self.paused

    def _faster(self, factor: float) -> None:
        self._factor = min(FASTEST, max(SLOWEST, self._factor * factor))

    def _step(self, shots: int) -> None:
        self.paused = True
        self.advance(shots) if shots > 0 else self._go(self.number + shots)

    def _go(self, number: int) -> None:
        self.number, self.paused = max(0, number), True

    def _leave(self) -> None:
        self.left = True

    def _episode_before(self) -> None:
        """To the beginning of this episode, or, from there, of the one before."""
        self._go(max((start for start in self._reel.starts if start < self.number), default=0))

    def _begin(self, errand: Iterator[int | None]) -> None:
        self.paused, self._errand = True, errand

    def _pursue(self) -> None:
        """Go on with a search: it gives None while it goes on, and then where to go."""
        assert self._errand is not None
        try:
            found = next(self._errand)
        except StopIteration:
            self._errand, self._message = None, "  there is no difference"
            return
        if found is not None:
            self._go(found)
            self._errand = None

    def _next_episode(self) -> Iterator[int | None]:
        while True:
            found = min((start for start in self._reel.starts if start > self.number), default=None)
            if found is not None or not self._reel.read():
                yield found if found is not None else len(self._reel) - 1
                return
            yield None

    def _last(self) -> Iterator[int | None]:
        while self._reel.read():
            yield None
        yield len(self._reel) - 1


def _words(shot: Shot) -> list[str]:
    """What is said below the board: which state it is, and what led to it; of two, which episodes they are of."""
    if len(shot.panels) == 1:
        return [line for line in shot.panels[0].lines if line]
    return [shot.title] if shot.title else []


def show(player: Player, drawer: Drawer, screen: Screen) -> None:
    """Show a reel until the viewer leaves. Shots for which there is no time are left out, so that the speed holds."""
    due = time.monotonic() + player.period
    while not player.left:
        screen.draw(player.lines(drawer, *screen.size))
        rest = due - time.monotonic() if player.running else IDLE
        busy = player.work(time.monotonic() + max(0.0, min(rest, READING)))
        rest = due - time.monotonic() if player.running else IDLE
        key = screen.key(0.0 if busy else min(max(0.0, rest), IDLE))
        if key:
            was, period = player.running, player.period
            player.press(key)
            if player.running and not (was and period == player.period):
                due = time.monotonic() + player.period
        now = time.monotonic()
        if player.running and now >= due:
            shots = 1 + int(min(now - due, 1.0) / player.period)
            player.advance(shots)
            due = now + player.period if now - due > 1.0 else due + shots * player.period
