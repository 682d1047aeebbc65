"""Purity finds what reads or writes anything but seed, action and state."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from edited import SEEN, broken
from environments import FORAGER, TOYWALK
from tensordict import TensorDict
from test_harness import OBSERVATION, PROFILE

from simulacrum import FastEnv
from simulacrum.harness import memory
from simulacrum.harness.checks import purity
from simulacrum.harness.context import CheckFailed, Context
from simulacrum.harness.runner import run_check
from simulacrum.harness.surroundings import altered, default_dtype, settings, threads

IMPORTS = ("import torch\nfrom torch", "import locale\nimport os\n\nimport numpy as np\nimport torch\nfrom torch")


def seen(factor: str) -> tuple[str, str]:
    """Another observation of toywalk's fast.py where a factor is not 1."""
    return OBSERVATION, f"return ({SEEN}) * ({factor})"


def before(line: str) -> tuple[str, str]:
    """A line at the beginning of toywalk's transition."""
    at = "        moves_right = "
    return at, f"        {line}\n{at}"


BUFFER = (
    "    def observation(self, state: State) -> Tensor:\n",
    "    def observation(self, state: State) -> Tensor:\n"
    "        seen = self.fresh(state)\n"
    "        if len(seen) < 100:\n"
    "            return seen\n"
    "        self.buffer = getattr(self, 'buffer', seen)\n"
    "        return self.buffer.copy_(seen)\n"
    "\n"
    "    def fresh(self, state: State) -> Tensor:\n",
)
FAST = {
    # a change of fast.py: what the finding says
    "a buffer in large batches": (BUFFER, "gave: observation was written"),
    "the action is written in large batches": (
        before("action.fill_(1) if len(action) > 100 else None"),
        "took was written",
    ),
    "a view is read as if it were contiguous": (
        before("action = torch.as_strided(action, (len(action),), (1,)) if len(action) > 3 else action"),
        "give other bits",
    ),
    "a path for some sizes": (seen("2 if 250 < len(state.t) < 513 else 1"), "a path depends on the number of rows"),
    "the default dtype": (seen("torch.full((), 1 / 3).float() * 3"), "as the default dtype"),
    "gradients": (seen("1 if torch.is_grad_enabled() else 2"), "without gradients"),
    "inference mode": (seen("2 if torch.is_inference_mode_enabled() else 1"), "in inference mode"),
    "deterministic algorithms": (
        seen("2 if torch.are_deterministic_algorithms_enabled() else 1"),
        "with deterministic algorithms",
    ),
    "threads": (seen("2 if torch.get_num_threads() == 3 else 1"), "with 3 threads"),
    "a global generator is read": (
        seen("1 + torch.initial_seed() % 2"),
        "after the global generators were seeded",
    ),
    "a global generator is used": (
        (OBSERVATION, f"getattr(torch, 'ra' + 'nd')(1)\n        {OBSERVATION}"),
        "draws from the global generator of torch",
    ),
    "a global generator is used in large batches": (
        (
            OBSERVATION,
            f"torch.bernoulli(state.position[:1].abs() / 100) if len(state.t) > 600 else 0\n        {OBSERVATION}",
        ),
        "the global generator of torch",
    ),
}
ELSEWHERE = {
    # a factor of both implementations' observation: what the finding says
    "the current directory": (f"1 if os.getcwd() == {os.getcwd()!r} else 2", "in another current directory"),
    "the locale": ("1 + len(locale.setlocale(locale.LC_ALL))", "in another locale"),
    "NumPy's errors": ("2 if np.geterr()['over'] == 'raise' else 1", "with NumPy's floating-point errors raised"),
}


def messages(package: object, **profile: object) -> list[str]:
    result = run_check("purity", package, replace(PROFILE, **profile))
    assert result.outcome == "failed"
    return [finding.message for finding in result.findings]


@pytest.mark.parametrize("name", FAST)
def test_a_fault_of_the_fast_side_is_found(name: str, tmp_path: Path) -> None:
    change, says = FAST[name]
    (message,) = messages(broken(tmp_path / "package", "toywalk", fast=change))
    assert says in message, message


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_a_side_reads_of_the_process_is_found(name: str, tmp_path: Path) -> None:
    factor, says = ELSEWHERE[name]
    package = broken(tmp_path / "package", "toywalk", fast=seen(factor))
    text = (package.path / "fast.py").read_text()
    (package.path / "fast.py").write_text(text.replace(*IMPORTS, 1))
    assert says in messages(type(package).read(package.path))[0]
    reference = ("            np.float32,\n        )", f"            np.float32,\n        ) * np.float32({factor})")
    package = broken(tmp_path / "other", "toywalk", reference=reference)
    text = (package.path / "reference.py").read_text()
    (package.path / "reference.py").write_text(text.replace("import numpy", "import locale, os\nimport numpy", 1))
    (message,) = messages(type(package).read(package.path))
    assert message.startswith("reference.py: other values")
    assert says in message


