"""``Pack``: what lies in a pack's folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..trajectory import End, First, Metadata, Step, Trajectory
from ..trajectory.values import loads
from . import manifest
from .fields import Schema
from .layout import Identity, Layout
from .source import Rules, judged


class Pack:
    """A pack: its manifest, and its entries by name.

    Attributes:
        folder: where it lies.
        content: the manifest.
        identity: the environment's ID, its configuration, and how many agents share an instance.
        entries: by name, each an :class:`Entry`.

    :func:`read` makes one of a folder, and :func:`export` of what it has written.
    """

    def __init__(self, folder: Path, content: dict[str, Any]) -> None:
        self.folder, self.content = folder, content
        self.identity: Identity = manifest.identity_of(content)
        self.entries = {entry["name"]: Entry(self, entry) for entry in content["entries"]}

    @cached_property
    def rules(self) -> Rules:
        """What its trajectories are judged by; ``rules.layout`` lists each :class:`Column` and :class:`Skipped`.

        Raises :class:`PackError` where the schema does not fit the manifest.
        """
        file = self.folder / manifest.SCHEMA
        schema = Schema(file.read_bytes(), str(file))
        layout = Layout.of(schema, self.identity.agents, manifest.typed_of(self.content))
        return Rules(self.identity, schema, layout)

    @property
    def has_columns(self) -> bool:
        """Whether its entries have a columnar form."""
        return all(entry.columns is not None for entry in self.entries.values())


@dataclass(frozen=True)
class Entry:
    """A trajectory of a pack, as the manifest describes it."""

    pack: Pack
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.content["name"])

    @property
    def file(self) -> Path:
        """The canonical trajectory."""
        return self.pack.folder / self.content["trajectory"]["file"]

    @property
    def columns(self) -> Path | None:
        """The Parquet file, if there is one."""
        described = self.content["columns"]
        return None if described is None else self.pack.folder / described["file"]

    def trajectory(self) -> Trajectory:
        """The trajectory: numbers of the state in Python's types, arrays as NumPy's, in the dtypes of the pack.

        Raises :class:`PackError` where it is not the file that was packed, and PackError or
        :class:`~simulacrum.trajectory.TrajectoryError` for one that :func:`read` would refuse.
        """
        found: Trajectory | None = None
        for _, part in judged(self._checked("trajectory"), lambda metadata: self.pack.rules):
            if isinstance(part, Metadata):
                found = Trajectory(part)
            elif found is not None and isinstance(part, First):
                found.begin(part)
            elif found is not None and isinstance(part, Step):
                found.add(part)
            else:
                assert isinstance(part, End)
        assert found is not None
        return found

    def flat(self) -> dict[str, Any]:
        """The flat object, as its file holds it: lists of numbers, truth values and texts by name.

        Raises :class:`PackError` where it is not the file that was packed, and ValueError for one that is no JSON,
        which :func:`read` would refuse.
        """
        content: dict[str, Any] = loads(self._checked("flat").read_bytes())
        return content

    def _checked(self, kind: str) -> Path:
        """A file of it: the pack was checked when it was read, and may have been changed since."""
        where = f"{self.pack.folder / manifest.NAME}: entry {self.name!r}: /{kind}"
        return manifest.check_file(self.pack.folder, self.content[kind], where)
