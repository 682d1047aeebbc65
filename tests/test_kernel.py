"""KernelEnv: what is its own, beside the bits that ``forms`` compares."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tensordict import TensorDict
from torchrl.envs.utils import check_env_specs

import simulacrum
from simulacrum import native
from simulacrum.errors import ActionError, BuildError, DrawError, OutputError, SpecError, StateError
from simulacrum.kernel.layout import BLOCK, Layout
from simulacrum.kernel.memory import Memory
from simulacrum.spec import Package

pytestmark = pytest.mark.skipif(not native.enabled(), reason="kernels need a C compiler")
ENVS = Path(__file__).resolve().parent.parent / "envs"


@pytest.fixture(scope="module")
def toywalk():
    return Package.read(ENVS / "toywalk")


def kernel(package, rows=5, **options):
    return package.forms["kernel"](batch_size=rows, **{"seed": 3, **options})


def edited(package, tmp_path, name, old, new):
    """A copy of a package in which a text of one file is replaced."""
    folder = tmp_path / package.name
    folder.mkdir()
    for file, data in package.files.items():
        if "/" not in file:
            (folder / file).write_bytes(data)
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))
    return Package.read(folder)


def test_torchrl_takes_it(toywalk):
    check_env_specs(kernel(toywalk))
    check_env_specs(kernel(toywalk, expose_state=True))


# ---------------------------------------------------------------------- memory


@pytest.mark.parametrize("rows", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_memory_gives_back_what_it_took(toywalk, rows):
    env = kernel(toywalk, rows, expose_state=True)
    env.reset()
    carry = env._carry
    generator = np.random.default_rng(rows)
    values = torch.from_numpy(generator.integers(-5, 6, rows).astype(np.int32))
    carry = carry._replace(fields={"position": values}, t=torch.full((rows,), 2**32 - 1), seed=torch.full((rows,), -1))
    memory = Memory(env._core.module, env._core.layout, rows)
    memory.write(carry)
    read = memory.read()
    assert torch.equal(read.fields["position"], values)
    assert all(torch.equal(one, other) for one, other in zip(read[1:], carry[1:], strict=True))


def test_integers_are_as_narrow_as_their_bounds(toywalk):
    fields = Layout(toywalk, {}).fields
    assert [(part.name, str(part.kept), str(part.dtype)) for part in fields] == [("position", "int8", "int32")]
    wide = Layout(toywalk.with_constants({"L": 200}), {}).fields
    assert [str(part.kept) for part in wide] == ["int16"]


def test_a_state_that_memory_cannot_hold_is_refused_and_nothing_changes(toywalk):
    env = kernel(toywalk, expose_state=True)
    td = env.reset()
    before = env.get_state()
    wrong = td.clone().set(("state", "position"), torch.full((5,), 1000, dtype=torch.int32))
    with pytest.raises(StateError, match=r"position: expected values within the bounds .* got 1000 in row 0"):
        env.reset(wrong, set_state=True)
    assert bool((env.get_state() == before).all())


# ---------------------------------------------------------------------- outputs that are used again


HOLDERS = {
    "the TensorDict": lambda td: td,
    "a tensor": lambda td: td["next", "observation"],
    "a slice": lambda td: td["next", "observation"][1:],
    "a row": lambda td: td["next"][2],
    "a NumPy view": lambda td: td["next", "reward"].numpy()[1:],
    "a capsule": lambda td: torch.utils.dlpack.to_dlpack(td["next", "observation"]),
    "a storage": lambda td: (td["next", "done"].untyped_storage(), td["next", "done"].storage_offset()),
    "a memoryview": lambda td: memoryview(td["next", "observation"].numpy()),
    "what autograd saved": lambda td: torch.ones(2, requires_grad=True) * td["next", "observation"],
    "a detached tensor": lambda td: td["next", "terminated"].detach(),
    "an iterator": lambda td: iter(td["next", "observation"]),
    "the first observation of the next step": lambda td: td["observation"],
}


def seen(held):
    """The bytes that a holder sees."""
    if isinstance(held, torch.Tensor) and held.grad_fn is not None:
        (gradient,) = torch.autograd.grad(held.sum(), held.grad_fn.next_functions[0][0].variable, retain_graph=True)
        return gradient.numpy().tobytes()
    if isinstance(held, TensorDict):
        return b"".join(value.numpy().tobytes() for value in held.flatten_keys().values())
    if isinstance(held, tuple):
        storage, start = held  # there may be more in it than the tensor
        return bytes(storage[start : start + 7])
    if isinstance(held, memoryview):
        return held.tobytes()
    return np.asarray(held).tobytes() if isinstance(held, (torch.Tensor, np.ndarray)) else None


@pytest.mark.parametrize("name", HOLDERS)
def test_what_is_held_is_never_written_again(toywalk, name):
    env = kernel(toywalk, 7)
    td, kept = env.reset(), []
    for _ in range(40):
        td["action"] = env.action_spec.rand()
        done, td = env.step_and_maybe_reset(td)
        held = HOLDERS[name](done)
        kept.append((held, seen(held)))
        del done, held
    for held, first in kept:
        if name == "a capsule":
            continue
        if name == "an iterator":
            next(held)
            continue
        assert seen(held) == first
    if name == "a capsule":
        tensors = [torch.utils.dlpack.from_dlpack(held) for held, _ in kept]
        assert len({tensor.data_ptr() for tensor in tensors}) == len(tensors)


def test_what_nobody_holds_is_used_again(toywalk):
    env = kernel(toywalk, 7)
    td, places = env.reset(), set()
    for _ in range(40):
        td["action"] = env.action_spec.rand()
        _, td = env.step_and_maybe_reset(td)
        places.add(td["observation"].data_ptr())
    assert len(places) <= 4


CHANGES = {
    "write": lambda done: done["next", "observation"].fill_(7),
    "flags": lambda done: done["done"].fill_(True),
    "requires_grad": lambda done: done["observation"].requires_grad_(),
    "resize": lambda done: done["next", "reward"].resize_(3, 1),
    "share": lambda done: done["next", "observation"].share_memory_(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_its_holder_changed_is_not_used_again(toywalk, change):
    env, plain = kernel(toywalk, 7), kernel(toywalk, 7)
    td, other = env.reset(), plain.reset()
    for _ in range(40):
        td["action"] = other["action"] = env.action_spec.rand()
        done, td = env.step_and_maybe_reset(td)
        expected, other = plain.step_and_maybe_reset(other)
        assert bool((done == expected).all())
        assert bool((td == other).all())
        assert not td["observation"].requires_grad
        CHANGES[change](done)


def test_inference_mode_leaves_no_inference_tensors_behind(toywalk):
    env = kernel(toywalk, 7)
    td = env.reset()
    for mode in (False, True, False, True, False):
        with torch.inference_mode(mode):
            td["action"] = env.action_spec.rand()
            done, td = env.step_and_maybe_reset(td)
            assert done["next", "reward"].is_inference() == mode


# ---------------------------------------------------------------------- actions, threads, copies


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("rows", [1, 5, BLOCK + 3])
def test_an_action_outside_the_space_is_refused_and_nothing_changes(toywalk, rows, validate):
    env = kernel(toywalk, rows, validate_actions=validate)
    td = env.reset()
    before = env.get_state()
    for wrong in (-1, 2, 2**40, -(2**63)):
        action = torch.zeros(rows, dtype=torch.int64)
        action[-1] = wrong
        with pytest.raises(ActionError, match=rf"got {wrong} in row {rows - 1}"):
            env.step_and_maybe_reset(td.clone().set("action", action))
        with pytest.raises(ActionError, match=rf"got {wrong} in row {rows - 1}"):
            env.step(td.clone().set("action", action))
        with pytest.raises(ActionError):
            env.plain_step(action)
        assert bool((env.get_state() == before).all())


def test_threads_change_no_bit(toywalk):
    rows = 3 * toywalk.forms["kernel"].rows_per_thread + 17
    first, other = kernel(toywalk, rows), kernel(toywalk, rows)
    before = torch.get_num_threads()
    try:
        one, two = first.reset(), other.reset()
        for _ in range(30):
            one["action"] = two["action"] = first.action_spec.rand()
            torch.set_num_threads(1)
            done, one = first.step_and_maybe_reset(one)
            torch.set_num_threads(3)
            assert other._threads == 3
            also, two = other.step_and_maybe_reset(two)
            assert bool((done == also).all())
            assert bool((one == two).all())
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_as_its_original(toywalk, copied):
    env = kernel(toywalk, 9)
    td = env.rollout(4, break_when_any_done=False)[:, -1]["next"].exclude("reward")
    other = copied(env)
    one, two = td.clone(), td.clone()
    for _ in range(30):
        one["action"] = two["action"] = env.action_spec.rand()
        done, one = env.step_and_maybe_reset(one)
        also, two = other.step_and_maybe_reset(two)
        assert bool((done == also).all())


# ---------------------------------------------------------------------- what cannot be


def test_other_devices_and_compilation_are_refused(toywalk):
    with pytest.raises(ValueError, match="runs on the CPU"):
        kernel(toywalk, device="cuda")
    with pytest.raises(ValueError, match="runs on the CPU"):
        kernel(toywalk).to("meta")
    with pytest.raises(ValueError, match="a kernel is compiled as it is"):
        kernel(toywalk, compile=True)


def test_a_compiler_error_names_the_line(toywalk, tmp_path):
    package = edited(toywalk, tmp_path, "kernel.pyx", "rows.position[i] = position\n", "rows.place[i] = position\n")
    line = 1 + (tmp_path / "toywalk" / "kernel.pyx").read_text().split("\n").index("        rows.place[i] = position")
    with pytest.raises(BuildError, match=rf"toywalk/kernel\.pyx:{line}:\d+: Cannot convert"):
        kernel(package)


def test_a_missing_include_is_named(toywalk, tmp_path):
    with pytest.raises(BuildError, match=r"expected the line 'include \"loop.pxi\"', last"):
        kernel(edited(toywalk, tmp_path, "kernel.pyx", 'include "loop.pxi"', ""))


def test_a_draw_in_the_wrong_phase_is_named(toywalk, tmp_path):
    env = kernel(
        edited(toywalk, tmp_path, "kernel.pyx", "draw_bernoulli(draw, SLIP", "draw_bernoulli(draw, INIT_POSITION")
    )
    td = env.reset()
    td["action"] = env.action_spec.rand()
    with pytest.raises(DrawError, match="transition drew the slot INIT_POSITION, which belongs to initial"):
        env.step_and_maybe_reset(td)
    with pytest.raises(DrawError, match="transition drew the slot INIT_POSITION"):
        env.step(td)


def test_an_index_that_is_none_is_named(toywalk, tmp_path):
    package = edited(
        toywalk, tmp_path, "kernel.pyx", "draw_bernoulli(draw, SLIP, 0", "draw_bernoulli(draw, SLIP, 1 << 24"
    )
    env = kernel(package)
    td = env.reset()
    with pytest.raises(DrawError, match=r"expected indexes in 0\.\.2\*\*24-1, the slot SLIP"):
        env.step_and_maybe_reset(td.set("action", env.action_spec.rand()))


@pytest.mark.parametrize("wrong", ["dtype", "size", "strides"])
def test_a_step_is_never_written_where_it_does_not_fit(toywalk, wrong):
    env = kernel(toywalk, 8)
    env.reset()
    made = env._core.empty_outcome(8)
    ended = {**made.observation, **dict(zip(made._fields[1:], made[1:], strict=True))}
    seen = {
        "dtype": torch.zeros(8, 2, dtype=torch.float64),
        "size": torch.zeros(7, 2),
        "strides": torch.zeros(2, 8).t(),
    }[wrong]
    with pytest.raises(
        OutputError, match=r"step_into, 'observation': expected contiguous torch.float32 of 16 elements"
    ):
        env.step_into(env.action_spec.rand(), ended, {"observation": seen})


def test_names_that_a_kernel_cannot_have_are_refused(toywalk, tmp_path):
    with pytest.raises(SpecError, match="slot L: a constant has the same name"):
        kernel(edited(toywalk, tmp_path, "__init__.py", "    SLIP = 1", "    L = 1"))


def test_without_a_compiler_the_error_says_what_to_do(toywalk, monkeypatch):
    monkeypatch.setenv("SIMULACRUM_NATIVE", "0")
    with pytest.raises(BuildError, match=r"needs a C compiler: install one .*form=\"tensor\""):
        kernel(toywalk)


def test_it_is_exported():
    assert issubclass(simulacrum.KernelEnv, simulacrum.FastEnv)


FORKED = """
import multiprocessing, sys, torch
from simulacrum.spec import Package
torch.set_num_threads(2)
env = Package.read(sys.argv[1]).forms["kernel"](batch_size=[65536], seed=0)
action = torch.ones(65536, dtype=torch.int64)
env.reset()
env.plain_step(action)
process = multiprocessing.get_context("fork").Process(target=env.plain_step, args=(action,))
process.start()
process.join(60)
sys.exit(process.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_not_wait_for_threads_that_it_has_not(toywalk):
    subprocess.run([sys.executable, "-c", FORKED, str(toywalk.path)], check=True, timeout=120)
