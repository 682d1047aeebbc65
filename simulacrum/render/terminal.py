"""The terminal as a screen: the alternate screen, keys as they are pressed; restored however it is left."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import sys
from collections.abc import Sequence
from typing import Any

from ..errors import SimulacrumError
from .text import cut

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"  # own screen, no cursor, no wrapping
SEQUENCE = re.compile(rb"\x1b[\[O]([0-9;]*)([A-Za-z~])")
KEYS = {b"A": "up", b"B": "down", b"C": "right", b"D": "left", b"H": "home", b"F": "end"}
NUMBERED = {b"1": "home", b"7": "home", b"4": "end", b"8": "end"}  # before ~, as some terminals send them
ESCAPE_WAIT = 0.05  # seconds in which the rest of an arrow's sequence follows its first byte


class TerminalScreen:
    """Lines on a screen of their own; a context manager. Raises SimulacrumError where there is no terminal.

    Ctrl-Z gives the terminal back, and takes it again when the program goes on.
    """

    def __init__(self, otherwise: str = "") -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise SimulacrumError(f"no terminal: expected stdin and stdout to be one{otherwise}")
        try:
            import termios
            import tty
        except ImportError:  # Windows
            raise SimulacrumError(f"no Unix terminal here{otherwise}") from None
        self._termios, self._tty = termios, tty
        self._in = sys.stdin.fileno()
        self._bytes = b""
        self._shown: tuple[str, int, int] | None = None
        self._stopping = False

    def __enter__(self) -> TerminalScreen:
        self._before = self._termios.tcgetattr(self._in)
        self._handler = signal.signal(signal.SIGTSTP, self._stop_soon)
        try:
            self._take()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: Any) -> None:
        try:
            self._give()
        finally:
            signal.signal(signal.SIGTSTP, self._handler)

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns, as they are now."""
        columns, rows = shutil.get_terminal_size()
        return rows, columns

    def draw(self, lines: Sequence[str]) -> None:
        """Draw lines where anything has changed, cut to the terminal's size."""
        rows, columns = self.size
        text = "\x1b[H" + "\r\n".join(f"{cut(line, columns)}\x1b[K" for line in lines[:rows]) + "\x1b[J"
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
        """The key whose sequence is at hand: an arrow, Home, End, Escape alone, or one that has no name here."""
        found = SEQUENCE.match(self._bytes)
        if found is None:
            self._bytes = self._bytes[1:]
            return "escape"
        self._bytes = self._bytes[found.end() :]
        return NUMBERED.get(found[1], "") if found[2] == b"~" else KEYS.get(found[2], "")

    def _read(self, wait: float) -> bool:
        """Whether more bytes came within ``wait`` seconds; the end of input is as if q were pressed."""
        ready = select.select([self._in], [], [], wait)[0]
        if self._stopping:
            self._stop()
            return False
        if not ready:
            return False
        try:
            self._bytes += os.read(self._in, 1024) or b"q"
        except OSError:  # a terminal that is gone
            self._bytes += b"q"
        return True

    def _take(self) -> None:
        self._tty.setcbreak(self._in)  # Ctrl-C still interrupts
        mode = self._termios.tcgetattr(self._in)
        mode[0] &= ~self._termios.IXON  # Ctrl-S comes through
        self._termios.tcsetattr(self._in, self._termios.TCSANOW, mode)
        self._write(ENTER)

    def _give(self) -> None:
        try:
            self._write(LEAVE)
        except OSError:  # a terminal that is gone
            pass
        finally:
            self._termios.tcsetattr(self._in, self._termios.TCSADRAIN, self._before)

    def _stop_soon(self, *_: Any) -> None:
        self._stopping = True  # a handler may run in the midst of a write: it writes nothing itself

    def _stop(self) -> None:
        """Stop as Ctrl-Z asks, the terminal given back; returns when the program goes on."""
        self._stopping, self._shown = False, None
        self._give()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._stop_soon)
        self._take()

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
