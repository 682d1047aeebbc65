"""The step ``caches``: which folders ``actions/cache`` keeps, and by which key.

What is cached is native code (named by its source, flags, versions and processor, so that any cache does) and compiled
graphs. The key's prefix stands for all that makes a report stale, beside the machine: where a cache with that prefix is
found, an earlier run passed with this very framework.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from simulacrum.harness import fingerprint
from simulacrum.native import cache_directory

from .packages import packages
from .workflow import export, git, output, variable

INDUCTOR = "TORCHINDUCTOR_CACHE_DIR"


def main() -> int:
    """Write the outputs ``paths``, ``key`` and ``restore``, and give torch a cache that can be kept; the exit code."""
    native = cache_directory()
    graphs = variable(INDUCTOR) or str(native.parent / "inductor")
    export(INDUCTOR, graphs)
    stale = {**fingerprint.framework(), **fingerprint.versions()}
    framework = f"simulacrum-{variable('RUNNER_OS')}-{digest(_items(stale))}"
    machine = f"{framework}-{digest(_items(fingerprint.machine()))}"
    output("paths", "\n".join(map(str, (native, Path(graphs)))))
    output("key", f"{machine}-{digest(git('ls-files', '-s', '--', *packages()))}")
    output("restore", f"{machine}-\n{framework}-")
    return 0


def digest(content: Any) -> str:
    """A short name for what JSON can hold."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _items(mapping: Any) -> list[tuple[str, str]]:
    return sorted(mapping.items())
