"""The moments of a finding's file, as renderers take them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edited import changed
from environments import FORAGER

from simulacrum import render
from simulacrum.errors import PackageError
from simulacrum.harness import findings
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.harness.scenes import scenes

PROFILE = replace(QUICK, seed=11, sizes={7: (7, 100)}, sweep=(64, 60))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A broken package and the file of what was found in it."""
    package = changed(tmp_path_factory.mktemp("broken") / "package", "GOAL_REWARD)", "GOAL_REWARD - 1)")
    (finding,) = run_check("differential", package, PROFILE).findings
    return package, Path(finding.file)


def test_each_moment_has_both_states_and_what_differs(found):
    package, file = found
    world, shown = scenes(package, findings.read(file), file)
    assert world.digest == package.digest
    assert [scene.when for scene in shown][:2] == ["in the first state", "after a step"]
    first, after = shown[:2]
    assert first.action is None
    assert not first.differs
    assert [field.name for field in after.fields if field.differs] == ["reward"]
    assert after.action == 1
    assert after.reference.position.dtype == np.int32
    assert after.reference.t == after.fast.t == first.reference.t + 1
    for state in (first.reference, after.reference, after.fast):
        assert f"step {state.t}/" in render.frame(world.module("render"), state, "ansi")


def test_what_is_another_form_is_told(found, tmp_path):
    package, file = found
    for pointer, wrong in (
        ("/moments/1/fast/state.position", "far"),
        ("/moments/0/reference", []),
        ("/moments/0", 5),
        ("/moments", None),
    ):
        content = json.loads(file.read_text())
        at = content
        *path, last = [int(part) if part.isdigit() else part for part in pointer.split("/")[1:]]
        for part in path:
            at = at[part]
        at[last] = wrong
        (tmp_path / "broken.json").write_text(json.dumps(content))
        with pytest.raises(PackageError, match=rf"broken\.json: {pointer}: expected"):
            scenes(package, findings.read(tmp_path / "broken.json"), tmp_path / "broken.json")


def test_a_finding_of_another_package_does_not_fit(found):
    _, file = found
    with pytest.raises(PackageError, match="expected simulacrum/forager-v0, got simulacrum/toywalk-v0"):
        scenes(FORAGER, findings.read(file), file)
