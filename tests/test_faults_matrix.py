"""The matrix: a fixed sample of faults is found, what ran is not run again, and what hangs is ended."""

import json
import os
import shutil
import signal
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from simulacrum.errors import PackageError
from simulacrum.harness.faults import cases, matrix, workers
from simulacrum.harness.faults.cases import Case
from simulacrum.harness.faults.workers import run_jobs
from simulacrum.harness.profile import QUICK
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parents[1] / "envs"
TOYWALK = Package.read(ENVS / "toywalk")
SMALL = replace(QUICK, sizes={3: (3, 200)})
SAMPLE = {
    "the observation has -0.0 for 0.0": "worked_examples",
    "a reset leaves the step counter as it was": "differential",
    "an automatic reset begins the same episode again": "differential",
    "fast.py transition: `position == L` -> `position != L` #1": "worked_examples",
    "reference.py transition: `if position < -L: ...` dropped #1": "worked_examples",
    "fast.py initial: `2 * START_RANGE` -> `2 * (START_RANGE + 1)` #1": "worked_examples",
    "both transition: `action == 1` -> `action != 1`": "worked_examples",
}


def fault(name: str, old: str, new: str) -> Case:
    text = TOYWALK.files["fast.py"].decode()
    assert text.count(old) == 1
    return Case(name, "domain", "system", {"fast.py": text.replace(old, new).encode()})


def test_a_fixed_sample_is_found_and_kept(tmp_path, monkeypatch):
    chosen = [case for case in cases.cases(TOYWALK) if case.name in SAMPLE]
    chosen.append(fault("no module", "import torch\n", "import torch, no_such_module\n"))
    chosen.append(fault("nothing", "import torch\n", "import torch  # nothing changes\n"))
    output = tmp_path / "results.jsonl"
    options = {"names": ("differential", "worked_examples"), "output": output, "workers": 2}
    found = {result.name: result for result in matrix.run(TOYWALK, chosen, SMALL, **options)}
    assert {name: found[name].found_by for name in SAMPLE} == {name: [by] for name, by in SAMPLE.items()}
    assert found["no module"].found_by == ["load"]
    assert "no_such_module" in found["no module"].message
    assert found["nothing"].found_by == []
    first = found["the observation has -0.0 for 0.0"]
    assert first.kind == "numbers"
    assert first.files == ["fast.py"]
    assert first.message
    assert all(result.alike for result in found.values())

    with output.open("a") as file:
        file.write('{"name": "cut off')  # the line that an interruption left
    monkeypatch.setattr(matrix, "run_jobs", lambda function, jobs, *rest: iter([(job, 1 / 0) for job in jobs]))
    again = {result.name: result for result in matrix.run(TOYWALK, chosen, SMALL, **options)}
    assert again == found
    with pytest.raises(ZeroDivisionError):  # another seed is another question
        list(matrix.run(TOYWALK, chosen, SMALL.seeded(1), **options))


def test_all_finders_are_told_and_the_first_counts(tmp_path):
    case = fault("another reward", "self.float32(GOAL_REWARD)", "self.float32(GOAL_REWARD + 1)")
    order = ("worked_examples", "differential")
    job = matrix.Job(str(TOYWALK.path), case, order, SMALL, True, "key")
    result = matrix.judge(job)
    assert result.found_by == list(order)
    assert matrix.judge(replace(job, every=False)).found_by == ["worked_examples"]
    result = matrix.judge(replace(job, names=("differential",)))
    assert result.transitions > 0
    assert result.steps is not None


def test_a_misreading_on_which_the_sides_differ_is_none():
    case = replace(fault("one side", "self.float32(GOAL_REWARD)", "self.float32(GOAL_REWARD + 1)"), group="both")
    assert not matrix.judge(matrix.Job(str(TOYWALK.path), case, ("worked_examples",), SMALL, False, "key")).alike


def test_a_package_that_does_not_pass_says_so(tmp_path):
    folder = tmp_path / "toywalk"
    broken = fault("another reward", "self.float32(GOAL_REWARD)", "self.float32(GOAL_REWARD + 1)")
    package = cases.put(TOYWALK, broken, tmp_path)
    with pytest.raises(PackageError, match="does not pass differential"):
        next(matrix.run(package, [], SMALL, names=("differential",)))
    assert package.path == folder


def test_copies_have_no_trace_and_no_report_but_the_corpus(tmp_path):
    shutil.copytree(TOYWALK.path, tmp_path / "here" / "toywalk")
    (tmp_path / "here" / "toywalk" / "corpus").mkdir(exist_ok=True)
    (tmp_path / "here" / "toywalk" / "corpus" / "one.json").write_text("{}")
    copy = cases.put(tmp_path / "here" / "toywalk", Case("none", "", "", {}), tmp_path / "there")
    names = {file.relative_to(copy.path).as_posix() for file in copy.path.rglob("*") if file.is_file()}
    assert {"spec.md", "fast.py", "corpus/one.json"} <= names
    assert not {"trace.json", "faults.py", "validation_report.json"} & names
    assert copy.name == "toywalk"


