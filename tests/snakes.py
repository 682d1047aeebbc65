"""snake in its smallest configuration: both sides beneath the gate, and a copy of the package that passes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from edited import edited_as
from environments import ENVS
from fabricated import results

from simulacrum import FastEnv, ReferenceEnv
from simulacrum.harness import checks, discovery, fingerprint
from simulacrum.harness.profile import DEFAULT
from simulacrum.harness.report import new_report
from simulacrum.spec import Package

TINY = Package.read(ENVS / "snake").configured("tiny")
AGENTS, CAP = TINY.environment.agents, TINY.environment.max_episode_steps
NATIVE = (("kernel", "native", "cpu"),)


def fast(seeds: range | int, rows: int | None = None, **options: Any) -> FastEnv[Any]:
    """The fast side: a row for each of these seeds, or ``rows`` of one that TorchRL derives from a seed."""
    if isinstance(seeds, range):
        return TINY.fast(batch_size=[len(seeds)], seed=torch.tensor(seeds), **options)
    return TINY.fast(batch_size=[rows], seed=seeds, **options)


def references(env: FastEnv[Any]) -> list[ReferenceEnv[Any]]:
    """References that begin as the rows of an environment do."""
    made = [TINY.reference() for _ in range(len(env.instance_seeds))]
    for reference, seed in zip(made, env.instance_seeds.numpy().view(np.uint64), strict=True):
        reference.reset(seed=int(seed))
    return made


def random_actions(steps: int, rows: int, seed: int = 0) -> torch.Tensor:
    """Actions [steps, rows, agents]."""
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 4, (steps, rows, AGENTS)))


def validated_copy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of snake as ``tests/snake-v0`` in ``folder``, with a state folder beside it and a report that no battery
    made, of the configuration ``tiny``."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.setattr(discovery, "ROOT", folder / "checkout")
    fingerprint.forget()
    made = folder / "snake"
    renamed = [(name, "simulacrum/snake-v0", "tests/snake-v0") for name in ("__init__.py", "spec.md")]
    edited_as(made, "snake", *renamed, kernel=True)
    report = new_report(Package.read(made).configured("tiny"), DEFAULT, checks.NAMES)
    report.checks.extend(results(covers=NATIVE))
    report.write()
    return made
