"""The faults of the example environments: each can be put into its package, and gives one that can be run."""

from collections import Counter

import pytest
from environments import FORAGER, TOYWALK

from simulacrum import Fault
from simulacrum.spec import Package

PACKAGES = {"forager": FORAGER, "toywalk": TOYWALK}
KINDS = {"shape", "mask and reset", "rules", "randomness", "numbers", "system", "both sides"}
FAULTS = [(name, fault) for name, package in PACKAGES.items() for fault in package.module("faults").FAULTS]


def with_fault(package: Package, fault: Fault) -> Package:
    """A copy of the package, in memory, with the fault's edits."""
    files = dict(package.files)
    for file, changes in fault.changes.items():
        text = package.files[file].decode()
        for old, new in changes:
            assert package.files[file].decode().count(old) == text.count(old) == 1, (file, old)
            text = text.replace(old, new)
        files[file] = text.encode()
    return Package(package.path, files)


@pytest.mark.parametrize("name", PACKAGES)
def test_faults_have_names_and_kinds(name):
    faults = PACKAGES[name].module("faults")
    assert [one for one, count in Counter(fault.name for fault in faults.FAULTS).items() if count > 1] == []
    assert {fault.kind for fault in faults.FAULTS} <= KINDS
    for fault in faults.FAULTS:
        assert (fault.kind == "both sides") == (set(fault.changes) == {"reference.py", "fast.py"}), fault.name
    assert all(reason for reason in faults.EQUIVALENT.values())


@pytest.mark.parametrize("name", PACKAGES)
def test_no_two_faults_are_the_same(name):
    copies = Counter(tuple(with_fault(PACKAGES[name], fault).files.items()) for one, fault in FAULTS if one == name)
    assert max(copies.values()) == 1
    assert tuple(PACKAGES[name].files.items()) not in copies


@pytest.mark.filterwarnings("ignore:Use of masked_fill_ on expanded tensors")  # which is one of the faults
@pytest.mark.parametrize(("name", "fault"), FAULTS, ids=[f"{name}: {fault.name}" for name, fault in FAULTS])
def test_a_package_with_a_fault_can_be_run(name, fault):
    package = with_fault(PACKAGES[name], fault)
    reference, fast = package.reference(), package.fast(batch_size=[3], seed=1)
    reference.reset(seed=1)
    reference.step(0)
    fast.step(fast.reset().set("action", fast.action_spec.zero()))
