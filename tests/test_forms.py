"""The ``forms`` check: a further form that is right passes, one that is wrong in any of its ways is found and told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from environments import TOYWALK
from gymnasium import spaces
from stand_in import with_stand_in

from simulacrum.harness import findings, playback
from simulacrum.harness.checks import forms_ways
from simulacrum.harness.context import Context
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

PROFILE = replace(QUICK, seed=11)

TRANSITION = (
    "    def transition(self, state, action, draw):\n"
    "        after, reward, over = super().transition(state, action, draw)\n"
)
STEP = "    def _step_and_maybe_reset(self, td):\n        td, root = super()._step_and_maybe_reset(td)\n"
WRONG = {
    # the class body of the kernel form: a part of the message, or the field
    "a reward": (f"{TRANSITION}        return after, reward + (state.position == 3), over\n", "reward"),
    "a path for whole blocks": (
        f"{TRANSITION}        return after, reward * (2 if len(action) % 64 == 0 else 1), over\n",
        "reward",
    ),
    "a path for many rows": (
        f"{TRANSITION}        return after, reward * (2 if len(action) > 16_384 else 1), over\n",
        "reward",
    ),
    "a path for several threads": (
        "    def transition(self, state, action, draw):\n"
        "        import torch\n\n"
        "        after, reward, over = super().transition(state, action, draw)\n"
        "        return after, reward * torch.get_num_threads(), over\n",
        "reward",
    ),
    "a late step counter": (
        f"{STEP}        td['next', 'observation'][:, 1] -= td['next', 'terminated'][:, 0] / 60\n"
        "        return td, root\n",
        "observation",
    ),
    "a reset of all rows": (
        "    def _renew(self, carry, seen, mask):\n        return super()._renew(carry, seen, mask | mask.any())\n",
        "differ",
    ),
    "an injection of all rows": (
        "    def _reset(self, td=None, set_state=False):\n"
        "        return super()._reset(td.exclude('_reset') if set_state else td, set_state=set_state)\n",
        "after a state was injected into some rows",
    ),
    "a step of all rows": (
        "    def _held(self, mask, before, outcome, td):\n        return outcome\n",
        "after a step of some rows (_step)",
    ),
    "the vector path": (
        "    def plain_step(self, action, waiting=None):\n"
        "        out = super().plain_step(action, waiting)\n"
        "        return out._replace(reward=out.reward + 1)\n",
        "the vector adapter shows",
    ),
    "step_into": (
        "    def step_into(self, action, ended, now):\n"
        "        super().step_into(action, ended, now)\n"
        "        now['observation'][-1] = ended['observation'][-1]\n",
        "'step_into' gives other bits",
    ),
    "a state that is not shown": (
        "    def _result(self, carry, outcome):\n"
        "        outcome = outcome if self.expose_state else outcome._replace(reward=-outcome.reward)\n"
        "        return super()._result(carry, outcome)\n",
        "'expose_state=False' gives other bits",
    ),
    "a batch of another shape": (
        "    def _result(self, carry, outcome):\n"
        "        outcome = outcome._replace(reward=-outcome.reward) if len(self.batch_size) == 2 else outcome\n"
        "        return super()._result(carry, outcome)\n",
        "'batch_size=[N / 4, 4]' gives other bits",
    ),
    "pickles": (
        "    def __getstate__(self):\n"
        "        values = super().__getstate__()\n"
        "        if self._carry is not None:\n"
        "            values['_carry'] = self._carry._replace(episode=self._carry.episode + 1)\n"
        "        return values\n",
        "a pickled fast environment went on otherwise",
    ),
    "the caller's memory": (
        f"{STEP}"
        "        kept = self.__dict__.setdefault('kept', root['observation'])\n"
        "        if kept is not root['observation'] and not self.expose_state:\n"
        "            kept.copy_(root['observation'])\n"
        "        return td, root\n",
        "was written by a later step while",
    ),
    "a default dtype": (
        "    def _result(self, carry, outcome):\n"
        "        import torch\n\n"
        "        odd = torch.get_default_dtype() != torch.float32\n"
        "        return super()._result(carry, outcome._replace(reward=outcome.reward + odd))\n",
        "other bits with float64 as the default dtype",
    ),
    "seeds of 32 bits": (
        "    def _checked_seeds(self, seed):\n        return super()._checked_seeds(seed) & 0xFFFFFFFF\n",
        "the reference of that stream has",
    ),
    "an action that is none": (
        "    def _action(self, td):\n        return super()._action(td.set('action', td['action'].long().abs() % 2))\n",
        "an action with another dtype: the tensor form raises ActionError",
    ),
    "a refusal that changes something": (
        "    def _action(self, td):\n"
        "        try:\n"
        "            return super()._action(td)\n"
        "        except Exception:\n"
        "            self._carry.fields['position'].add_(1)\n"
        "            raise\n",
        "was refused, and changed state.position",
    ),
    "a number for a constant": (
        "    def observation(self, state):\n"
        "        import torch\n\n"
        "        return torch.stack([state.position / self.float32(5), state.t / self.float32(60)], -1)\n",
        "small world",
    ),
}


def message_of(package: Package) -> str:
    """What the check says of a package whose kernel form is wrong."""
    result = run_check("forms", package, PROFILE)
    assert result.outcome == "failed"
    return "\n".join(finding.text() for finding in result.findings)


@pytest.mark.parametrize("base", ["toywalk", "forager", "courier", "gates"])
def test_a_form_that_is_right_passes(base: str, tmp_path: Path) -> None:
    result = run_check("forms", with_stand_in(tmp_path / base, base), PROFILE)
    assert (result.outcome, result.findings) == ("passed", [])
    assert result.facts == {"covers": [["kernel", "native", "cpu"]]}
    counts = result.counts
    assert counts["kernel: steps beside the tensor form"] > 100_000
    assert counts["independent transitions"] >= PROFILE.transitions // 2
    assert counts["kernel: transitions"] > 10_000
    assert counts["kernel: actions refused"] > 0
    assert "transitions" not in counts  # which are those of the first form with the reference


@pytest.mark.parametrize("name", WRONG)
def test_a_form_that_is_wrong_is_found(name: str, tmp_path: Path) -> None:
    body, told = WRONG[name]
    text = message_of(with_stand_in(tmp_path / "package", body=body))
    assert told in text
    assert "kernel form" in text


def test_a_finding_tells_where_and_is_replayed_with_the_form(tmp_path: Path) -> None:
    package = with_stand_in(tmp_path / "package", body=WRONG["a reward"][0])
    finding = run_check("forms", package, PROFILE).findings[-1]
    assert finding.message.startswith("the kernel form (below: fast) differs from the tensor form (below: reference)")
    assert finding.setting.startswith("kernel form, N = ")
    assert (finding.field, finding.steps, finding.rows) == ("reward", 1, 1)
    assert None not in (finding.seed, finding.episode, finding.step, finding.instance)
    assert finding.reference != finding.fast
    assert "kernel.pyx" in finding.hint
    assert "fast.py" not in finding.hint
    case = findings.read(Path(finding.file)).case
    assert case.kernel
    shown = playback.run(package, case)
    assert shown is not None
    assert shown.field == "reward"
    right = replace(case, options={name: value for name, value in case.options.items() if name != "kernel"})
    assert playback.run(package, right) is None


def test_a_kernel_that_leans_on_a_wrong_tensor_form_is_found(tmp_path: Path) -> None:
    package = with_stand_in(tmp_path / "package")
    file = package.path / "fast.py"
    file.write_text(file.read_text().replace("self.float32(GOAL_REWARD)", "self.float32(GOAL_REWARD - 1)"))
    assert "worked example" not in message_of(Package.read(package.path))
    assert "spec.md says 10." in message_of(Package.read(package.path))


def test_another_process_is_asked(tmp_path: Path) -> None:
    body = (
        f"{STEP}"
        "        import os\n\n"
        "        td['next', 'reward'][:] += os.environ.get('OMP_NUM_THREADS') == '2'\n"
        "        return td, root\n"
    )
    package = with_stand_in(tmp_path / "package", body=body)
    context = Context("forms", package, replace(PROFILE, processes=True))
    with (
        pytest.raises(Exception, match="another process gave other bits"),
        forms_ways.elsewhere(context.of("kernel"), context.of("tensor")),
    ):
        pass


# ---------------------------------------------------------------------- where there is nothing to compare


def test_one_form_has_nothing_beside_it(tmp_path: Path) -> None:
    package = with_stand_in(tmp_path / "package")
    package.__dict__["forms"] = {"tensor": package.fast}
    result = run_check("forms", package, PROFILE)
    assert (result.outcome, result.notes, result.facts) == ("not_applicable", ["the package has one form"], {})


def test_without_a_compiler_the_kernel_is_not_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMULACRUM_NATIVE", "0")
    package = with_stand_in(tmp_path / "package")
    result = run_check("forms", package, PROFILE)
    assert (result.outcome, result.facts) == ("not_applicable", {})
    assert 'no C compiler, so the kernel form was not compared: form="kernel" will not load' in result.notes
    assert run_check("spec_contract", package, PROFILE).outcome == "passed"
    assert run_check("constants", package, PROFILE).outcome == "passed"


def test_a_kernel_is_compared_on_the_cpu_alone(tmp_path: Path) -> None:
    result = run_check("forms", with_stand_in(tmp_path / "package"), replace(PROFILE, devices=("cuda",)))
    assert result.outcome == "not_applicable"
    assert result.notes == ["a kernel runs on the CPU alone, which --device leaves out"]


def test_a_check_on_another_form_counts_for_itself() -> None:
    context = Context("forms", TOYWALK, PROFILE)
    other = context.of("kernel")
    other.count("transitions", 3)
    other.note("a note")
    assert context.counts == {"kernel: transitions": 3}
    assert context.notes == ["kernel: a note"]
    other.met("transitions", "anything")
    assert (context.form, other.form, other.compiled) == ("tensor", "kernel", False)
    assert other.case_options == {"kernel": True}
    assert context.case_options == {}
    assert other.rng is context.rng


def test_the_real_kernel_passes() -> None:
    result = run_check("forms", TOYWALK, PROFILE)
    assert (result.outcome, result.findings) == ("passed", [])


def test_wrong_actions_of_every_kind() -> None:
    rng = np.random.default_rng(0)
    both = {"a number too small", "a number too great"}
    some: list[tuple[spaces.Space[Any], set[str]]] = [
        (spaces.Discrete(3, start=1), both),
        (spaces.MultiDiscrete([2, 3]), both),
        (spaces.MultiBinary(4), both),
        (spaces.Box(-1.0, 1.0, (2,), np.float32), {"a NaN", *both}),
        (spaces.Box(-np.inf, np.inf, (2,), np.float64), {"a NaN"}),
        (spaces.Box(0, 255, (2,), np.uint8), set()),
    ]
    for space, expected in some:
        made = dict(forms_ways._wrong_actions(space, rng, 5))
        assert {what.partition(" in row")[0] for what in made} == {"another dtype", "a row too few", *expected}
        for what, action in made.items():
            outside = [row for row in action.numpy() if row.dtype != space.dtype or not space.contains(_element(row))]
            assert len(outside) == (5 if what == "another dtype" else 0 if what == "a row too few" else 1), what


def _element(row: np.ndarray) -> object:
    return row[()] if row.shape == () else row
