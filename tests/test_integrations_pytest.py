"""``pytest --simulacrum`` beside the plugins of a project's CI: the same outcomes and counts, no warning, coverage."""

from __future__ import annotations

import json
import shutil
import sqlite3
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from fabricated import copy_package

pytest.importorskip("pytest_cov")
pytest.importorskip("pytest_randomly")
pytest.importorskip("xdist")
pytest_plugins = ("pytester",)

SELECTED = "worked_examples or scripted_policies or (good and forms) or (bad and constants) or test_own"
FINDING = ("worked_examples", "scripted_policies", "constants")
FAULT = "torch.where(at_goal, self.float32(GOAL_REWARD), self.float32(STEP_REWARD))"
COVER = ("--cov=good", "--cov=bad", "--cov-branch", "--cov-report=json:coverage.json")
NO_CACHE = ("-p", "no:cacheprovider")
BESIDE = {  # what is beside --simulacrum; xdist alone is in test_pytest_plugin.py
    "cov and randomly": (*COVER, "--randomly-seed=5"),
    "all": ("-n", "2", *COVER, "--randomly-seed=9", *NO_CACHE),
}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose warnings are errors, with a package, one that has a fault, and a test of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(pytester.path / "state"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # two workers with two threads each would wait for one another
    for name in ("PYTEST_ADDOPTS", "COVERAGE_PROCESS_START", "COVERAGE_FILE"):
        monkeypatch.delenv(name, raising=False)
    copy_package(pytester.path / "good", "tests/good-v0")
    fast = copy_package(pytester.path / "bad", "tests/bad-v0") / "fast.py"
    text = fast.read_text()
    assert text.count(FAULT) == 1
    fast.write_text(text.replace(FAULT, FAULT.replace("GOAL_REWARD", "STEP_REWARD")))
    pytester.makepyfile(test_own="import random\n\ndef test_own():\n    assert 0 <= random.random() < 1\n")
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> tuple[dict[str, tuple[Any, ...]], str]:
    """What came of each test (the outcome, what it counted, its notes), and all that was printed."""
    given = ("--simulacrum", "--simulacrum-quick", "--simulacrum-seed", "1", "--junitxml", "junit.xml", "-k", SELECTED)
    result = project.runpytest_subprocess(*given, *arguments)
    result.assert_outcomes(passed=4, failed=3, warnings=0)
    told = {}
    for case in ElementTree.parse(project.path / "junit.xml").iter("testcase"):
        properties = sorted((one.get("name"), one.get("value")) for one in case.iter("property"))
        failures = [one.text for one in case.iter("failure")]
        told[f"{case.get('classname')}::{case.get('name')}"] = (properties, failures)
    assert [file.name for file in project.path.glob("*/failures/*.json")] == ["constants-seed1-1.json"]
    shutil.rmtree(project.path / "bad" / "failures")
    return told, result.stdout.str() + result.stderr.str()


def covered(project: pytest.Pytester) -> dict[str, dict[str, Any]]:
    """The files that coverage.json tells of, with their lines and branches."""
    assert sqlite3.connect(project.path / ".coverage").execute("select count(*) from file").fetchone()[0] >= 8
    return json.loads((project.path / "coverage.json").read_text())["files"]


def test_the_same_comes_of_it_beside_each_of_them(project: pytest.Pytester) -> None:
    alone, _ = run(project, *NO_CACHE, "-p", "no:randomly", "-p", "no:xdist", "-p", "no:pytest_cov")
    assert {name for name, (_, failures) in alone.items() if failures} == {f"bad.spec.md::{one}" for one in FINDING}
    assert any(name == "scripted episodes" for name, _ in alone["good.spec.md::scripted_policies"][0])
    orders = [list(alone)]
    for name, arguments in BESIDE.items():
        beside, printed = run(project, *arguments)
        assert beside == alone, name
        assert "warning" not in printed.lower(), name  # coverage's own go past pytest's summary
        orders.append(list(beside))
        if (project.path / ".pytest_cache").exists():
            (project.path / ".pytest_cache").rename(project.path / f"cache of {name}")
        files = covered(project)
        for folder in ("good", "bad"):
            assert files[f"{folder}/reference.py"]["summary"]["missing_branches"] == 0
            assert files[f"{folder}/fast.py"]["summary"]["missing_lines"] == 0
            assert files[f"{folder}/checks.py"]["summary"]["covered_lines"] > 10
        (project.path / ".coverage").unlink()
        assert not list(project.path.glob("*/validation_report.*"))
    assert orders[1] != orders[0]  # pytest-randomly did mix them
    assert [file.name for file in project.path.glob("cache of *")] == ["cache of cov and randomly"]
