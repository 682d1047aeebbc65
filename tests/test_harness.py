"""The battery finds what it is for: known faults in copies of the examples, each by the check that should see it."""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edited import SEEN, broken, method

from simulacrum.errors import PackageError
from simulacrum.harness import findings, playback, workers
from simulacrum.harness.case import Case
from simulacrum.harness.context import CheckFailed, Context
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run, run_check
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parents[1] / "envs"
PROFILE = replace(QUICK, seed=11)
SMALL = replace(PROFILE, sizes={7: (7, 200), 65: (65, 60)}, sweep=(256, 120), independence=(65, 60))


OBSERVATION = f"return {SEEN}"
FAULTS = {
    # name: (base, changes, the check that finds it)
    "the clamp is dropped": ("forager", {"fast": ("clamp(", "clamp(-1 + ")}, "worked_examples"),
    "a reward constant differs": ("toywalk", {"fast": ("GOAL_REWARD)", "GOAL_REWARD - 1)")}, "differential"),
    "an observation in float64": (
        "toywalk",
        {"fast": (OBSERVATION, f"return (({SEEN}).double() + 1e-8).float()")},
        "differential",
    ),
    "-0.0 for 0.0": ("toywalk", {"fast": (OBSERVATION, f"return -(-{SEEN} + 0.0)")}, "differential"),
    "a path for large batches": (
        "toywalk",
        {"fast": (OBSERVATION, f"return ({SEEN}) * (1 if state.t.shape[0] < 64 else 0.5)")},
        "differential",
    ),
    "a reduction over the batch": (
        "toywalk",
        {"fast": (OBSERVATION, f"return state.t.max() / 60 * ({SEEN}) / 60")},
        "batch_independence",
    ),
    "a place in the batch": (
        "toywalk",
        {"fast": (OBSERVATION, f"out = {SEEN}\n        out[5:6] = 0.5 * out[5:6]\n        return out")},
        "batch_independence",
    ),
    "a partial reset resets all": (
        "toywalk",
        {
            "fast": method(
                "    def _renew(self, carry, seen, mask):\n"
                "        return super()._renew(carry, seen, mask | (mask.any() & (mask.sum() > 3)))"
            )
        },
        "auto_reset",
    ),
    "the final observation is the next first one": (
        "toywalk",
        {
            "fast": method(
                "    def _step_and_maybe_reset(self, td):\n"
                "        td, root = super()._step_and_maybe_reset(td)\n"
                "        td['next', 'observation'] = root['observation']\n"
                "        return td, root"
            )
        },
        "auto_reset",
    ),
    "the wrapped path differs": (
        "toywalk",
        {
            "fast": method(
                "    def _step(self, td):\n"
                "        out = super()._step(td)\n"
                "        return out.set('reward', out['reward'] + 1)"
            )
        },
        "benchmark_factory_parity",
    ),
    "the vector path differs": (
        "toywalk",
        {
            "fast": method(
                "    def plain_step(self, action, waiting=None):\n"
                "        out = super().plain_step(action, waiting)\n"
                "        return out._replace(reward=out.reward + 1)"
            )
        },
        "benchmark_factory_parity",
    ),
    "the state is not shown, the reward differs": (
        "toywalk",
        {
            "fast": method(
                "    def _result(self, carry, outcome):\n"
                "        outcome = outcome if self.expose_state else outcome._replace(reward=-outcome.reward)\n"
                "        return super()._result(carry, outcome)"
            )
        },
        "benchmark_factory_parity",
    ),
    "the action is written": (
        "toywalk",
        {
            "fast": (
                "        return State(position=position), reward",
                "        action.fill_(1)\n        return State(position=position), reward",
            )
        },
        "differential",
    ),
    "a seed is cut to 32 bits": (
        "toywalk",
        {
            "fast": method(
                "    def _checked_seeds(self, seed):\n"
                "        return super()._checked_seeds(seed & 0xFFFFFFFF if isinstance(seed, int) else seed)"
            )
        },
        "determinism",
    ),
    "set_seed does nothing": (
        "toywalk",
        {"fast": method("    def _set_seed(self, seed):\n        pass")},
        "determinism",
    ),
    "a global generator": (
        "toywalk",
        {"fast": (OBSERVATION, f"getattr(torch, 'ra' + 'nd')(1)\n        {OBSERVATION}")},
        "purity",
    ),
    "a random module": (
        "toywalk",
        {"reference": ("import numpy as np", "import random\n\nimport numpy as np")},
        "static_read",
    ),
    "an environment variable": (
        "toywalk",
        {"init": ("SLIP_P = 0.1", "import os\n\nSLIP_P = float(os.environ.get('SLIP', 0.1))")},
        "static_read",
    ),
    "a constant typed otherwise": ("toywalk", {"init": ("SLIP_P = 0.1", "SLIP_P = 0.11")}, "spec_contract"),
    "a bound of the schema": ("toywalk", {"schema": ('"maximum": 5', '"maximum": 6')}, "spec_contract"),
    "a broken schema": ("toywalk", {"schema": ("{", "")}, "spec_contract"),
    "a termination cause that is none": (
        "toywalk",
        {"checks": ("return state.position == L", "return state.position == L - 1")},
        "invariant_sweep",
    ),
    "an invariant that does not hold": (
        "toywalk",
        {"checks": ("return (state.position >= -L)", "return (state.position > -L)")},
        "invariant_sweep",
    ),
    "another expected return": (
        "toywalk",
        {"checks": ("expected_return=4.750048", "expected_return=5.3")},
        "scripted_policies",
    ),
    "too slow": ("toywalk", {"checks": ("MIN_SPEEDUP = 5.0", "MIN_SPEEDUP = 1e9")}, "throughput"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_check(name: str, tmp_path: Path) -> None:
    base, changes, check = FAULTS[name]
    result = run_check(
        check, broken(tmp_path / "package", base, **changes), SMALL if check != "throughput" else PROFILE
    )
    assert result.outcome == "failed", f"{check} passed"
    assert result.findings


@pytest.mark.parametrize("base", ["toywalk", "forager"])
def test_the_examples_pass_the_quick_battery(base: str) -> None:
    report = run(ENVS / base, PROFILE)
    assert [check.name for check in report.checks if check.outcome == "failed"] == []
    assert sum(check.counts.get("transitions", 0) for check in report.checks) > 15_000


def test_the_same_misreading_on_both_sides_is_found_by_the_examples(tmp_path: Path) -> None:
    fast = (ENVS / "forager" / "fast.py").read_text()
    reference = (ENVS / "forager" / "reference.py").read_text()
    lines = {
        "fast": next(line for line in fast.splitlines() if "STEP_COST)" in line and "energy" in line),
        "reference": next(line for line in reference.splitlines() if "STEP_COST" in line and "+ gained" in line),
    }
    swapped = {
        side: (line, re.sub(r"\((.+?) - (.+?)\) \+ gained", r"(\1 + gained) - \2", line))
        for side, line in lines.items()
    }
    assert all(before != after for before, after in swapped.values()), lines
    package = broken(tmp_path / "package", "forager", **swapped)
    assert run_check("differential", package, SMALL).outcome == "passed"
    found = run_check("worked_examples", package, SMALL)
    assert any("example 32" in finding.message for finding in found.findings)


# ---------------------------------------------------------------------- findings


def test_a_finding_says_where_and_both_values_and_how_to_see_it_again(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", fast=("GOAL_REWARD)", "GOAL_REWARD - 1)"))
    (finding,) = run_check("differential", package, SMALL).findings
    assert finding.check == "differential"
    assert finding.field == "reward"
    assert (finding.reference, finding.fast) == ("10.", "9.")
    assert finding.instance is not None
    assert 0 <= finding.seed < 2**64
    assert finding.episode is not None
    assert finding.step is not None
    assert finding.action in ("0", "1")
    assert finding.replay == f"simulacrum validate {package.path} -k differential --seed 11 --quick"
    assert (finding.steps, finding.rows) == (1, 1)
    assert finding.rule.startswith("transition 3: Reward.")
    again = run_check("differential", package, SMALL).findings[0]
    assert again == finding


def test_a_finding_s_file_needs_nothing_else(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", fast=("GOAL_REWARD)", "GOAL_REWARD - 1)"))
    (finding,) = run_check("differential", package, SMALL).findings
    assert Path(finding.file) == package.path / "failures" / "differential-seed11-1.json"
    content = json.loads(Path(finding.file).read_text())
    assert content["format"] == 1
    assert content["package"] == {
        "id": "simulacrum/toywalk-v0", "path": str(package.path), "digest": package.digest
    }  # fmt: skip
    assert content["finding"] == finding.as_dict()
    assert content["divergence"]["field"] == "reward"
    first, ended, now = content["moments"]
    assert first["reference"] == first["fast"]
    assert [ended[side]["reward"] for side in ("reference", "fast")] == [10.0, 9.0]
    assert ended["action"] == 1
    assert ended["draws"]["reference"][0] == ["SLIP", 0, False]
    assert now["when"] == "in the first state after an end"
    saved = findings.read(Path(finding.file))
    assert (saved.finding, saved.id, saved.path) == (finding, "simulacrum/toywalk-v0", package.path)
    assert playback.run(package, saved.case) is not None
    assert playback.run(Package.read(ENVS / "toywalk"), saved.case) is None


