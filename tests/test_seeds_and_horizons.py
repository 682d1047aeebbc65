"""Seeds that are cut, shared or taken where they should be refused, and faults that only come late."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited import PACKAGES, SEEN, broken, method
from environments import FORAGER, TOYWALK
from test_harness import OBSERVATION, PROFILE

from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

CUT = "seed & 0xFFFFFFFF if isinstance(seed, int) else seed"
FAULTS = {
    # a change of toywalk's fast.py: what the finding says
    "a seed cut to 32 bits": (
        method(f"    def _checked_seeds(self, seed):\n        return super()._checked_seeds({CUT})"),
        "the reference of that stream has",
    ),
    "the vector adapter's seeds cut to 32 bits": (
        method(
            "    def plain_reset(self, seeds=None, seeded=None, mask=None):\n"
            "        seeds = None if seeds is None else seeds & 0xFFFFFFFF\n"
            "        return super().plain_reset(seeds, seeded, mask)"
        ),
        "VectorEnv.reset(seed=",
    ),
    "set_seed takes what is none": (
        method(
            "    def _set_seed(self, seed):\n"
            "        super()._set_seed(seed if isinstance(seed, int) and seed > 0 else 0)"
        ),
        "set_seed(",
    ),
    "a refused seed changes the stream": (
        method(
            "    def _set_seed(self, seed):\n"
            "        self._next_seeds = self._carry.seed + 1 if self._carry is not None else self._next_seeds\n"
            "        super()._set_seed(seed)"
        ),
        "a refused seed changed the",
    ),
    "neighbouring streams in pairs": (
        method(
            "    def _begin_all(self):\n"
            "        if self._next_seeds is not None and self._rows > 100:\n"
            "            self._next_seeds = self._next_seeds // 2 * 2\n"
            "        return super()._begin_all()"
        ),
        "a stream is shared",
    ),
    "a fault after episode 150": (
        method(
            "    def _begin_all(self):\n"
            "        carry = super()._begin_all()\n"
            "        return carry._replace(t=carry.t + (carry.episode > 150))"
        ),
        "the two sides differ after a reset",
    ),
    "episodes counted in 31 bits": (
        method(
            "    def _renew(self, carry, seen, mask):\n"
            "        carry, seen = super()._renew(carry, seen, mask)\n"
            "        return carry._replace(episode=carry.episode & 0x7FFFFFFF), seen"
        ),
        "clock.episode",
    ),
    "another rule in the last steps": (
        (OBSERVATION, f"return ({SEEN}) * torch.where(state.t > 58, 2.0, 1.0).unsqueeze(-1)"),
        "",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, tmp_path: Path) -> None:
    change, says = FAULTS[name]
    result = run_check("seeds_and_horizons", broken(tmp_path / "package", "toywalk", fast=change), PROFILE)
    assert result.outcome == "failed"
    assert says in result.findings[0].message + result.findings[0].field, result.findings[0]


@pytest.mark.parametrize(
    "package", [TOYWALK, FORAGER, Package.read(PACKAGES / "courier")], ids=["toywalk", "forager", "courier"]
)
def test_the_examples_pass(package: Package) -> None:
    result = run_check("seeds_and_horizons", package, PROFILE)
    assert (result.outcome, result.findings) == ("passed", [])
    assert result.counts["seeds refused"] == 22
    assert result.counts["consecutive episodes"] > 300
