"""Single transitions, the guided search, its corpus, coverage and excuses, on faults that rollouts seldom reach."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited import broken, edited_as

from simulacrum.harness import corpus
from simulacrum.harness.context import Context
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.harness.search import Search
from simulacrum.spec import Package

ROOT = Path(__file__).resolve().parents[1]
PROFILE = replace(QUICK, seed=11)


FIVE = (
    "        energy = (state.energy",
    "        gained = gained + 0.5 * (collected.sum(-1) > 4)\n        energy = (state.energy",
)


# ---------------------------------------------------------------------- transitions


def test_a_fault_in_a_state_that_no_rollout_reaches_is_found_and_labelled(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "forager", fast=FIVE)
    result = run_check("transitions", package, PROFILE)
    (finding,) = result.findings
    assert result.outcome == "failed"
    assert finding.reached == "a generated state, which no rollout of this run reached"
    assert finding.steps == 1
    assert finding.rows == 1
    assert "state" in finding.field or finding.field in ("reward", "observation")


def test_a_reference_that_raises_is_a_finding(tmp_path: Path) -> None:
    old = "        energy = (state.energy - STEP_COST_FLOAT) + gained"
    package = broken(tmp_path / "package", "forager", reference=(old, f"        1 // (sum(berry_live) - 2)\n{old}"))
    (finding,) = run_check("transitions", package, PROFILE).findings
    assert "ZeroDivisionError" in finding.message


def test_invariants_that_leave_no_state_are_a_finding(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", checks=("return (state.position >= -L)", "return (state.t < 0)"))
    (finding,) = run_check("transitions", package, PROFILE).findings
    assert finding.message.startswith("no legal state was found")


@pytest.mark.parametrize("base", ["courier", "gates"])
def test_packages_of_every_kind_pass(base: str, tmp_path: Path) -> None:
    package = broken(tmp_path / "package", base)
    for check in ("transitions", "guided_search", "coverage"):
        result = run_check(check, package, PROFILE)
        assert [finding.text() for finding in result.findings] == []
        assert result.counts["transitions"] > 500


# ---------------------------------------------------------------------- the search


def test_what_shows_something_new_is_kept_and_drawn_around(tmp_path: Path) -> None:
    context = Context("guided_search", broken(tmp_path / "package", "forager"), PROFILE)
    search = Search(context)
    assert search.replay() > 5  # the worked examples
    first = [search.round(256) for _ in range(8)]
    assert len(search.kept_actions) == len(search.kept["clock.t"])
    later = [search.round(256) for _ in range(8)]
    assert sum(later) < max(1, sum(first))
    assert search.missed() == []
    assert search.look(search.kept, search.kept_actions) == 0  # nothing of it is new any more


def test_the_search_finds_what_it_compares(tmp_path: Path) -> None:
    result = run_check("guided_search", broken(tmp_path / "package", "forager", fast=FIVE), PROFILE)
    assert result.outcome == "failed"


def test_the_corpus_is_written_replayed_and_not_written_again(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk")
    digest = package.digest
    keeping = replace(PROFILE, keeps=True)
    run_check("guided_search", package, PROFILE)
    assert not (package.path / corpus.FILE).exists()
    assert run_check("guided_search", package, keeping).outcome == "passed"
    lines = (package.path / corpus.FILE).read_text().splitlines()
    assert lines
    again = run_check("guided_search", package, keeping)
    assert "0 further ones" in again.notes[0]
    assert (package.path / corpus.FILE).read_text().splitlines() == lines
    assert Package.read(package.path).digest == digest  # it is no part of what a report vouches for


def test_a_corpus_gives_back_its_bits(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "courier")
    states: dict[str, Any] = {
        "state.cargo": np.array([[0, 5, 1]], np.int8),
        "state.speed": np.array([-0.0], np.float32),
        "state.lamp": np.array([True]),
        "state.total": np.array([3]),
        "clock.seed": np.array([2**64 - 1], np.uint64),
        "clock.episode": np.array([2**32 - 1]),
        "clock.t": np.array([7]),
    }
    actions = np.array([[0.1, -1.0]], np.float32)
    assert corpus.add(package, states, actions, [0]) == package.path / corpus.FILE
    assert corpus.add(package, states, actions, [0]) is None
    found, found_actions = corpus.read(package)
    assert found.keys() == states.keys()
    for name, value in states.items():
        assert found[name].dtype == value.dtype, name
        assert found[name].tobytes() == value.tobytes(), name
    assert found_actions.tobytes() == actions.tobytes()


def test_a_corpus_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "LIMIT", 3)
    package = broken(tmp_path / "package", "toywalk")
    states = {"state.position": np.arange(5, dtype=np.int32) - 2}
    states |= {name: np.arange(5) for name in ("clock.seed", "clock.episode", "clock.t")}
    corpus.add(package, states, np.zeros(5, np.int64), range(5))
    assert len((package.path / corpus.FILE).read_text().splitlines()) == 3


@pytest.mark.parametrize("line", ["{", "[]", '{"state": {}, "clock": [1, 2], "action": 0}', '{"clock": [0, 0, -1]}'])
def test_a_corpus_that_cannot_be_read_says_which_line(tmp_path: Path, line: str) -> None:
    package = broken(tmp_path / "package", "toywalk")
    file = package.path / corpus.FILE
    file.parent.mkdir()
    file.write_text(json.dumps({"state": {"position": 1}, "clock": [1, 2, 3], "action": 0}) + f"\n{line}\n")
    with pytest.raises(corpus.CorpusError, match=r"transitions.jsonl:2: expected a state, a clock"):
        corpus.read(package)


def test_entries_of_other_fields_are_left_out(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk")
    file = package.path / corpus.FILE
    file.parent.mkdir()
    entries = [{"position": 1}, {"place": 1}, {"position": [1, 2]}]
    file.write_text("".join(json.dumps({"state": e, "clock": [1, 2, 3], "action": 0}) + "\n" for e in entries))
    assert corpus.read(package)[0]["state.position"].tolist() == [1]


# ---------------------------------------------------------------------- coverage and excuses

DEAD = (
    "        at_goal = position == L",
    "        if position == L and state.t < 0:\n            position = 0\n        at_goal = position == L",
)
KEY = "coverage transition: state.t < 0 is true"


def test_a_branch_that_is_never_taken_is_listed_by_line(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", reference=DEAD)
    messages = [finding.message for finding in run_check("coverage", package, PROFILE).findings]
    line = package.files["reference.py"].decode().splitlines().index("        if position == L and state.t < 0:") + 1
    assert any(message.startswith(f"reference.py:{line}: transition: state.t < 0 is true") for message in messages)
    assert any(KEY in message for message in messages)


def test_an_excuse_needs_a_reason_and_is_repeated(tmp_path: Path) -> None:
    def result(name: str, reason: str) -> Any:
        keys = [KEY, "coverage transition: position == L and state.t < 0 is true"]
        excuses = ("POLICIES = [", f"EXCUSES = {dict.fromkeys(keys, reason)!r}\n\nPOLICIES = [")
        package = broken(tmp_path / name, "toywalk", reference=DEAD, checks=excuses)
        return run_check("coverage", package, PROFILE)

    assert result("without", " ").outcome == "failed"
    good = result("with", "t is never negative")
    assert [finding.text() for finding in good.findings] == []
    assert any("t is never negative" in note for note in good.notes)


def test_an_excuse_that_nothing_needs_is_a_finding(tmp_path: Path) -> None:
    excuses = ("POLICIES = [", f"EXCUSES = {{{KEY!r}: 'why'}}\n\nPOLICIES = [")
    package = broken(tmp_path / "package", "toywalk", checks=excuses)
    (finding,) = run_check("coverage", package, PROFILE).findings
    assert "excuses nothing" in finding.message


def test_an_end_that_is_seen_too_seldom_is_a_finding(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk")
    result = run_check("coverage", package, replace(PROFILE, ends=10**9, search=(1, 64, 1)))
    assert {finding.message.split(" was seen")[0] for finding in result.findings} == {"cause goal", "truncation"}


def test_first_states_are_compared_too(tmp_path: Path) -> None:
    old = "START_RANGE + 1) - START_RANGE"
    text = (ROOT / "envs" / "toywalk" / "fast.py").read_text()
    assert old in text
    package = broken(tmp_path / "package", "toywalk", fast=(old, "START_RANGE + 1) - START_RANGE + 1"))
    (finding,) = run_check("coverage", package, PROFILE).findings
    assert finding.message.startswith("the two sides differ after a reset")


def test_illegal_actions_are_taken_where_an_example_says_what_they_do(tmp_path: Path) -> None:
    line = "        legal = self.action_mask(state).gather(-1, action.unsqueeze(-1)).squeeze(-1)\n"
    change = (line, f"{line}        legal = legal | ((action == 2) & (state.place < GATES))\n")
    package = broken(tmp_path / "gates", "gates", fast=change)
    assert run_check("transitions", package, PROFILE).outcome == "failed"
    old = next(row for row in package.files["spec.md"].decode().splitlines() if row.startswith("| 9 |"))
    other = next(row for row in package.files["spec.md"].decode().splitlines() if row.startswith("| 10 |"))
    without = edited_as(
        tmp_path / "without", "gates", ("fast.py", *change), ("spec.md", f"{old}\n", ""), ("spec.md", f"{other}\n", "")
    )
    assert run_check("transitions", without, PROFILE).outcome == "passed"


def test_actions_beside_the_spec_s_constants_are_taken(tmp_path: Path) -> None:
    package = edited_as(
        tmp_path / "courier",
        "courier",
        ("spec.md", "| FRICTION | 0.75 | no |", "| FRICTION | 0.75 | no |\n| BRAKE | 0.4 | no |"),
        ("__init__.py", "FRICTION = 0.75", "FRICTION = 0.75\nBRAKE = 0.4"),
        ("reference.py", "brake > 0 and", "brake > np.float32(0.4) and"),
        ("fast.py", "(brake > 0)", "(brake >= self.float32(0.4))"),
    )
    (finding,) = run_check("transitions", package, PROFILE).findings
    assert finding.action.endswith("0.4000000059604645]")
