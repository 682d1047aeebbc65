"""The file of a finding: the case, what both sides did in it, and the package that it was found in."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PackageError
from ..spec import Package
from ..trajectory import bounded
from .case import Case
from .case_fits import check_fit
from .finding import Finding
from .hints import hint, outcomes
from .places import write_atomically
from .playback import AFTER_STEP, Moment, Replay, replay
from .rules import rules
from .shrink import shrink
from .values import expected, nested

FORMAT = 1
CONTENT = {"format", "package", "finding", "case"}  # what is read of it; divergence and moments are for people
MOMENTS = 64  # how many of the last moments of a long case are written out


@dataclass(frozen=True)
class Saved:
    """A finding's file, read: the package's ID, path and digest, the finding, the case."""

    id: str
    path: Path
    digest: str
    finding: Finding
    case: Case


def completed(package: Package, finding: Finding, cases: list[Case], file: Path) -> Finding:
    """A finding with the smallest case that shows it, its hint and its rule; the case is written to ``file``.

    Args:
        package: what was checked.
        finding: what was found.
        cases: what may replay it; the first that does is taken, the last where none does.
        file: where the case is written.
    """
    shrunk = next(filter(None, (shrink(package, one) for one in cases)), None)
    case = shrunk or next((one for one in cases if replay(package, one).divergence is not None), cases[-1])
    shown = with_draws(package, case)
    finding = replace(
        finding,
        steps=case.steps,
        rows=case.rows,
        file=str(file),
        hint=finding.hint or hint(package, case, shown, shrunk is not None),
        rule=finding.rule or rules_of(package, shown),
    )
    if cases[0].kernel and not case.kernel:
        text = (
            "the kernel agrees with the reference here, fast.py does not: the file replays fast.py beside the reference"
        )
        finding = replace(finding, hint="\n".join(filter(None, (text, finding.hint))))
    if shown.divergence is None:
        text = "the case alone does not show it again: more of what the check did belongs to it"
        finding = replace(finding, hint=finding.hint or text)
    finding = replace(finding, hint="\n".join(filter(None, (finding.hint, _unfit(package, case)))))
    write(package, finding, case, shown)
    return finding


def with_draws(package: Package, case: Case) -> Replay:
    """A case as it was run, with the draws that were made, where noting them changes nothing."""
    shown = replay(package, case, draws=True)
    return shown if shown.divergence is not None else replay(package, case)


def write(package: Package, finding: Finding, case: Case, shown: Replay) -> None:
    """Write a finding's file: a JSON object, one line for each of its parts and for each moment."""
    content = {
        "format": FORMAT,
        "package": {"id": package.environment.id, "path": str(package.path), "digest": package.origin.digest},
        "finding": finding.as_dict(),
        "divergence": None if shown.divergence is None else shown.divergence.as_json(),
        "case": replace(case, constants={**_constants(package), **case.constants}).as_json(),
    }
    lines = [f"{json.dumps(name)}: {_line(value)}" for name, value in content.items()]
    moments = ",\n  ".join(_line(moment_json(package, case, shown, moment)) for moment in shown.moments[-MOMENTS:])
    text = "{\n" + ",\n".join([*lines, f'"moments": [\n  {moments}\n]']) + "\n}\n"
    write_atomically(Path(finding.file), text.encode())


def _constants(package: Package) -> dict[str, Any]:
    """The constants of a package's configuration, which make the case's world of the package as it is on the disk."""
    return package.origin.spec.configurations[package.config] if package.config and package.is_variant else {}


def read(file: Path) -> Saved:
    """A finding's file. Raises :class:`PackageError` that names what of it is of another form than it is written in.

    What it holds is not yet held against a package: see :func:`~.case_fits.check_fit`.
    """
    try:
        content = json.loads(bounded.content(file), parse_constant=_no_constant)
        if not isinstance(content, dict) or not content.keys() >= CONTENT:
            raise expected(f"an object with {sorted(CONTENT)}", content)
        if type(content["format"]) is not int or content["format"] != FORMAT:
            raise PackageError(f"{file}: expected the format {FORMAT}, got {content['format']!r}")
        id_, path, digest = _package(content["package"])
        return Saved(id_, Path(path), digest, _finding(content["finding"]), Case.from_json(content["case"]))
    except OSError as error:
        raise PackageError(f"{file}: expected the file of a finding: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PackageError(f"{file}: expected the file of a finding, as validate writes it: {error}") from None


def moment_json(package: Package, case: Case, shown: Replay, moment: Moment) -> dict[str, Any]:
    """What both sides showed at a moment of the row that differs (of the first, where none does), and its draws."""
    row = int(case.watched_rows[0]) if shown.divergence is None else shown.divergence.row
    place = int(np.argmax(case.watched_rows == row))
    told: dict[str, Any] = {"step": moment.step, "when": moment.when}
    if case.actions is not None and moment.when == AFTER_STEP:
        told["action"] = nested(case.actions[moment.step - 1, row])
    for side, record in (("reference", moment.reference), ("fast", moment.fast)):
        told[side] = {name: nested(value[place]) for name, value in record.items()}
    told["draws"] = {
        side: [[slot, index, outcome] for (slot, index), outcome in outcomes(package, made, row).items()]
        for side, made in moment.draws.items()
    }
    return told


def rules_of(package: Package, shown: Replay) -> str:
    """The rules of the spec that set the field that differs, a line each."""
    found = shown.divergence
    if found is None or not found.field:
        return ""
    return "\n".join(rules(package, found.field, "transition" if found.when == AFTER_STEP else "reset"))


def _unfit(package: Package, case: Case) -> str:
    """Why explain will not replay a case, in words for its hint: both sides went where the spec does not let them, say.
    Empty where it will."""
    try:
        check_fit(package, case)
    except Exception as error:  # whatever a package raises: the finding itself stands
        return f"explain cannot replay it, look at how both sides get there: {error}"
    return ""


def _package(content: Any) -> tuple[str, str, str]:
    """ID, path and digest of the package."""
    if not isinstance(content, dict) or content.keys() != {"id", "path", "digest"}:
        raise ValueError(f"package: {expected('an object with id, path and digest', content)}")
    identifier, path, digest = (_text(f"package.{name}", content[name]) for name in ("id", "path", "digest"))
    if "\0" in path:
        raise ValueError(f"package.path: {expected('a path', path)}")
    return identifier, path, digest


def _finding(content: Any) -> Finding:
    """The finding: texts, and numbers where the default is None."""
    known = {one.name: one for one in fields(Finding)}
    if not isinstance(content, dict) or not {"check", "message"} <= content.keys() <= known.keys():
        raise ValueError(f"finding: {expected('an object with check, message and other attributes', content)}")
    for name, value in content.items():
        if known[name].default is not None:
            _text(f"finding.{name}", value)
        elif type(value) is not int:
            raise ValueError(f"finding.{name}: {expected('a whole number', value)}")
    return Finding(**content)


def _text(name: str, value: Any) -> str:
    """A text that can be printed. Raises ValueError, of which a lone surrogate's UnicodeEncodeError is one."""
    if not isinstance(value, str):
        raise ValueError(f"{name}: {expected('a text', value)}")
    value.encode()
    return value


def _no_constant(text: str) -> Any:
    """JSON has no NaN and no Infinity."""
    raise expected("JSON", text)


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
