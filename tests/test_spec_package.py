"""Environment packages: what is read is what is hashed, and what is hashed is what is imported."""

import copyreg
import importlib
import inspect
import pickle
import pkgutil
import re
import shutil
import sys
from dataclasses import is_dataclass

import cloudpickle
import pytest
from environments import ENVS, TOYWALK, CountdownFast

from simulacrum import Environment, FastEnv, ReferenceEnv
from simulacrum.errors import PackageError, SpecError
from simulacrum.spec import Package
from simulacrum.spec.package import REQUIRED, load_class, package_of, sibling


@pytest.fixture
def folder(tmp_path):
    """A copy of toywalk."""
    ignored = shutil.ignore_patterns("__pycache__", "validation_report.*", "failures")
    return shutil.copytree(ENVS / "toywalk", tmp_path / "walk", ignore=ignored)


def edit(folder, name, old, new):
    """Change a file of a package."""
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


# ---------------------------------------------------------------------- what is read


def test_a_package_is_read_whole(folder):
    (folder / "data").mkdir()
    (folder / "data" / "table.csv").write_text("1,2\n")
    package = Package.read(str(folder))
    assert package.path == folder.resolve()
    assert package.name == "walk"
    assert set(package.files) >= {*REQUIRED, "data/table.csv"}
    assert all((folder / name).read_bytes() == data for name, data in package.files.items())


@pytest.mark.parametrize(
    "name",
    [
        "validation_report.json",
        "validation_report.json.signature",
        "__pycache__/fast.cpython-311.pyc",
        "deep/__pycache__/x.pyc",
        "corpus/one.json",
        "failures/one.json",
        "trajectories/one.json",
        ".hidden",
        ".git/index",
        ".git/objects/ab/cd",
        ".pytest_cache/v/cache",
        "deep/.ruff_cache/x",
    ],
)
def test_what_is_no_part_of_a_package_is_not_read(folder, name):
    before = Package.read(folder).digest
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x")
    assert name not in Package.read(folder).files
    assert Package.read(folder).digest == before


@pytest.mark.parametrize("name", ["kernel.pyx", "data/table.csv", "helpers/__init__.py", "validation.json"])
def test_every_other_file_counts(folder, name):
    before = Package.read(folder).digest
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x")
    one = Package.read(folder).digest
    (folder / name).write_text("y")
    assert len({before, one, Package.read(folder).digest}) == 3


def test_a_digest_tells_names_from_contents(folder):
    (folder / "a").write_text("bc")
    one = Package.read(folder).digest
    (folder / "a").rename(folder / "ab")
    (folder / "ab").write_text("c")
    assert Package.read(folder).digest != one


def test_the_same_bytes_are_the_same_package(folder):
    assert Package.read(folder) is Package.read(str(folder) + "/../walk")
    elsewhere = Package.read(shutil.copytree(folder, folder.parent / "other"))
    assert elsewhere.digest == Package.read(folder).digest
    assert elsewhere.module_name != Package.read(folder).module_name


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(PackageError, match=rf"is no environment package: it lacks {re.escape(name)} \(begin one with"):
        Package.read(folder)


def test_all_missing_files_are_named(tmp_path):
    with pytest.raises(PackageError, match="it lacks " + ", ".join(map(re.escape, REQUIRED))):
        Package.read(tmp_path)


@pytest.mark.parametrize("name", ["nowhere", "walk/fast.py"])
def test_what_is_no_folder_is_refused(folder, name):
    with pytest.raises(PackageError, match=r"no environment package at .*: it is no folder"):
        Package.read(folder.parent / name)


def test_a_link_to_a_folder_is_refused(folder):
    (folder.parent / "elsewhere").mkdir()
    (folder / "data").symlink_to(folder.parent / "elsewhere")
    with pytest.raises(PackageError, match="data is a link to a folder: put the files themselves into the package"):
        Package.read(folder)


def test_a_link_to_a_file_is_that_file(folder):
    (folder.parent / "table.csv").write_text("1,2\n")
    (folder / "table.csv").symlink_to(folder.parent / "table.csv")
    assert Package.read(folder).files["table.csv"] == b"1,2\n"


# ---------------------------------------------------------------------- what is imported


def test_a_package_gives_its_parts():
    assert issubclass(TOYWALK.reference, ReferenceEnv)
    assert issubclass(TOYWALK.fast, FastEnv)
    assert isinstance(TOYWALK.environment, Environment)
    assert TOYWALK.checks.INVARIANTS
    assert TOYWALK.spec.id == TOYWALK.environment.id
    assert TOYWALK.module("render").render_text
    assert TOYWALK.module().L == 5
    assert TOYWALK.reference.environment is TOYWALK.fast.environment is TOYWALK.environment


