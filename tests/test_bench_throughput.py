"""The battery's ``throughput`` check: the report's figures come from the code of ``simulacrum bench``."""

import copy
from pathlib import Path

import pytest
import torch

from simulacrum.bench.measure import Side, Timing
from simulacrum.harness.checks import throughput
from simulacrum.harness.context import Context
from simulacrum.harness.profile import DEFAULT, QUICK
from simulacrum.spec import Package

ROOT = Path(__file__).resolve().parents[1]
RATES = {"reference": 1e5, "eager": 4e6, "compiled": 6e6, "kernel": 2e8}
BRIEFLY = {"eager": 1e3, "kernel": 1e4}  # at the other sizes


@pytest.fixture
def measured(monkeypatch):
    """Puts rates in the place of what is timed; the names that were timed are kept."""
    asked = []

    def by_turns(runners, seconds, rounds, progress=None):
        if "reference" not in runners:  # roughly, at another size
            assert rounds < throughput.ROUNDS
            return {name: Timing(side.rows, 1, [side.rows / BRIEFLY[name]] * rounds) for name, side in runners.items()}
        asked.extend(runners)
        assert {name: side.rows for name, side in runners.items() if name != "reference"} == dict.fromkeys(
            list(runners)[1:], throughput.ROWS
        )
        return {name: Timing(1, 1, [1 / RATES[name]] * rounds) for name in runners}

    monkeypatch.setattr(throughput, "by_turns", by_turns)
    monkeypatch.setattr("simulacrum.harness.context.compilation_possible", lambda: True)
    monkeypatch.setattr("simulacrum.harness.context.kernels_possible", lambda: True)
    return asked


def context(folder, profile=QUICK):
    return Context("throughput", Package.read(ROOT / folder), profile)


def without_kernel(profile=QUICK):
    """The check of a package that has the tensor form alone."""
    package = copy.copy(Package.read(ROOT / "tests/packages/gates"))
    package.forms = {"tensor": package.forms["tensor"]}
    return Context("throughput", package, profile)


def test_its_facts_are_the_medians_and_the_ratio_of_the_fastest(measured):
    checked = without_kernel(DEFAULT)
    throughput.check(checked)
    assert measured == ["reference", "eager", "compiled"]
    assert checked.facts == {
        "reference steps per second": 100_000,
        "eager steps per second": 4_000_000,
        "compiled steps per second": 6_000_000,
        "ratio": 60.0,
        "fastest form": "compiled",
        "batch size": throughput.ROWS,
        "threads": torch.get_num_threads(),
        "by batch size": {
            "eager": {"1": 1000, "16": 1000, "256": 1000, "4096": 4_000_000, "65536": 1000},
            "compiled": {"4096": 6_000_000},
        },
    }
    assert not checked.findings


def test_compiled_graphs_are_left_out_where_the_profile_does(measured):
    throughput.check(without_kernel())
    assert measured == ["reference", "eager"]


def test_a_kernel_is_measured_too(measured, monkeypatch):
    checked = context("envs/toywalk")
    monkeypatch.setattr(throughput, "_form", lambda context, form, seed, rows: Side(print, rows))
    throughput.check(checked)
    assert measured == ["reference", "eager", "kernel"]
    assert checked.facts["fastest form"] == "kernel"
    assert checked.facts["kernel steps per second"] == 200_000_000
    assert checked.facts["by batch size"]["kernel"]["16"] == 10_000


def test_other_sizes_are_those_whose_states_fit(measured, monkeypatch):
    monkeypatch.setattr(throughput, "rows_that_fit", lambda package, most: min(most, throughput.ROWS))
    checked = without_kernel(DEFAULT)
    throughput.check(checked)
    assert list(checked.facts["by batch size"]["eager"]) == ["1", "16", "256", "4096"]


def test_a_kernel_that_cannot_be_built_is_left_out(measured, monkeypatch):
    monkeypatch.setattr("simulacrum.harness.context.kernels_possible", lambda: False)
    throughput.check(context("envs/toywalk"))
    assert measured == ["reference", "eager"]


def test_too_small_a_ratio_is_a_finding(measured, monkeypatch):
    checked = without_kernel()
    monkeypatch.setattr(checked.package.checks, "MIN_SPEEDUP", 41.0, raising=False)
    throughput.check(checked)
    (finding,) = checked.findings
    assert "the fast side (eager, N = 4096) makes 40.0 times the reference's steps per second" in finding.message
    assert "MIN_SPEEDUP is 41.0 (4,000,000 against 100,000)" in finding.message
