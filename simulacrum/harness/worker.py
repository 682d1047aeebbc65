"""``python -m simulacrum.harness.worker PATH SEED STEPS N ...``: prints the digest of a trace for each N.

The determinism check runs it, to compare another process with its own.
"""

from __future__ import annotations

import sys

from ..spec import Package
from .traces import digest


def main(arguments: list[str]) -> None:
    """Print one digest a line."""
    path, seed, steps, *sizes = arguments
    package = Package.read(path)
    for rows in sizes:
        env = package.fast(batch_size=[int(rows)], seed=int(seed), expose_state=True)
        print(digest(package, env, int(steps)))


if __name__ == "__main__":
    main(sys.argv[1:])
