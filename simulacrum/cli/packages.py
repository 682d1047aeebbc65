"""The packages that trajectory files are of: by a name that was given, or by the ID in each file."""

from __future__ import annotations

from ..errors import PackageError
from ..harness.discovery import ID
from ..registry import resolve
from ..spec import Package
from ..trajectory import Metadata


class Packages:
    """Finds the package of a trajectory by its metadata, and reads it once for each ID and configuration.

    Args:
        target: a path, a bare name or an ID for all files; None goes by the ID in each, which must look like one.

    Called with :class:`~simulacrum.trajectory.Metadata` it gives the package in the configuration that they name. It
    raises :class:`~simulacrum.errors.PackageError` where there is none, and names ``--package``.
    """

    def __init__(self, target: str | None = None) -> None:
        self._target = target
        self._found: dict[tuple[str, str | None], Package] = {}

    def __call__(self, metadata: Metadata) -> Package:
        key = metadata.id, metadata.configuration
        if key not in self._found:
            self._found[key] = self._read(metadata)
        return self._found[key]

    def _read(self, metadata: Metadata) -> Package:
        try:
            if self._target is None and not ID.fullmatch(metadata.id):
                raise PackageError(f"expected an ID <namespace>/<name>-v<k>, got {metadata.id[:80]!r}")
            return Package.read(resolve(self._target or metadata.id)).configured(metadata.configuration)
        except PackageError as error:
            raise PackageError(f"{error}\nor name the package: --package PATH") from None