def test_a_case_that_shows_nothing_is_kept_and_says_so(tmp_path: Path) -> None:
    context = Context("differential", broken(tmp_path / "package", "toywalk"), SMALL)
    context.problem("it was otherwise", Case(seeds=np.arange(3, dtype=np.uint64)), instance=2)
    context.problem("and once more", Case(seeds=np.arange(2, dtype=np.uint64)), field="reward")
    first, second = context.findings
    assert (first.rows, first.steps, second.rows) == (3, 0, 2)
    assert first.hint == "the case alone does not show it again: more of what the check did belongs to it"
    assert [Path(one.file).name for one in (first, second)] == [
        f"differential-seed11-{number}.json" for number in (1, 2)
    ]


def test_of_several_cases_the_first_that_shows_it_is_taken(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", fast=("GOAL_REWARD)", "GOAL_REWARD - 1)"))
    seeds = np.arange(5, dtype=np.uint64)
    context = Context("differential", package, SMALL)
    with pytest.raises(CheckFailed):
        context.fail("it differs", [Case(seeds=seeds), Case(seeds=seeds, actions=np.ones((20, 5), np.int64))])
    (finding,) = context.findings
    assert (finding.rows, finding.steps) == (1, 1)


def test_a_hidden_counter_is_found_in_all_calls_since_the_start(tmp_path: Path) -> None:
    body = (
        "    def _result(self, carry, outcome):\n"
        "        self.__dict__['seen'] = self.__dict__.get('seen', 0) + 1\n"
        "        return super()._result(carry, outcome._replace(reward=outcome.reward + (self.__dict__['seen'] == 23)))"
    )
    package = broken(tmp_path / "package", "toywalk", fast=method(body))
    (finding,) = run_check("differential", package, SMALL).findings
    assert finding.field == "reward"
    assert (finding.rows, finding.steps) == (1, 23)


