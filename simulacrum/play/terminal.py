"""The terminal as a screen: the alternate screen, keys as they are pressed; restored however it is left."""

from __future__ import annotations

import os
import re
import select
import shutil
import sys
from typing import Any

from ..errors import SimulacrumError
from ..render import coloured
from .game import Game

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"  # own screen, no cursor, no wrapping
SEQUENCE = re.compile(rb"\x1b[\[O][0-9;]*([A-Za-z~])")
ARROWS = {b"A": "up", b"B": "down", b"C": "right", b"D": "left"}
ESCAPE_WAIT = 0.05  # seconds in which the rest of an arrow's sequence follows its first byte


class TerminalScreen:
    """Shows a game's text; a context manager. Raises SimulacrumError where there is no terminal."""

    def __init__(self) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise SimulacrumError(
                "no terminal: expected stdin and stdout to be one (for a window: a display, and pygame-ce from the "
                "extra viz)"
            )
        try:
            import termios
            import tty
        except ImportError:  # Windows
            raise SimulacrumError("no Unix terminal here: play in a window (pip install 'simulacrum[viz]')") from None
        self._termios, self._tty = termios, tty
        self._in = sys.stdin.fileno()
        self._bytes = b""
        self._shown: tuple[str, int, int] | None = None

    def __enter__(self) -> TerminalScreen:
        self._before = self._termios.tcgetattr(self._in)
        try:
            self._tty.setcbreak(self._in)  # Ctrl-C still interrupts
            mode = self._termios.tcgetattr(self._in)
            mode[0] &= ~self._termios.IXON  # Ctrl-S comes through
            self._termios.tcsetattr(self._in, self._termios.TCSANOW, mode)
            self._write(ENTER)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: Any) -> None:
        try:
            self._write(LEAVE)
        except OSError:  # a terminal that is gone
            pass
        finally:
            self._termios.tcsetattr(self._in, self._termios.TCSADRAIN, self._before)

    def show(self, game: Game) -> None:
        """Draw the game where anything has changed, cut to the terminal's size."""
        columns, rows = shutil.get_terminal_size()
        status = game.status()
        room = max(1, rows - len(status) - 1)
        board = game.text(coloured(sys.stdout), room, columns).split("\n")[:room]
        text = "\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in [*board, "", *status][:rows]) + "\x1b[J"
        if (text, rows, columns) != self._shown:
            self._write(text)
            self._shown = (text, rows, columns)

    def key(self, wait: float) -> str:
        """The name of the next key; empty where none was pressed within ``wait`` seconds."""
        if not self._bytes and not self._read(wait):
            return ""
        if self._bytes[:1] == b"\x1b":
            while self._bytes in (b"\x1b", b"\x1b[", b"\x1bO") and self._read(ESCAPE_WAIT):
                pass
            return self._sequence()
        character, self._bytes = self._bytes[:1], self._bytes[1:]
        return character.decode("latin-1")

    def _sequence(self) -> str:
        """The key whose sequence is at hand: an arrow, Escape alone, or one that play does not know."""
        found = SEQUENCE.match(self._bytes)
        if found is None:
            self._bytes = self._bytes[1:]
            return "escape"
        self._bytes = self._bytes[found.end() :]
        return ARROWS.get(found[1], "")

    def _read(self, wait: float) -> bool:
        """Whether more bytes came within ``wait`` seconds; the end of input is as if q were pressed."""
        if not select.select([self._in], [], [], wait)[0]:
            return False
        try:
            self._bytes += os.read(self._in, 1024) or b"q"
        except OSError:  # a terminal that is gone
            self._bytes += b"q"
        return True

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
