"""``EXCUSES``: what is no dict of reasons by the names that findings tell is a finding, and excuses nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from edited import changed

from simulacrum.harness import excuses
from simulacrum.harness.context import Context
from simulacrum.harness.excuses import Excuses
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check


def context(folder: Path, given: str) -> Context:
    """A check's context of toywalk with ``EXCUSES = given``."""
    old = "MIN_SPEEDUP = 5.0"
    package = changed(folder / "package", old, f"EXCUSES = {given}\n{old}", file="checks.py")
    return Context("coverage", package, QUICK)


@pytest.mark.parametrize("given", [None, [], ["coverage x"], {"coverage x"}, "coverage x", 3])
def test_what_is_no_dict_is_a_finding_and_excuses_nothing(given: Any, tmp_path: Path) -> None:
    (problem,) = excuses.problems(SimpleNamespace(EXCUSES=given))
    assert problem.startswith("EXCUSES in checks.py: expected a dict of reasons by the names that findings tell")
    assert problem.endswith(f"got {given!r}")
    made = context(tmp_path, repr(given))
    found = Excuses(made, "coverage ")
    assert not found.accepts("x")
    found.finish()
    assert [finding.message for finding in made.findings] == [problem]


@pytest.mark.parametrize("name", [1, None, "coverag x", "x", "coverage"])
def test_a_name_that_no_finding_tells_is_a_finding(name: Any) -> None:
    (problem,) = excuses.problems(SimpleNamespace(EXCUSES={name: "why"}))
    assert problem.startswith(f"EXCUSES[{name!r}] in checks.py: expected the name that a finding tells")
    assert all(prefix in problem for prefix in excuses.PREFIXES)


@pytest.mark.parametrize("reason", ["", "  ", None, 3])
def test_a_reason_is_a_text(reason: Any, tmp_path: Path) -> None:
    (problem,) = excuses.problems(SimpleNamespace(EXCUSES={"coverage x": reason}))
    assert problem == f"EXCUSES['coverage x'] in checks.py: expected a reason, a text that is not empty, got {reason!r}"
    made = context(tmp_path, repr({"coverage x": reason}))
    found = Excuses(made, "coverage ")
    assert not found.accepts("x")
    found.finish()
    assert [finding.message for finding in made.findings] == [problem]


def test_what_is_well_formed_is_no_problem() -> None:
    given = {f"{prefix}x": "why" for prefix in excuses.PREFIXES}
    assert excuses.problems(SimpleNamespace(EXCUSES=given)) == []
    assert excuses.problems(SimpleNamespace()) == []


def test_the_contract_tells_every_problem(tmp_path: Path) -> None:
    package = context(tmp_path, "{1: 'why', 'statik fast.py: x': 'why', 'static fast.py: x': ''}").package
    messages = [finding.message for finding in run_check("spec_contract", package, QUICK).findings]
    assert [message.split(" in checks.py")[0] for message in messages] == [
        "EXCUSES[1]", "EXCUSES['statik fast.py: x']", "EXCUSES['static fast.py: x']"
    ]  # fmt: skip


@pytest.mark.parametrize("check", ["static_read", "constants"])
def test_the_checks_go_on_without(check: str, tmp_path: Path) -> None:
    package = context(tmp_path, "['x']").package
    (finding,) = run_check(check, package, QUICK).findings
    assert finding.message.startswith("EXCUSES in checks.py: expected a dict")
