"""Which form loads: what the report covers, what it measured, and the kernel's binary as it was."""

from __future__ import annotations

import gymnasium
import pytest
from fabricated import copy_package, fabricated_report, validated, with_result

import simulacrum
from simulacrum.cli import listing
from simulacrum.errors import BuildError, GateError
from simulacrum.harness import discovery, fingerprint
from simulacrum.harness.gate import Refusal, admit, admit_fast, require_fresh_report
from simulacrum.kernel import build
from simulacrum.spec import Package

EAGER, COMPILED, NATIVE = ("tensor", "eager", "cpu"), ("tensor", "compiled", "cpu"), ("kernel", "native", "cpu")
ALL = (EAGER, COMPILED, NATIVE)
BINARY = "a" * 64


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """A state folder of the test's own, no source checkout, and a kernel that takes no time to build."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.setattr(discovery, "ROOT", tmp_path / "checkout")
    monkeypatch.setattr(build, "checksum", lambda package: BINARY)


@pytest.fixture
def folder(tmp_path):
    """A package with a kernel."""
    return copy_package(tmp_path / "walk", kernel=True)


def measured(folder, covers=ALL, **rates):
    """Validate a package with these steps per second by form."""
    report = fabricated_report(folder, covers=covers)
    facts = {f"{name} steps per second": rate for name, rate in rates.items()}
    with_result(report, "throughput", facts=facts).write()
    return folder


def form_of(env):
    return "kernel" if isinstance(env, simulacrum.KernelEnv) else "compiled" if env._compile_options else "eager"


def refused(function, *arguments, **options):
    with pytest.raises(GateError) as caught:
        function(*arguments, **options)
    return caught.value.reason, str(caught.value)


# ---------------------------------------------------------------------- which form


def test_the_default_is_the_kernel_where_it_is_covered(folder):
    validated(folder, covers=ALL)
    assert form_of(simulacrum.make_fast(folder, [2])) == "kernel"
    assert form_of(simulacrum.make_fast(folder, [2], compile=False)) == "kernel"
    assert form_of(simulacrum.make_fast(folder, [2], compile=True)) == "compiled"
    assert form_of(simulacrum.make_fast(folder, [2], form="tensor")) == "eager"
    assert form_of(simulacrum.make_fast(folder, [2], form="tensor", compile=True)) == "compiled"
    assert form_of(simulacrum.make_fast(folder, [2], form="kernel")) == "kernel"


@pytest.mark.parametrize(("rates", "fastest"), [((5, 9), "kernel"), ((9, 5), "eager"), ((7, 7), "kernel")])
def test_the_default_is_the_fastest_by_the_reports_own_measurement(folder, rates, fastest):
    measured(folder, eager=rates[0], kernel=rates[1], compiled=1000, reference=2000)
    assert form_of(simulacrum.make_fast(folder, [2])) == fastest


def test_a_rate_that_was_not_measured_leaves_the_kernel_first(folder):
    measured(folder, eager=9)
    assert form_of(simulacrum.make_fast(folder, [2])) == "kernel"


def test_rates_of_another_device_do_not_count(folder):
    measured(folder, covers=(*ALL, ("tensor", "eager", "cuda")), eager=9, kernel=5)
    assert admit_fast(folder)[1] == "kernel"
    assert admit_fast(folder, device="cuda:1")[1] == "tensor"
    assert refused(admit_fast, folder, "kernel", device="cuda:1")[0] is Refusal.NOT_COVERED


def test_without_a_covered_kernel_the_tensor_form_is_taken(folder):
    validated(folder, covers=(EAGER, COMPILED))
    assert form_of(simulacrum.make_fast(folder, [2])) == "eager"
    reason, told = refused(simulacrum.make_fast, folder, [2], form="kernel")
    assert reason is Refusal.NOT_COVERED
    assert "does not cover kernel native cpu; it covers: tensor eager cpu; tensor compiled cpu" in told


def test_a_kernel_alone_is_not_compiled(folder):
    validated(folder, covers=(NATIVE,))
    assert form_of(simulacrum.make_fast(folder, [2])) == "kernel"
    told = refused(simulacrum.make_fast, folder, [2], compile=True)[1]
    assert "does not cover tensor compiled cpu; it covers: kernel native cpu" in told


@pytest.mark.parametrize("compiled", [True, {}, {"backend": "eager"}])
def test_a_kernel_has_nothing_to_compile(folder, compiled):
    validated(folder, covers=ALL)
    with pytest.raises(
        ValueError, match="compile: a kernel has nothing to compile; leave it out, or take form='tensor'"
    ):
        simulacrum.make_fast(folder, [2], form="kernel", compile=compiled)


@pytest.mark.parametrize("form", ["cuda", "", "Tensor", 3])
def test_an_unknown_form_is_named_with_those_there_are(folder, form):
    validated(folder, covers=ALL)
    with pytest.raises(ValueError, match=r"form: expected None or one of \('tensor', 'kernel'\), got"):
        simulacrum.make_fast(folder, [2], form=form)


def test_options_reach_the_kernel_and_the_bits_are_the_same(folder):
    validated(folder, covers=ALL)
    made = [
        simulacrum.make_fast(folder, (2, 3), form=form, seed=7, first_instance=4, resets="masked", expose_state=True)
        for form in ("tensor", "kernel")
    ]
    assert [env.resets for env in made] == ["masked"] * 2
    assert made[0].instance_seeds.tolist() == made[1].instance_seeds.tolist()
    one, other = (env.reset() for env in made)
    assert bool((one == other).all())


def test_the_vector_adapter_takes_the_form(folder):
    validated(folder, covers=ALL)
    simulacrum.register_known()
    try:
        for form, expected in ((None, "kernel"), ("tensor", "eager"), ("kernel", "kernel")):
            env = gymnasium.make_vec("tests/toywalk-v0", num_envs=3, form=form)
            assert form_of(env.unwrapped.fast) == expected
            env.reset(seed=1)
    finally:
        gymnasium.registry.pop("tests/toywalk-v0", None)


def test_list_tells_the_forms(folder, capsys):
    validated(folder, covers=ALL)
    listing.show()
    assert "fresh: tensor eager cpu; tensor compiled cpu; kernel native cpu\n" in capsys.readouterr().out


# ---------------------------------------------------------------------- the binary


def test_the_report_holds_the_binary(folder):
    report = fabricated_report(folder, covers=ALL)
    assert report.fingerprint["native"][fingerprint.KERNEL] == BINARY
    assert fingerprint.KERNEL not in fingerprint.take(Package.read(folder))["native"]


def test_another_binary_is_refused_where_the_kernel_is_to_load(folder, monkeypatch):
    validated(folder, covers=ALL)
    monkeypatch.setattr(build, "checksum", lambda package: "b" * 64)
    for options in ({}, {"form": "kernel"}):
        reason, told = refused(simulacrum.make_fast, folder, [2], **options)
        assert reason is Refusal.NATIVE_CHANGED
        assert f"its kernel was validated as another binary: kernel.pyx {BINARY} -> {'b' * 64}" in told
    assert form_of(simulacrum.make_fast(folder, [2], form="tensor")) == "eager"
    assert require_fresh_report(folder)


def test_the_reference_and_the_tensor_form_build_no_kernel(folder, monkeypatch):
    validated(folder, covers=ALL)

    def fail(package):
        raise AssertionError("the kernel was built")

    monkeypatch.setattr(build, "checksum", fail)
    assert admit(folder, form=None).reference is not None
    assert admit_fast(folder, "tensor")[1] == "tensor"
    listing.show()


def test_a_kernel_that_does_not_build_has_no_binary(folder, monkeypatch):
    def fail(package):
        raise BuildError("error: expected ';'")

    monkeypatch.setattr(build, "checksum", fail)
    report = fabricated_report(folder, covers=(EAGER,))
    assert fingerprint.KERNEL not in report.fingerprint["native"]
    report.write()
    assert form_of(simulacrum.make_fast(folder, [2])) == "eager"


def test_without_native_helpers_nothing_is_built(folder, monkeypatch):
    monkeypatch.setenv("SIMULACRUM_NATIVE", "0")
    assert fingerprint.kernel_binary(Package.read(folder)) == {}


def test_a_package_without_a_kernel_builds_none(tmp_path):
    assert fingerprint.kernel_binary(Package.read(copy_package(tmp_path / "walk"))) == {}
