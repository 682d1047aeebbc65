"""Checks side by side in processes, and the deep profile: shards, the ledger, and what a killed process costs."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import Noted, cluster
from edited import edited

from simulacrum.cli import main
from simulacrum.errors import SimulacrumError
from simulacrum.harness import deep, executors
from simulacrum.harness.evidence import evidence, words
from simulacrum.harness.finding import Finding
from simulacrum.harness.profile import QUICK
from simulacrum.harness.report import CheckResult
from simulacrum.harness.runner import run
from simulacrum.spec import Package

TOYWALK = Path(__file__).resolve().parents[1] / "envs" / "toywalk"
TINY = replace(QUICK, transitions=500, search=(1, 64, 5), sizes={7: (7, 50)}, sweep=(64, 80), independence=(65, 40))
SHARDS = 3  # of a run in which a process is killed


class Fake:
    """An executor that runs nothing; shard 4 has a finding."""

    def __init__(self, width: int = 3) -> None:
        self.width, self.closed = width, False
        self.waiting: list[deep.Shard] = []
        self.submitted: list[int] = []

    def submit(self, shard: deep.Shard) -> None:
        self.waiting.append(shard)
        self.submitted.append(shard.number)

    def finished(self) -> tuple[deep.Shard, CheckResult]:
        shard = self.waiting.pop()
        findings = [Finding(shard.check, "wrong")] if shard.number == 4 else []
        outcome = "failed" if findings else "passed"
        return shard, CheckResult(shard.check, outcome, 0.5, {"transitions": 10, "episodes": 5}, [], findings)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_shards_take_every_check_with_ever_new_seeds() -> None:
    first = [deep.shard(number, 2**32 - 1) for number in range(2 * len(deep.CHECKS))]
    assert [one.check for one in first[: len(deep.CHECKS)]] == list(deep.CHECKS)
    assert {one.seed for one in first} == {2**32 - 1, 0}
    assert len(set(first)) == len(first)


def test_a_run_goes_on_where_it_stopped(state: Path) -> None:
    package = Package.read(TOYWALK)
    told: list[deep.Done] = []
    ledger, executor = deep.Ledger(package, None, 7), Fake()
    deep.run_deep(ledger, executor, told.append, limit=5)
    assert executor.closed
    assert len(told) == len(ledger.done) == 5
    with ledger.file.open("a") as file:
        file.write('{"shard": [99, ')  # cut short by a power failure
    later = deep.Ledger(package, None, 8)
    assert later.seed == 7
    assert later.done == ledger.done
    other = Fake()
    deep.run_deep(later, other, told.append, limit=3)
    assert not set(other.submitted) & set(ledger.done)
    assert sorted(later.done) == list(range(8))
    totals = later.totals()
    assert totals[deep.shard(4, 7).check]["failed"] == 1
    assert totals[deep.shard(4, 7).check]["evidence"] is None
    assert totals["transitions"]["transitions"] == 10
    assert deep.Ledger(package, 3, 8).done == {}  # another seed is another run


GOOD = {
    "shard": [0, "transitions", 7],
    "outcome": "passed",
    "seconds": 1.0,
    "counts": {"transitions": 5},
    "findings": [],
}
ODD_LINES = [
    *({**GOOD, "counts": counts} for counts in ("abc", [1], None, {"transitions": -5}, {"transitions": "x"})),
    *({**GOOD, "counts": {"transitions": count}} for count in (1.5, True, None)),
    *({**GOOD, "shard": part} for part in ("abc", None, [], [0], ["a", "transitions", 7], [[1], "transitions", 7])),
    *({**GOOD, "shard": part} for part in ([1, "transitions", 7], [0, "transitions", 8], [0, ["transitions"], 7])),
    {**GOOD, "shard": [-1, "symmetries", 6]},
    *({**GOOD, "outcome": outcome} for outcome in ("PASS?", [1], None)),
    {**GOOD, "seconds": "1"},
    {**GOOD, "findings": None},
    *({**GOOD, "findings": [one]} for one in (1, {"check": "x"}, {"check": "x", "message": 1})),
    {**GOOD, "more": 1},
    {"shard": GOOD["shard"]},
]


def ledger_of(package: Package, *lines: bytes) -> deep.Ledger:
    """The ledger of a run with seed 7 whose file holds these lines."""
    file = deep.Ledger(package, 7, 7).file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\n".join(lines))
    return deep.Ledger(package, 7, 7)


@pytest.mark.parametrize("line", ODD_LINES, ids=str)
def test_a_line_that_is_no_shard_of_the_run_is_run_again(state: Path, line: dict[str, Any]) -> None:
    package = Package.read(TOYWALK)
    assert next(ledger_of(package, json.dumps(GOOD).encode()).missing()).number == 1
    ledger = ledger_of(package, json.dumps(line).encode())
    assert ledger.done == {}
    assert next(ledger.missing()) == deep.shard(0, 7)


def test_one_odd_line_costs_no_other(state: Path) -> None:
    ledger = ledger_of(
        Package.read(TOYWALK), b"\xff\xfe", b"[" * 100_000, json.dumps(GOOD).encode(), b'{"shard": [99, '
    )
    assert sorted(ledger.done) == [0]
    ledger.add(deep.Done(deep.shard(1, 7), "passed", 1.0, {}, []))
    assert sorted(deep.Ledger(Package.read(TOYWALK), 7, 7).done) == [0, 1]  # not glued to what was cut short


@pytest.mark.parametrize("name", ["notes", "99999999999999", "4294967296", "-1", "007", "7b", "\u0667"])
def test_a_stray_file_is_no_run(state: Path, name: str) -> None:
    package = Package.read(TOYWALK)
    folder = ledger_of(package).file.parent
    (folder / f"{name}.jsonl").write_text("x")
    assert deep.Ledger(package, None, 8).seed == 7


def test_interrupted_it_loses_nothing_and_closes(state: Path) -> None:
    def interrupted(done: deep.Done) -> None:
        raise KeyboardInterrupt

    ledger, executor = deep.Ledger(Package.read(TOYWALK), 1, 1), Fake()
    with pytest.raises(KeyboardInterrupt):
        deep.run_deep(ledger, executor, interrupted)
    assert executor.closed
    assert len(deep.Ledger(Package.read(TOYWALK), 1, 1).done) == 1


def holding(folder: Path) -> Package:
    """Toywalk, where a file ``hold`` makes the first process that sees it wait in the middle of a shard until it is
    killed: it takes the file away and writes its number to ``held``.
    """
    wait = (
        "\nimport os, time\nfrom pathlib import Path\n"
        f"HERE = Path({str(folder)!r})\n"
        "try:\n    (HERE / 'hold').rename(HERE / 'holding')\nexcept FileNotFoundError:\n    pass\n"
        "else:\n    (HERE / 'holding').write_text(str(os.getpid()))\n"
        "    (HERE / 'holding').rename(HERE / 'held')\n    time.sleep(600)\n"
    )
    return edited(folder, "toywalk", ("reference.py", "import numpy as np\n", "import numpy as np\n" + wait))


@contextmanager
def killer(folder: Path) -> Iterator[list[int]]:
    """Gives the process that waits SIGKILL, by its own number, while the block runs; yields whom it killed."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not (killed or over.wait(0.05)):
            if (folder / "held").exists():
                killed.append(int((folder / "held").read_text()))
                os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def merged(ledger: deep.Ledger) -> Any:
    """All that a deep run tells at its end."""
    return ledger.totals(), ledger.merged()


