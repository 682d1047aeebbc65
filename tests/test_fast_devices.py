"""No synchronisation in a step with masked resets, and what holds on a CUDA device (skipped where there is none)."""

import pytest
import torch
from environments import FORAGER, TOYWALK, CountdownFast, MirrorFast, actions, frozen
from torch._dynamo.backends.common import aot_autograd
from torch.utils._python_dispatch import TorchDispatchMode

FASTS = [CountdownFast, MirrorFast, TOYWALK.fast, FORAGER.fast]
WAITS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}  # an operator with one of these reads values
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def waiting(operators):
    """Those operators whose outcome the host must wait for."""
    return [str(operator) for operator in operators if WAITS & set(getattr(operator, "tags", ()))]


class Operators(TorchDispatchMode):
    """Notes every operator that runs."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def stepped(env, count=8):
    """The operators of some steps in which episodes end, after one step in which everything is made."""
    td = env.step_and_maybe_reset(env.reset().set("action", actions(env, 1)[0]))[1]
    given = actions(env, count)
    with Operators() as operators:
        for action in given:
            td = env.step_and_maybe_reset(td.set("action", action))[1]
    assert int(env.instance_episodes.max()) > 0
    return operators.seen


@pytest.mark.parametrize("fast", [CountdownFast, MirrorFast])
def test_a_step_with_masked_resets_waits_for_nothing(fast):
    seen = stepped(fast(batch_size=[30], seed=1, resets="masked", validate_actions=False))
    assert len(seen) > 100
    assert waiting(seen) == []


def test_what_waits_is_seen():
    seen = stepped(CountdownFast(batch_size=[30], seed=1, resets="rows", validate_actions=False))
    assert "aten.nonzero.default" in waiting(seen)
    seen = stepped(CountdownFast(batch_size=[30], seed=1, resets="masked", validate_actions=True))
    assert waiting(seen) == ["aten._local_scalar_dense.default"] * 16


@pytest.mark.parametrize("expose_state", [False, True])
@pytest.mark.parametrize("fast", FASTS)
def test_a_compiled_step_with_masked_resets_is_one_graph_that_waits_for_nothing(fast, expose_state):
    graphs = []

    def keep(graph, inputs):
        graphs.append([node.target for node in graph.graph.nodes if node.op == "call_function"])
        return graph.forward

    torch._dynamo.reset()
    assert not torch._dynamo.config.capture_scalar_outputs  # with which such an operator would enter a graph
    assert not torch._dynamo.config.capture_dynamic_output_shape_ops
    options = {"backend": aot_autograd(fw_compiler=keep, inference_compiler=keep)}
    env = fast(
        batch_size=[30], seed=1, resets="masked", validate_actions=False, expose_state=expose_state, compile=options
    )
    td = env.reset()
    for action in actions(env, 6):
        td = env.step_and_maybe_reset(td.set("action", action))[1]
    (operators,) = graphs  # one graph, for every step
    assert len(operators) > 20
    assert waiting(operators) == []


# ---------------------------------------------------------------------- CUDA


@on_cuda
@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("resets", ["rows", "masked"])
@pytest.mark.parametrize("fast", FASTS)
def test_a_device_gives_the_bits_of_the_cpu(fast, resets, compile):
    options = {"batch_size": [50], "seed": 1, "expose_state": True, "resets": resets}
    env, other = fast(**options, device="cuda", compile=compile), fast(**options)
    td, expected = env.reset(), other.reset()
    for action in actions(other, 12):
        done, td = env.step_and_maybe_reset(td.set("action", action.cuda()))
        shown, expected = other.step_and_maybe_reset(expected.set("action", action))
        assert frozen(done.cpu()) == frozen(shown)
        assert frozen(td.cpu()) == frozen(expected)


@on_cuda
@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("fast", FASTS)
def test_a_step_on_a_device_waits_for_nothing(fast, compile):
    env = fast(batch_size=[50], seed=1, device="cuda", resets="masked", compile=compile)
    td = env.reset()
    given = [action.cuda() for action in actions(fast(batch_size=[50], seed=1), 8)]
    for action in given[:2]:  # which makes the graph, and the constants
        td = env.step_and_maybe_reset(td.set("action", action))[1]
    torch.cuda.synchronize()
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for action in given[2:]:
            td = env.step_and_maybe_reset(td.set("action", action))[1]
    finally:
        torch.cuda.set_sync_debug_mode(before)
