import contextlib
import importlib.util
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import simulacrum
from simulacrum.cli import main
from simulacrum.cli.new import camel
from simulacrum.harness import checks
from simulacrum.spec import Package
from simulacrum.spec.package import REQUIRED

TEMPLATE = Path(simulacrum.__file__).parent / "templates" / "package"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def test_a_new_package_is_complete_and_has_its_name(tmp_path, capsys):
    assert main(["new", "berry_field"]) == 0
    told = capsys.readouterr().out
    assert "simulacrum validate berry_field\n" in told
    made = tmp_path / "berry_field"
    assert sorted(file.name for file in made.iterdir()) == sorted(REQUIRED)
    for file in made.iterdir():
        assert "newenv" not in file.read_text().lower()
    package = Package.read(made)
    assert package.environment.id == "simulacrum/berry_field-v0" == package.spec.id
    assert (package.reference.__name__, package.fast.__name__) == ("BerryFieldReference", "BerryFieldFast")
    assert len(package.spec.examples) >= 8


def test_a_new_package_passes_the_quick_battery_as_it_stands(capsys):
    assert main(["new", "mynewenv", "--directory", "."]) == 0
    assert main(["validate", "mynewenv", "--quick"]) == 0, capsys.readouterr().out
    told = capsys.readouterr().out
    assert "simulacrum/mynewenv-v0: passed" in told
    not_its_own = {"adoption", "symmetries", "forms"}  # of which it has none
    assert set(re.findall(r"^passed +(\w+) ", told, re.M)) == set(checks.NAMES) - not_its_own


def test_elsewhere(tmp_path, capsys):
    (tmp_path / "some where").mkdir()
    assert main(["new", "ladder", "--directory", "some where"]) == 0
    assert "simulacrum validate 'some where/ladder'\n" in capsys.readouterr().out
    assert (tmp_path / "some where" / "ladder" / "spec.md").is_file()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Ladder", "expected lower-case letters"),
        ("my-env", "expected lower-case letters"),
        ("1env", "expected lower-case letters"),
        ("_env", "expected lower-case letters"),
        ("a/b", "expected lower-case letters"),
        ("", "expected lower-case letters"),
        ("leiter\n", "expected lower-case letters"),
        ("class", "a keyword of Python"),
        ("simulacrum", "would hide the module simulacrum"),
        ("json", "would hide the module json"),
    ],
)
def test_names_that_cannot_be(name, message, tmp_path, capsys):
    assert main(["new", name]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""
    assert not list(tmp_path.glob("**/spec.md"))


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "ladder").mkdir()
    assert main(["new", "ladder"]) == 2
    assert "ladder is there already" in capsys.readouterr().err
    assert not list((tmp_path / "ladder").iterdir())
    assert main(["new", "ladder", "--directory", "nowhere"]) == 2
    assert "there is no folder nowhere" in capsys.readouterr().err


def test_camel():
    assert [camel(name) for name in ("ladder", "my_env", "a__b2_")] == ["Ladder", "MyEnv", "AB2"]


def test_the_spec_derives_its_figures():
    package = Package.read(TEMPLATE)
    (program,) = re.findall(r"^```python\n(.*?)^```", package.files["spec.md"].decode(), re.M | re.S)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(program, {})
    stated = [(one.name, (one.expected_return, one.standard_deviation)) for one in package.spec.policies.values()]
    assert told.getvalue() == "".join(f"{name} {figures}\n" for name, figures in stated)


def test_the_wheel_has_the_template(tmp_path):
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("no hatchling: the wheel cannot be built here")
    root = TEMPLATE.parents[2]
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=100)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"simulacrum/templates/package/{file}" for file in REQUIRED} <= set(names)
    assert not [name for name in names if name.startswith("envs/")]
