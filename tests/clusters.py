"""A Ray cluster on this machine for tests, and work that counts how often each shard is begun."""

from __future__ import annotations

import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simulacrum.harness import deep, executors
from simulacrum.harness.report import CheckResult

# One for all clusters of a process, for Ray remembers it. Where there is none, Ray writes one to the home folder.
TOKEN = secrets.token_hex(32)


@contextmanager
def cluster() -> Iterator[Any]:
    """Ray, with a cluster of two workers that import from where this process does; ended whatever happens."""
    ray: Any = pytest.importorskip("ray", reason="Ray is an extra: pip install 'simulacrum[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=100 * 1024**2,
            runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}},
        )
        try:
            yield ray
        finally:
            ray.shutdown()


@dataclass(frozen=True)
class Noted(executors.Work):
    """Work that notes each shard that a process begins: a line with the shard's number and the process's."""

    notes: Path = Path("begun")

    def __call__(self, shard: deep.Shard) -> CheckResult:
        with self.notes.open("a") as file:
            file.write(f"{shard.number} {os.getpid()}\n")
        return super().__call__(shard)

    def begun(self) -> Counter[int]:
        """How often each shard was begun."""
        return Counter(shard for shard, _ in self.lines())

    def lines(self) -> list[tuple[int, int]]:
        """Shards and processes, in the order in which they were begun."""
        return [(int(line.split()[0]), int(line.split()[1])) for line in self.notes.read_text().splitlines()]
