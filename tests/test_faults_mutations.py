"""Mutations of sources: each is what its ID says, and changes nothing else of the text."""

import ast
import shutil
from pathlib import Path

import pytest

from simulacrum.harness.faults.both import both
from simulacrum.harness.faults.mutations import mutants
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parents[1] / "envs"
SIDES = [(name, file) for name in ("toywalk", "forager") for file in ("fast.py", "reference.py")]


def same(one: str, other: str) -> bool:
    """Whether two sources mean the same."""
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def written(folder: Path, fast: str) -> Package:
    """A copy of toywalk whose transition has a body of its own."""
    shutil.copytree(ENVS / "toywalk", folder, ignore=shutil.ignore_patterns("failures", "validation_report.*"))
    text = (folder / "fast.py").read_text()
    start, end = text.index("        moves_right"), text.index("        return State(position=position), reward")
    (folder / "fast.py").write_text(text[:start] + fast + text[end:])
    return Package.read(folder)


@pytest.mark.parametrize(("name", "file"), SIDES)
def test_every_mutant_compiles_and_differs_and_has_a_name_of_its_own(name, file):
    package = Package.read(ENVS / name)
    found = mutants(package, file)
    assert len(found) > 40
    trees = [ast.dump(ast.parse(mutant.files[file])) for mutant in found]
    assert ast.dump(ast.parse(package.files[file])) not in trees
    assert len({mutant.name for mutant in found}) == len(found)
    assert all(mutant.files.keys() == {file} and mutant.kind == "generic" for mutant in found)


@pytest.mark.parametrize(
    ("mutant", "old", "new"),
    [
        ("fast.py transition: `energy <= 0` -> `energy < 0` #1", "energy <= 0", "energy < 0"),
        ("fast.py transition: `energy <= 0` -> `energy >= 0` #1", "energy <= 0", "energy >= 0"),
        ("fast.py transition: `x.unsqueeze(-1)` -> `x.unsqueeze(-0)` #1", "x.unsqueeze(-1)", "x.unsqueeze(-0)"),
        ("fast.py transition: `state.berry_live & here` -> `state.berry_live | here` #1", "live & here", "live | here"),
        ("fast.py transition: `GRID - 1` -> `GRID - 1 - 1` #2", "GRID - 1", "(GRID - 1) - 1"),
        ("fast.py initial: `Slots.AGENT_X` -> `Slots.AGENT_Y` #1", "Slots.AGENT_X", "Slots.AGENT_Y"),
        (
            "fast.py initial: `draw.randint(Slots.AGENT_X, GRID)` -> `draw.randint(Slots.AGENT_X, GRID, index=1)` #1",
            "(Slots.AGENT_X, GRID)",
            "(Slots.AGENT_X, GRID, index=1)",
        ),
        (
            "fast.py observation: `state.berry_live.sum(..., dtype=torch.int32)` -> `state.berry_live.sum(...)` #1",
            "sum(-1, dtype=torch.int32)",
            "sum(-1)",
        ),
        ("fast.py gained: `GAINS[:-1]` -> `GAINS[::-1][:-1]` #1", "GAINS[:-1]", "GAINS[::-1][:-1]"),
        ("fast.py gained: `total = total + term` dropped #1", "total = total + term", "pass"),
        ("reference.py transition: `not any(berry_live)` -> `any(berry_live)` #1", "not any", "any"),
        ("reference.py transition: `cleared or exhausted` -> `cleared and exhausted` #1", "d or e", "d and e"),
        (
            "reference.py transition: `if draw.bernoulli(Slots.SLIP, SLIP_P): ...` dropped #1",
            "dx, dy = dy, -dx",
            "pass",
        ),
        ("reference.py module: `np.float32(STEP_COST)` -> `np.float32(STEP_COST * 1.1)` #1", "COST)", "COST * 1.1)"),
    ],
)
def test_a_mutant_is_what_its_name_says(mutant, old, new):
    package = Package.read(ENVS / "forager")
    file = mutant.partition(" ")[0]
    (found,) = [one for one in mutants(package, file) if one.name == mutant]
    before, after = (data.decode().splitlines() for data in (package.files[file], found.files[file]))
    (line,) = [place for place, pair in enumerate(zip(before, after, strict=True)) if len(set(pair)) > 1]
    assert before[line].count(old) >= 1
    assert same("\n".join([*before[:line], before[line].replace(old, new), *before[line + 1 :]]), "\n".join(after))


def test_names_survive_edits_elsewhere_and_other_layout(tmp_path):
    body = (
        "        position = state.position + 2\n        reward = self.float32(1.0)\n        at_goal = position == L\n"
    )
    first = {mutant.name for mutant in mutants(written(tmp_path / "one", body), "fast.py")}
    other = "        # a comment\n        unused = 7\n" + body.replace("state.position + 2", "(state.position\n  +  2)")
    second = {mutant.name for mutant in mutants(written(tmp_path / "other", other), "fast.py")}
    assert first <= second


def test_what_carries_nothing_is_left_alone(tmp_path):
    body = (
        '        "A string: 1 < 2."\n        step: int = 3\n        position = min(state.position, step)\n'
        "        reward, at_goal = self.float32(1.0), position == L\n"
    )
    names = [mutant.name for mutant in mutants(written(tmp_path / "one", body), "fast.py")]
    assert not [name for name in names if "A string" in name or "environment" in name or "import" in name]
    assert not [name for name in names if "min(step" in name or "dropped" in name or "State(..." in name]


@pytest.mark.parametrize(("name", "least"), [("toywalk", 30), ("forager", 70)])
def test_misreadings_of_both_sides_change_both(name, least):
    package = Package.read(ENVS / name)
    found = both(package)
    assert len(found) >= least
    assert len({mutant.name for mutant in found}) == len(found)
    for mutant in found:
        assert mutant.files.keys() == {"reference.py", "fast.py"}
        for file, data in mutant.files.items():
            assert ast.dump(ast.parse(data)) != ast.dump(ast.parse(package.files[file])), mutant.name


@pytest.mark.parametrize(
    ("title", "fast", "reference"),
    [
        ("transition: `energy <= ZERO` -> `energy < ZERO`", "((energy < 0))", "bool((energy < ZERO))"),
        (
            "constant: `GRID` -> `N_BERRIES`",
            "randint(Slots.AGENT_Y, N_BERRIES)",
            "LAST_CELL_FLOAT = np.float32(N_BERRI",
        ),
        (
            "draw: `Slots.BERRY_X` with the next index",
            "shape=(N_BERRIES,), index=1)",
            "Slots.BERRY_X, GRID, index=i + 1)",
        ),
        (
            "draw: `Slots.AGENT_X` and `Slots.AGENT_Y` exchanged",
            "y = draw.randint(Slots.AGENT_X",
            "x=draw.randint(Slots.AGENT_Y",
        ),
    ],
)
def test_a_misreading_is_the_same_on_both_sides(title, fast, reference):
    (found,) = [mutant for mutant in both(Package.read(ENVS / "forager")) if mutant.name == f"both {title}"]
    assert fast in found.files["fast.py"].decode()
    assert reference in found.files["reference.py"].decode()
