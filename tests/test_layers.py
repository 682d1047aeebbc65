"""Who may import whom: every import under ``simulacrum/`` is read, also those in functions and under TYPE_CHECKING."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "simulacrum"

# From the bottom up. A module may import those of its own entry and of lines above its own, and no others.
LAYERS = [
    ["errors"],
    ["native", "bits", "checkout"],
    ["rng"],
    ["spec", "checks"],
    ["render"],
    ["reference", "fast"],
    ["kernel", "originals"],
    ["vector", "collector", "bench", "trajectory"],
    ["export"],
    ["harness light"],
    ["harness"],
    ["registry"],
    ["parallel", "viewer", "compare"],
    ["play"],
    ["simulacrum"],  # __init__.py: names the others, lazily
    ["cli"],
    ["pytest_plugin", "__main__"],
]
HARNESS_LIGHT = {
    *("harness", "harness.checks", "harness.discovery", "harness.evidence", "harness.finding"),
    *("harness.fingerprint", "harness.gate"),
    *("harness.keys", "harness.places", "harness.profile", "harness.report", "harness.report_views"),
    *("harness.report_page", "harness.report_page.checks", "harness.report_page.findings"),
    *("harness.report_page.kills", "harness.report_page.markup", "harness.report_page.plot"),
    *("harness.report_page.reading", "harness.report_page.source", "harness.report_page.speed"),
    *("harness.report_page.verdict", "harness.report_page.vouched"),
}
ALLOWED = {
    ("harness", "harness.runner"): "a package names its own parts, lazily",
    ("harness.checks", "harness.context"): "the type of what a check is given",
    ("harness.report_page", "harness.report_page.frames"): "frames of findings, lazily, in a battery that has torch",
    ("trajectory.metadata", "simulacrum"): "the version that writes a file",
}
HEAVY_PARTS = (  # beside HARNESS_LIGHT; they alone
    *("rng.tensor", "rng.operators", "rng.ahead", "fast", "kernel", "vector", "collector", "bench", "harness"),
    *("compare", "cli.compare"),
    *("cli.bench", "cli.deep", "cli.explain", "cli.faults", "cli.freeze"),
)
HEAVY = ("torch", "torchrl", "tensordict")  # import these when they are imported


class Import(NamedTuple):
    """An import: where it stands, the module that imports, the one that is imported, whether it runs at once."""

    where: str
    importer: str
    imported: str
    at_once: bool


def modules(source: Path) -> dict[str, Path]:
    """The files of a source tree by module: ``rng.draw``; the tree's own ``__init__`` is ``simulacrum``."""
    found = {}
    for file in sorted(source.rglob("*.py")):
        parts = file.relative_to(source).with_suffix("").parts
        if parts[0] != "templates":
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "simulacrum"] = file
    return found


