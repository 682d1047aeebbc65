"""Each fault, put into a right vector environment, is found by the check that is about it; a right one passes all."""

import pytest
from compare_worlds import DISABLED, NEXT, SAME, lakes, synchronous, timeless, walk, walks

from simulacrum.compare import compare

FAULTS = {
    "space": ("spaces", NEXT),
    "batched space": ("spaces", NEXT),
    "float64": ("spaces", NEXT),
    "another instance": ("determinism", NEXT),
    "seed ignored": ("seeds", NEXT),
    "rows alike": ("seeds", NEXT),
    "row seeds": ("seeds", NEXT),
    "depends on num_envs": ("batch_independence", NEXT),
    "neighbours": ("batch_independence", SAME),
    "one generator": ("batch_independence", NEXT),
    "mode declared": ("reset_modes", NEXT),
    "mode undeclared": ("reset_modes", SAME),
    "reward of the reset": ("reset_modes", NEXT),
    "mask ignored": ("reset_modes", DISABLED),
    "mask moves others": ("reset_modes", DISABLED),
    "no terminal observation": ("terminal_observations", SAME),
    "terminal replaced": ("terminal_observations", SAME),
    "truncated is terminated": ("flags", NEXT),
    "one flag": ("flags", SAME),
    "limit late": ("flags", NEXT),
    "limit early": ("flags", DISABLED),
    "terminated late": ("flags", NEXT),
    "rule": ("lockstep", NEXT),
    "reward in later rows": ("lockstep", SAME),
    "starts": ("distributions", NEXT),
    "aliased": ("aliasing", NEXT),
    "state returned": ("aliasing", SAME),
    "actions written": ("aliasing", NEXT),
}


def outcomes(comparison):
    return {result.name: result.outcome for result in comparison.results}


@pytest.mark.parametrize("mode", [NEXT, SAME, DISABLED], ids=lambda mode: mode.value)
@pytest.mark.parametrize("made", [walks, synchronous])
def test_a_right_one_passes(made, mode):
    comparison = compare(walk, made(mode), quick=True)
    assert not comparison.findings, "\n".join(finding.text() for finding in comparison.findings)
    assert comparison.passed
    expected = dict.fromkeys(outcomes(comparison), "passed") | {"transition_table": "not_applicable"}
    assert outcomes(comparison) == expected
    counts = {result.name: result.counts for result in comparison.results}
    assert counts["lockstep"]["transitions"] > 1000
    assert counts["lockstep"]["episodes"] > 100
    assert counts["flags"]["ends at the time limit"] > 20


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_by_its_check(fault):
    check, mode = FAULTS[fault]
    comparison = compare(walk, walks(mode, fault), quick=True)
    assert outcomes(comparison)[check] == "failed", outcomes(comparison)
    assert not comparison.passed


def test_a_fault_that_only_another_process_shows(monkeypatch):
    from compare_worlds import Walks  # a class that pickles, and its default fault

    monkeypatch.setattr(Walks.__init__, "__defaults__", (NEXT, "another process", 9))
    comparison = compare(walk, Walks, checks=["determinism"], quick=True)
    (finding,) = comparison.findings
    assert finding.difference.subject == "another process"


def test_a_table_is_held_against_the_candidate():
    comparison = compare("FrozenLake-v1", lakes(), quick=True)
    found = outcomes(comparison)
    assert found["transition_table"] == "passed"
    assert found["terminal_observations"] == "passed"
    assert found["flags"] == "passed"
    assert found["distributions"] == "passed"
    assert found["lockstep"] == "not_applicable"


@pytest.mark.parametrize(("other", "subject"), [({"success_rate": 0.5}, "frequencies"), ({"reward": 2.0}, "reward")])
def test_other_rules_than_the_table(other, subject):
    comparison = compare("FrozenLake-v1", lakes(**other), checks=["transition_table"], quick=True)
    assert [finding.difference.subject for finding in comparison.findings] == [subject]


def test_findings_are_small():
    comparison = compare(walk, walks(NEXT, "rule"), checks=["lockstep"], quick=True)
    (finding,) = comparison.findings
    assert (finding.difference.subject, finding.difference.row) == ("observation", 2)
    assert finding.case.rows == 3
    assert finding.case.steps == finding.difference.step <= 3
    comparison = compare(walk, walks(SAME, "truncated is terminated"), checks=["flags"], quick=True)
    cases = {finding.difference.subject: finding.case for finding in comparison.findings}
    assert {"terminated", "truncated"} <= cases.keys()
    assert (cases["truncated"].rows, cases["truncated"].steps) == (1, 1)


def test_without_a_time_limit_flags_are_those_of_the_references():
    comparison = compare(timeless, walks(NEXT), checks=["flags"], quick=True)
    (result,) = comparison.results
    assert {finding.difference.subject for finding in result.findings} == {"truncated"}
    assert any("no time limit" in note for note in result.notes)
