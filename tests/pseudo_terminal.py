"""A pseudo-terminal on which a command runs: keys go in, the screen comes out, its modes are looked at."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from simulacrum.render.terminal import ENTER, LEAVE

ROOT = Path(__file__).resolve().parent.parent


class Terminal:
    """A command of simulacrum at a pseudo-terminal of 24 rows and 80 columns, or of another size; as a job of this
    process where it is to be stopped, for the kernel stops none in a session of its own."""

    def __init__(self, *arguments, size=(24, 80), job=False, **variables):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}  # of xdist
        environment = {**inherited, "TERM": "xterm", "PYTHONPATH": str(ROOT), **variables}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "simulacrum", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=not job,
            preexec_fn=os.setpgrp if job else None,
        )
        self.seen = ""

    def wait_for(self, text, seconds=60):
        """Read until a text has come since the last call that found one."""
        until, start = time.monotonic() + seconds, len(self.seen)
        while text not in self.seen[start:]:
            assert time.monotonic() < until, f"no {text!r} in {self.seen[start:]!r}"
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 65536).decode()
        return self.seen[start:]

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self, taken=1):
        """(exit code, stderr), the rest of the output read; the terminal is as it was, after it was taken so often."""
        until = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < until
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 65536).decode()
        while select.select([self.master], [], [], 0.1)[0]:
            self.seen += os.read(self.master, 65536).decode()
        assert termios.tcgetattr(self.slave) == self.before
        assert self.seen.count(ENTER) == self.seen.count(LEAVE) == taken
        return self.process.returncode, self.process.stderr.read().decode()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self.master)
        os.close(self.slave)
