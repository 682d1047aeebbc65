"""The gate: an environment loads when a fresh, passing report of this account on this machine vouches for it.

It stops accidents (an edited package, another torch, a report that came with a checkout), not the account's owner. A
class that is imported from a package is not gated: that is for debugging, and for the battery itself.
"""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

from ..errors import GateError, PackageError, SimulacrumError
from ..spec.package import Package
from . import checks, fingerprint, keys
from .discovery import read_id, resolve
from .places import report_name, report_path
from .report import FORMAT, read

__all__ = ["Refusal", "admit", "admit_fast", "covered", "require_fresh_report"]

SHOWN = 12  # changed files named in a message
FORMS = ("tensor", "kernel")


class Refusal(Enum):
    """Why the gate refused: ``GateError.reason``.

    Example:
        >>> import simulacrum
        >>> from simulacrum.harness.gate import Refusal, admit
        >>> try:
        ...     admit("simulacrum/forager-v0")  # not validated here
        ... except simulacrum.GateError as error:
        ...     error.reason is Refusal.NO_REPORT
        True
    """

    NO_REPORT = "no report"
    UNREADABLE = "unreadable report"
    UNKNOWN_FORMAT = "report of an unknown format"
    UNSIGNED = "no signature"
    OTHER_ACCOUNT = "report of another account"
    EDITED = "report edited by hand"
    OTHER_PACKAGE = "report of another package"
    PACKAGE_CHANGED = "package changed"
    FAILED = "failing report"
    FRAMEWORK_CHANGED = "framework changed"
    VERSION_CHANGED = "another version"
    OTHER_MACHINE = "another machine"
    NATIVE_CHANGED = "another native binary"
    NOT_COVERED = "combination not covered"


def require_fresh_report(env: str | os.PathLike[str], strict: bool = True, config: str | None = None) -> bool:
    """True when a fresh, passing report admits an environment: a path, a bare name (``"forager"``) or an ID
    (``"simulacrum/forager-v0"``), tried in this order; in the configuration ``config``, or the one by default.

    Where none does, raises :class:`~simulacrum.errors.GateError` (a ``gymnasium.error.Error``; its ``reason`` is a
    :class:`~simulacrum.harness.gate.Refusal`), or :class:`~simulacrum.errors.PackageError` where no such environment
    is found. With ``strict=False`` it warns (``UserWarning``) with the same words and returns False.

    Example:
        >>> from simulacrum.harness import require_fresh_report
        >>> require_fresh_report("simulacrum/toywalk-v0")
        True
        >>> require_fresh_report("simulacrum/forager-v0")  # not validated here
        Traceback (most recent call last):
            ...
        simulacrum.errors.GateError: no report: the environment forager (...) does not load, ...
    """
    try:
        admit(env, form=None, config=config)
    except SimulacrumError as error:
        if strict:
            raise
        warnings.warn(f"NOT VALIDATED: {error}", UserWarning, stacklevel=2)
        return False
    return True


def admit(
    target: str | os.PathLike[str],
    *,
    form: str | None = "tensor",
    mode: str = "eager",
    device: Any = "cpu",
    config: str | None = None,
) -> Package:
    """The package behind a path, a bare name or an ID, when a fresh, passing report covers the combination of ``form``,
    ``mode`` (``eager`` or ``compiled`` of the tensor form, ``native`` of the kernel) and device; ``form=None`` asks for
    the reference alone.

    What is returned holds the very bytes that were compared with the report. Raises
    :class:`~simulacrum.errors.GateError`, or :class:`~simulacrum.errors.PackageError` where there is no such package.

    Example:
        >>> from simulacrum.harness.gate import admit
        >>> admit("simulacrum/toywalk-v0", form="kernel", mode="native").name
        'toywalk'
    """
    package, report = _fresh(target, config)
    if form is not None:
        report.require_combination(form, mode, str(device).split(":")[0])
    return package


