"""The step ``changes``: which packages a change touches; all of them where that cannot be told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .packages import packages
from .workflow import folder, git, listed, output, variable

NOTHING = "0" * 40  # what GitHub calls the commit before a new branch


def main() -> int:
    """Write the outputs ``packages`` (a JSON list) and ``why``, and both to ``changes.json``; the exit code."""
    chosen, why = touched(packages())
    print(f"{why}: {', '.join(chosen) or 'no package'}")
    output("packages", json.dumps(chosen))
    output("why", why)
    (folder() / "changes.json").write_text(json.dumps({"packages": chosen, "why": why}))
    return 0


def touched(every: list[str]) -> tuple[list[str], str]:
    """The packages of ``every`` that are to be validated, and why these."""
    if not variable("KNOWN"):
        return every, "all packages, for no earlier run passed with these versions of simulacrum and what it needs"
    asked = base()
    if asked is None:
        return every, f"all packages, for a {variable('GITHUB_EVENT_NAME') or 'run'} has no base to compare with"
    commit = present(asked)
    if commit is None:
        return every, f"all packages, for the base {asked} cannot be fetched"
    changed = [Path(file) for file in listed("diff", "--name-only", "--no-renames", "-z", commit, "--")]
    chosen = [one for one in every if any(file.is_relative_to(one) for file in changed)]
    return chosen, f"packages that changed since {commit[:12]}"


def base() -> str | None:
    """What the change is compared with: ``$BASE``, or else what the event that started the workflow names."""
    if variable("BASE"):
        return variable("BASE")
    file = Path(variable("GITHUB_EVENT_PATH"))
    event: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    of_event = {
        "pull_request": event.get("pull_request", {}).get("base", {}).get("sha"),
        "merge_group": event.get("merge_group", {}).get("base_sha"),
        "push": event.get("before"),
    }
    found = of_event.get(variable("GITHUB_EVENT_NAME"))
    return None if found == NOTHING else found


def present(name: str) -> str | None:
    """The commit of a name, fetched where it is not there, as in a shallow checkout; None where there is none."""
    if name.startswith("-"):
        return None
    remote = name.removeprefix("origin/")
    for attempt in (name, "FETCH_HEAD"):
        if attempt == "FETCH_HEAD" and git("fetch", "--quiet", "--depth=1", "origin", remote) is None:
            return None
        commit = git("rev-parse", "--verify", "--quiet", f"{attempt}^{{commit}}")
        if commit is not None:
            return commit.strip()
    return None
