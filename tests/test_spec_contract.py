"""What differs between ``spec.md`` and the schema or the policies of ``checks.py`` is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited import PACKAGES, broken
from environments import ENVS, FORAGER, TOYWALK
from stand_in import with_stand_in
from test_harness import PROFILE

from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

_template = Package.read(ENVS.parent / "simulacrum" / "templates" / "package")  # with a kernel for who asks for one
TEMPLATE = Package(_template.path, {name: data for name, data in _template.files.items() if name != "kernel.pyx"})
POSITION = '"position": { "type": "integer", '
ACTION = '"action": { "type": "integer", "minimum": 0, "maximum": 1 }'
SCHEMAS = {
    # base, a change of schema.json: what the finding says
    "another type too": (
        "toywalk",
        (POSITION, POSITION.replace('"integer"', '["integer", "null"]')),
        "position's type",
    ),
    "numbers for integers": ("toywalk", (POSITION, POSITION.replace("integer", "number")), "position's type"),
    "no type": ("toywalk", (POSITION, '"position": { '), "position's type"),
    "integers for bools": ("forager", ('"type": "boolean" }', '"type": "integer" }'), "berry_live's type"),
    "a length of at most": ("forager", ('"minItems": 6,', ""), "berry_x's shape"),
    "actions beyond": ("toywalk", (ACTION, ACTION.replace("1 }", "7 }")), "takes 2: 2 is beyond a bound"),
    "actions missing": ("toywalk", (ACTION, ACTION.replace("1 }", "0 }")), "does not take 1"),
    "actions of any type": ("toywalk", (ACTION, ACTION.replace('"type": "integer", ', "")), "action is null"),
    "actions of any length": ("courier", ('"minItems": 2,\n      "maxItems": 2,\n      "items"', '"items"'), "less"),
    "actions without bounds": ("courier", (', "minimum": -1.0, "maximum": 1.0', ""), "is beyond a bound"),
}
FIRST, SECOND = "standard_deviation=2.576708,", "standard_deviation=2.153896,"
POLICIES = {
    # base, a change of checks.py: what the finding says
    "an estimate that is exact": ("toywalk", (FIRST, f"{FIRST} estimated_from=10**6,"), "begins with 'exact'"),
    "an exact figure that is none": (
        "forager",
        ("estimated_from=2_000_000", "estimated_from=None"),
        "does not begin with 'exact', checks.py has estimated_from=None",
    ),
    "an estimate from few": ("forager", ("estimated_from=2_000_000", "estimated_from=2"), "estimated_from >= 100000"),
    "a wide range": ("toywalk", ("RETURN_RANGE = (-60.0, 8.0)", "RETURN_RANGE = (-1e9, 1e9)"), "may be off by"),
    "a range of hundreds": ("toywalk", ("(-60.0, 8.0)", "(-500.0, 500.0)"), "may be off by"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_that_is_not_the_spec_s_is_found(name: str, tmp_path: Path) -> None:
    base, change, says = SCHEMAS[name]
    findings = run_check("spec_contract", broken(tmp_path / "package", base, schema=change), PROFILE).findings
    assert any(says in finding.message and "schema.json" in finding.message for finding in findings), findings


@pytest.mark.parametrize("name", POLICIES)
def test_figures_that_prove_nothing_are_found(name: str, tmp_path: Path) -> None:
    base, change, says = POLICIES[name]
    findings = run_check("spec_contract", broken(tmp_path / "package", base, checks=change), PROFILE).findings
    assert any(says in finding.message for finding in findings), findings


@pytest.mark.parametrize(
    "package",
    [
        *(TOYWALK, FORAGER, TEMPLATE),
        *(Package.read(PACKAGES / name) for name in ("courier", "gates")),
    ],
    ids=lambda package: package.name,
)
def test_the_packages_pass(package: Package) -> None:
    assert run_check("spec_contract", package, PROFILE).findings == []


def test_the_forms_are_those_of_fast_py(tmp_path: Path) -> None:
    package = with_stand_in(tmp_path / "right")
    assert run_check("spec_contract", package, PROFILE).findings == []
    other = with_stand_in(tmp_path / "other", declared="tensor")
    assert [finding.message for finding in run_check("spec_contract", other, PROFILE).findings] == [
        "forms: spec.md says 'tensor', fast.py has 'tensor, kernel'",
        "forms: spec.md declares no kernel, but there is a kernel.pyx in the package",
    ]
    (package.path / "kernel.pyx").unlink()
    (finding,) = run_check("spec_contract", Package.read(package.path), PROFILE).findings
    assert finding.message == "forms: spec.md declares a kernel, but there is no kernel.pyx in the package"


def test_unknown_forms_are_told(tmp_path: Path) -> None:
    for declared in ("kernel, tensor", "cuda", "", "tensor, tensor"):
        package = with_stand_in(tmp_path / (declared or "none"), declared=declared)
        told = [finding.message for finding in run_check("spec_contract", package, PROFILE).findings]
        known = "tensor; kernel; tensor, kernel"
        assert f"declares forms: expected one of {known}, got {declared!r}" in told


def test_the_state_of_a_further_form_is_compared(tmp_path: Path) -> None:
    body = (
        "    def initial(self, draw):\n"
        "        state = super().initial(draw)\n"
        "        state.position = state.position.long()\n"
        "        return state\n\n"
        "    def transition(self, state, action, draw):\n"
        "        state.position = state.position.int()\n"
        "        after, reward, over = super().transition(state, action, draw)\n"
        "        after.position = after.position.long()\n"
        "        return after, reward, over\n"
    )
    (finding,) = run_check("spec_contract", with_stand_in(tmp_path / "package", body=body), PROFILE).findings
    expected = "state field position: spec.md says ('int32', ()), kernel.pyx has ('int64', ())"
    assert finding.message == expected
