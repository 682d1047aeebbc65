"""What a trajectory file says about itself: ``Metadata``."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from typing import Any

from ..checkout import commit
from ..spec.environment import Environment
from ..spec.package import Package

FORMAT = 1
SOURCES = ("reference", "tensor", "kernel")


@dataclass(frozen=True)
class Metadata:
    """Where a trajectory comes from.

    Attributes:
        id: the environment's ID.
        seed: the instance seed of the first episode.
        configuration: the package's configuration; None where it has none.
        agents: how many agents share an instance; None for one agent.
        source: what ran: ``reference``, ``tensor`` or ``kernel``.
        instance: which row of a batch it was; 0 for the reference.
        git_sha: the commit of the package's checkout, ``-dirty`` where the folder differs from it; None outside of one.
        created: when, in UTC by ISO 8601.
        simulacrum: the version that wrote it.
        format: the version of the file format.

    Example:
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import Metadata
        >>> package = Package.read("envs/toywalk")
        >>> made = Metadata.of(package.environment, 7, package=package)
        >>> made.id, made.seed, made.source, made.as_json()["format"]
        ('simulacrum/toywalk-v0', 7, 'reference', 1)
    """

    id: str
    seed: int
    configuration: str | None = None
    agents: int | None = None
    source: str = "reference"
    instance: int = 0
    git_sha: str | None = None
    created: str = ""
    simulacrum: str = ""
    format: int = FORMAT

    @classmethod
    def of(
        cls,
        environment: Environment,
        seed: int,
        *,
        package: Package | None = None,
        source: str = "reference",
        instance: int = 0,
    ) -> Metadata:
        """The metadata of what begins now, ``created`` and ``simulacrum`` filled in; of a package its configuration and
        its commit as well."""
        from .. import __version__

        return cls(
            id=environment.id,
            seed=seed,
            configuration=None if package is None else package.config,
            agents=environment.agents,
            source=source,
            instance=instance,
            git_sha=None if package is None else commit(package.path),
            created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            simulacrum=__version__,
        )

    def as_json(self) -> dict[str, Any]:
        """The attributes by name, for JSON."""
        return asdict(self)