def imports(source: Path) -> Iterator[Import]:
    """All imports of a source tree, of its own modules and of others."""
    files = modules(source)
    for name, file in files.items():
        tree = ast.parse(file.read_text())
        later = {id(inner) for node in ast.walk(tree) if postponed(node) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            for target in targets(node, name, file, files):
                where = f"{file.relative_to(source.parent)}:{node.lineno}"
                yield Import(where, name, target, id(node) not in later)


def postponed(node: ast.AST) -> bool:
    """Whether what is in a node does not run when its module is imported."""
    checking = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    return checking or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def targets(node: ast.AST, importer: str, file: Path, files: dict[str, Path]) -> Iterator[str]:
    """What an import statement imports: modules of the tree without ``simulacrum.``, others by their whole names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name.removeprefix("simulacrum.")
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            package = [] if importer == "simulacrum" else importer.split(".")
            package = package if file.name == "__init__.py" else package[:-1]
            base = package[: len(package) - node.level + 1]
        else:
            base = []
        base += (node.module or "").removeprefix("simulacrum.").split(".") if node.module != "simulacrum" else []
        for alias in node.names:
            whole = ".".join(part for part in (*base, alias.name) if part)
            yield whole if whole in files else ".".join(part for part in base if part) or "simulacrum"


def entry_of(module: str) -> str:
    """The entry of the table to which a module belongs."""
    if module in HARNESS_LIGHT:
        return "harness light"
    return module.partition(".")[0]


def wrong_imports(source: Path) -> list[str]:
    """The imports that point the wrong way, each with its place."""
    height = {entry: number for number, line in enumerate(LAYERS) for entry in line}
    files, wrong = modules(source), []
    for name in files:
        if entry_of(name) not in height:
            wrong.append(f"{files[name].relative_to(source.parent)}:1: {name} is in no layer: add it to the table")
    for each in imports(source):
        one, other = entry_of(each.importer), entry_of(each.imported)
        if each.imported not in files or one not in height or other not in height or one == other:
            continue
        if height[other] >= height[one] and (each.importer, each.imported) not in ALLOWED:
            wrong.append(f"{each.where}: {each.importer} imports {each.imported}")
    return wrong


def heavy_imports(source: Path) -> list[str]:
    """The imports by which a light module imports torch when it is imported itself, each with its place."""
    files = modules(source)
    heavy = {name for name in files if name not in HARNESS_LIGHT and name.startswith(HEAVY_PARTS)}
    return [
        f"{each.where}: {each.importer} imports {each.imported}"
        for each in imports(source)
        if each.importer not in heavy
        and each.at_once
        and (each.imported in heavy or each.imported.partition(".")[0] in HEAVY)
    ]


def test_every_import_points_down():
    wrong = wrong_imports(SOURCE)
    assert not wrong, "\n".join(wrong)


def test_light_modules_import_no_torch():
    wrong = heavy_imports(SOURCE)
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_in_use():
    assert ALLOWED.keys() <= {(each.importer, each.imported) for each in imports(SOURCE)}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in (ROOT / "envs").glob("*/spec.md")))
def test_no_side_of_an_environment_imports_the_other_and_no_picture_a_side(name):
    folder = ROOT / "envs" / name
    both = {"reference", "fast"}
    for name, others in {"reference": {"fast"}, "fast": {"reference"}, "render": both, "checks": both}.items():
        file = folder / f"{name}.py"
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                named = {(node.module or "").split(".")[0], *(alias.name for alias in node.names if not node.module)}
                assert not named & others, f"{file.name}:{node.lineno}"


# ---------------------------------------------------------------------- the test itself


def tree(folder: Path, contents: dict[str, str]) -> Path:
    """A source tree in which some files, named without their ``.py``, have contents."""
    source = folder / "simulacrum"
    for name in ("", "rng", "spec", "render", "fast", "harness", "harness/checks", "cli"):
        (source / name).mkdir(parents=True, exist_ok=True)
        (source / name / "__init__.py").touch()
    for name in ("errors", "native", "bits", "reference", "registry", "fast/core", "harness/gate", "harness/runner"):
        (source / f"{name}.py").touch()
    for name, text in contents.items():
        (source / f"{name}.py").write_text(text)
    return source


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("errors", "import os\n\ndef late():\n    from .rng import x\n", "simulacrum/errors.py:4: errors imports rng"),
        ("bits", "from . import reference\n", "simulacrum/bits.py:1: bits imports reference"),
        ("bits", "from .native import x\n", "simulacrum/bits.py:1: bits imports native"),
        ("bits", "from simulacrum import FastEnv\n", "simulacrum/bits.py:1: bits imports simulacrum"),
        ("bits", "import simulacrum.fast.core\n", "simulacrum/bits.py:1: bits imports fast.core"),
        ("render/draw", "from ..reference import x\n", "simulacrum/render/draw.py:1: render.draw imports reference"),
        ("render/windows", "from .. import fast\n", "simulacrum/render/windows.py:1: render.windows imports fast"),
        ("reference", "from .fast.core import x\n", "simulacrum/reference.py:1: reference imports fast.core"),
        (
            "fast/core",
            "if TYPE_CHECKING:\n    from ..reference import ReferenceEnv\n",
            "simulacrum/fast/core.py:2: fast.core imports reference",
        ),
        ("harness/gate", "from . import runner\n", "simulacrum/harness/gate.py:1: harness.gate imports harness.runner"),
        ("harness/runner", "import simulacrum.cli\n", "simulacrum/harness/runner.py:1: harness.runner imports cli"),
        ("elsewhere", "", "simulacrum/elsewhere.py:1: elsewhere is in no layer: add it to the table"),
    ],
)
def test_an_import_that_points_up_is_found(tmp_path, name, text, expected):
    assert wrong_imports(tree(tmp_path, {name: text})) == [expected]


def test_imports_that_point_down_are_let_be(tmp_path):
    source = tree(
        tmp_path,
        {
            "fast/core": "from ..rng import x\nfrom .. import errors\nfrom .env import FastEnv\nimport torch\n",
            "reference": "from . import render\n\ndef late():\n    import torch\n",
            "registry": "from .harness.gate import x\nfrom .reference import y\n",
            "__init__": "from .registry import x\nif TYPE_CHECKING:\n    from .fast import FastEnv\n",
            "harness/__init__": "def late():\n    from .runner import run\n",
        },
    )
    assert wrong_imports(source) == []
    assert heavy_imports(source) == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("reference", "import torch.nn\n", "simulacrum/reference.py:1: reference imports torch.nn"),
        ("spec/package", "try:\n    import tensordict\nfinally:\n    pass\n", "simulacrum/spec/package.py:2: "),
        ("registry", "from .fast import FastEnv\n", "simulacrum/registry.py:1: registry imports fast"),
        ("harness/gate", "from torchrl import envs\n", "simulacrum/harness/gate.py:1: harness.gate imports torchrl"),
    ],
)
def test_a_light_module_that_imports_torch_is_found(tmp_path, name, text, expected):
    (found,) = heavy_imports(tree(tmp_path, {name: text}))
    assert found.startswith(expected)
