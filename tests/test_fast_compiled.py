"""The fast side compiled: the same bits, few graphs, and the same rules about memory."""

import copy
import pickle
import warnings
from pathlib import Path

import pytest
import torch
from environments import FORAGER, CountdownFast, MirrorFast, actions, frozen, steps, trace
from torchrl.collectors import Collector
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose

from simulacrum.errors import ActionError
from simulacrum.fast import lanes
from simulacrum.fast.compiling import padded
from simulacrum.spec import Package

COURIER, GATES = (Package.read(Path(__file__).parent / "packages" / name) for name in ("courier", "gates"))

RESETS = ["rows", "masked"]
built = []  # the inputs' shapes of every graph that was built


def counting(graph, inputs):
    """A backend that compiles nothing, and notes each graph."""
    built.append([tuple(value.shape) for value in inputs if isinstance(value, torch.Tensor)])
    return graph.forward


@pytest.fixture(autouse=True)
def graphs():
    """The graphs built in a test."""
    torch._dynamo.reset()
    built.clear()
    return built


def countdown(rows=4, **options):
    defaults = {"seed": 3, "expose_state": True, "compile": {"backend": counting}}
    return CountdownFast(batch_size=[rows], **{**defaults, **options})


def both_step(envs, tds, action):
    """The roots after a fused step of two environments, which must show the same."""
    pairs = [env.step_and_maybe_reset(td.set("action", action)) for env, td in zip(envs, tds, strict=True)]
    assert frozen(pairs[0][0]) == frozen(pairs[1][0])
    assert frozen(pairs[0][1]) == frozen(pairs[1][1])
    return [root for _, root in pairs]


def unfused(env, count):
    """Steps by ``step`` and ``maybe_reset``, as a TransformedEnv makes them."""
    td, seen = env.reset(), []
    for action in actions(env, count):
        td = env.step(td.set("action", action))
        seen.append(frozen(td))
        td = env.maybe_reset(env.step_mdp(td))
    return seen


# ---------------------------------------------------------------------- bits


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize("fast", [CountdownFast, MirrorFast, FORAGER.fast, COURIER.fast, GATES.fast])
def test_compiled_steps_have_the_bits_of_eager_ones(fast, resets):
    options = {"batch_size": [4], "seed": 1, "expose_state": True, "resets": resets}
    td = fast(**options).reset()
    td["clock", "t"] += (fast.environment.max_episode_steps or 9) - 2
    env, other = fast(**options, compile=True), fast(**options)
    tds = [each.reset(td.clone(), set_state=True) for each in (env, other)]
    for action in actions(env, 12 if fast.environment.max_episode_steps else 80):
        tds = both_step((env, other), tds, action)
    assert int(tds[0]["clock", "episode"].min()) > 0


@pytest.mark.parametrize("resets", RESETS)
def test_every_way_of_stepping_gives_the_same_bits(resets):
    assert trace(countdown(resets=resets), 12) == trace(countdown(resets=resets, compile=False), 12)
    assert unfused(countdown(resets=resets), 12) == unfused(countdown(resets=resets, compile=False), 12)


# ---------------------------------------------------------------------- graphs


@pytest.mark.parametrize("expose_state", [False, True])
def test_masked_resets_make_one_graph(expose_state, graphs):
    env = countdown(20, resets="masked", expose_state=expose_state)
    for _ in steps(env, 12):
        pass
    assert len(graphs) == 1
    state = env.get_state()
    env.set_seed(5)
    for _ in steps(env, 6):
        pass
    env.reset(state, set_state=True)
    assert env.step_and_maybe_reset(env.rand_action(env.reset()))[0]["next"].shape == (20,)
    assert len(graphs) == 1
    assert torch._dynamo.utils.counters["graph_break"] == {}


def test_resets_by_rows_make_one_graph_for_the_step_and_one_a_padded_count(graphs, monkeypatch):
    monkeypatch.setattr(lanes, "CHEAP", -1)
    env, counts = countdown(100), set()
    for td in steps(env, 60):
        counts.add(int(td["next", "done"].sum()))
    sizes = {len(padded(torch.arange(count), 100)) for count in counts if count}
    assert sizes == {16, 64, 100}
    assert len(graphs) == 1 + len(sizes)
    for _ in steps(env, 20):
        pass
    assert len(graphs) == 1 + len(sizes)
    assert torch._dynamo.utils.counters["graph_break"] == {}


def test_first_states_that_cost_little_are_computed_in_the_graph_of_the_step(graphs):
    assert trace(countdown(100), 12) == trace(countdown(100, compile=False), 12)
    assert len(graphs) == 1


def test_the_number_of_rows_is_fixed_in_a_graph(graphs):
    """Another number makes another graph, and none that serves all; going back makes none."""
    envs = [countdown(rows, resets="masked") for rows in (20, 30, 20)]
    for env in (*envs, *envs):
        for _ in steps(env, 2):
            pass
    assert [{shape[-1] for shape in shapes if shape} - {1, 2, 3} for shapes in graphs] == [{20}, {30}, {20}]


