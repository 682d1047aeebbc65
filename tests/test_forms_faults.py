"""Faults of a kernel: a group of their own, judged by what looks at a kernel beside another form."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from environments import FORAGER, TOYWALK

from simulacrum.errors import PackageError
from simulacrum.harness.case import Case
from simulacrum.harness.case_fits import check_fit
from simulacrum.harness.faults import cases, matrix
from simulacrum.harness.findings import read
from simulacrum.harness.playback import run
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

SAMPLE = {
    "kernel: the last row of a block never ends": "forms",
    "kernel: the time is multiplied by a reciprocal": "forms",
}


@pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=lambda package: package.name)
def test_they_are_a_group_that_is_asked_for(package: Package) -> None:
    kernels = cases.cases(package, ("kernel",))
    assert len(kernels) >= 7
    assert all(case.group == "kernel" and set(case.files) == {"kernel.pyx"} for case in kernels)
    others = cases.cases(package, ("domain", "both"))
    assert not {case.name for case in kernels} & {case.name for case in others}
    assert all("kernel.pyx" not in case.files for case in others)


def test_the_forms_check_finds_them(tmp_path) -> None:
    chosen = [case for case in cases.cases(TOYWALK, ("kernel",)) if case.name in SAMPLE]
    results = matrix.run(TOYWALK, chosen, QUICK, workers=1, names=("forms", "differential"))
    assert {result.name: result.found_by[0] for result in results} == SAMPLE


def test_a_misreading_of_both_sides_is_judged_without_the_kernel(tmp_path) -> None:
    case = cases.Case("both: nothing", "both", "both sides", {"render.py": TOYWALK.files["render.py"]})
    package = cases.put(TOYWALK, case, tmp_path)
    assert (list(package.forms), package.spec.forms) == (["tensor"], ("tensor",))
    assert "kernel.pyx" not in package.files
    own = cases.Case("nothing", "domain", "rules", {})
    assert list(cases.put(TOYWALK, own, tmp_path / "own").forms) == ["tensor", "kernel"]


def test_without_a_kernel_nothing_is_dropped() -> None:
    alone = Package(TOYWALK.path, cases.without_kernel(TOYWALK.files))
    assert list(alone.forms) == ["tensor"]
    assert cases.without_kernel(alone.files) == alone.files
    assert cases.cases(alone, ("domain",), compiled=False)


def test_a_case_of_a_kernel_belongs_to_a_package_with_one() -> None:
    case = Case(seeds=np.zeros(1, np.uint64), options={"kernel": True})
    check_fit(TOYWALK, case)
    assert Case.from_json(case.as_json()).kernel
    alone = Package(TOYWALK.path, cases.without_kernel(TOYWALK.files))
    with pytest.raises(
        PackageError, match=r"case\.options, kernel: expected a package with a kernel form, this one has none"
    ):
        check_fit(alone, case)
    content = case.as_json()
    content["options"] = {"kernel": 1}
    with pytest.raises(ValueError, match="kernel: expected a bool"):
        Case.from_json(content)


def test_a_fault_of_the_tensor_form_is_replayed_on_the_tensor_form(tmp_path) -> None:
    leave = shutil.ignore_patterns("failures", "validation_report*")
    folder = Path(shutil.copytree(TOYWALK.path, tmp_path / "package", ignore=leave))
    source = (folder / "fast.py").read_text()
    assert "GOAL_REWARD)" in source
    (folder / "fast.py").write_text(source.replace("GOAL_REWARD)", "GOAL_REWARD - 1)"))
    package = Package.read(folder)
    (finding,) = run_check("forms", package, QUICK.seeded(3)).findings
    assert finding.message.startswith("the kernel form (below: fast) differs from the tensor form (below: reference)")
    assert finding.hint.startswith("the kernel agrees with the reference here, fast.py does not")
    case = read(Path(finding.file)).case
    assert not case.kernel
    assert run(package, case).field == "reward"
