"""The kernel form of packages of every kind, against their tensor form and their reference, bit by bit."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from edited import Change, edited_as
from environments import Rows, actions, frozen
from gymnasium.vector.utils import batch_space
from tensordict import TensorDict
from vector_worlds import DISABLED, MODES, assert_same

from simulacrum import bits, native
from simulacrum.errors import ActionError, DrawError, SpecError
from simulacrum.kernel.layout import BLOCK
from simulacrum.spec import Package
from simulacrum.vector import FastVectorEnv

pytestmark = pytest.mark.skipif(not native.enabled(), reason="kernels need a C compiler")
TESTS = Path(__file__).resolve().parent
PACKAGES = {
    "toywalk": Package.read(TESTS.parent / "envs" / "toywalk"),
    **{name: Package.read(TESTS / "packages" / name) for name in ("board", "cards", "courier", "gates")},
}
SIZES = [1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 1000]
every_package = pytest.mark.parametrize("name", PACKAGES)


def made(name: str, form: str, rows: int, **options: Any) -> Any:
    return PACKAGES[name].forms[form](batch_size=[rows], **{"seed": 5, "expose_state": True, **options})


def pair(name: str, rows: int, **options: Any) -> tuple[Any, Any]:
    return made(name, "kernel", rows, **options), made(name, "tensor", rows, **options)


def assert_equal(kernel: TensorDict, tensor: TensorDict, *, state: bool = True) -> None:
    """The same keys, dtypes, shapes and bits; without ``state``, of what is seen."""
    got, expected = frozen(kernel), frozen(tensor)
    if not state:
        expected = {key: value for key, value in expected.items() if not {"state", "clock"} & {*key}}
    wrong = [key for key in expected if got.get(key) != expected[key]]
    assert got.keys() == expected.keys(), got.keys() ^ expected.keys()
    assert not wrong


# ---------------------------------------------------------------------- rollouts


@every_package
@pytest.mark.parametrize("rows", SIZES)
def test_rollouts_with_resets(name: str, rows: int) -> None:
    envs = [*pair(name, rows), made(name, "kernel", rows, expose_state=False)]
    tds, ended = [env.reset() for env in envs], 0
    for action in actions(envs[0], 150 if rows < 64 else 45):
        steps = [env.step_and_maybe_reset(td.set("action", action)) for env, td in zip(envs, tds, strict=True)]
        tds = [now for _, now in steps]
        for part in (0, 1):
            assert_equal(steps[0][part], steps[1][part])
            assert_equal(steps[2][part], steps[1][part], state=False)
        ended += int(steps[1][0]["next", "done"].sum())
    assert ended >= 2


@every_package
def test_the_reference_gives_the_same(name: str) -> None:
    both, ended = Rows(PACKAGES[name].reference, made(name, "kernel", 3)), 0
    for action in actions(both.fast, 200):
        ended += int(both.step(action)["done"].sum())
    assert ended >= 2


@pytest.mark.parametrize("name", ["board", "gates"])
def test_threads_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (kernel, tensor), before = pair(name, 1000), torch.get_num_threads()
    blind = made(name, "kernel", 1000, expose_state=False)
    for env in (kernel, blind):
        monkeypatch.setattr(env, "_most_threads", 3)
    one, two, three = kernel.reset(), tensor.reset(), blind.reset()
    try:
        torch.set_num_threads(3)
        assert kernel._threads == 3
        for action in actions(tensor, 25):
            done, one = kernel.step_and_maybe_reset(one.set("action", action))
            expected, two = tensor.step_and_maybe_reset(two.set("action", action))
            again, three = blind.step_and_maybe_reset(three.set("action", action))
            assert_equal(done, expected)
            assert_equal(one, two)
            assert_equal(again, expected, state=False)
            assert_equal(three, two, state=False)
    finally:
        torch.set_num_threads(before)


# ---------------------------------------------------------------------- resets, partial steps, injected states, copies


def stepped(envs: tuple[Any, Any], tds: list[TensorDict], some: torch.Generator, action: torch.Tensor) -> Any:
    """``step``, and then the reset of the rows that ended and of some others."""
    done = [env.step(td.set("action", action)) for env, td in zip(envs, tds, strict=True)]
    assert_equal(*done)
    mask = done[0]["next", "done"] | (torch.rand((*done[0].batch_size, 1), generator=some) < 0.2)
    nexts = [one["next"].exclude("reward", "state", "clock").set("_reset", mask.clone()) for one in done]
    return [env.reset(td) for env, td in zip(envs, nexts, strict=True)]


def stepped_in_part(envs: tuple[Any, Any], tds: list[TensorDict], some: torch.Generator, action: torch.Tensor) -> Any:
    """A step of some rows, those that end are left as they are; then one of others; then what ended is reset."""
    ended = torch.zeros(action.shape[0], dtype=torch.bool)
    for _ in range(3):
        mask = (torch.rand(len(ended), generator=some) < 0.6) & ~ended
        done = [
            env._step(td.set("action", action).set("_step", mask.clone())) for env, td in zip(envs, tds, strict=True)
        ]
        assert_equal(*done)
        ended = done[0]["done"].reshape(-1).clone()
        tds = [one.exclude("reward") for one in done]
    nexts = [td.exclude("state", "clock").set("_reset", ended.unsqueeze(-1)) for td in tds]
    return [env.reset(td) for env, td in zip(envs, nexts, strict=True)]


def fused(envs: tuple[Any, Any], tds: list[TensorDict], some: torch.Generator, action: torch.Tensor) -> Any:
    done = [env.step_and_maybe_reset(td.set("action", action)) for env, td in zip(envs, tds, strict=True)]
    assert_equal(done[0][0], done[1][0])
    return [now for _, now in done]


def injected(envs: tuple[Any, Any], tds: list[TensorDict], some: torch.Generator, action: torch.Tensor) -> Any:
    """The states of other rows, with other clocks; the second time in some rows only."""
    rows = action.shape[0]
    for masked in (False, True):
        state = envs[1].get_state()[torch.randint(rows, (rows,), generator=some)]
        state["clock", "seed"] = torch.randint(-(2**62), 2**62, (rows,), generator=some) * 2 + 1
        state["clock", "episode"] = torch.randint(2**32, (rows,), generator=some)
        if masked:
            state["_reset"] = torch.rand((rows, 1), generator=some) < 0.5
        tds = [env.reset(state.clone(), set_state=True) for env in envs]
        assert_equal(*tds)
    return tds


def copied(envs: tuple[Any, Any], tds: list[TensorDict], some: torch.Generator, action: torch.Tensor) -> Any:
    """What a pickled copy does next is what the original would."""
    other, td = pickle.loads(pickle.dumps(envs[0])), tds[0].clone().set("action", action)
    now = fused(envs, tds, some, action)
    assert_equal(other.step_and_maybe_reset(td)[1], now[0])
    return now


OPERATIONS = [stepped, stepped_in_part, fused, injected, copied]


@every_package
@pytest.mark.parametrize("rows", [1, 5, BLOCK + 1])
def test_any_order_of_operations(name: str, rows: int) -> None:
    envs, some = pair(name, rows), torch.Generator().manual_seed(rows)
    tds = [env.reset() for env in envs]
    for action in actions(envs[1], 60, seed=rows):
        operation = OPERATIONS[int(torch.randint(len(OPERATIONS), (), generator=some))]
        tds = operation(envs, tds, some, action)
        assert_equal(*tds)
        assert_equal(envs[0].get_state(), envs[1].get_state())


def test_a_clock_at_its_end_is_truncated() -> None:
    envs = pair("gates", 3)
    for env in envs:
        state = env.reset().exclude("done")
        state["clock", "t"] = torch.tensor([2**32 - 1, 2**31, 2**32 - 2])
        td = env.reset(state, set_state=True).set("action", torch.ones(3, dtype=torch.int64))
        done, now = env.step_and_maybe_reset(td)
        assert bool(done["next", "truncated"].all())
        assert now["clock", "t"].tolist() == [0, 0, 0]


# ---------------------------------------------------------------------- without TensorDicts


@every_package
@pytest.mark.parametrize("rows", [1, 5, BLOCK + 3])
@pytest.mark.parametrize("mode", MODES)
def test_the_vector_adapter(name: str, rows: int, mode: Any) -> None:
    kernel, tensor = (FastVectorEnv(env, autoreset_mode=mode) for env in pair(name, rows, expose_state=False))
    space, ended = batch_space(kernel.single_action_space, rows), 0
    space.seed(rows)
    assert_same(kernel.reset(seed=7), tensor.reset(seed=7))
    for _ in range(150 if rows < 64 else 60):
        action = space.sample()
        expected = tensor.step(action)
        assert_same(kernel.step(action), expected)
        over = expected[2] | expected[3]
        ended += int(over.sum())
        if mode is DISABLED and over.any():
            options = {"reset_mask": over}
            assert_same(kernel.reset(options=options), tensor.reset(options=options))
    assert ended >= 2


@every_package
@pytest.mark.parametrize("rows", [1, BLOCK + 1, 1000])
def test_step_into_slices_of_a_batch(name: str, rows: int) -> None:
    envs, steps = pair(name, rows, expose_state=False), 20
    batches = [batch_of(env, steps, rows, fill) for fill, env in enumerate(envs)]
    for t, action in enumerate(actions(envs[1], steps)):
        for env, batch in zip(envs, batches, strict=True):
            ended, now = ({key: value[t] for key, value in part.items()} for part in batch)
            env.step_into(action, ended, now)
    for got, expected in zip(*batches, strict=True):
        assert got.keys() == expected.keys()
        for key in expected:
            assert got[key].numpy().tobytes() == expected[key].numpy().tobytes(), key


def batch_of(env: Any, steps: int, rows: int, fill: int) -> tuple[dict[Any, torch.Tensor], dict[Any, torch.Tensor]]:
    """Memory [steps, N, ...] for what steps show, and for what is seen then; ``fill`` stands there at first."""
    seen = {key: (value.dtype, value.shape[1:]) for key, value in env.plain_reset().items()}
    flags = {name: (torch.bool, torch.Size([1])) for name in ("terminated", "truncated", "done")}
    reward = {"reward": (env.reward_spec.dtype, torch.Size([1]))}
    return tuple(  # type: ignore[return-value]
        {key: torch.full((steps, rows, *shape), fill, dtype=dtype) for key, (dtype, shape) in forms.items()}
        for forms in ({**seen, **reward, **flags}, seen)
    )


# ---------------------------------------------------------------------- rows that wait, and names


def altered(folder: Path, name: str, *changes: Change) -> Package:
    return edited_as(folder / name, name, *changes, kernel=True)


POISON = (
    "kernel.pyx",
    "    for i in range(BLOCK):\n        position =",
    "    for i in range(BLOCK):\n        if rows.position[i] == L: draw.wrong = SLIP + 1\n        position =",
)


@pytest.mark.parametrize("rows", [1, 5, BLOCK + 1])
def test_no_transition_is_computed_from_a_state_in_which_an_episode_has_ended(tmp_path: Path, rows: int) -> None:
    env = altered(tmp_path, "toywalk", POISON).forms["kernel"](batch_size=[rows], seed=1)
    vector = FastVectorEnv(env)
    vector.reset(seed=3)
    ended = 0
    for _ in range(120):
        _, _, terminated, _, _ = vector.step(np.ones(rows, np.int64))
        ended += int(terminated.sum())
    assert ended >= 5
    td, action = env.reset(), torch.ones(rows, dtype=torch.int64)
    for _ in range(40):
        td = env._step(td.set("action", action).set("_step", ~td["terminated"].squeeze(-1))).exclude("reward")
    assert bool(td["terminated"].all())
    with pytest.raises(DrawError, match="drew the slot SLIP"):  # so this kernel does tell
        env.step(td.set("action", action))


CONSTANTS = {
    "GOAL_REWARD": "REWARD",
    "MAX_STEPS": "CAP",
    "START_RANGE": "RESET",
    "SLIP_P": "STEP",
    "STEP_REWARD": "NAN",
}
FIELDS = {"cargo": "list", "speed": "seed", "lamp": "wrong", "total": "stride"}


@pytest.mark.parametrize(("base", "names"), [("toywalk", CONSTANTS), ("courier", FIELDS)])
def test_names_that_the_loop_uses_for_itself(tmp_path: Path, base: str, names: dict[str, str]) -> None:
    files = ["__init__.py", "spec.md", "fast.py", "kernel.pyx"]
    texts = {file: (PACKAGES[base].path / file).read_text() for file in files}
    changes = [(file, old, new) for old, new in names.items() for file in files if old in texts[file]]
    env = altered(tmp_path, base, *changes).forms["kernel"](batch_size=[3], seed=5, expose_state=True)
    own = made(base, "kernel", 3)
    td, expected = env.reset(), own.reset()
    for action in actions(env, 40):
        done, td = env.step_and_maybe_reset(td.set("action", action))
        own_done, expected = own.step_and_maybe_reset(expected.set("action", action))
        assert bits.same(done["next", "reward"].numpy(), own_done["next", "reward"].numpy())
        for old, new in FIELDS.items() if names is FIELDS else ():
            assert bits.same(td["state", new].numpy(), expected["state", old].numpy())


@pytest.mark.parametrize("name", ["register", "lambda"])
def test_fields_that_are_words_of_c_or_python_are_refused(tmp_path: Path, name: str) -> None:
    package = altered(tmp_path, "courier", ("spec.md", "`speed`", f"`{name}`"))
    with pytest.raises(SpecError, match=f"'{name}': a kernel needs names .* no words of C or Python"):
        package.forms["kernel"](batch_size=[3])


def test_a_constant_of_the_kernel_s_own_name_is_refused(tmp_path: Path) -> None:
    package = altered(tmp_path, "courier", ("spec.md", "| FRICTION |", "| BLOCK |"))
    with pytest.raises(SpecError, match="constant BLOCK: a kernel has a name of its own like that"):
        package.forms["kernel"](batch_size=[3])


def test_two_outputs_of_one_name_are_refused(tmp_path: Path) -> None:
    package = altered(tmp_path, "board", ("fast.py", '("info", "lamps"):', '("info", "tool"):'))
    with pytest.raises(SpecError, match="shows: a kernel shows two things as tool"):
        package.forms["kernel"](batch_size=[3])


@pytest.mark.parametrize("action", [torch.zeros(4, dtype=torch.int64), torch.zeros(5, dtype=torch.int32)])
def test_actions_of_another_form_are_refused_everywhere(action: torch.Tensor) -> None:
    env = made("gates", "kernel", 5, expose_state=False)
    ended, now = ({key: value[0] for key, value in part.items()} for part in batch_of(env, 1, 5, 0))
    for call in (env.plain_step, env.plain_step_and_reset, lambda action: env.step_into(action, ended, now)):
        with pytest.raises(ActionError, match=r"action: expected int64 \[5\], got"):
            call(action)
