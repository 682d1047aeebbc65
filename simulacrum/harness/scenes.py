"""What both sides showed in a finding's file, moment by moment, for whatever draws them. No implementation runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import PackageError
from ..spec import Package
from ..trajectory import bounded
from .findings import Saved
from .records import Namespace
from .values import expected, from_lists

SIDES = ("reference", "fast")
MOMENT = {"step", "when", *SIDES}


class Field(NamedTuple):
    """One value that both sides showed, as JSON holds it (None where a side did not), and whether they differ."""

    name: str
    reference: Any
    fast: Any
    differs: bool


class Scene(NamedTuple):
    """A moment of a finding.

    Attributes:
        step: how many transitions had been made.
        when: after what: ``in the first state``, ``after a step``, ...
        action: the action of the step, as JSON holds it; None where the moment follows no step.
        reference, fast: each side's state as renderers take it, the spec's fields as arrays; None where it was not
            shown.
        fields: all that was shown, in the order of the file.
    """

    step: int
    when: str
    action: Any
    reference: Namespace | None
    fast: Namespace | None
    fields: list[Field]

    @property
    def differs(self) -> bool:
        """Whether the sides differ here."""
        return any(field.differs for field in self.fields)


def scenes(package: Package, saved: Saved, file: Path) -> tuple[Package, list[Scene]]:
    """The moments of a finding, and the package with the case's constants, whose renderer draws them.

    Args:
        package: what the finding is of.
        saved: the file, as :func:`~.findings.read` gives it.
        file: the file itself. Of a long case it holds the last moments only.

    Raises :class:`PackageError` for a file whose moments are of another form, or of another package.
    """
    if saved.id != package.environment.id:
        raise PackageError(f"{file}: /package/id: expected {package.environment.id}, got {saved.id}")
    world = saved.case.world(package)
    moments = json.loads(bounded.content(file)).get("moments")
    if not isinstance(moments, list):
        raise PackageError(f"{file}: /moments: {expected('a list', moments)}")
    return world, [_scene(world, moment, f"{file}: /moments/{number}") for number, moment in enumerate(moments)]


def _scene(package: Package, moment: Any, where: str) -> Scene:
    if not isinstance(moment, dict) or not moment.keys() >= MOMENT:
        raise PackageError(f"{where}: {expected(f'an object with {sorted(MOMENT)}', moment)}")
    for side in SIDES:
        if not isinstance(moment[side], dict):
            raise PackageError(f"{where}/{side}: {expected('an object', moment[side])}")
    if type(moment["step"]) is not int or not isinstance(moment["when"], str):
        raise PackageError(f"{where}: {expected('a number as step and a text as when', moment)}")
    reference, fast = (moment[side] for side in SIDES)
    fields = [
        Field(name, reference.get(name), fast.get(name), name in reference and name in fast and not _same(name, moment))
        for name in dict.fromkeys([*reference, *fast])
    ]
    one, other = (_state(package, moment[side], f"{where}/{side}") for side in SIDES)
    return Scene(moment["step"], moment["when"], moment.get("action"), one, other, fields)


def _same(name: str, moment: dict[str, Any]) -> bool:
    """Whether both sides showed the same bits: as JSON texts, which tell -0.0 from 0.0 and 1.0 from 1."""
    one, other = (json.dumps(moment[side][name]) for side in SIDES)
    return one == other


def _state(package: Package, record: dict[str, Any], where: str) -> Namespace | None:
    """The state in a record; None where the form that was checked does not show it."""
    fields = package.spec.fields
    names = {name: "clock.t" if name == "t" else f"state.{name}" for name in fields}
    if not record.keys() >= set(names.values()):
        return None
    values = {}
    for name, key in names.items():
        try:
            values[name] = from_lists(record[key], fields[name].dtype)
        except ValueError as error:
            raise PackageError(f"{where}/{key}: {error}") from None
        if values[name].shape != fields[name].shape:
            raise PackageError(
                f"{where}/{key}: expected the shape {list(fields[name].shape)}, got {list(values[name].shape)}"
            )
    return Namespace({name: value[()] for name, value in values.items()})
