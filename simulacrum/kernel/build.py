"""Building a package's ``kernel.pyx`` on demand (see :mod:`simulacrum.native`)."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from .. import native
from ..errors import BuildError
from ..spec import Package
from .layout import Layout
from .source import rows_source

FOLDER = Path(__file__).parent
BLOCK_SOURCE = FOLDER.parent / "rng" / "block.pxi"
INCLUDED = ('include "rows.pxi"', 'include "loop.pxi"')


def kernel_source(layout: Layout) -> native.Source:
    """The source of a package's kernel. Raises :class:`BuildError` where there is none."""
    package = layout.package
    path = package.path / "kernel.pyx"
    text = package.files.get("kernel.pyx")
    if text is None:
        raise BuildError(
            f"no kernel.pyx at {path}: begin one with simulacrum new NAME --kernel, or see docs/kernels.md"
        )
    for line in INCLUDED:
        if line.encode() not in text:
            where = "first, before its functions" if "rows" in line else "last"
            raise BuildError(f"{path}: expected the line {line!r}, {where}")
    includes = {
        "rows.pxi": rows_source(layout).encode(),
        "loop.pxi": (FOLDER / "loop.pxi").read_bytes(),
        "draws.pxi": (FOLDER / "draws.pxi").read_bytes(),
        "block.pxi": BLOCK_SOURCE.read_bytes(),
    }
    return native.Source(path, text, includes, openmp=True)


def load(layout: Layout) -> ModuleType:
    """The module of a package's kernel, built if need be. Raises :class:`BuildError` with what the compiler printed."""
    if not native.enabled():
        raise BuildError(
            f"{layout.package.path / 'kernel.pyx'}: a kernel needs a C compiler: install one (cc), unset "
            'SIMULACRUM_NATIVE=0, or take the tensor form (form="tensor")'
        )
    return native.load(kernel_source(layout))


def checksum(package: Package) -> str | None:
    """The SHA-256 of the binary of a package's kernel, built if need be; None for a package without one."""
    return None if "kernel" not in package.forms else native.checksum(kernel_source(package.forms["kernel"].layout()))
