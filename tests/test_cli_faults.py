"""``simulacrum faults``: what is picked, the table, the summary, the page, the exit code."""

import shutil
from pathlib import Path

import pytest

from simulacrum.cli import main
from simulacrum.harness.faults import matrix
from simulacrum.harness.faults.matrix import Result
from simulacrum.harness.faults.summary import Summary

TOYWALK = Path(__file__).resolve().parents[1] / "envs" / "toywalk"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of the test's own, and no terminal."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "toywalk"
    shutil.copytree(TOYWALK, folder, ignore=shutil.ignore_patterns("failures", "validation_report.*", "faults.py"))
    return folder


@pytest.fixture
def calls(monkeypatch):
    """In the place of the runs: every fault is found, but those with a text of ``missed`` in their name."""
    made = []

    def run(package, chosen, profile, **options):
        made.append((chosen, profile, options))
        for number, case in enumerate(chosen):
            missed = any(text in case.name for text in run.missed)
            found = [] if missed else ["differential"] if number % 2 else ["replay", "determinism"]
            yield Result(case.name, case.group, case.kind, sorted(case.files), found, number % 3, 100, 0.5, "different")

    run.missed = ()
    monkeypatch.setattr(matrix, "run", run)
    made.append(run)
    return made


def test_all_faults_are_put_in_and_told(package, calls, capsys):
    assert main(["faults", str(package), "--quick"]) == 0
    chosen, profile, options = calls[-1]
    assert {case.group for case in chosen} == {"domain", "generic", "both"}
    assert (profile.name, options["every"], options["workers"]) == ("quick", False, 2)
    text = capsys.readouterr().out
    assert f"{len(chosen)} faults put into copies of simulacrum/toywalk-v0" in text
    assert "numbers: the observation has -0.0 for 0.0" in text
    assert "median length of a finding: 1 steps" in text
    assert "first   alone" not in text


@pytest.mark.parametrize(("kind", "groups"), [("domain", {"domain"}), ("generic", {"generic"}), ("both", {"both"})])
def test_one_kind_is_picked(package, calls, kind, groups):
    main(["faults", str(package), "--kind", kind, "--all-checks"])
    chosen, profile, options = calls[-1]
    assert {case.group for case in chosen} == groups
    assert (profile.name, options["every"]) == ("default", True)


def test_an_expression_and_a_sample_pick(package, calls):
    main(["faults", str(package), "--quick", "-k", "observation and not vector", "--kind", "domain"])
    names = [case.name for case in calls[-1][0]]
    assert names
    assert all("observation" in name and "vector" not in name for name in names)
    picked = []
    for seed in ("1", "1", "2"):
        main(["faults", str(package), "--quick", "--sample", "5", "--seed", seed])
        picked.append([case.name for case in calls[-1][0]])
    assert picked[0] == picked[1] != picked[2]
    assert len(picked[0]) == 5


@pytest.mark.parametrize("expression", ["nothing_like_it", "and and", "1", "(" * 5000])
def test_an_expression_that_picks_nothing_or_cannot_be_read(package, calls, expression, capsys):
    assert main(["faults", str(package), "-k", expression]) == 2
    assert "-k" in capsys.readouterr().err


def test_a_domain_fault_that_is_not_found_fails(package, calls, capsys):
    calls[0].missed = ("-0.0 for 0.0",)
    assert main(["faults", str(package), "--quick"]) == 1
    text = capsys.readouterr().out
    assert "NOT FOUND" in text
    assert "not found (domain): the observation has -0.0 for 0.0" in text