def admit_fast(
    target: str | os.PathLike[str],
    form: str | None = None,
    *,
    compiled: bool = False,
    device: Any = "cpu",
    config: str | None = None,
) -> tuple[Package, str]:
    """The same for the fast side: the package, and the form that was asked for, or else the fastest one that the report
    covers on the device: compiled, or not compiled.

    Raises :class:`~simulacrum.errors.GateError` and :class:`~simulacrum.errors.PackageError` as :func:`admit` does,
    ValueError for a form that there is none of, and for a kernel that is to be compiled.

    Example:
        >>> from simulacrum.harness.gate import admit_fast
        >>> package, form = admit_fast("simulacrum/toywalk-v0", compiled=True)
        >>> form
        'tensor'
    """
    if form not in (None, *FORMS):
        raise ValueError(f"form: expected None or one of {FORMS}, got {form!r}")
    if form == "kernel" and compiled:
        raise ValueError("compile: a kernel has nothing to compile; leave it out, or take form='tensor'")
    package, report = _fresh(target, config)
    kind = str(device).split(":")[0]
    form = form or report.fastest(compiled, kind)
    report.require_combination(form, "native" if form == "kernel" else "compiled" if compiled else "eager", kind)
    return package, form


def covered(target: str | os.PathLike[str], config: str | None = None) -> list[str]:
    """The combinations that a report covers, in words: ``"kernel native cpu"``. Raises
    :class:`~simulacrum.errors.GateError` or :class:`~simulacrum.errors.PackageError` as :func:`admit` does.

    Example:
        >>> from simulacrum.harness.gate import covered
        >>> covered("simulacrum/toywalk-v0")
        ['tensor eager cpu', 'tensor compiled cpu', 'kernel native cpu']
    """
    return [" ".join(one.values()) for one in _fresh(target, config)[1].content["combinations"]]


def _fresh(target: str | os.PathLike[str], config: str | None) -> tuple[Package, _Report]:
    """A package in a configuration and its report, which is fresh and passing."""
    package = Package.read(resolve(target)).configured(config)
    report = _Report(package)
    report.compare()
    return package, report


