"""The API reference: which names are public, that each is on a page, and that what is told of it is whole and true."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib
import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fabricated import ENVS, results
from public_names import DATA, PUBLIC, Name, function_of, methods, path_of, public, raised, raised_by

from simulacrum.harness import checks, discovery
from simulacrum.harness.profile import DEFAULT
from simulacrum.harness.report import new_report
from simulacrum.kernel import build
from simulacrum.registry import register_known
from simulacrum.spec import Package
from simulacrum.spec.expressions import evaluate

PAGES = Path(__file__).resolve().parent.parent / "docs" / "api"

# By class, methods that take or give arrays, though their annotations say Any.
ARRAYS_UNSAID = {
    "ReferenceEnv": {"transition", "observation", "info", "render"},
    "FastEnv": {"observation", "constant", "float32", "float64", "int32"},
    "FastVectorEnv": {"reset", "step", "render"},
    "Recorder": {"reset", "step", "set_state"},
    "ParallelView": {"reset", "step", "state", "render"},
    "Draw": {"bits", "uniform", "randint", "bernoulli", "categorical", "permutation"},
    "FixedDraw": {"bits", "uniform", "randint", "bernoulli", "categorical", "permutation"},
}
ARRAYS = re.compile(r"Tensor|ndarray|NDArray|Mask\b|Fields|Outcome|TensorDict")
DTYPE = re.compile(r"\b(?:bool|u?int(?:8|16|32|64)|float(?:32|64)|dtypes?)\b")

NAMES = public()
CALLED = [one for one in NAMES if one.path not in DATA]


# ---------------------------------------------------------------------- the pages


class Entry(NamedTuple):
    """A name on a page, the signature that the page gives it, and the page."""

    path: str
    signature: str
    page: Path


def entries() -> Iterator[Entry]:
    """What autodoc is asked for on the pages, by the paths where it is defined."""
    directive = re.compile(r"^\.\. (auto\w+|py:data):: ([\w.]+)(.*)\n((?:   :.*\n)*)", re.MULTILINE)
    for page in sorted(PAGES.glob("*.md")):
        for kind, path, signature, options in directive.findall(page.read_text()):
            listed = re.search(r":members:(.*)", options)
            members = [one.strip() for one in listed[1].split(",")] if listed else []
            if kind == "py:data":
                yield Entry(path, "", page)
                continue
            value = resolved(path)
            if kind == "automodule":
                assert not members, "each name has a line of its own, in the order in which one reads"
            elif kind in ("automethod", "autoproperty"):
                owner, _, name = path.rpartition(".")
                yield Entry(f"{path_of(resolved(owner))}.{name}", signature, page)
            else:
                yield Entry(path_of(value), signature, page)
                members = list(methods(value)) if members == [""] else members
                yield from (Entry(f"{path_of(value)}.{name}", "", page) for name in members)


def resolved(path: str) -> Any:
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[end:], value)
    raise AssertionError(path)


def blocks(page: Path) -> list[str]:
    """The examples on a page."""
    return re.findall(r"^```pycon\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


ENTRIES = list(entries())


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_those_that_are_told(module):
    assert sorted(importlib.import_module(module).__all__) == sorted(PUBLIC[module])


def test_every_name_is_on_one_page():
    listed = [entry.path for entry in ENTRIES]
    assert [one.path for one in NAMES if listed.count(one.path) != 1] == []
    assert sorted({path for path in listed if listed.count(path) > 1}) == []


def test_signatures_on_pages_name_the_parameters():
    written = [entry for entry in ENTRIES if entry.signature not in ("", "()")]
    assert len(written) > 5
    for entry in written:
        tree = ast.parse(f"def f{entry.signature}: ...").body[0]
        parameters = list(inspect.signature(resolved(entry.path).__init__).parameters.values())[1:]
        assert isinstance(tree, ast.FunctionDef)
        told = [word.arg for word in (*tree.args.args, *tree.args.kwonlyargs)]
        told += [word.arg for word in (tree.args.vararg, tree.args.kwarg) if word]
        assert told == [one.name for one in parameters], entry.path


def test_every_page_is_in_the_index():
    index = (PAGES / "index.md").read_text()
    toctree = re.findall(r"^[\w-]+$", index.partition("{toctree}")[2].partition("```")[0], re.MULTILINE)
    assert sorted(toctree) == sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "index")


def test_every_link_of_the_table_leads_to_a_page():
    text = "".join(page.read_text() for page in PAGES.glob("*.md"))
    links = re.findall(r"\{\w+\}`([\w.]+)`", (PAGES / "index.md").read_text().partition("{toctree}")[0])
    assert len(links) > 20
    for path in links:
        owner, _, name = path.rpartition(".")
        line = rf"^\.\. auto\w+:: {re.escape(path)}(\(.*\))?$"
        members = rf"^\.\. auto\w+:: {re.escape(owner)}(\(.*\))?\n   :members:.*\b{name}\b"
        assert re.search(f"{line}|{members}", text, re.MULTILINE), path


# ---------------------------------------------------------------------- what docstrings tell


def test_every_name_has_a_docstring():
    assert [one.path for one in CALLED if not one.doc.strip()] == []


def test_no_property_begins_with_what_is_taken_for_its_type():
    """Napoleon takes what stands before a colon for a type, and shows it last."""
    properties = [one for one in CALLED if isinstance(one.value, (property, functools.cached_property))]
    assert len(properties) > 20
    assert [one.path for one in properties if ": " in re.sub(r"``.*?``|:\w+:`.*?`", "", one.doc.split("\n")[0])] == []


def test_every_name_has_an_example():
    """In its docstring, in that of its class, or on its page."""
    assert [one.path for one in NAMES if not has_example(one)] == []


def has_example(name: Name) -> bool:
    if name.path not in DATA and ">>> " in name.told:
        return True
    pages = [entry.page for entry in ENTRIES if entry.path == name.path]
    word = re.compile(rf"\b{name.owner.__name__ if name.owner else name.word}\b")
    return any(word.search(block) for page in pages for block in blocks(page))


def test_arrays_have_shapes_and_dtypes():
    arrays = [one for one in CALLED if has_arrays(one)]
    assert len(arrays) > 50
    assert [one.path for one in arrays if "[" not in one.doc or not DTYPE.search(one.doc)] == []


def has_arrays(name: Name) -> bool:
    function = getattr(name.value, "__init__", None) if inspect.isclass(name.value) else function_of(name.value)
    told = " ".join(map(str, getattr(function, "__annotations__", {}).values()))
    return bool(ARRAYS.search(told)) or (name.owner is not None and name.word in unsaid(name.owner))


def unsaid(owner: type) -> set[str]:
    return ARRAYS_UNSAID.get(owner.__name__, set())


def test_what_is_raised_is_told():
    """In its docstring, or in that of its class."""
    untold = {one.path: {error for error in raised_by(one) if error not in one.told} for one in CALLED}
    assert {path: found for path, found in untold.items() if found} == {}


# ---------------------------------------------------------------------- the examples run


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory):
    """A source checkout in which toywalk and snake are validated, and forager is not."""
    root = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__", "validation_report*", "failures", "corpus", "trace.json")
    for name in ("toywalk", "forager", "snake"):
        shutil.copytree(ENVS / name, root / "envs" / name, ignore=ignored)
    (root / "pyproject.toml").touch()
    tensor = [("tensor", "eager", "cpu"), ("tensor", "compiled", "cpu")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("PYTEST_ADDOPTS", "-p no:randomly")  # of pytest in an example
        for name in ("SIMULACRUM_KEY_FILE", "DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        patch.setattr(discovery, "ROOT", root)
        patch.setattr(build, "checksum", lambda layout: "a" * 64)  # snake's kernel is never loaded
        patch.chdir(root)
        for name, covers in (("toywalk", tensor), ("snake", [])):
            report = new_report(Package.read(root / "envs" / name).configured(), DEFAULT, checks.NAMES)
            report.checks.extend(results(covers=[*covers, ("kernel", "native", "cpu")]))
            report.write()
        register_known()
        yield


def run_examples(text: str, title: str, globs: dict[str, Any]) -> None:
    """Run the examples in a text; a failure tells what doctest tells."""
    told: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, globs, title, None, 0)
    assert test.examples
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)


@pytest.mark.parametrize("name", [one for one in CALLED if ">>> " in one.doc], ids=lambda one: one.path)
def test_examples_of_docstrings_run(name):
    run_examples(name.doc, name.path, {"__name__": "__main__"})


@pytest.mark.parametrize(
    "page", [page for page in sorted(PAGES.glob("*.md")) if blocks(page)], ids=lambda one: one.stem
)
def test_examples_of_pages_run(page):
    run_examples("\n\n".join(blocks(page)), page.name, {"__name__": "__main__"})


def test_an_example_that_is_wrong_fails():
    with pytest.raises(AssertionError, match="Expected"):
        run_examples(">>> 1 + 1\n3\n", "wrong", {})


def test_what_a_call_raises_is_found():
    assert "PackageError" in raised(Package.read.__func__, Package)
    assert raised(evaluate, None) == {"SpecError"}  # and not the ValueError that it catches