def test_a_generic_survivor_needs_a_reason(package, calls, capsys):
    survivor = "fast.py transition: `position == L` -> `position != L` #1"
    calls[0].missed = (survivor,)
    assert main(["faults", str(package), "--quick"]) == 1
    reasons = {survivor: "because", "no such mutant": "x", "fast.py observation: no": "y"}
    (package / "faults.py").write_text(f"FAULTS = []\nEQUIVALENT = {reasons!r}\n")
    capsys.readouterr()
    page = package.parent / "faults.md"
    assert main(["faults", str(package), "--quick", "--all-checks", "--markdown", str(page)]) == 0
    text = capsys.readouterr().out
    assert f"not found (generic): {survivor}: because" in text
    assert "EQUIVALENT names a mutant that there is not: no such mutant" in text
    assert "first   alone" in text
    written = page.read_text()
    assert written.startswith("# Faults on purpose\n\nA battery is worth what it finds.")
    made = f"Made by `simulacrum faults {package} --all-checks --quick --markdown {page}`: quick profile, seed 0."
    assert made in written
    assert f"- generic: {survivor}: because" in written
    assert "| the observation has -0.0 for 0.0 | numbers |" in written


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("FAULTS = None", "FAULTS: expected a list of simulacrum.Fault, got None"),
        ("FAULTS = [1]", "FAULTS[0]: expected a simulacrum.Fault"),
        ("FAULTS = [Fault('', 'rules', {})]", "FAULTS[0]: expected a simulacrum.Fault with a name"),
        ("FAULTS = [Fault('one', 'rules', None)]", "fault 'one': expected changes by file name"),
        (
            "FAULTS = [Fault('one', 'rules', {'fast.py': ['xy', 'abc']})]",
            "expected pairs (old, new) of texts for fast.py",
        ),
        ("FAULTS = [Fault('one', 'rules', {'fast.py': [('a', 1)]})]", "expected pairs (old, new) of texts for fast.py"),
        ("FAULTS = [Fault('one', 'rules', {'fast.py': None})]", "expected pairs (old, new) of texts for fast.py"),
        ("FAULTS = [Fault('one', 'rules', {'../new.py': [('', 'x')]})]", "expected a file of the package"),
        ("FAULTS = [Fault('one', 'rules', {'/tmp/new.py': [('', 'x')]})]", "expected a file of the package"),
        ("EQUIVALENT = ['a mutant']", "EQUIVALENT: expected a dict of reasons"),
        ("EQUIVALENT = {'a mutant': ''}", "EQUIVALENT: expected a dict of reasons"),
        ("EQUIVALENT = {1: 'why'}", "EQUIVALENT: expected a dict of reasons"),
    ],
)
def test_what_is_declared_wrongly_is_told_before_anything_runs(package, calls, content, message, capsys):
    (package / "faults.py").write_text(f"from simulacrum import Fault\n{content}\n")
    assert main(["faults", str(package), "--kind", "domain", "--quick"]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told
    assert len(calls) == 1  # nothing ran


def test_of_several_packages_all_are_read_before_the_first_runs(package, calls, capsys):
    other = package.parent / "other"
    shutil.copytree(package, other)
    (other / "faults.py").write_text("EQUIVALENT = []\n")
    assert main(["faults", str(package), str(other), "--kind", "domain", "--quick"]) == 2
    assert str(other / "faults.py") in capsys.readouterr().err
    assert len(calls) == 1


def test_the_summary_counts():
    def result(name, group, found, steps=None, alike=True):
        return Result(name, group, "rules", [], found, steps, alike=alike)

    told = Summary(
        "an id",
        [
            result("one", "domain", ["a"], 1),
            result("two", "domain", ["b", "a"], 4),
            result("three", "generic", []),
            result("four", "generic", ["a"], 2),
            result("five", "both", ["b"]),
            result("six", "both", [], alike=False),
        ],
        {"three": "a reason", "four": "a wrong one"},
    )
    assert told.shares() == [
        ("domain", 2, 2, 0), ("  rules", 2, 2, 0), ("generic", 2, 1, 1), ("both", 2, 1, 1)
    ]  # fmt: skip
    assert told.finders() == [("a", 3, 2, 2), ("b", 2, 2, 1)]
    assert told.median_steps() == 2
    assert told.passed
    assert told.remarks() == [
        "EQUIVALENT names a mutant that a finds: four",
        "the two sides differ or do not run, so this is no misreading of both: six",
    ]
