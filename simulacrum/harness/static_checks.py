"""The checks that play nothing, for a hook before a commit: the contract of the spec, and the static read."""

from __future__ import annotations

import shlex

from ..spec import Package
from . import checks
from .context import CheckFailed, Context
from .profile import DEFAULT

NAMES = ("spec_contract", "static_read")


class Unbuilt(Context):
    """A context in which no further form is made: a kernel would be compiled first, which takes seconds."""

    @property
    def further_forms(self) -> list[str]:
        """None; the battery looks at them."""
        return []

    def replay_command(self) -> str:
        """The command that finds it again."""
        return f"simulacrum check {shlex.quote(str(self.package.path))}"


def run_static(package: Package) -> list[Context]:
    """Run :data:`NAMES` on a package: a context a check, with its counts and findings. What one raises is a finding.

    Example:
        >>> from simulacrum.harness.static_checks import run_static
        >>> from simulacrum.spec import Package
        >>> [(context.name, context.findings) for context in run_static(Package.read("envs/toywalk"))]
        [('spec_contract', []), ('static_read', [])]
    """
    return [_run(Unbuilt(name, package, DEFAULT)) for name in NAMES]


def _run(context: Context) -> Context:
    try:
        checks.load(context.name)(context)
    except CheckFailed:
        pass  # its finding is in the context
    except (Exception, SystemExit) as error:
        context.problem(context.raised(error))
    return context
