"""Packages with a second form that is none of its own: a subclass of the tensor form, which stands for a kernel.

It builds in no time, runs without a compiler, and can be made wrong in any way: what is tested with it is the battery.
"""

from __future__ import annotations

import re
from pathlib import Path

from edited import edited_as

from simulacrum.spec import Package

AS_IT_IS = "    pass\n"
CLASSES = """

class KernelEnv({tensor}):  # stands for simulacrum.KernelEnv
    __module__ = "simulacrum.kernel"


class Kernel(KernelEnv):
{body}"""


def with_stand_in(made: Path, base: str = "toywalk", body: str = AS_IT_IS, declared: str = "tensor, kernel") -> Package:
    """A copy of a package as the folder ``made``, whose kernel form has the class body ``body``."""
    edited_as(made, base)
    file, spec = made / "fast.py", made / "spec.md"
    tensor = re.search(r"class (\w+)\(simulacrum\.FastEnv", file.read_text())
    assert tensor is not None
    spec.write_text(spec.read_text().replace("| `forms` | tensor |", f"| `forms` | {declared} |"))
    file.write_text(file.read_text().rstrip() + "\n" + CLASSES.format(tensor=tensor[1], body=body))
    (made / "kernel.pyx").write_text("# stands for a kernel\n")
    return Package.read(made)
