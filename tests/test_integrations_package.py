"""A distribution of someone else, from ``simulacrum new`` to ``pip uninstall``; the programs are those of the page."""

import re
import zipfile
from pathlib import Path

import distribution as other
import pytest
from fabricated import validated

from simulacrum.cli import main
from simulacrum.harness import places, require_fresh_report
from simulacrum.spec import Package
from simulacrum.spec.package import REQUIRED

PAGE = Path(__file__).resolve().parent.parent / "docs" / "packages.md"
GONE = f"""
import gymnasium, simulacrum
assert "{other.ID}" not in gymnasium.registry
try:
    gymnasium.make("{other.ID}")
except gymnasium.error.Error as error:
    print(error)
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    return tmp_path / "state"


def programs():
    """The Python programs of the page."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def test_it_is_installed_found_validated_made_collected_and_gone(tmp_path):
    python = other.environment(tmp_path / "venv")

    def simulacrum(*arguments):
        return other.run(python, "-m", "simulacrum", *arguments).stdout

    simulacrum("new", *other.ARGUMENTS, "--directory", str(tmp_path))  # by the templates that the wheel holds
    wheel = other.wheel(tmp_path / other.NAME, tmp_path / "dist")
    other.pip(python, "install", "--no-index", str(wheel))
    found = simulacrum("list")
    assert re.findall(r"^\S+", found, re.M) == [other.ID]  # and no environment of this checkout
    assert re.search(r"source +entry point\n +state +no report", found)
    use, collect = programs()
    refused = other.run(python, "-c", use, code=1).stderr
    assert "no report: the environment lighthouse" in refused
    assert "run: simulacrum validate" in refused

    assert f"{other.ID}: passed (default profile" in simulacrum("validate", other.ID)
    assert "fresh: tensor eager cpu" in simulacrum("list")
    assert other.run(python, "-c", use).stdout.splitlines() == [
        f"LighthouseReference {other.ID}",
        "(64, 2) float32",
        "torch.Size([4096, 10, 1])",
    ]
    program = tmp_path / "collect.py"
    program.write_text(collect)
    assert "3200 frames of two workers are those of one process" in other.run(python, str(program)).stdout

    other.pip(python, "uninstall", "--yes", other.NAME)
    assert "No environment is known." in simulacrum("list")
    assert "acme" in other.run(python, "-c", GONE).stdout
    (left,) = python.parent.parent.glob("lib/*/site-packages/acme_envs/lighthouse")
    names = [file.name for file in left.iterdir()]
    assert not [name for name in names if not name.startswith(("validation_report.", "corpus", "failures"))]
    other.pip(python, "install", "--no-index", "--no-deps", str(wheel))  # the same bytes: the report still stands
    assert "fresh: tensor eager cpu" in simulacrum("list")


def test_a_wheel_has_the_package_and_no_report(tmp_path):
    distribution = other.made(tmp_path)
    package = distribution / "src" / "acme_envs" / "lighthouse"
    (package / "corpus").mkdir()
    for name in ("validation_report.json", "validation_report.sig", "corpus/transitions.jsonl"):
        (package / name).write_text("{}\n")
    with zipfile.ZipFile(other.wheel(distribution, tmp_path / "dist")) as wheel:
        names = {name for name in wheel.namelist() if not name.startswith("acme_envs-0.1.0.dist-info/")}
    inside = {f"acme_envs/lighthouse/{name}" for name in (*REQUIRED, "corpus/transitions.jsonl")}
    assert names == {"acme_envs/__init__.py"} | inside


def test_a_package_in_read_only_site_packages_has_its_report_in_the_state_folder(tmp_path, state, monkeypatch):
    wheel = other.wheel(other.made(tmp_path), tmp_path / "dist")
    site = tmp_path / "site-packages"
    with zipfile.ZipFile(wheel) as content:
        content.extractall(site)
    monkeypatch.syspath_prepend(str(site))
    package = site / "acme_envs" / "lighthouse"
    before = sorted(package.rglob("*"))
    monkeypatch.setattr(places.os, "access", lambda path, mode: False)  # the tests may be root's, whom nothing stops
    validated(package)
    assert sorted(package.rglob("*")) == before
    assert [file.parent.parent for file in state.rglob("validation_report.json")] == [state / "simulacrum" / "packages"]
    assert require_fresh_report(other.ID)


def test_a_distribution_names_itself_and_needs_this_version(tmp_path, capsys):
    distribution = other.made(tmp_path)
    assert f"pip install -e {distribution}\n" in capsys.readouterr().out
    for file in distribution.rglob("*"):
        assert file.is_dir() or not re.search("newenv|newdist|newpkg|newspace|0[.]0[.]0", file.read_text(), re.I), file
    package = Package.read(distribution / "src" / "acme_envs" / "lighthouse")
    assert package.environment.id == package.spec.id == other.ID
    assert {file.name for file in tmp_path.iterdir()} == {other.NAME}  # nothing half made is left


def test_a_second_environment_of_the_same_distribution(tmp_path, capsys):
    inside = other.made(tmp_path) / "src" / "acme_envs"
    assert main(["new", "harbour", "--directory", str(inside), "--namespace", "acme"]) == 0
    assert Package.read(inside / "harbour").environment.id == "acme/harbour-v0"
    assert main(["new", "pier", "--directory", str(tmp_path), "--distribution", "pier.envs"]) == 2
    assert main(["new", "pier", "--directory", str(tmp_path), "--distribution", "Pier-Envs"]) == 0
    made = tmp_path / "Pier-Envs" / "src" / "pier_envs" / "pier"
    assert Package.read(made).environment.id == "Pier-Envs/pier-v0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--distribution", "acme-envs"], "acme-envs is there already; choose another name"),
        (["--distribution", "-envs"], "expected a name for pip"),
        (["--distribution", "../envs"], "expected a name for pip"),
        (["--distribution", "json"], "would hide the module json"),
        (["--distribution", "class"], "class is a keyword of Python; choose another name"),
        (["--namespace", "a/b"], "--namespace: expected letters, digits, - and _"),
        (["--namespace", "a b"], "--namespace: expected letters, digits, - and _"),
    ],
)
def test_what_cannot_be(options, message, tmp_path, capsys):
    (tmp_path / "acme-envs").mkdir()
    options = [f"{options[0]}={options[1]}"]  # as one word, for a value may begin with a dash
    assert main(["new", "lighthouse", "--directory", str(tmp_path), *options]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""
    assert [file.name for file in tmp_path.iterdir()] == ["acme-envs"]
