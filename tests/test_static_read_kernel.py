"""The static read of a ``kernel.pyx``: what it refuses, with its line, and what it lets pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited import edited_as
from environments import FORAGER, TOYWALK

from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.harness.source import kernel
from simulacrum.spec import Package

HEAD = """\
\"\"\"A kernel.\"\"\"

include "rows.pxi"
from libc.math cimport fabs, floor
from libc.stdint cimport int32_t
from libc.string cimport memcpy

cdef const double HALF = 0.5
cdef extern from *:
    \"\"\"
    static const int TABLE[2] = {1, 2};
    static inline int twice(int x) { return 2 * x; }
    \"\"\"
    int twice(int x) noexcept nogil


cdef struct Pair:
    int one


cdef inline int doubled(int x) noexcept nogil:
    return twice(x)


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, time
    for i in range(BLOCK):
        rows.time[i] = 1  # rand() time() -ffast-math in a comment of no one
        rows.random(i)
"""
TAIL = """

include "loop.pxi"
"""
WRONG = {
    # a line: what is told of it
    "import os": "imports os, by which results could depend on the process or the machine",
    "import numpy as np": "imports numpyasnp, by which",
    "from time import time": "imports time, by which",
    "cimport numpy": "imports numpy, by which",
    "from libc.stdlib cimport rand": "imports libc.stdlib, by which",
    "from libc.math cimport sqrt, fabs": "takes sqrt of libc.math: outside the float rule",
    "cimport libc.math": "takes all of libc.math",
    'include "other.pxi"': "includes other.pxi; put it into the file",
    "cdef int calls": "cdef int calls: a variable of the module, state kept outside",
    "cdef double[64] kept": "a variable of the module, state kept outside",
    "cdef int calls = 0": "a variable of the module",
    "cdef:\n    int calls": "int calls: a variable of the module",
    "cdef void other() noexcept nogil:\n    global calls": "global: state kept outside of the state's fields",
    "cdef int other() noexcept nogil:\n    return rand()": "rand draws from a generator of its own",
    "cdef int other() noexcept nogil:\n    return time(NULL)": "time reads the clock, a file or the process",
    "cdef int other() noexcept nogil:\n    return omp_get_thread_num()": "omp_get_thread_num depends on the thread",
    "# distutils: extra_compile_args = -ffast-math": "'fast-math' changes what is computed",
    "# distutils: language = c++": "a distutils directive",
    'cdef extern from *:\n    """\n    #pragma GCC optimize ("Ofast")\n    """': "changes what is computed",
    'cdef extern from *:\n    """\n    static int calls;\n    """': "a static variable in C code",
    "cdef int other() noexcept nogil:\n    return 80": "80 is the value of MAX_STEPS",
    "cdef float other() noexcept nogil:\n    return 0.15": "0.15 is the value of SLIP_P",
}


def told(line: str) -> list[str]:
    text = f"{HEAD}\n\n{line}\n{TAIL}"
    return [problem.text for problem in kernel.problems("kernel.pyx", text.encode(), FORAGER.spec.constants)]


def test_what_a_kernel_may_hold_passes() -> None:
    assert [one for one in told("") if "fast-math" not in one] == []


@pytest.mark.parametrize("line", WRONG)
def test_what_it_may_not_hold_is_told_with_its_line(line: str) -> None:
    found = [one for one in told(line) if one not in told("")]
    assert any(WRONG[line] in one for one in found), found
    first = HEAD.count("\n") + 3
    lines = {int(one.split(":")[1]) for one in found}
    assert lines <= set(range(first, first + 1 + line.count("\n")))


@pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=lambda package: package.name)
def test_the_kernels_of_the_examples_pass(package: Package) -> None:
    assert list(kernel.problems("kernel.pyx", package.files["kernel.pyx"], package.spec.constants)) == []


def test_what_is_no_source_is_told() -> None:
    for data in (b"cdef (", b"\xff\xfe"):
        (problem,) = kernel.problems("kernel.pyx", data, {})
        assert problem.text.startswith("kernel.pyx: it cannot be read")


def test_the_check_reads_it_and_takes_excuses(tmp_path: Path) -> None:
    change = ("kernel.pyx", 'include "rows.pxi"', 'include "rows.pxi"\n\ncdef int calls')
    package = edited_as(tmp_path / "package", "toywalk", change, kernel=True)
    (finding,) = run_check("static_read", package, QUICK).findings
    assert finding.message.startswith("kernel.pyx:5: cdef int calls: a variable of the module")
    excuse = "\nEXCUSES = {'static kernel.pyx: cdef int calls': 'nobody reads it'}\n"
    checks = package.path / "checks.py"
    checks.write_text(checks.read_text() + excuse)
    result = run_check("static_read", Package.read(package.path), QUICK)
    assert (result.outcome, result.notes) == ("passed", ["excused: kernel.pyx: cdef int calls: nobody reads it"])


def test_a_kernel_class_overrides_nothing(tmp_path: Path) -> None:
    change = ("fast.py", "class ToywalkKernel(simulacrum.KernelEnv):\n", METHOD)
    package = edited_as(tmp_path / "package", "toywalk", change, kernel=True)
    (finding,) = run_check("static_read", package, QUICK).findings
    assert "ToywalkKernel.plain_step overrides what KernelEnv does by itself; define environment and shows" in (
        finding.message
    )


METHOD = (
    "class ToywalkKernel(simulacrum.KernelEnv):\n"
    "    def plain_step(self, action, waiting=None):\n"
    "        return super().plain_step(action, waiting)\n\n"
)