class Here(Fake):
    """Runs shards in this process."""

    def __init__(self, work: executors.Work) -> None:
        super().__init__(1)
        self.work = work

    def finished(self) -> tuple[deep.Shard, CheckResult]:
        shard = self.waiting.pop()
        return shard, self.work(shard)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """One cluster for the module."""
    with cluster() as begun:
        yield begun


@pytest.fixture(params=["processes", "ray"])
def where(request: pytest.FixtureRequest) -> Callable[[executors.Work], deep.Executor]:
    """Makes an executor of each kind, with two processes."""
    if request.param == "processes":
        return lambda work: executors.Local(work, 2)
    request.getfixturevalue("ray")
    return lambda work: executors.OnRay(work, "local")


def test_a_process_that_is_killed_costs_its_own_shard_alone(state: Path, where: Any) -> None:
    """It really gets SIGKILL in the middle of a shard: that one is begun again, no other is, and nothing of the end
    differs from an undisturbed run in one process."""
    package = holding(state)
    told: list[deep.Done] = []
    calm = deep.Ledger(package, 1, 1)
    deep.run_deep(calm, Here(executors.Work(package, TINY)), lambda done: None, limit=SHARDS)
    expected = merged(calm)
    calm.file.unlink()
    (state / "hold").touch()
    work, ledger = Noted(package, TINY, notes=state / "begun"), deep.Ledger(package, 1, 1)
    with killer(state) as killed:
        deep.run_deep(ledger, where(work), told.append, limit=SHARDS)
    (lost,) = [shard for shard, process in work.lines() if process in killed]
    assert work.begun() == {shard: 1 + (shard == lost) for shard in range(SHARDS)}
    assert sorted(done.shard.number for done in told) == list(range(SHARDS))
    assert merged(ledger) == expected


def test_a_shard_whose_process_always_dies_is_a_finding(state: Path, where: Any) -> None:
    """Told after three tries, and the run goes on."""
    dying = "\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    package = edited(state, "toywalk", ("reference.py", "import numpy as np\n", "import numpy as np\n" + dying))
    work, ledger = Noted(package, TINY, notes=state / "begun"), deep.Ledger(package, 1, 1)
    deep.run_deep(ledger, where(work), lambda done: None, limit=1)
    assert work.begun() == {0: 3}
    (one,) = ledger.merged()
    assert "died, 3 times out of 3" in one.finding.message
    assert one.finding.replay.endswith("-k transitions --seed 1")


