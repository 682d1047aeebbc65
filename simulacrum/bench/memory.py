"""How much memory an instance takes, measured in a process of its own.

``python -m simulacrum.bench.memory PATH FORM N`` prints it as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from ..spec import Package
from . import sides

FEW = 16  # rows of the environment that is made first, so that what is loaded once is not counted
STEPS = 6
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
PEAK_ONLY = "5"  # what CLEAR takes to begin a new peak


class Weight(NamedTuple):
    """What an environment of N instances adds to its process while it steps.

    Attributes:
        batch_size: N.
        peak: bytes by which the largest resident set, while it stepped, exceeds that of the process before.
    """

    batch_size: int
    peak: int

    @property
    def instance(self) -> float:
        """Bytes an instance."""
        return self.peak / self.batch_size


def weigh(package: Package, form: str, rows: int) -> Weight | str:
    """The weight of an environment in a form, or in words why it could not be made. One thread, a fresh process."""
    command = [sys.executable, "-m", __name__, str(package.path), package.config or "", form, str(rows)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
        return lines[-1]
    return Weight(**json.loads(done.stdout.splitlines()[-1]))


def measure(package: Package, form: str, rows: int) -> Weight:
    """The same in this process."""
    with sides.threads(1):
        sides.stepping(sides.make(package, form, FEW)).run(STEPS)
        gc.collect()
        before = _resident()
        side = sides.stepping(sides.make(package, form, rows))
        side.run(1)  # compiles, which takes memory for a while
        gc.collect()
        _begin_peak()
        side.run(STEPS)
        return Weight(rows, max(0, _peak() - before))


def _resident() -> int:
    """Bytes of this process that are in memory now."""
    return _status("VmRSS") or _most()


def _peak() -> int:
    """The most bytes that were in memory since :func:`_begin_peak`, or ever where the system does not tell."""
    return _status("VmHWM") or _most()


def _begin_peak() -> None:
    try:
        CLEAR.write_text(PEAK_ONLY)
    except OSError:  # not Linux, or not allowed: the peak is that of the whole process
        return


def _status(name: str) -> int | None:
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)


def _most() -> int:
    """The most that was ever resident; macOS tells bytes, other systems KiB."""
    import resource  # not on every system

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    path, config, form, rows = sys.argv[1:]
    print(json.dumps(measure(Package.read(path, config), form, int(rows))._asdict()))
