import re
import xml.etree.ElementTree as ElementTree

import pytest
from fabricated import copy_package

from simulacrum.harness.checks import NAMES

pytest_plugins = ("pytester",)


@pytest.fixture
def folder(pytester, monkeypatch):
    """A package ``good`` in a folder that pytest runs in, and a state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(pytester.path / "state"))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly")  # the order of the checks is looked at
    return copy_package(pytester.path / "good", "tests/good-v0")


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("--no-header", *arguments)


def test_without_the_flag_nothing_is_collected_and_torch_is_not_imported(pytester, folder):
    heavy = ("torch", "torchrl", "tensordict", "rich", "jsonschema", "Cython")
    pytester.makepyfile(
        f"""
        import sys

        def test_unrelated(request):
            assert request.config.pluginmanager.has_plugin("simulacrum")
            assert [name for name in {heavy} if name in sys.modules] == []
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("simulacrum: *")


def test_the_checks_are_tests_and_torch_is_not_needed_to_collect_them(pytester, folder):
    pytester.makeconftest(
        """
        import sys

        def pytest_collection_finish(session):
            assert "torch" not in sys.modules
        """
    )
    result = pytester.runpytest_subprocess("--simulacrum", "--simulacrum-quick", "--collect-only", "-q", "good")
    names = [line for line in result.outlines if "::" in line]
    assert names[0] == "good/spec.md::spec_contract"
    assert "good/spec.md::differential" in names
    assert len(names) == len(NAMES)
    assert result.ret == 0


def test_passes_findings_workers_and_junit(pytester, folder):
    other = copy_package(pytester.path / "other", "tests/other-v0")
    edit(other / "checks.py", "POLICIES = [", "POLICIES = []\nNONE = [")
    pytester.makepyfile(test_plain="def test_plain():\n    pass\n")
    pytester.makeini("[pytest]\nfilterwarnings = error\n")  # the battery's own warnings are not the project's business
    result = pytester.runpytest_subprocess(
        "--simulacrum",
        "--simulacrum-quick",
        "-n",
        "2",
        "-rP",
        "--junitxml",
        "junit.xml",
        "-k",
        "spec_contract or scripted_policies or plain",
    )
    result.assert_outcomes(passed=4, failed=1)
    told = result.stdout.str()
    header = r"^simulacrum: quick profile, --simulacrum-seed (\d+); pytest writes no report, simulacrum validate does$"
    (seed,) = re.findall(header, told, re.M)
    assert "policies: spec.md says ['always_left', 'always_right'], checks.py has []" in told
    assert "Traceback" not in told
    assert "pytest_plugin.py" not in told
    reason = "the package has no scripted policies"
    result.stdout.fnmatch_lines(["*Captured simulacrum call*", "not_applicable: *", reason])
    assert not list(pytester.path.glob("*/validation_report.*"))

    junit = ElementTree.parse("junit.xml")
    cases = {(case.get("classname"), case.get("name")): case for case in junit.iter("testcase")}
    properties = {
        key: {one.get("name"): one.get("value") for one in case.iter("property")} for key, case in cases.items()
    }
    assert [found["seed"] for found in properties.values() if found] == [seed] * 4
    assert properties["other.spec.md", "scripted_policies"]["outcome"] == "not_applicable"
    assert properties["other.spec.md", "scripted_policies"]["note"] == reason
    assert int(properties["good.spec.md", "scripted_policies"]["scripted episodes"]) > 1000
    failure = cases["other.spec.md", "spec_contract"].find("failure")
    assert failure.get("message").startswith("spec_contract: policies: spec.md says")
    assert f"simulacrum validate {other} -k spec_contract --seed {seed} --quick" in failure.text


def test_a_broken_package_is_a_collection_error_in_one_message(pytester, folder):
    (folder / "render.py").unlink()
    other = copy_package(pytester.path / "other", "tests/other-v0")
    edit(other / "spec.md", "| reward | dtype |", "| constant | dtype |")
    result = run(pytester, "--simulacrum")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*good is no environment package: it lacks render.py*", "*a second table 'constant'*"])
    assert "Traceback" not in result.stdout.str()


def test_a_seed_out_of_range(pytester, folder):
    result = run(pytester, "--simulacrum", "--simulacrum-seed", "4294967296")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected a whole number in 0..4294967295, got '4294967296'*"])