def test_findings_of_one_kind_are_told_once(state: Path) -> None:
    """That of the first shard, whichever ended first; numbers differ with every seed, words and fields do not."""
    ledger = deep.Ledger(Package.read(TOYWALK), 1, 1)
    for number, field, message in ((12, "x", "got 1.5e3"), (2, "x", "got 7"), (22, "y", "got 7"), (32, "x", "was 7")):
        finding = Finding("differential", message, field=field, seed=number)
        ledger.add(deep.Done(deep.shard(number, 1), "failed", 1.0, {}, [finding.as_dict()]))
    told = [(one.finding.seed, one.finding.message, one.shards) for one in ledger.merged()]
    assert told == [(2, "got 7", [2, 12]), (22, "got 7", [22]), (32, "was 7", [32])]


def test_on_ray_findings_come_home(state: Path, ray: Any) -> None:
    """From every shard that has one, with its case's file here, though another machine wrote it."""
    package = edited(state, "toywalk", ("fast.py", "self.float32(L)", "self.float32(L + 1)"))
    ledger = deep.Ledger(package, 1, 1)
    deep.run_deep(ledger, executors.OnRay(executors.Work(package, TINY), "local"), lambda done: None, limit=4)
    found = ledger.merged()
    assert {"differential", "auto_reset"} <= {one.finding.check for one in found}
    assert all(one.finding.check == deep.shard(number, 1).check for one in found for number in one.shards)
    assert all(Path(one.finding.file).parent == package.path / "failures" for one in found)
    assert all(Path(one.finding.file).is_file() for one in found)
    work = executors.Work(package, TINY)
    result, files = executors._with_files(work, deep.shard(2, 1))
    Path(result.findings[0].file).unlink()
    away = replace(result, findings=[replace(result.findings[0], file="/elsewhere/failures/differential-seed1-1.json")])
    home = executors._at_home(package, away, files)
    assert home.findings == result.findings
    assert Path(home.findings[0].file).read_bytes() == files[0]


def test_on_ray_what_no_worker_can_run_ends_the_run(state: Path, ray: Any) -> None:
    """Another framework there: refused, with what differs, where it would run the shard again without end."""
    work = executors.Work(Package.read(TOYWALK), TINY, code={**executors._code(), "torch": "1.0"})
    ledger = deep.Ledger(Package.read(TOYWALK), 1, 1)
    with pytest.raises(SimulacrumError, match=r"expected the cluster to run shard 0 .*changed torch"):
        deep.run_deep(ledger, executors.OnRay(work, "local"), lambda done: None, limit=1)
    assert ledger.done == {}
    assert ray.is_initialized()  # a connection that was there before stays


def test_no_cluster_and_no_ray_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    ray: Any = pytest.importorskip("ray", reason="Ray is an extra: pip install 'simulacrum[ray]'")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    work = executors.Work(Package.read(TOYWALK), TINY)
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(SimulacrumError, match=r"running Ray cluster.*ray start --head"):
            executors.OnRay(work, f"127.0.0.1:{taken.getsockname()[1]}")
    with pytest.raises(SimulacrumError, match="nonsense: expected the address"):
        executors.OnRay(work, "nonsense")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SimulacrumError, match=re.escape("pip install 'simulacrum[ray]'")):
        executors.OnRay(work, "auto")


def test_the_command_refuses_what_does_not_go_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(TOYWALK), "--shards", "1"]) == 2
    assert "belong to --deep" in capsys.readouterr().err
    assert main(["validate", str(TOYWALK), "--deep", "--quick"]) == 2
    assert "--deep runs its own checks" in capsys.readouterr().err


def test_side_by_side_the_report_is_the_same() -> None:
    names, seen, shares = ("spec_contract", "transitions", "coverage", "throughput"), [], []
    beside = run(
        TOYWALK,
        TINY,
        names=names,
        workers=2,
        finished=lambda result: seen.append(result.name),
        progress=lambda name, share: shares.append(name),
    )
    alone = run(TOYWALK, TINY, names=names)
    assert tuple(result.name for result in beside.checks) == names
    assert sorted(seen) == sorted(names)
    assert seen[-1] == "throughput"  # after the others, alone
    assert "transitions" in shares
    for one, other in zip(beside.checks[:3], alone.checks[:3], strict=True):
        assert (one.outcome, one.counts) == (other.outcome, other.counts)


def test_the_bound_is_of_what_was_sampled() -> None:
    found = evidence("transitions", "passed", {"independent transitions": 600_000, "transitions": 600_000})
    assert found == {"unit": "transitions", "agreed": 600_000, "bound": 5e-6}
    told = "600,000 independent transitions agreed; below 5.0e-06 of such transitions differ (95 %)"
    assert words("transitions", "passed", found) == told
    assert evidence("differential", "passed", {"transitions": 1000, "episodes": 30})["bound"] == 0.1  # type: ignore[index]
    assert evidence("differential", "failed", {"episodes": 30}) is None
    assert evidence("guided_search", "passed", {"episodes": 30}) is None
    assert evidence("spec_contract", "passed", {"facts compared": 30}) is None
    assert words("transitions", "failed", None) == ""
    assert words("guided_search", "passed", None) == "no bound follows: its inputs are guided, and no random sample"
    assert words("purity", "passed", None).endswith("it takes no independent samples")
