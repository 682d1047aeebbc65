"""Observations that are tuples, in every form and behind every API; and spaces that are counted from another start."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from edited import PACKAGES, edited_as
from environments import Rows, actions, frozen, showing
from fabricated import validated
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space
from torchrl.collectors import Collector
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose
from torchrl.envs.utils import check_env_specs
from vector_worlds import DISABLED, MODES, SAME_STEP, assert_same, assert_same_reset, assert_same_step

from simulacrum import Environment, KernelEnv, native, registry
from simulacrum.errors import OutputError, SpaceError, SpecError
from simulacrum.harness import discovery
from simulacrum.harness.profile import QUICK
from simulacrum.harness.records import FormError, fast_record, observation_of, stacked_record
from simulacrum.harness.runner import run, run_check
from simulacrum.play.policies import policy_of
from simulacrum.reference import state_of
from simulacrum.spec import Package, Spec
from simulacrum.spec.observations import joined, keyed, named, parts
from simulacrum.spec.schema import resized
from simulacrum.trajectory import from_tensordict
from simulacrum.vector import FastVectorEnv

CARDS = Package.read(PACKAGES / "cards")
FORMS = ["tensor", *(["kernel"] if native.enabled() else [])]
KEYS = [("observation", "0"), ("observation", "1"), ("observation", "2")]
every_form = pytest.mark.parametrize("form", FORMS)
TWO = spaces.Tuple((spaces.Discrete(3, start=-1), spaces.Box(-1, 9, (2,), np.float32)))


def made(form: str, rows: int, **options: Any) -> Any:
    return CARDS.forms[form](batch_size=[rows], **{"seed": 5, **options})


# ---------------------------------------------------------------------- parts, apart and together


@pytest.mark.parametrize(
    ("space", "names", "keys"),
    [
        (spaces.Discrete(2), ["observation"], ["observation"]),
        (spaces.Dict({"a": spaces.Discrete(2)}), ["observation.a"], ["a"]),
        (TWO, ["observation[0]", "observation[1]"], [("observation", "0"), ("observation", "1")]),
    ],
)
def test_an_element_comes_apart_and_together(space: Any, names: list[str], keys: list[Any]) -> None:
    seen = space.sample()
    assert [part.name for part in parts(space)] == list(named(seen)) == names
    assert [part.key for part in parts(space)] == list(keyed(seen)) == keys
    assert [part.of(seen) for part in parts(space)] == list(named(seen).values()) == list(keyed(seen).values())
    again = joined(space, named(seen))
    assert type(again) is type(seen)
    assert_same(again, seen)


# ---------------------------------------------------------------------- what is refused, when the class is made


@pytest.mark.parametrize(
    ("observation", "action", "agents", "message"),
    [
        (spaces.Tuple([TWO]), spaces.Discrete(2), None, r"observation space, \[0\]: expected Box, .*, got Tuple"),
        (spaces.Tuple([spaces.Dict(a=TWO[0])]), spaces.Discrete(2), None, r"observation space, \[0\]: expected Box"),
        (spaces.Dict(a=TWO), spaces.Discrete(2), None, "observation space, key 'a': expected Box, .*, got Tuple"),
        (TWO[0], TWO, None, "action space: expected Discrete, .* Tuple are for observations"),
        (spaces.Tuple([spaces.MultiBinary(2)]), spaces.MultiBinary(2), 2, "many agents, got a Tuple"),
    ],
)
def test_what_is_not_supported_is_told(observation: Any, action: Any, agents: int | None, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        Environment("tests/no-v0", action, observation, max_episode_steps=3, agents=agents)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda seen: seen[:1], r"expected a tuple of 2 tensors, got observation\[0\]"),
        (lambda seen: (*seen, seen[0]), r"expected a tuple of 2 tensors, got observation\[0\], .*, observation\[2\]"),
        (lambda seen: seen[1], "expected a tuple of 2 tensors, got another type"),
        (lambda seen: dict(enumerate(seen)), "expected a tuple of 2 tensors"),
        (lambda seen: (seen[0].int(), seen[1]), r"observation\[0\]: expected torch.int64 \[N\]"),
        (lambda seen: (seen[0], seen[1][:, :1]), r"observation\[1\]: expected torch.float32 \[N, 2\]"),
    ],
)
def test_the_fast_side_gives_a_tuple_of_that_form(given: Any, message: str) -> None:
    class Fast(showing(TWO)[1]):  # type: ignore[misc]
        def observation(self, state: Any) -> Any:
            return given(super().observation(state))

    with pytest.raises(OutputError, match=message):
        Fast(batch_size=[4])


@pytest.mark.parametrize("given", [list, lambda seen: seen[:1], lambda seen: np.array([1, 2])])
def test_the_reference_gives_a_tuple_too(given: Any) -> None:
    env = CARDS.reference()
    seen, info = env.reset(seed=1)
    with pytest.raises(FormError, match=r"observation: expected a tuple of 3 elements, got"):
        stacked_record(CARDS, [state_of(env)], [(1, 0, 0)], [given(seen)], [info])


# ---------------------------------------------------------------------- spec.md, schema.json


def test_the_spec_names_the_parts_by_their_places() -> None:
    assert CARDS.spec.observation_space == CARDS.environment.observation_space
    seen = CARDS.spec.examples[0].observation
    assert isinstance(seen, tuple)
    assert [part.dtype for part in seen] == [np.int64, np.float32, np.int64]
    assert seen[1].tolist() == [np.float32(5) / np.float32(6), np.float32(0.2)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("| [1]: total", "| [2]: total", r"expected rows that begin with .*, as of a Tuple, got"),
        ("| [1]: total", "| share: total", r"expected rows that begin with .*, as of a Tuple, got"),
        ("[0] = 5; [1] =", "[0] = 5; [3] =", r"expected the keys \['\[0\]', '\[1\]', '\[2\]'\]"),
        ("CARDS - 1, 1)", "CARDS - 1, 1, 2)", r"expected Box.*Discrete\(n, start\)"),
    ],
)
def test_a_spec_that_misnames_them_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    package = edited_as(tmp_path / "cards", "cards", ("spec.md", old, new), count=1)
    with pytest.raises(SpecError, match=message):
        _ = package.spec.examples


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("CARDS - 1, start=1)", "CARDS - 1, start=2)", "start=2"),
        ("Box(0.0, 2.0, (2,), np.float32)", "Box(0.0, 3.0, (2,), np.float32)", "3.0"),
    ],
)
def test_spec_contract_compares_part_by_part(tmp_path: Path, old: str, new: str, part: str) -> None:
    package = edited_as(tmp_path / "cards", "cards", ("__init__.py", old, new))
    result = run_check("spec_contract", package, QUICK)
    told = [finding.message for finding in result.findings if finding.message.startswith("observation_space: ")]
    assert len(told) == 1
    assert part in told[0]


def test_a_configurations_schema_has_the_sizes_of_its_parts(tmp_path: Path) -> None:
    package = edited_as(tmp_path / "cards", "cards", ("spec.md", "2.0, [2], float32", "2.0, [CARDS], float32"))
    content = json.loads(resized(package.files["schema.json"], package.spec))
    sizes = [part.get("maxItems") for part in content["$defs"]["observation"]["prefixItems"]]
    assert sizes == [None, 3, None]


STARTS = [
    ("Discrete(N, START)", spaces.Discrete(4, start=-2)),
    ("Discrete(N)", spaces.Discrete(4)),
    ("MultiDiscrete([N, 2])", spaces.MultiDiscrete([4, 2])),
    ("MultiDiscrete([N, 2], [START, 0])", spaces.MultiDiscrete([4, 2], start=[-2, 0])),
]


@pytest.mark.parametrize(("text", "space"), STARTS)
@pytest.mark.parametrize(
    ("row", "whole"),
    [
        ("| it | {} |", lambda one: one),
        ("| a: it | {} |", lambda one: spaces.Dict(a=one)),
        ("| [0]: it | {} |", lambda one: spaces.Tuple([one])),
    ],
)
def test_a_spec_may_count_from_a_start(text: str, space: Any, row: str, whole: Any) -> None:
    tables = "| constant | value |\n|---|---|\n| N | 4 |\n| START | -2 |\n\n| observation | space |\n|---|---|\n"
    assert Spec(tables + row.format(text) + "\n").observation_space == whole(space)


@pytest.mark.parametrize("space", [one for _, one in STARTS])
@pytest.mark.parametrize("whole", [lambda one: one, lambda one: spaces.Dict(a=one), lambda one: spaces.Tuple([one])])
def test_both_sides_agree_on_them(space: Any, whole: Any) -> None:
    reference, fast = showing(whole(space))
    rows = Rows(reference, fast(batch_size=[3], seed=1, expose_state=True))
    for action in actions(rows.fast, 12):
        assert bool(rows.fast.observation_spec.is_in(rows.step(action).select(*rows.fast.observation_keys)))


# ---------------------------------------------------------------------- the battery


def test_the_whole_battery_passes() -> None:
    report = run(CARDS, replace(QUICK, seed=3))
    assert [check.name for check in report.checks if check.outcome == "failed"] == []
    assert {form for check in report.checks for form, *_ in check.facts.get("covers", [])} == set(FORMS)


FAULTS = {
    "observation[0]": ("return state.total, torch", "return state.total.clamp(max=6), torch"),
    "observation[1]": ("state.t / self.float32(CAP)]", "state.t / self.float32(CAP) * 1.0000001]"),  # one bit
    "observation[2]": ("state.lucky.to(torch.int64)", "(state.lucky & (state.t < 3)).to(torch.int64)"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_one_part_is_found_and_named(name: str, tmp_path: Path) -> None:
    package = edited_as(tmp_path / "cards", "cards", ("fast.py", *FAULTS[name]))
    (finding, *_) = run_check("differential", package, QUICK).findings
    assert finding.field == name
    assert name in finding.text()


def test_elements_that_are_exchanged_are_found(tmp_path: Path) -> None:
    package = edited_as(
        tmp_path / "cards",
        "cards",
        (
            "reference.py",
            "return np.int64(state.total), np.array(shares, np.float32), np.int64(state.lucky)",
            "return np.int64(1 + state.lucky), np.array(shares, np.float32), np.int64(state.lucky)",
        ),
    )
    result = run_check("worked_examples", package, QUICK)
    assert any("observation[0]" in finding.message for finding in result.findings)


# ---------------------------------------------------------------------- Gymnasium's APIs


@pytest.mark.parametrize("space", [TWO, CARDS.environment.observation_space, spaces.Tuple([spaces.MultiBinary(2)])])
def test_check_env_passes_without_a_warning(space: Any) -> None:
    env = CARDS.reference() if space is CARDS.environment.observation_space else showing(space)[0]()
    spec = gymnasium.envs.registration.EnvSpec(id="tests/any-v0", entry_point=lambda: type(env)())
    env.spec = spec
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("mode", MODES)
@every_form
def test_the_vector_adapter_equals_sync_vector_env(form: str, mode: AutoresetMode, rows: int) -> None:
    sync = SyncVectorEnv([CARDS.reference] * rows, autoreset_mode=mode)
    fast, ended = FastVectorEnv(made(form, rows), autoreset_mode=mode), 0
    assert fast.observation_space == sync.observation_space
    first = fast.reset(seed=11)
    assert isinstance(first[0], tuple)
    assert_same_reset(first, sync.reset(seed=11), mode)
    space = batch_space(fast.single_action_space, rows)
    space.seed(rows)
    for _ in range(150):
        chosen = space.sample()
        got, expected = fast.step(chosen), sync.step(chosen)
        assert_same_step(got, expected, mode)
        assert fast.observation_space.contains(got[0])
        over = expected[2] | expected[3]
        ended += int(over.sum())
        if mode is SAME_STEP and over.any():
            last = got[4]["final_obs"][int(np.argmax(over))]
            assert isinstance(last, tuple)
            assert fast.single_observation_space.contains(last)
        if mode is DISABLED and over.any():
            options = {"reset_mask": over}
            assert_same_reset(fast.reset(options=dict(options)), sync.reset(options=dict(options)), mode)
    assert ended >= 10 * rows


def test_make_vec_gives_tuples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.setattr(discovery, "ROOT", tmp_path / "checkout")
    before = dict(gymnasium.registry)
    edited_as(tmp_path / "cards", "cards")
    validated((tmp_path / "cards").resolve())
    assert registry.register_known() == ["tests/cards-v0"]
    try:
        envs = gymnasium.make_vec("tests/cards-v0", num_envs=3)
        seen, _ = envs.reset(seed=2)
        assert [(part.dtype, part.shape) for part in seen] == [(np.int64, (3,)), (np.float32, (3, 2)), (np.int64, (3,))]
        assert envs.observation_space.contains(envs.step(np.ones(3, np.int64))[0])
        one = gymnasium.make("tests/cards-v0")
        assert_same(one.reset(seed=2)[0][1], seen[1][0])
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)


# ---------------------------------------------------------------------- TorchRL's APIs


@every_form
@pytest.mark.parametrize("size", [(3,), (2, 3)])
def test_check_env_specs_passes(form: str, size: tuple[int, ...]) -> None:
    for options in ({}, {"expose_state": True}):
        env = CARDS.forms[form](batch_size=size, seed=1, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env_specs(env)
        assert env.observation_spec["observation"].shape == torch.Size(size)
        assert [key for key in env.observation_spec.keys(True, True) if key[0] == "observation"] == KEYS


@every_form
def test_every_way_gives_the_same(form: str) -> None:
    fused, plain = made(form, 4), TransformedEnv(made(form, 4), Compose(StepCounter(), RewardSum()))
    one, other, ended = fused.reset(), plain.reset(), 0
    for action in actions(fused, 60):
        done, one = fused.step_and_maybe_reset(one.set("action", action))
        stepped, other = plain.step_and_maybe_reset(other.set("action", action))
        for got, expected in ((stepped["next"], done["next"]), (other, one)):
            assert {key: frozen(got)[key] for key in KEYS} == {key: frozen(expected)[key] for key in KEYS}
        ended += int(done["next", "done"].sum())
    assert ended >= 8


def test_compiled_tensors_give_the_same() -> None:
    eager, compiled = made("tensor", 4), made("tensor", 4, resets="masked").compile()
    one, other = eager.reset(), compiled.reset()
    for action in actions(eager, 30):
        done, one = eager.step_and_maybe_reset(one.set("action", action))
        stepped, other = compiled.step_and_maybe_reset(other.set("action", action))
        assert frozen(done) == frozen(stepped)
        assert frozen(one) == frozen(other)


@every_form
def test_a_policy_of_two_parts_is_collected(form: str) -> None:
    def policy(td: Any) -> Any:
        below = (td["observation", "0"] < 5) & (td["observation", "1"][..., 1] < 0.7)
        return td.set("action", below.to(torch.int64))

    collector = Collector(made(form, 5, expose_state=True), policy, frames_per_batch=100, total_frames=200)
    batches = [batch.clone() for batch in collector]
    collector.shutdown()
    assert [batch["observation"].batch_size for batch in batches] == [torch.Size([5, 20])] * 2
    record = fast_record(CARDS, batches[0][:, 0])
    assert isinstance(observation_of(CARDS, record), tuple)
    trajectory = from_tensordict(batches[0], CARDS, instances=[2], source=form)[0]
    total = batches[0]["next", "observation", "0"][2]
    assert [step.state["total"] for step in trajectory.steps] == total.tolist()


@every_form
def test_an_environment_pickles(form: str) -> None:
    env = made(form, 3)
    env.reset()
    again = pickle.loads(pickle.dumps(env))
    for action in actions(env, 3):
        one, other = (each.step(each.reset().set("action", action)) for each in (env, again))
        assert frozen(one) == frozen(other)


@pytest.mark.skipif(not native.enabled(), reason="kernels need a C compiler")
def test_the_kernels_names_of_the_parts() -> None:
    kernel = CARDS.forms["kernel"]
    assert issubclass(kernel, KernelEnv)
    assert [(part.name, part.key) for part in kernel.layout().seen] == [
        (f"observation_{place}", key) for place, key in enumerate(KEYS)
    ]


# ---------------------------------------------------------------------- policies of checks.py


def test_a_scripted_policy_sees_a_tuple_of_batches(tmp_path: Path) -> None:
    package = edited_as(
        tmp_path / "cards",
        "cards",
        (
            "checks.py",
            "POLICIES: list[ScriptedPolicy] = []",
            'POLICIES = [ScriptedPolicy("careful", careful, 0.5, 1.0, return_range=(-1.0, 2.0))]',
        ),
    )
    env = package.reference()
    seen, _ = env.reset(seed=4)
    policy = policy_of(package, "careful", 0)
    assert policy(state_of(env), seen).tolist() == 1
    assert policy(state_of(env), (np.int64(5), *seen[1:])).tolist() == 0
