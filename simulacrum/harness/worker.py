"""``python -m simulacrum.harness.worker PATH FORM SEED STEPS N ...``: what another process makes of an environment, as
JSON: ``digests`` of a trace for each N, of the references' (``reference``), and what importing the package ``altered``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from ..fast import FastEnv
from ..reference import ReferenceEnv
from ..spec import Package
from .surroundings import altered, settings
from .traces import digest, reference_digest


class Worker:
    """Another process that is at work; :meth:`result` waits for it.

    Args:
        package: whose traces it makes, from its folder.
        seed, steps, sizes: see :mod:`.traces`.
        environ: environment variables beside this process's own.
        folder: its current directory.
        form: of the fast side; the package's first by default.
    """

    def __init__(
        self,
        package: Package,
        seed: int,
        steps: int,
        sizes: tuple[int, ...],
        environ: Mapping[str, str],
        folder: str,
        form: str | None = None,
    ) -> None:
        form = form or next(iter(package.forms))
        which = (str(package.path), package.config or "", form)
        command = [sys.executable, "-m", __name__, *which, *map(str, (seed, steps, *sizes))]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, env={**os.environ, **environ}, cwd=folder, stdout=pipe, stderr=pipe, text=True
        )

    def result(self) -> dict[str, Any]:
        """What it found. Raises RuntimeError with its last words where it failed."""
        output, errors = self.process.communicate()
        if self.process.returncode:
            raise RuntimeError(f"another process could not run the environment:\n{errors[-2000:]}")
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
        return found

    def stop(self) -> None:
        """End it if nobody waited for it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def main(arguments: list[str]) -> None:
    """Print the findings as one line of JSON."""
    path, config, form, seed, steps, *sizes = arguments
    package = Package.read(path, config)
    before, classes = settings(), _classes()
    for name in ("", "reference", "fast", "checks", "render"):
        package.module(name)
    changed = [*altered(before), *(name for name, value in _classes().items() if value != classes[name])]
    made = package.forms[form]
    digests = {
        rows: digest(package, made(batch_size=[int(rows)], seed=int(seed), expose_state=True), int(steps))
        for rows in sizes
    }
    found = {"digests": digests, "reference": reference_digest(package, int(seed), int(steps)), "altered": changed}
    print(json.dumps(found))


def _classes() -> dict[str, Any]:
    """The attributes of the framework's base classes."""
    return {
        f"simulacrum.{cls.__name__}": {name: id(value) for name, value in vars(cls).items()}
        for cls in (FastEnv, ReferenceEnv)
    }


if __name__ == "__main__":
    main(sys.argv[1:])
