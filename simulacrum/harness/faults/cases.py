"""The faults that can be put into a package, and copies of a package that have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...checks import Fault
from ...errors import PackageError
from ...spec import Package
from .both import both
from .mutations import Mutant, mutants
from .operators import operators

GROUPS = ("domain", "generic", "both")
LEFT_OUT = ("trace.json", "faults.py")  # the frozen trace would find every change, and nothing else would have to


@dataclass(frozen=True)
class Case:
    """One fault to be put into a package: its name, group, kind, and the new bytes of the files that it changes.

    ``override``: it stands in an override of a base class's method. A static read refuses every such override, so that
    it would find how the fault was put in, and not the fault.
    """

    name: str
    group: str
    kind: str
    files: dict[str, bytes]
    override: bool = False


def cases(package: Package, groups: Sequence[str] = GROUPS, compiled: bool = True) -> list[Case]:
    """The faults of a package by group: ``domain`` (its own and those of any package), ``generic`` mutants of either
    side, ``both`` sides alike. Without ``compiled`` those that show in compiled graphs alone are left out.

    Raises :class:`~simulacrum.errors.PackageError` for a fault that does not apply, or a name that two have.
    """
    own = list(getattr(package.module("faults"), "FAULTS", ())) if "faults.py" in package.files else []
    found: list[tuple[str, Fault | Mutant]] = []
    inserted = operators(package, compiled)
    found += [("domain", fault) for fault in (*own, *inserted) if fault.kind != "both sides"]
    if "generic" in groups:
        found += [("generic", mutant) for file in ("fast.py", "reference.py") for mutant in mutants(package, file)]
    if "both" in groups:
        found += [("both", fault) for fault in own if fault.kind == "both sides"]
        found += [("both", mutant) for mutant in both(package)]
    made = [
        Case(fault.name, group, fault.kind, changed(package, fault), fault in inserted)
        for group, fault in found
        if group in groups
    ]
    names = [case.name for case in made]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PackageError(f"{package.path / 'faults.py'}: expected names that no other fault has, got {twice} twice")
    return made


def excused(package: Package) -> dict[str, str]:
    """The mutants that change nothing observable, each with its reason: ``EQUIVALENT`` of the package's faults.py."""
    if "faults.py" not in package.files:
        return {}
    return dict(getattr(package.module("faults"), "EQUIVALENT", {}))


def changed(package: Package, fault: Fault | Mutant) -> dict[str, bytes]:
    """The new bytes of the files that a fault changes. Raises :class:`~simulacrum.errors.PackageError` where a text to
    be replaced does not stand in its file exactly once."""
    if isinstance(fault, Mutant):
        return dict(fault.files)
    files = {}
    for name, changes in fault.changes.items():
        text = package.files[name].decode() if name in package.files else ""
        for old, new in changes:
            if text.count(old) != 1:
                raise PackageError(
                    f"fault {fault.name!r}: expected this text once in {name}, found it {text.count(old)} times: "
                    f"{old!r}"
                )
            text = text.replace(old, new)
        files[name] = text.encode()
    return files


def contents(package: Package, case: Case) -> dict[str, bytes]:
    """The files of a copy of a package with a fault, by name."""
    corpus = [file for file in (package.path / "corpus").rglob("*") if file.is_file()]
    files = {name: data for name, data in package.files.items() if name not in LEFT_OUT}
    files |= {file.relative_to(package.path).as_posix(): file.read_bytes() for file in corpus}
    return files | case.files


def put(package: Package | str | Path, case: Case, folder: Path) -> Package:
    """A copy of a package with a fault, in a folder of its name inside ``folder``; without trace and report, so that
    the fault has to show by what it does. A corpus comes along."""
    package = package if isinstance(package, Package) else Package.read(package)
    files = contents(package, case)
    target = folder / package.name
    for name, data in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
    return Package.read(target)