def test_a_file_that_changes_after_it_was_read_changes_nothing(folder):
    package = Package.read(folder)
    edit(folder, "__init__.py", "L = 5", "L = 7")
    edit(folder, "fast.py", "class ToywalkFast", "class Other")
    assert package.module().L == 5
    assert package.fast.__name__ == "ToywalkFast"
    shutil.rmtree(folder)
    assert package.reference().reset(seed=0)
    assert package.spec.constants["L"] == 5


def test_a_file_that_comes_after_it_was_read_is_not_imported(folder):
    package = Package.read(folder)
    package.module()
    (folder / "late.py").write_text("")
    with pytest.raises(PackageError, match=r"late is not among the files of the package .* that were read and hashed"):
        package.module("late")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package.module_name}.late")


def test_data_comes_from_the_bytes_that_were_read(folder):
    (folder / "table.csv").write_text("1,2\n")
    package = Package.read(folder)
    package.module()
    (folder / "table.csv").write_text("3,4\n")
    (folder / "late.csv").write_text("5,6\n")
    assert pkgutil.get_data(package.module_name, "table.csv") == b"1,2\n"
    with pytest.raises(FileNotFoundError, match=r"late\.csv is not among the files"):
        pkgutil.get_data(package.module_name, "late.csv")


def test_two_versions_live_side_by_side(folder):
    one = Package.read(folder)
    assert one.module().L == 5
    edit(folder, "__init__.py", "L = 5", "L = 7")
    two = Package.read(folder)
    assert [package.module().L for package in (one, two)] == [5, 7]
    assert [package.module("render").L for package in (one, two)] == [5, 7]
    assert one.fast is not two.fast
    assert issubclass(two.reference, ReferenceEnv)
    assert not issubclass(two.reference, one.reference)


def test_relative_imports_reach_every_module_of_the_package(folder):
    (folder / "helpers" / "deep").mkdir(parents=True)
    (folder / "helpers" / "__init__.py").write_text("from .deep.one import VALUE\n")
    (folder / "helpers" / "deep" / "__init__.py").write_text("")
    one = "from ... import L\nfrom ...checks import MIN_SPEEDUP\nVALUE = L + 1\n"
    (folder / "helpers" / "deep" / "one.py").write_text(one)
    edit(folder, "reference.py", "import simulacrum\n", "import simulacrum\nfrom .helpers import VALUE\n")
    package = Package.read(folder)
    assert package.module("reference").VALUE == 6
    assert package.module("helpers.deep.one").VALUE == 6


def test_no_name_of_a_package_enters_the_import_system(folder):
    before = {name for name in sys.modules if not name.startswith("_simulacrum_package_")}
    path = list(sys.path)
    package = Package.read(folder)
    assert package.fast
    assert {name for name in sys.modules if not name.startswith("_simulacrum_package_")} == before
    assert sys.path == path
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("walk")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package.module_name}.nowhere")


def test_nothing_is_written_beside_a_package(folder):
    before = sorted(folder.rglob("*"))
    package = Package.read(folder)
    assert package.reference
    assert package.fast
    assert sorted(folder.rglob("*")) == before


def test_a_module_knows_its_file_and_its_source(folder):
    package = Package.read(folder)
    module = package.module("fast")
    assert module.__file__ == str(folder.resolve() / "fast.py")
    assert inspect.getsource(package.fast).startswith("class ToywalkFast")
    assert module.__loader__.get_source("") == (folder / "fast.py").read_text()
    assert is_dataclass(module.State)


