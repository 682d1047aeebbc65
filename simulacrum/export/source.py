"""Trajectory files as a pack takes them: of one environment, each part judged by the schema and put into its dtypes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from ..errors import PackageError
from ..spec.package import REQUIRED, Package
from ..trajectory import End, First, Metadata, Step, TrajectoryError, bounded, events
from ..trajectory.schema import Definition
from ..trajectory.writing import kind_of
from . import manifest
from .errors import PackError
from .fields import Schema, scalar
from .layout import Identity, Layout, Typed

Part = Metadata | First | Step | End


class Rules:
    """What the trajectories of a pack must be: of one identity, and valid by its schema."""

    def __init__(self, identity: Identity, schema: Schema, layout: Layout) -> None:
        self.identity, self.schema, self.layout = identity, schema, layout
        self._state, self._action = schema.tests

    @classmethod
    def of_file(cls, schema: Path, metadata: Metadata, file: Path) -> Rules:
        """Those of a ``schema.json``, for the environment of a trajectory file.

        Where the schema lies in a package, dtypes are those of its ``spec.md``, and sizes those of the trajectory's
        configuration. No code of the package is imported. Where it lies in a pack, dtypes are those of the pack.
        """
        identity, folder = Identity.of(metadata), schema.parent
        if schema.name != "schema.json" or not all((folder / name).is_file() for name in REQUIRED):
            found = Schema(_content(schema), str(schema))
            return cls(identity, found, Layout.of(found, identity.agents, _typed_of_pack(schema, found)))
        package = Package.read(folder)
        if package.spec.id != identity.id:
            raise PackError(f"{file}: /metadata/id: expected {package.spec.id!r} of {schema}, got {identity.id!r}")
        try:
            package = package.configured(identity.configuration)
        except PackageError as error:
            raise PackError(f"{file}: /metadata/configuration: {error}") from None
        expected = Identity(package.spec.id, package.config, package.spec.agents)
        if expected != identity:
            raise PackError(f"{file}: /metadata: expected {expected} of {schema}, got {identity}")
        found = Schema(package.files["schema.json"], str(schema))
        return cls(identity, found, Layout.of(found, identity.agents, Typed.of_spec(package.spec)))

    def metadata(self, found: Metadata, file: str) -> None:
        """Raises :class:`PackError` for a trajectory of another environment, configuration or number of agents."""
        for name, expected, got in zip(Identity._fields, self.identity, Identity.of(found), strict=True):
            if expected != got:
                raise PackError(f"{file}: /metadata/{name}: expected {expected!r} as the pack's others, got {got!r}")

    def first(self, part: First, where: str) -> First:
        """How an episode begins."""
        return part._replace(state=self._state_in(part.state, where))

    def step(self, part: Step, where: str) -> Step:
        """A step."""
        action = self._valid(self._action, part.action, f"{where}/action")
        return part._replace(
            action=self._taken(self.layout.action.take, action, f"{where}/action"),
            reward=self._taken(self._rewards, part.reward, f"{where}/reward"),
            state=self._state_in(part.state, where),
        )

    def _state_in(self, value: Any, where: str) -> dict[str, Any]:
        where = f"{where}/state"
        value = self._valid(self._state, value, where)
        fields = self.layout.state
        if value.keys() != fields.keys():
            raise PackError(f"{where}: expected the fields {', '.join(fields)}, got {', '.join(value)}")
        return {name: self._taken(field.take, value[name], f"{where}/{name}") for name, field in fields.items()}

    def _rewards(self, value: Any) -> Any:
        dtype = self.layout.reward
        return [scalar(one, dtype) for one in value] if isinstance(value, list) else scalar(value, dtype)

    def _valid(self, definition: Definition, value: Any, where: str) -> Any:
        try:
            return definition.take(value, where)
        except TrajectoryError as error:
            raise PackError(f"{error} (by {self.schema.file})") from None

    @staticmethod
    def _taken(take: Callable[[Any], Any], value: Any, where: str) -> Any:
        try:
            return take(value)
        except ValueError as error:
            raise PackError(f"{where}: {error}") from None


def _content(schema: Path) -> bytes:
    try:
        return bounded.content(schema)
    except TrajectoryError as error:
        raise PackError(str(error)) from None


def _typed_of_pack(file: Path, schema: Schema) -> Typed | None:
    """The dtypes of the pack in which a schema lies; None where it lies in none."""
    try:
        content = manifest.read(file.with_name(manifest.NAME))
    except PackError:
        return None
    same = content["schema"]["sha256"] == hashlib.sha256(schema.source).hexdigest()
    return manifest.typed_of(content) if same else None


def judged(file: Path, rules_of: Callable[[Metadata], Rules]) -> Generator[tuple[str, Part], None, None]:
    """Where each part of a trajectory file stands, and the part, by the rules that its metadata lead to, in the dtypes
    of the layout. Close it: it holds the file open.

    Raises :class:`PackError` or :class:`~simulacrum.trajectory.TrajectoryError`, which name file and place; OSError for
    a file that cannot be opened.
    """
    rules: Rules | None = None
    where = ""
    places = _Places(str(file), kind_of(file) == "jsonl")
    with closing(cast("Generator[Part, None, None]", events(file))) as parts:
        for part in parts:
            if isinstance(part, Metadata):
                rules, where = rules_of(part), str(file)
                rules.metadata(part, where)
            elif rules is not None and isinstance(part, First):
                where = places.first()
                part = rules.first(part, where)
            elif rules is not None and isinstance(part, Step):
                where = places.step()
                part = rules.step(part, where)
            yield where, part


class _Places:
    """Where the parts of a file stand, as messages name it."""

    def __init__(self, file: str, lines: bool) -> None:
        self.file, self._lines = file, lines
        self._line, self._episode, self._step = 1, -1, -1

    def first(self) -> str:
        """The next first state."""
        self._line, self._episode, self._step = self._line + 1, self._episode + 1, -1
        return f"{self.file}: line {self._line}, /first" if self._lines else f"{self.file}: /episodes/{self._episode}"

    def step(self) -> str:
        """The next step."""
        self._line, self._step = self._line + 1, self._step + 1
        if self._lines:
            return f"{self.file}: line {self._line}, "
        return f"{self.file}: /episodes/{self._episode}/steps/{self._step}"
