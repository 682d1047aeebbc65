"""The faults that can be put into a package, and copies of a package that have one."""

from __future__ import annotations

import ast
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...checks import Fault
from ...errors import PackageError
from ...spec import Package
from .both import both
from .mutations import Mutant, mutants
from .operators import operators

GROUPS = ("domain", "generic", "both")
KERNEL = "kernel"  # a further group, of faults in kernel.pyx: each is a build of some seconds, so it is asked for
SOURCE = "kernel.pyx"
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
    side, ``both`` sides alike, and ``kernel``, its own that change its ``kernel.pyx``. Without ``compiled`` those that
    show in compiled graphs alone are left out.

    Raises :class:`~simulacrum.errors.PackageError` for a fault that does not apply, or a name that two have.
    """
    own = declared(package)
    kernels = [fault for fault in own if isinstance(fault.changes, Mapping) and SOURCE in fault.changes]
    own = [fault for fault in own if fault not in kernels]
    found: list[tuple[str, Fault | Mutant]] = [(KERNEL, fault) for fault in kernels]
    inserted = operators(package, compiled)
    found += [("domain", fault) for fault in (*own, *inserted) if fault.kind != "both sides"]
    if "generic" in groups:
        found += [("generic", mutant) for file in ("fast.py", "reference.py") for mutant in mutants(package, file)]
    if "both" in groups:
        found += [("both", fault) for fault in own if fault.kind == "both sides"]
        found += [("both", mutant) for mutant in both(package) if "tensor" in package.forms]
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


def declared(package: Package) -> list[Fault]:
    """``FAULTS`` of the package's faults.py. Raises :class:`~simulacrum.errors.PackageError` for what are no faults."""
    if "faults.py" not in package.files:
        return []
    file, given = package.path / "faults.py", getattr(package.module("faults"), "FAULTS", ())
    if not isinstance(given, (list, tuple)):
        raise PackageError(f"{file}: FAULTS: expected a list of simulacrum.Fault, got {reprlib.repr(given)}")
    for number, fault in enumerate(given):
        if not isinstance(fault, Fault) or not all(isinstance(text, str) and text for text in (fault.name, fault.kind)):
            what = "expected a simulacrum.Fault with a name and a kind"
            raise PackageError(f"{file}: FAULTS[{number}]: {what}, got {reprlib.repr(fault)}")
    return list(given)


def excused(package: Package) -> dict[str, str]:
    """The mutants that change nothing observable, each with its reason: ``EQUIVALENT`` of the package's faults.py.
    Raises :class:`~simulacrum.errors.PackageError` for what are no reasons."""
    if "faults.py" not in package.files:
        return {}
    given = getattr(package.module("faults"), "EQUIVALENT", {})
    pairs = given.items() if isinstance(given, dict) else [(given, "")]
    for name, reason in pairs:
        if not (isinstance(name, str) and isinstance(reason, str) and reason.strip()):
            what = "expected a dict of reasons by the names of mutants"
            raise PackageError(f"{package.path / 'faults.py'}: EQUIVALENT: {what}, got {reprlib.repr(given)}")
    return dict(given)


def changed(package: Package, fault: Fault | Mutant) -> dict[str, bytes]:
    """The new bytes of the files that a fault changes. Raises :class:`~simulacrum.errors.PackageError` where a file is
    none of the package's, or a text to be replaced does not stand in it exactly once."""
    if isinstance(fault, Mutant):
        return dict(fault.files)
    if not isinstance(fault.changes, Mapping):
        what = "expected changes by file name, {'fast.py': [('old', 'new')]}"
        raise PackageError(f"fault {fault.name!r}: {what}, got {reprlib.repr(fault.changes)}")
    return {name: _edited(package, fault, name, changes) for name, changes in fault.changes.items()}


def _edited(package: Package, fault: Fault, name: Any, changes: Any) -> bytes:
    """A file with each old text replaced by its new one."""
    if name not in package.files:
        what = f"expected a file of the package, {sorted(package.files)}"
        raise PackageError(f"fault {fault.name!r}: {what}, got {name!r}")
    pairs = list(changes) if isinstance(changes, (list, tuple)) else [changes]
    for pair in pairs:
        texts = pair if isinstance(pair, (list, tuple)) else ()
        if len(texts) != 2 or not all(isinstance(text, str) for text in texts):
            what = f"expected pairs (old, new) of texts for {name}"
            raise PackageError(f"fault {fault.name!r}: {what}, got {reprlib.repr(pair)}")
    try:
        text = package.files[name].decode()
    except UnicodeDecodeError as error:
        raise PackageError(f"fault {fault.name!r}: expected UTF-8 in {name}: {error}") from None
    for old, new in pairs:
        if text.count(old) != 1:
            raise PackageError(
                f"fault {fault.name!r}: expected this text once in {name}, found it {text.count(old)} times: {old!r}"
            )
        text = text.replace(old, new)
    return text.encode()


def contents(package: Package, case: Case) -> dict[str, bytes]:
    """The files of a copy of a package with a fault, by name."""
    corpus = [file for file in (package.path / "corpus").rglob("*") if file.is_file()]
    files = {name: data for name, data in package.files.items() if name not in LEFT_OUT}
    files |= {file.relative_to(package.path).as_posix(): file.read_bytes() for file in corpus}
    files |= case.files
    return without_kernel(files) if case.group == "both" else files


def without_kernel(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a package with its tensor form alone: where both sides misread a rule alike, a kernel would be a
    third reading that does not."""
    if SOURCE not in files or not re.search(rb"\|\s*tensor\s*,\s*kernel\s*\|", files["spec.md"]):
        return dict(files)
    lines = files["fast.py"].decode().splitlines(keepends=True)
    for node in reversed(ast.parse(files["fast.py"]).body):
        if isinstance(node, ast.ClassDef) and any("KernelEnv" in ast.unparse(base) for base in node.bases):
            del lines[node.lineno - 1 : node.end_lineno]
    spec = re.sub(rb"\|\s*tensor\s*,\s*kernel\s*\|", b"| tensor |", files["spec.md"])
    kept = {name: data for name, data in files.items() if name != SOURCE}
    return {**kept, "fast.py": "".join(lines).encode(), "spec.md": spec}


def put(package: Package | str | Path, case: Case, folder: Path) -> Package:
    """A copy of a package with a fault, in a folder of its name inside ``folder``; without trace and report, so that
    the fault has to show by what it does. A corpus comes along."""
    package = package if isinstance(package, Package) else Package.read(package)
    files = contents(package, case)
    target = folder / package.name
    for name, data in files.items():
        if not (target / name).resolve().is_relative_to(target.resolve()):
            raise PackageError(f"fault {case.name!r}: expected a file inside of the package, got {name!r}")
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
    return Package.read(target)
