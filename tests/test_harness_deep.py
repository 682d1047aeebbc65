"""Checks side by side in processes, and the deep profile: shards, the ledger, and what a killed process costs."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulacrum.cli import main
from simulacrum.harness import deep
from simulacrum.harness.evidence import evidence, words
from simulacrum.harness.finding import Finding
from simulacrum.harness.profile import QUICK
from simulacrum.harness.report import CheckResult
from simulacrum.harness.runner import run
from simulacrum.spec import Package

TOYWALK = Path(__file__).resolve().parents[1] / "envs" / "toywalk"
TINY = replace(QUICK, transitions=500, search=(1, 64, 5), sizes={7: (7, 50)}, sweep=(64, 80), independence=(65, 40))


class Fake:
    """An executor that runs nothing; the first try of shard 2 is lost."""

    def __init__(self, width: int = 3) -> None:
        self.width, self.waiting, self.submitted, self.closed = width, [], [], False

    def submit(self, shard: deep.Shard) -> None:
        self.waiting.append(shard)
        self.submitted.append(shard.number)

    def finished(self) -> tuple[deep.Shard, CheckResult | None]:
        shard = self.waiting.pop()
        if shard.number == 2 and self.submitted.count(2) == 1:
            return shard, None
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


def test_a_run_goes_on_where_it_stopped_and_runs_again_what_was_lost(state: Path) -> None:
    package, told = Package.read(TOYWALK), []
    ledger, executor = deep.Ledger(package, None, 7), Fake()
    deep.run_deep(ledger, executor, told.append, limit=5)
    assert executor.closed
    assert executor.submitted.count(2) == 2
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


def test_a_process_that_is_killed_costs_what_it_ran_and_no_more(state: Path) -> None:
    package = Package.read(TOYWALK)
    executor = deep.Local(deep.Work(package, TINY), 1)
    killed = threading.Event()

    def kill() -> None:
        while not executor._pool._processes:
            time.sleep(0.05)
        os.kill(next(iter(executor._pool._processes)), signal.SIGKILL)
        killed.set()

    threading.Thread(target=kill).start()
    ledger, told = deep.Ledger(package, 1, 1), []
    deep.run_deep(ledger, executor, told.append, limit=2)
    assert killed.is_set()
    assert {done.outcome for done in told} == {"passed"}
    assert sorted(ledger.done) == [0, 1]


def test_on_ray_the_shards_come_to_the_same(state: Path) -> None:
    ray: Any = pytest.importorskip("ray", reason="Ray is an extra: pip install 'simulacrum[ray]'")
    package = Package.read(TOYWALK)
    work = deep.Work(package, TINY)
    here = work(deep.shard(0, 1))
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        ledger, told = deep.Ledger(package, 1, 1), []
        deep.run_deep(ledger, deep.OnRay(work, "auto"), told.append, limit=1)
    finally:
        ray.shutdown()
    assert told[0].counts == here.counts
    assert told[0].outcome == here.outcome == "passed"


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