def test_a_value_that_the_environment_holds_may_change(graphs):
    """Guards on code are left out, those on values are not."""

    class Paying(CountdownFast):
        pay = 1.0

        def transition(self, state, action, draw):
            after, reward, over = super().transition(state, action, draw)
            return after, reward + self.pay, over

    env = Paying(batch_size=[4], seed=1, compile=True)
    td = env.reset()
    action = torch.zeros(4, dtype=torch.int64)
    for pay in (1.0, 2.5, 1.0):
        env.pay = pay
        done, td = env.step_and_maybe_reset(td.set("action", action))
        assert done["next", "reward"].unique().tolist() == [pay]


PADDED = [(1, 100, 16), (16, 100, 16), (17, 100, 64), (65, 100, 100), (3, 4, 4)]


@pytest.mark.parametrize(("count", "limit", "size"), PADDED)
def test_rows_are_padded_to_few_counts(count, limit, size):
    rows = torch.arange(count) + 7
    assert padded(rows, limit).tolist() == [*rows.tolist(), *[7] * (size - count)]


@pytest.mark.parametrize("resets", RESETS)
def test_a_transformed_environment_runs_the_same_few_graphs(resets, graphs):
    env = TransformedEnv(countdown(4, resets=resets), Compose(StepCounter(), RewardSum()))
    for _ in steps(env, 12):
        pass
    assert len(graphs) == 2  # the step and the reset


def test_environments_of_one_class_have_their_own_graphs(graphs):
    for number in range(10):
        env = countdown(4, resets="masked", seed=number)
        for _ in steps(env, 3):
            pass
        assert len(graphs) == number + 1


def test_eager_takes_the_graphs_away(graphs):
    env = countdown(resets="masked")
    assert env.eager() is env
    assert trace(env, 4) == trace(countdown(compile=False), 4)
    assert graphs == []
    assert env.compile(backend=counting, warmup=3) is env
    env.step_and_maybe_reset(env.rand_action(env.reset()))
    assert len(graphs) == 1


def test_a_branch_on_data_does_not_compile():
    class Branching(CountdownFast):
        def transition(self, state, action, draw):
            return super().transition(state, action if state.left.sum() > 0 else -action, draw)

    env = Branching(batch_size=[4], seed=1, compile={"backend": counting})
    with pytest.raises(torch._dynamo.exc.Unsupported):
        env.step(env.rand_action(env.reset()))


def test_arguments_reach_torch_compile():
    seen = {}

    def backend(graph, inputs, **options):
        seen.update(options)
        return graph.forward

    env = countdown(compile={"backend": backend, "options": {"mine": 1}})
    env.step(env.rand_action(env.reset()))
    assert seen == {"options": {"mine": 1}}


# ---------------------------------------------------------------------- the rules of eager steps


@pytest.mark.parametrize(("resets", "expose_state"), [("rows", True), ("masked", False)])
def test_memory_is_as_in_eager_steps(resets, expose_state):
    options = {"batch_size": [4], "seed": 1, "expose_state": expose_state, "resets": resets}
    env, other = MirrorFast(**options, compile=True), MirrorFast(**options)
    td, expected, held = env.reset(), other.reset(), []
    for number, action in enumerate(actions(env, 10)):
        mine = action.clone()
        done, td = env.step_and_maybe_reset(td.empty().set("action", mine))
        shown, expected = other.step_and_maybe_reset(expected.empty().set("action", action))
        assert frozen(done) == frozen(shown)
        assert frozen(td) == frozen(expected)
        assert frozen(env.get_state()) == frozen(other.get_state())
        if number % 2:
            for value in (*td.values(True, True), *done.values(True, True)):
                value.logical_not_() if value.dtype == torch.bool else value.fill_(0.5)
            assert frozen(env.get_state()) == frozen(other.get_state())
        else:
            held += [(each, frozen(each)) for each in (td, done)]
    assert all(frozen(each) == bits for each, bits in held)


def test_a_compiled_environment_refuses_actions_too():
    env = countdown()
    with pytest.raises(ActionError, match="got 3 in row 1"):
        env.step_and_maybe_reset(env.reset().set("action", torch.tensor([0, 3, 0, 0])))


@pytest.mark.parametrize("way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
@pytest.mark.parametrize("resets", RESETS)
def test_copies_build_their_graphs_again(resets, way, graphs):
    env = countdown(resets=resets)
    td = env.step_and_maybe_reset(env.reset().set("action", actions(env, 1)[0]))[1]
    before = len(graphs)
    other = way(env)
    given = [td, td.clone()]
    for action in actions(env, 6, seed=4):
        given = both_step((env, other), given, action)
    assert len(graphs) > before


def test_a_collector_takes_a_compiled_environment():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collector = Collector(countdown(), None, frames_per_batch=48, total_frames=48)
        (data,) = [batch.clone() for batch in collector]
        collector.shutdown()
    env = countdown(compile=False)
    td = env.reset()
    for time in range(12):
        done, td = env.step_and_maybe_reset(td.set("action", data["action"][:, time].clone()))
        names = list(done.keys(True, True))
        assert frozen(done) == frozen(data[:, time].select(*names))
