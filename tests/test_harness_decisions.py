"""The counted copy of a reference: which outcomes there are, that each is counted, and that no value changes."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import numpy as np

from simulacrum.harness.decisions import Decisions
from simulacrum.spec import Package

ROOT = Path(__file__).resolve().parents[1]
TOYWALK, FORAGER = ROOT / "envs" / "toywalk", ROOT / "envs" / "forager"

BODY = '''
    def transition(self, state, action, draw):
        """Every kind of decision."""
        position = min(max(state.position, 0), 3)
        for _ in range(position):
            position += 0
        while position > 2:
            position -= 1
        word = "low" if position < 1 else "high"
        try:
            assert position != 1
        except AssertionError:
            position = 0
        match word:
            case "low":
                position = 0
            case other:
                position = position
        chosen = [cell for cell in (1, 2) if cell % 2]
        bound = max(state.position, key=int) if isinstance(state.position, list) else 0
        return State(position), 0.0, bool(chosen and not action)
'''


def changed(folder: Path) -> Package:
    """A toywalk whose transition has every kind of decision."""
    shutil.copytree(TOYWALK, folder, ignore=shutil.ignore_patterns("validation_report.*", "failures"))
    file = folder / "reference.py"
    text = file.read_text()
    begin, end = text.index("    def transition("), text.index("    def observation(")
    file.write_text(text[:begin] + BODY.lstrip("\n") + "\n" + text[end:])
    return Package.read(folder)


def taken(decisions: Decisions, position: int, action: int) -> set[str]:
    """The keys of the outcomes of one transition."""
    env = decisions.reference()
    env.set_state({"state": {"position": position}, "clock": {"seed": 0, "episode": 0, "t": 5}})
    decisions.begin()
    env.step(action)
    return {decisions.outcomes[number].key.removeprefix("transition: ") for number in decisions.taken}


def test_every_kind_of_decision_is_counted(tmp_path: Path) -> None:
    decisions = Decisions(changed(tmp_path / "package"))
    low, high = taken(decisions, -1, 0), taken(decisions, 4, 1)
    assert {
        "max(state.position, 0) is the second",
        "min(max(state.position, 0), 3) is the first",
        "position > 2 is false",
        "position < 1 is true",
        "case 'low' is entered",
        "chosen is true",
        "not action is true",
    } <= low
    assert {
        "max(state.position, 0) is the first",
        "min(max(state.position, 0), 3) is the second",
        "for _ in range(position) is entered",
        "position > 2 is true",
        "position > 2 is false",
        "position < 1 is false",
        "case other is entered",
        "not action is false",
    } <= high
    assert "except AssertionError is entered" in taken(decisions, 1, 1)
    assert {"cell % 2 is true", "cell % 2 is false", "isinstance(state.position, list) is false"} <= low
    keys = [outcome.key for outcome in decisions.outcomes]
    assert "transition: isinstance(state.position, list) is true" in keys
    assert len(keys) == len(set(keys))
    assert all(outcome.line > 0 for outcome in decisions.outcomes)


def test_equal_decisions_are_told_apart(tmp_path: Path) -> None:
    package = changed(tmp_path / "package")
    file = package.path / "reference.py"
    again = "        if position > 2:\n            pass\n        bound = "
    file.write_text(file.read_text().replace("        bound = ", again))
    keys = [outcome.key for outcome in Decisions(Package.read(package.path)).outcomes]
    assert "transition: position > 2 is true #2" in keys
    assert len(keys) == len(set(keys))


def test_every_statement_is_counted_as_it_begins(tmp_path: Path) -> None:
    package = changed(tmp_path / "package")
    decisions = Decisions(package)
    source = package.files["reference.py"].decode().splitlines()

    def begun() -> dict[str, int]:
        pairs = zip(decisions.statements, decisions.begun, strict=True)
        return {source[first - 1].strip(): times for (first, _), times in pairs}

    before = begun()
    assert set(before.values()) == {0}
    taken(decisions, 4, 1)  # high: two rounds of the loops, one of them leaves the while
    high = begun()
    assert high["position = min(max(state.position, 0), 3)"] == 1
    assert high["for _ in range(position):"] == 1
    assert high["position += 0"] == 3
    assert high["while position > 2:"] == 1
    assert high["position -= 1"] == 1
    assert high["try:"] == 1
    assert high["position = position"] == 1
    assert high["return State(position), 0.0, bool(chosen and not action)"] == 1
    taken(decisions, 1, 1)  # the assertion fails
    both = begun()
    assert both["assert position != 1"] == 2
    assert both['word = "low" if position < 1 else "high"'] == 2
    assert '"""Every kind of decision."""' not in both
    assert sum(times for text, times in both.items() if text == "match word:") == 2


def test_the_lines_of_statements_are_those_of_the_source(tmp_path: Path) -> None:
    package = Package.read(FORAGER)
    tree = ast.parse(package.files["reference.py"])
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    simple = {
        (node.lineno, node.end_lineno)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, (ast.Assign, ast.Return, ast.AugAssign))
    }
    assert simple
    assert simple <= set(Decisions(package).statements)
    heads = {
        node.lineno for function in functions for node in ast.walk(function) if isinstance(node, (ast.If, ast.For))
    }
    assert {(line, line) for line in heads} <= set(Decisions(package).statements)


def test_the_outcomes_are_the_same_with_statements_counted() -> None:
    keys = [outcome.key for outcome in Decisions(Package.read(FORAGER)).outcomes]
    assert len(keys) == 28
    assert keys[1:3] == [
        "transition: draw.bernoulli(Slots.SLIP, SLIP_P) is true",
        "transition: draw.bernoulli(Slots.SLIP, SLIP_P) is false",
    ]


def test_facts_tell_lines_decisions_and_excuses() -> None:
    decisions = Decisions(Package.read(TOYWALK))
    env = decisions.reference()
    env.reset(seed=1)
    env.step(0)
    number = next(place for place, one in enumerate(decisions.outcomes) if one.which == "true")
    times = [decisions.taken[place] for place in range(len(decisions.outcomes))]
    facts = decisions.facts(times, {number: "why"})
    assert sum(sum(one["times"].values()) for one in facts["decisions"]) == sum(times)
    assert [one["excused"] for one in facts["decisions"] if "excused" in one] == [{"true": "why"}]
    assert {str(first) if first == last else f"{first}-{last}" for first, last in decisions.statements} == set(
        facts["lines"]
    )
    assert sum(facts["lines"].values()) == sum(decisions.begun) > 0


def test_the_copy_computes_the_same_bits() -> None:
    package = Package.read(FORAGER)
    counted, plain = Decisions(package).reference(), package.reference()
    for seed in range(3):
        for one, other in zip(counted.reset(seed=seed)[0], plain.reset(seed=seed)[0], strict=True):
            assert one.tobytes() == other.tobytes()
        for step in range(40):
            a, b = counted.step(step % 4), plain.step(step % 4)
            assert a[0].tobytes() == b[0].tobytes()
            assert a[1:] == b[1:]
            if a[2]:
                break


def test_counts_are_of_the_transitions_since_the_beginning() -> None:
    decisions = Decisions(Package.read(TOYWALK))
    env = decisions.reference()
    env.reset(seed=1)
    decisions.begin()
    for _ in range(3):
        env.step(0)
    keys = {decisions.outcomes[number].key: times for number, times in decisions.taken.items()}
    assert keys["transition: transition is entered"] == 3
    assert sum(times for key, times in keys.items() if "draw.bernoulli" in key) == 3
    decisions.begin()
    assert not decisions.taken


def test_the_package_s_own_reference_is_untouched() -> None:
    package = Package.read(TOYWALK)
    decisions = Decisions(package)
    assert decisions.reference is not package.reference
    env = package.reference()
    env.reset(seed=1)
    env.step(np.int64(1))
    assert not decisions.taken
