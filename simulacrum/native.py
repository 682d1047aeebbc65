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
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

from .errors import BuildError

__all__ = ["Source", "build", "cache_directory", "enabled", "load"]

CYTHON = ("-3", "--line-directives", "-X", "boundscheck=False,wraparound=False,cdivision=True")
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fPIC", "-shared", "-fno-strict-aliasing", "-fwrapv")


def cache_directory() -> Path:
    """Where binaries lie: ``$XDG_CACHE_HOME/simulacrum/native``.

    Example:
        >>> from simulacrum.native import cache_directory
        >>> cache_directory().parts[-2:]
        ('simulacrum', 'native')
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simulacrum" / "native"


def enabled() -> bool:
    """Whether native helpers may be used: not ``SIMULACRUM_NATIVE=0``, and a C compiler is there.

    Example:
        >>> from simulacrum.native import enabled
        >>> enabled()
        True
    """
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


@dataclass(frozen=True)
class Source:
    """A Cython source: where messages say that it lies, its text, the texts that it includes, and further flags.

    ``openmp`` asks for threads (``prange``); where the compiler has none of them the loops run on one.

    Example:
        >>> from pathlib import Path
        >>> from simulacrum.native import Source
        >>> Source(Path("twice.pyx"), b"def twice(long x): return 2 * x").path.stem
        'twice'
    """

    path: Path
    text: bytes
    includes: Mapping[str, bytes] = field(default_factory=dict)
    openmp: bool = False

    @classmethod
    def read(cls, path: Path) -> Source:
        """A ``.pyx`` file, and every ``.pxi`` file beside it."""
        return cls(
            path, path.read_bytes(), {file.name: file.read_bytes() for file in sorted(path.parent.glob("*.pxi"))}
        )


def binary_path(source: Path | Source) -> Path:
    """The cached binary of a ``.pyx`` file, whether or not it has been built."""
    source = _source(source)
    texts = (source.text, sorted(source.includes.items()), source.openmp)
    parts = (texts, CYTHON, FLAGS, sys.version, metadata.version("Cython"), compiler_version(), processor())
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    return cache_directory() / f"{source.path.stem}-{digest}{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}"


def build(source: Path | Source) -> Path:
    """Build ``source`` (a ``.pyx`` file) unless the cache has it; returns the binary. Raises :class:`BuildError`.

    Example:
        >>> from pathlib import Path
        >>> from simulacrum.native import Source, build
        >>> build(Source(Path("twice.pyx"), b"def twice(long x): return 2 * x")).name
        'twice-...'
    """
    source = _source(source)
    binary = binary_path(source)
    if binary.exists() and _checksum_path(binary).exists():
        return binary
    path = compiler()
    if path is None:
        raise BuildError("no C compiler: install one (cc), or set SIMULACRUM_NATIVE=0 to use the tensor form")
    binary.parent.mkdir(parents=True, exist_ok=True)
    stem = source.path.stem
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        work = Path(folder)
        for name, text in {**source.includes, f"{stem}.pyx": source.text}.items():
            (work / name).write_bytes(text)
        _run([sys.executable, "-m", "cython", *CYTHON, f"{stem}.pyx"], work, source)
        command = [path, *FLAGS, f"-I{sysconfig.get_paths()['include']}", f"{stem}.c", "-o", binary.name]
        if source.openmp and _has_openmp():
            command.insert(1, "-fopenmp")
        _run(command, work, source)
        checksum = hashlib.sha256((work / binary.name).read_bytes()).hexdigest()
        (work / "checksum").write_text(checksum)
        os.replace(work / "checksum", _checksum_path(binary))
        os.replace(work / binary.name, binary)
    return binary


def load(source: Path | Source) -> ModuleType:
    """The module of a ``.pyx`` file, built if need be, its bytes compared with its checksum first.

    Raises :class:`BuildError` where it cannot be built, or where the binary in the cache is not what was built.

    Example:
        >>> from pathlib import Path
        >>> from simulacrum.native import Source, load
        >>> load(Source(Path("twice.pyx"), b"def twice(long x): return 2 * x")).twice(21)
        42
    """
    source = _source(source)
    binary = build(source)
    expected = _checksum_path(binary).read_text()
    found = checksum(source)
    if found != expected:
        raise BuildError(f"{binary} is not what was built (sha256 {found}, expected {expected}): delete it, run again")
    name = source.path.stem
    loader = importlib.machinery.ExtensionFileLoader(name, str(binary))
    spec = importlib.util.spec_from_file_location(name, binary, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def checksum(source: Path | Source) -> str:
    """The SHA-256 of the binary of ``source``, built if need be."""
    return hashlib.sha256(build(source).read_bytes()).hexdigest()


def _source(source: Path | Source) -> Source:
    return source if isinstance(source, Source) else Source.read(source)


def _checksum_path(binary: Path) -> Path:
    return binary.with_name(binary.name + ".sha256")


@lru_cache(maxsize=1)
def _has_openmp() -> bool:
    """Whether the compiler builds and links ``-fopenmp``."""
    path = compiler()
    assert path is not None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "threads.c")
        program.write_text("#include <omp.h>\nint threads(void) { return omp_get_max_threads(); }\n")
        command = [path, "-fopenmp", "-fPIC", "-shared", str(program), "-o", str(Path(folder, "threads.so"))]
        return subprocess.run(command, capture_output=True).returncode == 0


def _run(command: list[str], folder: Path, source: Source) -> None:
    """Run a command of a build; raises :class:`BuildError` with what it printed, lines of the source by its path."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        printed = f"{done.stdout}{done.stderr}".replace(f"{source.path.name}:", f"{source.path}:")
        raise BuildError(f"building {source.path} failed: {' '.join(command)}\n{printed}")
