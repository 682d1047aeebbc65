"""What makes imports slow is not there: structure instead of a stopwatch (tests/jobs/import_time.py has one)."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "torchrl", "tensordict", "jsonschema", "markdown_it", "rich", "Cython", "importlib.metadata")


def loaded_by(code):
    """The modules in a fresh process after a program."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def with_simulacrum():
    return loaded_by("import simulacrum")


@pytest.fixture(scope="module")
def with_gymnasium():
    return loaded_by("import gymnasium")


def test_importing_simulacrum_imports_nothing_heavy(with_simulacrum, with_gymnasium):
    assert sorted({name for name in HEAVY if name in with_simulacrum} - with_gymnasium) == []


def test_importing_simulacrum_imports_few_of_its_own_modules(with_simulacrum):
    assert {name for name in with_simulacrum if name.startswith("simulacrum")} == {
        "simulacrum",
        "simulacrum.errors",
        "simulacrum.registry",
        "simulacrum.harness",
        "simulacrum.harness.discovery",
        "simulacrum.harness.places",
    }


def test_importing_simulacrum_imports_little_that_gymnasium_does_not(with_simulacrum, with_gymnasium):
    others = {name for name in with_simulacrum - with_gymnasium if not name.startswith("simulacrum")}
    assert len(others) <= 10, sorted(others)  # pathlib and what it brings


@pytest.mark.parametrize(
    "statement",
    [
        "from simulacrum import Environment, ReferenceEnv, ScriptedPolicy, make_fast",
        "import simulacrum.spec",
        "from simulacrum.harness import Report, require_fresh_report",
        "import simulacrum.registry",
    ],
)
def test_what_needs_no_torch_imports_none(statement):
    assert {"torch", "torchrl", "tensordict", "markdown_it", "jsonschema", "rich"} & loaded_by(statement) == set()