@pytest.mark.parametrize("check", ["batch_independence", "benchmark_factory_parity", "invariant_sweep", "auto_reset"])
def test_the_findings_of_the_checks_are_one_transition_long(check: str, tmp_path: Path) -> None:
    names = [name for name, (_, _, finder) in FAULTS.items() if finder == check]
    assert names
    for number, name in enumerate(names):
        base, changes, _ = FAULTS[name]
        (finding,) = run_check(check, broken(tmp_path / str(number), base, **changes), SMALL).findings
        assert finding.file, name
        assert finding.steps is not None
        assert finding.steps <= 1, name
        assert playback.run(Package.read(tmp_path / str(number)), findings.read(Path(finding.file)).case), name


def test_a_check_that_never_met_what_is_declared_fails() -> None:
    result = run_check("invariant_sweep", Package.read(ENVS / "toywalk"), replace(SMALL, sweep=(1, 1)))
    assert result.outcome == "failed"
    assert result.findings[0].message.startswith("no cause goal seen, though spec.md declares the termination 'goal'")


def test_an_exception_in_the_package_is_a_finding_with_its_place(tmp_path: Path) -> None:
    package = broken(
        tmp_path / "package", "toywalk", reference=("at_goal = position == L", "at_goal = position == L and 1 // 0")
    )
    (finding,) = run_check("differential", package, SMALL).findings
    assert "ZeroDivisionError" in finding.message
    assert f"{package.path / 'reference.py'}:" in finding.message
    assert (finding.steps, finding.rows) == (1, 1)


def test_an_exit_in_the_package_is_a_finding(tmp_path: Path) -> None:
    package = broken(
        tmp_path / "package", "toywalk", reference=("at_goal = position == L", "at_goal = position == L and exit(0)")
    )
    assert run_check("differential", package, SMALL).outcome == "failed"


# ---------------------------------------------------------------------- what the package may be made of


@pytest.mark.parametrize("folder", ["corpus", "failures", "trajectories", "__pycache__"])
def test_code_that_is_not_hashed_is_not_imported(tmp_path: Path, folder: str) -> None:
    package = broken(tmp_path / "package", "toywalk", init=("from enum", f"from .{folder}.hidden import X\nfrom enum"))
    (package.path / folder).mkdir(exist_ok=True)
    (package.path / folder / "hidden.py").write_text("X = 1\n")
    with pytest.raises(PackageError, match="not among the files of the package"):
        Package.read(package.path).module()


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk")
    (tmp_path / "outside").mkdir()
    (package.path / "library").symlink_to(tmp_path / "outside")
    with pytest.raises(PackageError, match="is a link to a folder"):
        Package.read(package.path)


def test_a_package_that_exits_when_imported_is_told(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", fast=("import torch", "import torch\n\nraise SystemExit(0)"))
    with pytest.raises(PackageError, match=r"fast.py raised SystemExit"):
        package.module("fast")


def test_data_comes_from_the_bytes_that_were_hashed(tmp_path: Path) -> None:
    broken(tmp_path / "package", "toywalk")
    (tmp_path / "package" / "data.txt").write_text("first")
    package = Package.read(tmp_path / "package")
    (tmp_path / "package" / "data.txt").write_text("other")
    assert pkgutil.get_data(package.module().__name__, "data.txt") == b"first"


HOLDS = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from simulacrum.harness.workers import end

def hold():
    multiprocessing.held = multiprocessing.get_context("forkserver").Lock()

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("forkserver"))
    pool.submit(hold).result()
    end(pool, float(sys.argv[1]))
"""


@pytest.mark.parametrize(("patience", "leaks"), [(workers.PATIENCE, False), (0.0, True)])
def test_an_idle_process_gives_back_its_semaphores(patience, leaks, tmp_path):
    (tmp_path / "holds.py").write_text(HOLDS)
    command = [sys.executable, str(tmp_path / "holds.py"), str(patience)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert ("leaked semaphore" in done.stderr) == leaks
