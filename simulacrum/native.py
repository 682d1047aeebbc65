"""Native helpers: Cython sources, built on demand with the machine's C compiler and cached by content.

The wheel is pure Python. Where no compiler is found the tensor form takes over, with the same bits. Binaries lie in
``$XDG_CACHE_HOME/simulacrum/native``, named by a digest of the source, the flags, the versions of Python and Cython,
the compiler and the processor; beside each lies its own SHA-256, which is compared before it loads.
``SIMULACRUM_NATIVE=0`` switches all of them off.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

from .errors import BuildError

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fPIC", "-shared", "-fno-strict-aliasing", "-fwrapv")


def cache_directory() -> Path:
    """Where binaries lie: ``$XDG_CACHE_HOME/simulacrum/native``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simulacrum" / "native"


def enabled() -> bool:
    """Whether native helpers may be used: not ``SIMULACRUM_NATIVE=0``, and a C compiler is there."""
    return os.environ.get("SIMULACRUM_NATIVE", "1") != "0" and compiler() is not None


@lru_cache(maxsize=1)
def compiler() -> str | None:
    """The path of the C compiler: ``$CC``, or ``cc``."""
    return shutil.which(os.environ.get("CC") or "cc")


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """The first line of the compiler's ``--version``; ``"none"`` without a compiler."""
    path = compiler()
    if path is None:
        return "none"
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]


@lru_cache(maxsize=1)
def processor() -> tuple[str, str]:
    """The processor's model and a digest of its instruction-set flags, from ``/proc/cpuinfo`` where there is one."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine(), "unknown"
    lines = [line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line]
    fields = {name.strip(): value.strip() for name, value in lines}
    flags = " ".join(sorted((fields.get("flags") or fields.get("Features") or "").split()))
    return fields.get("model name") or platform.machine(), hashlib.sha256(flags.encode()).hexdigest()[:16]


def binary_path(source: Path) -> Path:
    """The cached binary of a ``.pyx`` file, whether or not it has been built."""
    parts = (source.read_bytes(), FLAGS, sys.version, metadata.version("Cython"), compiler_version(), processor())
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    return cache_directory() / f"{source.stem}-{digest}{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}"


def build(source: Path) -> Path:
    """Build ``source`` (a ``.pyx`` file) unless the cache has it; returns the binary. Raises :class:`BuildError`."""
    binary = binary_path(source)
    if binary.exists() and _checksum_path(binary).exists():
        return binary
    path = compiler()
    if path is None:
        raise BuildError("no C compiler: install one (cc), or set SIMULACRUM_NATIVE=0 to use the tensor form")
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        work = Path(folder)
        (work / source.name).write_bytes(source.read_bytes())
        _run([sys.executable, "-m", "cython", "-3", source.name], work, source)
        include = sysconfig.get_paths()["include"]
        _run([path, *FLAGS, f"-I{include}", f"{source.stem}.c", "-o", binary.name], work, source)
        checksum = hashlib.sha256((work / binary.name).read_bytes()).hexdigest()
        (work / "checksum").write_text(checksum)
        os.replace(work / "checksum", _checksum_path(binary))
        os.replace(work / binary.name, binary)
    return binary


def load(source: Path) -> ModuleType:
    """The module of a ``.pyx`` file, built if need be, its bytes compared with its checksum first."""
    binary = build(source)
    expected = _checksum_path(binary).read_text()
    found = checksum(source)
    if found != expected:
        raise BuildError(f"{binary} is not what was built (sha256 {found}, expected {expected}): delete it, run again")
    loader = importlib.machinery.ExtensionFileLoader(source.stem, str(binary))
    spec = importlib.util.spec_from_file_location(source.stem, binary, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def checksum(source: Path) -> str:
    """The SHA-256 of the binary of ``source``, built if need be."""
    return hashlib.sha256(build(source).read_bytes()).hexdigest()


def _checksum_path(binary: Path) -> Path:
    return binary.with_name(binary.name + ".sha256")


def _run(command: list[str], folder: Path, source: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"building {source} failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