class _Report:
    """A package's report, its signature checked."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.path = find_report(package)
        self.devices: list[str] = []  # that the next report should cover
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            self._refuse(Refusal.NO_REPORT, f"it has no validation report (looked for {self.path})")
        except OSError as error:
            self._refuse(Refusal.UNREADABLE, f"its report cannot be read: {error}")
        try:
            self.content = read(data)
        except ValueError as error:
            self._refuse(Refusal.UNREADABLE, f"its report {self.path} is no JSON report: {error}")
        if self.content["format"] != FORMAT:
            self._refuse(
                Refusal.UNKNOWN_FORMAT,
                f"its report has the format {self.content['format']!r}, this version of simulacrum reads {FORMAT}",
            )
        self._check_signature(data)
        self.devices += [one["device"] for one in self.content["combinations"]]

    def compare(self) -> None:
        """Refuse unless the report is of this package as it is, passing, and made with all that is here now."""
        self._check_identity()
        old, new = self.content["fingerprint"], fingerprint.take(self.package)
        changed = fingerprint.differences(old["package"], new["package"])
        if changed or old["digest"] != new["digest"]:
            self._refuse(Refusal.PACKAGE_CHANGED, f"its files are not those that were validated: {_some(changed)}")
        self._check_outcome()
        changed = fingerprint.differences(old["framework"], new["framework"])
        if changed:
            self._refuse(
                Refusal.FRAMEWORK_CHANGED, f"simulacrum itself has changed since it was validated: {_some(changed)}"
            )
        for part, reason, what in (
            ("versions", Refusal.VERSION_CHANGED, "it was validated with other versions"),
            ("machine", Refusal.OTHER_MACHINE, "it was validated on another machine"),
            ("native", Refusal.NATIVE_CHANGED, "it was validated with other native binaries"),
        ):
            before = dict(old[part])
            before.pop(fingerprint.KERNEL, None)  # which is looked at when it is to load
            self._same(before, new[part], reason, what)

    def fastest(self, compiled: bool, device: str) -> str:
        """The fastest form that is covered on a device, compiled or not; the tensor form where there is none.

        By the report's own measurement, which is of its first device: where it covers several, a kernel comes first.
        """
        modes = ("compiled",) if compiled else ("native", "eager")
        covered = self.content["combinations"]
        found = [one for one in covered if one["device"] == device and one["mode"] in modes]
        forms = sorted({one["form"] for one in found}, key=("kernel", *FORMS).index)
        forms = forms or ["tensor" if "tensor" in self.package.spec.forms else "kernel"]  # which is refused
        names = {form: "kernel" if form == "kernel" else modes[-1] for form in forms}
        rates = {form: self.content["throughput"].get(f"{name} steps per second") for form, name in names.items()}
        if len({one["device"] for one in covered}) > 1 or not all(type(rate) is int for rate in rates.values()):
            return forms[0]
        return max(forms, key=lambda form: rates[form])

    def require_combination(self, form: str, mode: str, device: str) -> None:
        """Refuse a combination that the report does not cover, and a kernel whose binary is not the one it covers."""
        asked = {"form": form, "mode": mode, "device": device}
        covered = self.content["combinations"]
        if asked not in covered:
            listed = "; ".join(" ".join(one.values()) for one in covered) or "nothing"
            self.devices.append(device)
            what, remedy = f"its report does not cover {form} {mode} {device}; it covers: {listed}", None
            if form not in self.package.spec.forms:
                remedy = f'there is no {form} form: take form="{self.package.spec.forms[0]}"'
            elif form == "kernel" and device != "cpu":
                remedy = 'a kernel runs on the CPU: take device="cpu"'
            self._refuse(Refusal.NOT_COVERED, what, remedy)
        if form == "kernel":
            name, native = fingerprint.KERNEL, self.content["fingerprint"]["native"]
            old = {name: native[name]} if name in native else {}
            new = fingerprint.kernel_binary(self.package)
            self._same(old, new, Refusal.NATIVE_CHANGED, "its kernel was validated as another binary")

    def _check_signature(self, data: bytes) -> None:
        signed = self.path.with_suffix(".sig")
        try:
            signature = keys.Signature.parse(signed.read_bytes())
        except OSError:
            signature = None
        if signature is None:
            self._refuse(Refusal.UNSIGNED, f"its report has no signature that can be read ({signed.name} beside it)")
        try:
            key = keys.existing_key()
        except SimulacrumError as error:
            self._refuse(Refusal.OTHER_ACCOUNT, f"its signature cannot be checked: {error}")
        if key is None or keys.key_id(key) != signature.key_id:
            self._refuse(
                Refusal.OTHER_ACCOUNT,
                "its report was signed with another key: by another account, or with another "
                "XDG_STATE_HOME or SIMULACRUM_KEY_FILE",
            )
        if not keys.genuine(data, signature, key):
            self._refuse(Refusal.EDITED, "its report is not the one that was signed: it was edited by hand")

    def _check_identity(self) -> None:
        written_for, config = self.content["package"]["id"], self.content["package"].get("config")
        if config != self.package.config:
            self._refuse(Refusal.OTHER_PACKAGE, f"the report in it is for the configuration {config}")
        try:
            own = read_id(self.package.files["__init__.py"])
        except PackageError:
            return  # then a file has changed, or the package never had an ID
        if own != written_for:
            self._refuse(Refusal.OTHER_PACKAGE, f"the report in it is for {written_for}, the package is {own}")

    def _check_outcome(self) -> None:
        outcomes = {check["name"]: check["outcome"] for check in self.content["checks"]}
        failed = [name for name, outcome in outcomes.items() if outcome not in ("passed", "not_applicable")]
        missing = [f"{name} (did not run)" for name in checks.NAMES if name not in outcomes]
        if failed or missing or self.content["outcome"] != "passed":
            self._refuse(Refusal.FAILED, f"its report is not a passing one: {_some(failed + missing)}")

    def _same(self, old: Mapping[str, str], new: Mapping[str, str], reason: Refusal, what: str) -> None:
        moved = fingerprint.moves(old, new)
        if moved:
            self._refuse(reason, f"{what}: {'; '.join(moved)}")

    def _refuse(self, reason: Refusal, what: str, remedy: str | None = None) -> NoReturn:
        package, devices = self.package, list(dict.fromkeys(self.devices))
        options = "".join(f" --device {shlex.quote(device)}" for device in devices) if devices != ["cpu"] else ""
        name = package.path.name + (f" in the configuration {package.config}" if package.config else "")
        remedy = remedy or f"run: simulacrum validate {package.target}{options}"
        raise GateError(
            f"{reason.value}: the environment {name} ({package.path}) does not load, for {what}\n{remedy}", reason
        )


def find_report(package: Package) -> Path:
    """Where the report lies: in its own place, or else inside a read-only package (where it counts if the key is
    shared)."""
    own = report_path(package.path, package.config)
    return own if own.is_file() else package.path / report_name(package.config)


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