# ---------------------------------------------------------------------- what is broken


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("fast.py", "def broken(:\n", "SyntaxError: "),
        ("fast.py", "raise RuntimeError('no')\n", "RuntimeError: no"),
        ("fast.py", "raise SystemExit(3)\n", "SystemExit: 3"),
        ("fast.py", "import nothing_of_this_name\n", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("fast.py", "from . import NOTHING\n", "ImportError: cannot import name 'NOTHING'"),
        ("fast.py", "x = 'é'\n".encode("latin-1"), "SyntaxError: "),
        ("__init__.py", "L = 1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error_with_its_file(folder, name, text, reason):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    package = Package.read(folder)
    for _ in range(2):
        with pytest.raises(PackageError) as caught:
            _ = package.fast
        assert str(caught.value).startswith(f"importing {folder.resolve() / name} raised {reason}")


def test_a_specification_that_is_no_text_is_refused(folder):
    (folder / "spec.md").write_bytes(b"\xff")
    with pytest.raises(PackageError, match=r"spec\.md: expected UTF-8"):
        _ = Package.read(folder).spec


def test_an_error_of_the_framework_comes_as_it_is(folder):
    edit(folder, "reference.py", "    environment = ENVIRONMENT\n", "")
    with pytest.raises(SpecError, match=r"ToywalkReference\.environment: expected"):
        _ = Package.read(folder).reference


def test_a_package_that_declares_nothing_is_refused(folder):
    edit(folder, "__init__.py", "ENVIRONMENT = ", "DECLARED = ")
    with pytest.raises(PackageError, match=r"__init__\.py: expected ENVIRONMENT = simulacrum\.Environment"):
        _ = Package.read(folder).environment


EXPECTED = {
    "reference": ("expected one subclass of ReferenceEnv, found ", "2", "0"),
    "fast": ("expected one subclass of FastEnv, one of KernelEnv, or one of each, found ", "2 and 1", "0 and 0"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_module_has_one_implementation(folder, name):
    text, (message, twice, none) = (folder / f"{name}.py").read_text(), EXPECTED[name]
    (folder / f"{name}.py").write_text(f"{text}\n\nclass Second(Toywalk{name.title()}):\n    pass\n")
    with pytest.raises(PackageError, match=rf"{name}\.py: {message}{twice}"):
        getattr(Package.read(folder), name)
    (folder / f"{name}.py").write_text("")
    with pytest.raises(PackageError, match=rf"{name}\.py: {message}{none}"):
        getattr(Package.read(folder), name)


def test_forms_are_named_and_the_tensors_come_first(folder):
    package = Package.read(folder)
    assert {name: cls.__name__ for name, cls in package.forms.items()} == {
        "tensor": "ToywalkFast",
        "kernel": "ToywalkKernel",
    }
    assert package.fast is package.forms["tensor"]
    text = (folder / "fast.py").read_text()
    (folder / "fast.py").write_text(text[: text.index("class ToywalkFast")] + text[text.index("class ToywalkKernel") :])
    alone = Package.read(folder)
    assert list(alone.forms) == ["kernel"]
    assert alone.fast is alone.forms["kernel"]


# ---------------------------------------------------------------------- classes and where they belong


@pytest.mark.parametrize("module", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
@pytest.mark.parametrize("name", ["reference", "fast"])
def test_a_class_pickles_by_path_and_digest(folder, name, module):
    cls = getattr(Package.read(folder), name)
    data = module.dumps(cls)
    assert b"_simulacrum_package_" not in data
    assert pickle.loads(data) is cls


@pytest.mark.parametrize("name", ["reference", "fast"])
def test_a_pickled_class_refuses_other_bytes(folder, name):
    package = Package.read(folder)
    data = pickle.dumps([getattr(package, name), getattr(package, name)()])
    edit(folder, "checks.py", "MIN_SPEEDUP = ", "MIN_SPEEDUP = 2 * ")
    with pytest.raises(PackageError, match=r"walk has changed since Toywalk\w+ was pickled: make the environment"):
        pickle.loads(data)
    shutil.rmtree(folder)
    with pytest.raises(PackageError, match="no environment package at"):
        pickle.loads(data)


def test_a_class_inside_another_is_found_by_its_whole_name(folder):
    text = (folder / "reference.py").read_text()
    (folder / "helpers.py").write_text(text.replace("class ToywalkReference", "class Other"))
    package = Package.read(folder)
    other = package.module("helpers").Other
    assert load_class(str(folder), package.digest, "helpers", "Other") is other
    assert pickle.loads(pickle.dumps(other)) is other


def test_a_class_of_no_package_pickles_by_reference():
    assert copyreg.dispatch_table[type(CountdownFast)](CountdownFast) == "CountdownFast"
    assert pickle.loads(pickle.dumps(CountdownFast)) is CountdownFast
    assert b"environments" in pickle.dumps(CountdownFast)


def test_a_class_knows_its_package(folder):
    package = Package.read(folder)
    assert package_of(package.fast.__module__) is package
    assert package_of(CountdownFast.__module__) is None
    assert sibling(package.fast, "render") is package.module("render")
    with pytest.raises(PackageError, match=r"CountdownFast: expected render\.py beside its module environments"):
        sibling(CountdownFast, "render")


def test_a_package_that_python_imports_itself_has_siblings_too(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder.parent))
    try:
        module = importlib.import_module("walk.reference")
        assert sibling(module.ToywalkReference, "render") is importlib.import_module("walk.render")
        env = module.ToywalkReference(render_mode="ansi")
        env.reset(seed=0)
        assert "position" in env.render()
        with pytest.raises(PackageError, match=r"expected nothing\.py beside its module walk\.reference"):
            sibling(module.ToywalkReference, "nothing")
        (folder / "broken.py").write_text("import nothing_of_this_name\n")
        with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
            sibling(module.ToywalkReference, "broken")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "walk"]:
            del sys.modules[name]
