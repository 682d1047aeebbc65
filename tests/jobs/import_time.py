"""How long ``import simulacrum`` takes beside ``import gymnasium`` alone: interleaved fresh processes, medians, ratio.

Run: python tests/jobs/import_time.py [pairs]
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

MODULES = ("gymnasium", "simulacrum")


def measure(module: str) -> tuple[float, float]:
    """(wall, CPU) milliseconds of a fresh process that imports a module."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * wall, 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main(pairs: int) -> None:
    """Print the medians of both, less those of a process that imports nothing, and their ratio."""
    bare = [measure("sys") for _ in range(pairs)]
    found: dict[str, list[tuple[float, float]]] = {module: [] for module in MODULES}
    for number in range(pairs):
        for module in MODULES[:: 1 if number % 2 else -1]:
            found[module].append(measure(module))
    for column, clock in enumerate(("wall", "CPU")):
        empty = statistics.median(times[column] for times in bare)
        medians = [statistics.median(times[column] for times in found[module]) - empty for module in MODULES]
        shown = ", ".join(f"{module} {value:.1f} ms" for module, value in zip(MODULES, medians, strict=True))
        print(f"{clock}: {shown}, ratio {medians[1] / medians[0]:.3f} ({pairs} pairs, medians less {empty:.1f} ms)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
