"""``simulacrum freeze``: commit a package's behaviour under its ID."""

from __future__ import annotations

import json
import shlex

from ..errors import PackageError
from ..harness.checks.replay import TRACE
from ..harness.places import write_atomically
from ..harness.traces import standard_digest
from .codes import FINDINGS, PASSED, complain
from .validate import load, read


def freeze(target: str) -> int:
    """Write ``trace.json`` of a package; the exit code. What was frozen for the same ID is never overwritten."""
    package = read(target)
    load(package)
    identifier, digest = package.environment.id, standard_digest(package)
    file = package.path / TRACE
    committed = _read(package.files.get(TRACE), str(file))
    if committed.get("id") == identifier:
        if committed.get("digest") == digest:
            print(f"{identifier} is frozen already, and behaves as it did: {file}")
            return PASSED
        complain(
            f"{identifier} behaves otherwise than when it was frozen ({file}): a changed behaviour is a new version of "
            "the ID. Raise the version in spec.md and __init__.py, then freeze again"
        )
        return FINDINGS
    write_atomically(file, (json.dumps({"id": identifier, "digest": digest}, indent=1) + "\n").encode())
    print(f"Frozen {identifier}: commit {file}")
    print(f"The package has changed; run: simulacrum validate {shlex.quote(str(package.path))}")
    return PASSED


def _read(data: bytes | None, file: str) -> dict[str, object]:
    if data is None:
        return {}
    try:
        content = json.loads(data)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise PackageError(f"{file}: expected a JSON object with id and digest; delete it and freeze again")
    return content
