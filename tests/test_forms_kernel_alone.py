"""A package whose only form is a kernel gets the whole battery on it; and what such a form is asked by seeds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edited import edited_as
from environments import FORAGER, TOYWALK

from simulacrum.harness import findings, playback
from simulacrum.harness.context import Context
from simulacrum.harness.outcomes import TooLarge, outcomes
from simulacrum.harness.profile import QUICK
from simulacrum.harness.pure import PureReference
from simulacrum.harness.records import difference
from simulacrum.harness.report import CheckResult
from simulacrum.harness.runner import run_check
from simulacrum.harness.seeded import SeededFast, seeds_with
from simulacrum.rng import Draw
from simulacrum.spec import Package

PROFILE = replace(QUICK, seed=5, compiled=True, sizes={7: (7, 60), 65: (33, 30)}, transitions=4000)
FAST = '''"""toywalk, the fast side: the loops of kernel.pyx."""

import simulacrum

from . import ENVIRONMENT


class ToywalkKernel(simulacrum.KernelEnv):
    environment = ENVIRONMENT
'''


def kernel_alone(made: Path, *changes: tuple[str, str, str]) -> Package:
    """A copy of toywalk as the folder ``made`` with its kernel alone."""
    package = edited_as(made, "toywalk", *changes, kernel=True)
    (made / "fast.py").write_text(FAST)
    spec = (made / "spec.md").read_text()
    (made / "spec.md").write_text(re.sub(r"\| `forms` \| .* \|", "| `forms` | kernel |", spec))
    return Package.read(package.path)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return kernel_alone(tmp_path_factory.mktemp("alone") / "toywalk")


def checked(name: str, package: Package) -> CheckResult:
    result = run_check(name, package, PROFILE)
    assert (result.outcome, result.findings) == ("passed", [])
    return result


def test_it_has_one_form(package: Package) -> None:
    context = Context("differential", package, PROFILE)
    assert (context.form, context.further_forms, context.compiled) == ("kernel", [], False)
    assert run_check("forms", package, PROFILE).outcome == "not_applicable"


@pytest.mark.parametrize("name", ["spec_contract", "static_read", "standard_api", "differential", "transitions"])
def test_the_checks_pass(package: Package, name: str) -> None:
    checked(name, package)


def test_the_report_covers_the_kernel_alone(package: Package) -> None:
    assert checked("benchmark_factory_parity", package).facts["covers"] == [["kernel", "native", "cpu"]]


def test_worked_examples_run_with_seeds_that_have_their_draws(package: Package) -> None:
    result = checked("worked_examples", package)
    assert result.counts["examples run"] == 2 * (len(package.spec.examples) + len(package.spec.reset_examples))


def test_small_worlds_are_compared_wholly(package: Package) -> None:
    alone, both = checked("small_worlds", package), checked("small_worlds", TOYWALK)
    assert alone.counts == both.counts
    assert alone.facts == both.facts


def test_symmetries_turn_the_reference(package: Package) -> None:
    assert "a kernel draws out of sight, so the reference alone was turned" in checked("symmetries", package).notes


def test_some_constants_are_changed(package: Package) -> None:
    result = checked("constants", package)
    (note,) = result.notes
    assert re.fullmatch(r"changed in the kernel, which is built anew for each: \w+(, \w+){3}", note)


def test_a_fault_is_found_shrunk_and_replayed(tmp_path: Path) -> None:
    change = ("kernel.pyx", "<float>GOAL_REWARD if position == L", "<float>GOAL_REWARD - 1 if position == L")
    package = kernel_alone(tmp_path / "toywalk", change)
    for name in ("worked_examples", "differential", "small_worlds"):
        found = run_check(name, package, PROFILE).findings
        assert found, name
    (finding,) = run_check("differential", package, PROFILE).findings
    assert (finding.field, finding.reference, finding.fast) == ("reward", "10.", "9.")
    assert (finding.steps, finding.rows) == (1, 1)
    assert "kernel.pyx" in finding.hint
    case = findings.read(Path(finding.file)).case
    assert case.kernel
    assert playback.run(package, case) is not None


def test_a_kernel_that_does_not_build_is_told_with_the_compilers_words(tmp_path: Path) -> None:
    package = kernel_alone(tmp_path / "toywalk", ("kernel.pyx", "cdef int i, position", "cdef int i, 1position"))
    (finding,) = run_check("differential", package, PROFILE).findings
    assert "BuildError" in finding.message
    assert "kernel.pyx:" in finding.message
    both = edited_as(
        tmp_path / "both", "toywalk", ("kernel.pyx", "cdef int i, position", "cdef int i, 1position"), kernel=True
    )
    assert run_check("differential", both, PROFILE).outcome == "passed"
    (finding,) = run_check("forms", both, PROFILE).findings
    assert "BuildError" in finding.message
    assert "kernel.pyx:" in finding.message


# ---------------------------------------------------------------------- seeds that have stated draws


@pytest.mark.parametrize("t", [0, 3])
def test_seeds_have_the_draws_that_are_asked_for(t: int) -> None:
    for package in (TOYWALK, FORAGER):
        stated = outcomes(package, "step")
        seeds, found = seeds_with(package, "step", t, stated.draws)
        assert found.all()
        for row, seed in enumerate(seeds.tolist()):
            for slot, values in stated.of(row).items():
                assert [Draw.at(seed, 0, t).bernoulli(slot, package.module().SLIP_P)] == values


def test_a_slot_that_is_left_out_draws_anything() -> None:
    slot = FORAGER.spec.slots["BERRY_X"]
    wanted = np.array([[0, 1, 2, 3, 4, 5], [7, 7, 7, 7, 7, 7]])
    seeds, found = seeds_with(FORAGER, "reset", 0, {slot.number: wanted})
    assert found.any()
    for seed, values in zip(seeds[found].tolist(), wanted[found], strict=True):
        assert Draw.at(seed, 0, 0).randint(slot.number, 8, shape=(6,)).tolist() == values.tolist()


def test_draws_that_no_seed_has_are_not_found() -> None:
    assert seeds_with(TOYWALK, "reset", 0, {0: np.array([[1000], [0]])})[1].tolist() == [False, True]
    assert seeds_with(TOYWALK, "reset", 0, {})[1].all()


def test_a_form_with_seeds_shows_what_stated_draws_give() -> None:
    side = SeededFast(Context("small_worlds", TOYWALK, PROFILE).of("kernel"), TOYWALK)
    stated = outcomes(TOYWALK, "reset")
    assert difference(PureReference(TOYWALK).initial(stated), side.initial(stated)) is None
    missing = stated._replace(draws={slot: values + 1000 for slot, values in stated.draws.items()})
    with pytest.raises(TooLarge, match="outcomes of the reset draws that no seed was found for: 5"):
        SeededFast(Context("small_worlds", TOYWALK, PROFILE).of("kernel"), TOYWALK).initial(missing)
