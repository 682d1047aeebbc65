"""What is played again, and what the schema refuses of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from edited import PACKAGES, broken, method
from environments import TOYWALK
from test_harness import PROFILE

from simulacrum.harness.checks import replay
from simulacrum.harness.context import Context
from simulacrum.harness.records import difference
from simulacrum.harness.runner import run_check
from simulacrum.harness.sources import Actions
from simulacrum.spec import Package

TRAJECTORY = '"trajectory": {\n      "type": "object"'
FAULTS = {
    # a change of toywalk's schema.json: what the finding says
    "any trajectory": ((TRAJECTORY, TRAJECTORY.replace("{", '{},\n    "other": {', 1)), "the whole is null"),
    "a part need not be there": (('["id", "seed", "episode",', '["id", "seed",'), "episode is missing"),
    "a step's part need not be there": (('"terminated", "truncated", "state"]', '"truncated", "state"]'), "terminated"),
    "a state's field need not be there": (('["position", "t"]', '["t"]'), "first.state.position is missing"),
    "a text as position": (('"position": { "type": "integer", ', '"position": { '), "state.position is null"),
    "any reward": (('"reward": { "type": "number", ', '"reward": { '), "steps.0.reward is null"),
    "half a step": (('"t": { "type": "integer", ', '"t": { "type": "number", '), "t is 0.5"),
    "seeds below 2**63": (("18446744073709551615", "9223372036854775807"), f"of seed {2**64 - 1}"),
    "episodes below 2**31": (("4294967295", "2147483647"), f"of episode {2**32 - 1}"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_schema_that_takes_too_much_or_too_little_is_found(name: str, tmp_path: Path) -> None:
    change, says = FAULTS[name]
    (finding,) = run_check("replay", broken(tmp_path / "package", "toywalk", schema=change), PROFILE).findings
    assert finding.message.startswith(("schema.json takes a trajectory", "schema.json does not take a trajectory"))
    assert says in finding.message


@pytest.mark.parametrize("base", ["courier", "gates"])
def test_other_packages_pass(base: str) -> None:
    result = run_check("replay", Package.read(PACKAGES / base), PROFILE)
    assert result.findings == []
    assert result.counts["broken trajectories refused"] > 90


def test_after_the_copies_the_check_goes_on_from_what_is_shown_then() -> None:
    context = Context("replay", TOYWALK, PROFILE)
    lockstep, now = replay.started(context)
    after = replay.go_on(context, lockstep, now, Actions(TOYWALK, context.rng, replay.ROWS))
    assert difference(after, lockstep.now) is None
    assert not np.array_equal(after["clock.t"], now["clock.t"])


def test_a_copy_that_forgets_its_first_seeds_is_found(tmp_path: Path) -> None:
    body = (
        "    def __getstate__(self):\n"
        "        kept, seeds = super().__getstate__(), self._next_seeds\n"
        "        return {**kept, '_next_seeds': None if seeds is None else seeds + 1}"
    )
    (finding,) = run_check("replay", broken(tmp_path / "package", "toywalk", fast=method(body)), PROFILE).findings
    assert finding.message.startswith("a pickled fast environment that has not begun went on otherwise")
