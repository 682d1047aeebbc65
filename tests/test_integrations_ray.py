"""``integrations/ray_collector.py`` on a real local cluster of two workers, beside one process over all rows."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from clusters import cluster
from environments import FORAGER, TOYWALK, frozen
from registered import registered
from tensordict import TensorDictBase
from torchrl.collectors import Collector

from simulacrum import FastEnv
from simulacrum.spec import Package

pytest.importorskip("ray", reason="Ray is an extra: pip install 'simulacrum[ray]'")
INTEGRATIONS = Path(__file__).resolve().parent.parent / "integrations"
sys.path.insert(0, str(INTEGRATIONS))

from ray_collector import Rows, policy_for  # noqa: E402

ROWS, STEPS, BATCHES = 6, 130, 3  # rows end several times in it


@pytest.fixture(scope="module", autouse=True)
def ray() -> Iterator[Any]:
    """One cluster for the module."""
    with cluster() as begun:
        yield begun


def make(package: Package, form: str, *size: Any, **options: Any) -> FastEnv[Any]:
    """A part of an environment, from the package itself: its bytes go to the workers."""
    made: FastEnv[Any] = package.forms[form](*size, **options)
    return made


def maker(package: Package, form: str = "tensor") -> Any:
    return partial(make, package, form)


def one_process(factory: Any, seed: int, policy: Any, batches: int = BATCHES) -> Collector:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of transforms for recurrent policies
        return Collector(
            factory([ROWS], seed=seed),
            policy,
            frames_per_batch=ROWS * STEPS,
            total_frames=ROWS * STEPS * batches,
            auto_register_policy_transforms=False,
        )


@pytest.fixture
def two_workers() -> Iterator[Any]:
    """Makes a collector over two workers, which end with the test."""
    made: list[Rows] = []

    def begin(factory: Any, seed: int, policy: Any) -> Rows:
        made.append(Rows(factory, ROWS, seed, policy, steps=STEPS, batches=BATCHES))
        return made[-1]

    yield begin
    for one in made:
        one.shutdown()


def same(one: TensorDictBase, other: TensorDictBase) -> bool:
    return bool(frozen(one) == frozen(other)) and one.batch_size == other.batch_size


def test_two_workers_collect_the_bits_of_one_process(two_workers: Any) -> None:
    """Forager: every key, trajectories' numbers too; also after the policy's weights have changed."""
    factory = maker(FORAGER, "kernel")
    policy = policy_for(factory([1]))
    collector, alone = two_workers(factory, 7, policy), one_process(factory, 7, policy)
    batches, ended = 0, 0
    for joined, expected in zip(collector, alone, strict=True):
        assert same(joined, expected)
        batches += 1
        ended += int(joined["next", "done"].sum())
        if batches == 1:
            actions = policy.module(joined["observation"])
            with torch.no_grad():
                policy.module.weight.neg_()
            assert not torch.equal(policy.module(joined["observation"]), actions)
            collector.update_policy_weights_()
            alone.update_policy_weights_()
    assert batches == BATCHES
    assert ended > 2 * ROWS


def test_seeds_and_resets_are_of_the_run(two_workers: Any) -> None:
    """Toywalk: every key, from the start and in the middle of episodes; then what the program's ``set_seed`` is for."""
    factory = maker(TOYWALK)
    policy = policy_for(factory([1]))
    collector, alone = two_workers(factory, 1, policy), one_process(factory, 1, policy)
    batches, others = iter(collector), iter(alone)
    for seed in (9, 2**63):
        for one in (collector, alone):
            one.set_seed(seed)
            one.reset()
        assert same(next(batches), next(others))
    collector.collector.set_seed(9)  # TorchRL's: the day that it gives all workers one seed, the program needs no other
    collector.reset()
    alone.set_seed(9)
    alone.reset()
    batch, expected = (next(one).exclude("collector") for one in (batches, others))
    assert same(batch[: ROWS // 2], expected[: ROWS // 2])
    assert not same(batch[ROWS // 2 :], expected[ROWS // 2 :])


def test_rows_that_cannot_be_shared_out_are_refused() -> None:
    with pytest.raises(ValueError, match="expected a multiple of 2 workers, got 5"):
        Rows(maker(TOYWALK), 5, 0, torch.nn.Identity(), steps=1, batches=1)


def test_the_program_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a command, with a cluster of its own, on a package that the gate admits in the workers too."""
    registered(tmp_path, monkeypatch, "toywalk")
    ran = subprocess.run(
        [sys.executable, str(INTEGRATIONS / "ray_collector.py"), str(tmp_path / "toywalk")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    lines = ran.stdout.splitlines()
    assert [line.split(",")[0] for line in lines if line.startswith("batch")] == [
        f"batch {number}: 8192 frames" for number in range(4)
    ]
