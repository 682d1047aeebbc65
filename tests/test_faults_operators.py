"""Faults for any package: each applies to both examples, and leaves a package that loads and runs."""

import ast
from pathlib import Path

import pytest

from simulacrum.harness.faults import cases
from simulacrum.harness.faults.operators import NEEDS, operators, overrides
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parents[1] / "envs"
EXAMPLES = [Package.read(ENVS / name) for name in ("toywalk", "forager")]
REFUSED = {"the observation is float64", "the reward is [N, 1]"}  # when an environment is made


@pytest.mark.parametrize("package", EXAMPLES, ids=lambda package: package.name)
def test_there_are_many_of_every_kind_and_each_applies(package):
    found = operators(package)
    assert len(found) >= 100
    assert {fault.kind for fault in found} == {
        "shape", "mask and reset", "rules", "randomness", "numbers", "system"
    }  # fmt: skip
    assert len({fault.name for fault in found}) == len(found)
    for fault in found:
        for file, data in cases.changed(package, fault).items():
            assert ast.dump(ast.parse(data)) != ast.dump(ast.parse(package.files[file])), fault.name


def test_a_field_each_and_needs():
    kept = [fault.name for fault in operators(EXAMPLES[1]) if fault.name.startswith("a reset leaves the field")]
    assert len(kept) == len(EXAMPLES[1].spec.fields) - 1
    names = {fault.name for fault in operators(EXAMPLES[0])}
    assert "the action mask allows everything" not in names
    eager = {fault.name for fault in operators(EXAMPLES[0], compiled=False)}
    assert names - eager == {
        "a compiled step gives another reward",
        "a compiled reset of more than 16 rows drops the last",
    }
    assert {need for override in overrides() for need in override.needs} <= NEEDS.keys() | {"compiled"}


@pytest.mark.parametrize("fault", operators(EXAMPLES[0]), ids=lambda fault: fault.name.replace(" ", "-"))
def test_a_faulty_package_loads_and_runs(fault, tmp_path):
    case = cases.Case(fault.name, "domain", fault.kind, cases.changed(EXAMPLES[0], fault))
    package = cases.put(EXAMPLES[0], case, tmp_path)
    reference = package.reference()
    reference.reset(seed=1)
    reference.step(1)
    if fault.name in REFUSED:
        with pytest.raises(Exception, match=r"fast\.py"):
            package.fast(batch_size=[5])
        return
    env = package.fast(batch_size=[5], seed=1, expose_state=True)
    td = env.rand_action(env.reset())
    done, td = env.step_and_maybe_reset(td)
    assert td.batch_size == done.batch_size == (5,)
