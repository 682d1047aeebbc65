"""What a report vouches for: the bytes of the package and of the framework, and whatever else can change a bit.

Never the host's name. Nothing heavy is imported: the gate takes a fingerprint at every ``make``. All but the package's
part is taken once a process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import native
from ..errors import SimulacrumError
from ..spec.package import IGNORED_FOLDERS, IGNORED_PREFIXES, Package

FRAMEWORK = Path(__file__).resolve().parent.parent
DISTRIBUTIONS = ("torch", "torchrl", "tensordict", "gymnasium", "numpy", "Cython")
ITSELF = "itself"  # what spec.md names where the original is a module of the package
ADOPTS = re.compile(rb"^\s*\|\s*`?adopts`?\s*\|\s*`?([\w.-]+)", re.MULTILINE)  # of spec.md's declarations
NATIVE_SOURCES = ("rng/threefry.pyx",)
KERNEL = "kernel.pyx"  # of a package
DRIVER = Path("/proc/driver/nvidia")


def take(package: Package) -> dict[str, Any]:
    """The fingerprint of a package here and now: the parts ``package``, ``framework``, ``versions``, ``machine`` and
    ``native``, each texts by name (a file's SHA-256, a distribution's version ...), and the package's ``digest``."""
    return {
        "digest": package.digest,
        "package": hashes(package.files),
        "framework": dict(framework()),
        "versions": {**versions(), **adopted(package)},
        "machine": dict(machine()),
        "native": dict(binaries()),
    }


def hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 by file name."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


@lru_cache(maxsize=1)
def framework() -> Mapping[str, str]:
    """SHA-256 of every file of the installed framework; caches and hidden files are left out."""
    return hashes({name: file.read_bytes() for name, file in _under(FRAMEWORK).items()})


def _under(base: Path) -> dict[str, Path]:
    """Every file below a folder by its name there; caches and hidden files are left out."""
    found = {}
    for folder, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if name not in IGNORED_FOLDERS and not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(IGNORED_PREFIXES):
                file = Path(folder, name)
                found[file.relative_to(base).as_posix()] = file
    return found


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """The versions of Python and of the distributions that compute."""
    found = {"Python": f"{platform.python_implementation()} {platform.python_version()}"}
    found.update((name, _version(name)) for name in DISTRIBUTIONS)
    return found


def adopted(package: Package) -> dict[str, str]:
    """The version of the distribution from which an adopted environment comes, by its name, and a digest of its files,
    for they hold the rules, and may be edited under one version; nothing of other packages."""
    declared = ADOPTS.search(package.files["spec.md"])  # without the tables: the gate asks at every make
    if declared is None or declared[1].decode() == ITSELF:  # whose files are the package's
        return {}
    name = declared[1].decode()
    return {name: _version(name), f"{name} files": _digest_of(name)}


@lru_cache
def _digest_of(distribution: str) -> str:
    """16 hexadecimal digits of SHA-256 over the names and bytes of a distribution's files."""
    found = hashes({name: file.read_bytes() for name, file in installed(distribution).items()})
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def installed(distribution: str) -> dict[str, Path]:
    """The files of a distribution for pip by their names, without what pip notes of it and caches: those that it
    installed; of an editable one those of its modules, where they lie. Empty where it is not installed."""
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return {}
    if json.loads(found.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"):
        names = (found.read_text("top_level.txt") or re.sub("[-.]+", "_", distribution).lower()).split()
        return {name: file for module in names for name, file in _of_module(module).items()}
    files = {str(file): Path(str(found.locate_file(file))) for file in found.files or ()}
    return {
        name: file
        for name, file in files.items()
        if not name.startswith("..") and ".dist-info" not in name and file.suffix != ".pyc" and file.is_file()
    }


def _of_module(name: str) -> dict[str, Path]:
    """The files of a top module by their names; found, not imported."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return {}
    folders = spec.submodule_search_locations
    if folders is None:
        return {f"{name}.py": Path(spec.origin)} if spec.origin else {}
    return {f"{name}/{part}": file for folder in folders for part, file in _under(Path(folder)).items()}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


@lru_cache(maxsize=1)
def machine() -> Mapping[str, str]:
    """System, processor, C library, compiler, and (where there are any) GPU models with their driver."""
    model, flags = native.processor()
    return {
        "system": f"{sys.platform} {platform.machine()}",
        "processor": model,
        "instruction set": flags,
        "C library": _c_library(),
        "compiler": native.compiler_version(),
        **_gpu(),
    }


@lru_cache(maxsize=1)
def binaries() -> Mapping[str, str]:
    """SHA-256 of the framework's native binaries, built if need be; nothing where native helpers are switched off."""
    if not native.enabled():
        return {}
    return {name: native.checksum(FRAMEWORK / name) for name in NATIVE_SOURCES}


def kernel_binary(package: Package) -> dict[str, str]:
    """SHA-256 of the binary of a package's kernel, built if need be; nothing where it has none, or none can be built.

    It imports the package's ``fast.py``, and torch with it. Only who loads the kernel needs it.
    """
    if KERNEL not in package.files or not native.enabled():
        return {}
    from ..kernel.build import checksum

    try:
        found = checksum(package)
    except SimulacrumError:  # it does not build, which the battery tells
        found = None
    return {} if found is None else {KERNEL: found}


def forget() -> None:
    """Drop what is kept for the process: the next fingerprint is taken anew."""
    for function in (framework, versions, machine, binaries, _digest_of):
        function.cache_clear()


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What differs between two parts, in words: ``changed a``, ``added b``, ``removed c``."""
    return [
        f"{'added' if name not in old else 'removed' if name not in new else 'changed'} {name}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def moves(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What differs between two parts, with both values: ``torch 2.12.0 -> 2.13.0``."""
    return [
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in [*old, *(name for name in new if name not in old)]
        if old.get(name) != new.get(name)
    ]


def _c_library() -> str:
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, OSError, ValueError):
        version = None
    return version or " ".join(platform.libc_ver()).strip() or f"{platform.system()} {platform.release()}"


def _gpu() -> dict[str, str]:
    """NVIDIA models and driver, from ``/proc`` or else from ``nvidia-smi``; nothing where there is neither."""
    try:
        driver = (DRIVER / "version").read_text().splitlines()[0].split(":", 1)[-1].strip()
        lines = [line for file in DRIVER.glob("gpus/*/information") for line in file.read_text().splitlines()]
    except (OSError, IndexError):
        driver, lines = "", []
    models = {line.split(":", 1)[1].strip() for line in lines if line.startswith("Model:")}
    if driver and models:
        return {"GPU": ", ".join(sorted(models)), "GPU driver": driver}
    return _nvidia_smi()


def _nvidia_smi() -> dict[str, str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    command = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = [line.rsplit(",", 1) for line in done.stdout.splitlines() if "," in line] if done.returncode == 0 else []
    if not rows:
        return {}
    models, drivers = ({row[at].strip() for row in rows} for at in (0, 1))
    return {"GPU": ", ".join(sorted(models)), "GPU driver": ", ".join(sorted(drivers))}