@pytest.mark.parametrize("name", ["../beside.py", "/{folder}/there.py", "a/../../beside.py"])
def test_nothing_is_written_outside_of_the_copy(tmp_path, name):
    name = name.format(folder=tmp_path)
    with pytest.raises(PackageError, match="expected a file inside of the package"):
        cases.put(TOYWALK, Case("one", "domain", "rules", {name: b"x"}), tmp_path / "copy")
    assert [file.name for file in tmp_path.rglob("*.py") if file.name in ("beside.py", "there.py")] == []


def test_a_result_of_another_form_is_passed_over(tmp_path):
    good = asdict(matrix.Result("one", "domain", "rules", ["fast.py"], ["replay"], 1, 5, 0.5, "it differs", key="k"))
    output = tmp_path / "results.jsonl"
    odd = [{**good, "found_by": "replay"}, {**good, "found_by": [1]}, {**good, "key": []}, {**good, "steps": "1"}]
    odd += [{**good, "seconds": None}, {**good, "alike": 1}, {**good, "more": 1}, [good], {}]
    output.write_bytes(b"\n".join([b"\xff", b"[" * 100_000, *(json.dumps(one).encode() for one in odd)]))
    assert matrix.read(output) == {}
    with output.open("a") as file:
        file.write("\n" + json.dumps(good))
    assert matrix.read(output) == {"k": matrix.Result(**good)}


def test_a_result_holds_for_what_it_depends_on():
    case = fault("one", "GOAL_REWARD)", "GOAL_REWARD + 1)")
    key = matrix.key_of(TOYWALK, case, ("differential",), SMALL, False)
    assert key == matrix.key_of(TOYWALK, replace(case, kind="rules"), ("differential",), SMALL, False)
    others = [
        matrix.key_of(TOYWALK, fault("one", "GOAL_REWARD)", "GOAL_REWARD + 2)"), ("differential",), SMALL, False),
        matrix.key_of(TOYWALK, case, ("replay",), SMALL, False),
        matrix.key_of(TOYWALK, case, ("differential",), SMALL.seeded(3), False),
        matrix.key_of(TOYWALK, case, ("differential",), SMALL, True),
    ]
    assert len({key, *others}) == 5


def test_cheap_checks_come_first_and_speed_is_left_out():
    order = matrix.ordered(["a_new_check", "throughput", "benchmark_factory_parity", "worked_examples"])
    assert order == ("worked_examples", "benchmark_factory_parity", "a_new_check")


def test_every_fault_has_a_name_of_its_own_and_its_texts_stand_once(tmp_path):
    from simulacrum import Fault

    with pytest.raises(PackageError, match=r"expected this text once in fast\.py, found it 0 times: 'nowhere'"):
        cases.changed(TOYWALK, Fault("one", "rules", {"fast.py": [("nowhere", "")]}))
    shutil.copytree(TOYWALK.path, tmp_path / "toywalk")
    (tmp_path / "toywalk" / "faults.py").write_text(
        "from simulacrum import Fault\n"
        "FAULTS = [Fault('one', 'rules', {'fast.py': [('GOAL_REWARD)', 'GOAL_REWARD + 1)')]}),\n"
        "          Fault('two', 'both sides', {'fast.py': [('GOAL_REWARD)', 'STEP_REWARD)')]})]\n"
        "EQUIVALENT = {'some mutant': 'a reason'}\n"
    )
    package = Package.read(tmp_path / "toywalk")
    groups = {case.name: case.group for case in cases.cases(package)}
    assert (groups["one"], groups["two"]) == ("domain", "both")
    assert cases.excused(package) == {"some mutant": "a reason"}
    text = (tmp_path / "toywalk" / "faults.py").read_text()
    (tmp_path / "toywalk" / "faults.py").write_text(text.replace("'two', 'both sides'", "'one', 'rules'"))
    with pytest.raises(PackageError, match=r"expected names that no other fault has, got \['one'\] twice"):
        cases.cases(Package.read(tmp_path / "toywalk"))


# ---------------------------------------------------------------------- jobs that hang or crash


def act(job: str) -> str:
    """What a worker does in the test below."""
    if job == "hang":
        while True:
            time.sleep(0.01)
    if job == "hang, deaf":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        while True:
            time.sleep(0.01)
    if job == "crash":
        os._exit(3)
    return f"{job} done"


def test_jobs_that_hang_or_crash_are_told_and_the_others_run(monkeypatch):
    monkeypatch.setattr(workers, "GRACE", 1.0)
    jobs = ["one", "hang", "hang, deaf", "crash", "two"]
    done = dict(run_jobs(act, jobs, 1, 0.3))
    assert done == {
        "one": "one done", "hang": "time limit", "hang, deaf": "time limit", "crash": "crash", "two": "two done"
    }  # fmt: skip


def test_a_mutant_that_hangs_is_found(tmp_path):
    hanging = fault(
        "an endless loop",
        "        at_goal = position == L",
        "        while True:\n            pass\n        at_goal = position == L",
    )
    job = matrix.Job(str(TOYWALK.path), hanging, ("differential",), SMALL, False, "key")
    output = tmp_path / "results.jsonl"
    (result,) = matrix._judged([job], {}, 1, 4.0, output)
    assert result.found_by == ["time limit"]
    assert "more than 4 seconds" in result.message
    assert json.loads(output.read_text())["found_by"] == ["time limit"]