def test_a_reference_that_shows_its_own_memory_is_found(tmp_path: Path) -> None:
    change = (
        "return np.array(",
        "self.shown = getattr(self, 'shown', np.zeros(2, np.float32))\n        self.shown[:] = (",
    )
    (message,) = messages(broken(tmp_path / "package", "toywalk", reference=_shown(change, tmp_path)))
    assert "reference.py: what call 0 gave" in message


def _shown(change: tuple[str, str], folder: Path) -> tuple[str, str]:
    old = (TOYWALK.path / "reference.py").read_text().split('        # spec, "Actions, observation, reward"\n')[1]
    new = old.replace(*change).replace("            np.float32,\n        )", "        )\n        return self.shown")
    return old, new.replace("],\n        )", "])").replace("= (\n            [", "= np.array([")


@pytest.mark.parametrize(
    "line",
    [
        "rows = torch.ones_like(action, dtype=torch.int16).cumsum(0, dtype=torch.int16)\n"
        "        action = torch.where(rows < 1, 1 - action, action)",
        "action = action ^ (torch.arange(len(action)) > 50_000)",
        "action = action ^ (len(action) // 60_000)",
    ],
)
def test_a_path_for_rows_beyond_16_bits_is_found(line: str, tmp_path: Path) -> None:
    context = Context("purity", broken(tmp_path / "package", "toywalk", fast=before(line)), PROFILE)
    with pytest.raises(CheckFailed, match=r"with N = 65, .* with N = 65537: a path depends on the number of rows"):
        purity._many_rows(context)


def test_memory_that_is_shared_in_a_batch_of_one_row_only_is_found(tmp_path: Path) -> None:
    change = ('{"cargo": state.cargo,', '{"cargo": state.cargo.contiguous(),')
    package = broken(tmp_path / "package", "courier", fast=change)
    (message,) = messages(package)
    assert message.startswith("N = 1, ")
    assert "cargo" in message


def test_a_package_that_changes_the_process_at_import_is_found(tmp_path: Path) -> None:
    line = "np.seterr(all='ignore')\nSLIP_P = 0.1"
    package = broken(tmp_path / "package", "toywalk", init=("SLIP_P = 0.1", line))
    with np.errstate():
        (message,) = messages(package, processes=True)
    assert message.startswith("importing the package changes NumPy's error handling")


def test_a_package_that_changes_the_base_class_at_import_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(FastEnv, "forward", FastEnv.forward)  # given back afterwards
    change = ("ENVIRONMENT = ", "simulacrum.FastEnv.forward = lambda self: self\nENVIRONMENT = ")
    (message,) = messages(broken(tmp_path / "package", "toywalk", init=change), processes=True)
    assert message.startswith("importing the package changes simulacrum.FastEnv")


def test_a_setting_that_a_step_changes_is_found(tmp_path: Path) -> None:
    change = before("torch.set_flush_denormal(True) if len(action) > 100 else None")
    try:
        assert "flushing of denormals changed" in messages(broken(tmp_path / "package", "toywalk", fast=change))[0]
    finally:
        torch.set_flush_denormal(False)


@pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=["toywalk", "forager"])
def test_the_examples_pass(package: object) -> None:
    result = run_check("purity", package, replace(PROFILE, processes=package is TOYWALK))
    assert [finding.message for finding in result.findings] == []
    assert result.counts["calls held"] > 100


def test_settings_tell_what_changed_and_are_given_back() -> None:
    at_first = settings()
    with default_dtype(torch.float64), threads(torch.get_num_threads() + 1):
        assert altered(at_first) == ["the default dtype", "the number of threads"]
    assert altered(at_first) == []


def test_kept_memory_tells_what_was_written() -> None:
    td = TensorDict({"a": torch.zeros(3), "b": {"c": torch.zeros(3, dtype=torch.bool)}}, [3])
    kept = memory.Kept()
    kept.hold("one", td)
    kept.hold("two", ({"x": np.zeros(2)}, [1, 2]))
    assert kept.written() is None
    memory.scribble(td["b"])
    assert kept.written() == "one: b.c"


def test_scribbling_reaches_every_array_and_list_of_numbers() -> None:
    value = {"a": [1, 2.5], "b": (np.zeros(2), torch.ones(2, dtype=torch.bool)), "c": [np.array([True])]}
    copies = memory.copied(value)
    memory.scribble(value)
    now = memory.copied(value)
    assert copies.keys() == now.keys()
    assert all(not np.any(copies[name] == now[name]) for name in copies)
