"""``BatchCollector``: the batches of TorchRL's collector bit by bit, in memory that is the caller's."""

import threading

import pytest
import torch
from collecting import (
    ENVIRONMENTS,
    Linear,
    Remembering,
    Scripted,
    assert_same,
    batches,
    both,
    shown,
    transformed,
)
from environments import TOYWALK, CountdownFast, frozen
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
)
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import ExplorationType, InitTracker, TransformedEnv
from torchrl.envs.transforms import Compose
from torchrl.envs.utils import exploration_type
from torchrl.modules import EGreedyModule, GRUModule, OrnsteinUhlenbeckProcessModule

from simulacrum.collector import BatchCollector
from simulacrum.errors import ActionError

SIZES = {"one size": [5], "two sizes": [2, 3], "no size": []}


def toywalk(batch_size=(5,), **options):
    return TOYWALK.fast(batch_size=list(batch_size), seed=4, **options)


def logits():
    """A policy that draws its actions, and writes logits, a value and the log-probability."""
    layers = [
        TensorDictModule(nn.Linear(2, 2), in_keys=["observation"], out_keys=["logits"]),
        TensorDictModule(nn.Linear(2, 1), in_keys=["observation"], out_keys=["state_value"]),
    ]
    draw = ProbabilisticTensorDictModule(
        in_keys=["logits"], out_keys=["action"], distribution_class=Categorical, return_log_prob=True
    )
    return ProbabilisticTensorDictSequential(*layers, draw)


def taken(collector, count):
    steps = iter(collector)
    return [next(steps) for _ in range(count)]


# ---------------------------------------------------------------------- the same bits


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_batches_have_the_form_and_the_bits_of_torchrls(name, size):
    def make():
        return ENVIRONMENTS[name](batch_size=SIZES[size], seed=4)

    rows = torch.Size(SIZES[size]).numel()
    pair = both(make, Scripted, frames_per_batch=70 * rows, total_frames=4 * 70 * rows)
    assert pair[1].direct
    assert_same(pair)


@pytest.mark.parametrize("resets", ["rows", "masked"])
def test_either_way_of_resetting(resets):
    assert_same(both(lambda: toywalk(resets=resets), Scripted, frames_per_batch=500, total_frames=1500))


def test_a_compiled_environment():
    pair = both(lambda: toywalk([20], compile=True), Scripted, frames_per_batch=1000, total_frames=3000)
    assert pair[1].direct
    assert_same(pair)


def test_a_batch_goes_on_where_the_last_one_ended():
    def collected(steps, count):
        env = CountdownFast(batch_size=[6], seed=1)
        return frozen(torch.cat(taken(BatchCollector(env, Scripted(env), frames_per_batch=6 * steps), count), -1))

    assert collected(3, 4) == collected(12, 1)


# ---------------------------------------------------------------------- policies

POLICIES = {
    "none": lambda env: None,
    "method": lambda env: env.rand_action,
    "function": Scripted,
    "memory": Remembering,
    "module": lambda env: Linear(2, 2),
    "tensordict module": lambda env: TensorDictModule(Linear(2, 2), in_keys=["observation"], out_keys=["action"]),
    "logits": lambda env: logits(),
    "another TensorDict": lambda env: lambda td: Scripted(env)(td.copy()),
    "greedy": lambda env: nn.Sequential(
        TensorDictModule(Linear(2, 2), in_keys=["observation"], out_keys=["action"]),
        EGreedyModule(spec=env.action_spec, eps_init=0.5, eps_end=0.5),
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_policies(policy):
    pair = both(toywalk, POLICIES[policy], frames_per_batch=350, total_frames=1050, trust_policy=policy == "greedy")
    assert pair[1].direct
    assert_same(pair)


def test_a_policys_memory_is_handed_on_and_cleared_where_rows_end():
    collector = BatchCollector(toywalk([8]), Remembering(toywalk([8])), frames_per_batch=8 * 40)
    batch = torch.cat(taken(collector, 2), -1)
    count, ended = batch["count"][..., 0], batch["next", "done"].squeeze(-1)
    assert ended.any()
    expected = torch.ones(8)
    for t in range(80):
        assert torch.equal(count[:, t], expected), t
        assert torch.equal(batch["ids"][:, t], batch["collector", "traj_ids"][:, t]), t
        expected = torch.where(ended[:, t], 0, expected) + 1


def replacing(env):
    scripted = Scripted(env)
    return lambda td: scripted(td).set("observation", td["observation"] * 2 + 1)


def sometimes_replacing(env):
    """What its first call shows does not tell that it replaces anything."""
    scripted = Scripted(env)

    def policy(td):
        td = scripted(td)
        return td if scripted.calls % 3 else td.set("observation", td["observation"] + 1)

    return policy


@pytest.mark.parametrize("policy", [replacing, sometimes_replacing])
def test_what_a_policy_replaces_is_shown_as_it_saw_fit(policy):
    assert_same(both(toywalk, policy, frames_per_batch=350, total_frames=1050))


def memory_cell():
    torch.manual_seed(5)
    return GRUModule(2, 3, in_keys=["observation", "hidden", "is_init"], out_keys=["seen", ("next", "hidden")])


def test_a_recurrent_policy():
    def make():
        return TransformedEnv(toywalk(), Compose(InitTracker(), memory_cell().make_tensordict_primer()))

    def policy(env):
        head = TensorDictModule(lambda seen: (seen[..., 0] > 0).long(), in_keys=["seen"], out_keys=["action"])
        return TensorDictSequential(memory_cell(), head)

    assert_same(both(make, policy, frames_per_batch=350, total_frames=1050))


def test_noise_that_a_module_keeps():
    def policy(env):
        noise = OrnsteinUhlenbeckProcessModule(spec=env.action_spec, annealing_num_steps=100)
        act = TensorDictModule(
            lambda road: road.reshape(len(road), -1)[:, :2].float().tanh(), in_keys=["road"], out_keys=["action"]
        )
        return nn.Sequential(act, noise)

    def make():
        return TransformedEnv(ENVIRONMENTS["courier"](batch_size=[5], seed=4), InitTracker())

    assert_same(both(make, policy, frames_per_batch=350, total_frames=700, trust_policy=True))


def test_the_exploration_type_holds_while_policies_run():
    seen = []

    def policy(td):
        seen.append(exploration_type())
        return td.set("action", torch.ones(5, dtype=torch.int64))

    collector = BatchCollector(toywalk(), policy, frames_per_batch=10, exploration_type=ExplorationType.MODE)
    seen.clear()
    next(iter(collector))
    assert seen == [ExplorationType.MODE] * 2


@pytest.mark.parametrize("form", TOYWALK.forms)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (torch.tensor([0, 1, 1, 2, 0]), "row 3"),
        (torch.tensor([0, 1, 1, -1, 0]), "row 3"),
        (torch.tensor([0, 1, 1, 0, 0], dtype=torch.int32), "int32"),
        (torch.tensor([[0], [1], [1], [0], [0]]), "shape"),
    ],
)
def test_actions_that_are_none_are_refused(form, wrong, message):
    scripted = Scripted(toywalk())

    def policy(td):
        return td.set("action", wrong) if scripted.calls > 5 else scripted(td)

    collector = BatchCollector(TOYWALK.forms[form](batch_size=[5], seed=4), policy, frames_per_batch=50)
    with pytest.raises(ActionError, match=message):
        next(iter(collector))
    assert collector.closed


def test_a_key_that_a_policy_shows_once_and_then_leaves_out_is_an_error():
    scripted = Scripted(toywalk())

    def policy(td):
        return scripted(td) if scripted.calls else scripted(td).set("extra", torch.ones(5))

    with pytest.raises(KeyError, match="extra"):
        next(iter(BatchCollector(toywalk(), policy, frames_per_batch=50)))


# ---------------------------------------------------------------------- TorchRL's options

OPTIONS = {
    "random first": {"init_random_frames": 350},
    "resets": {"reset_at_each_iter": True},
    "no trajectories": {"track_traj_ids": False},
    "truncated": {"set_truncated": True},
    "cap": {"max_frames_per_traj": 9},
    "compact": {"compact_obs": True},
    "device": {"device": "cpu"},
    "stored": {"storing_device": "cpu"},
    "postproc": {"postproc": lambda batch: batch.set("twice", batch["next", "reward"] * 2)},
    "without buffers": {"use_buffers": False},
    "with buffers": {"use_buffers": True},
    "deterministic": {"exploration_type": ExplorationType.DETERMINISTIC},
}
INDIRECT = {"cap", "compact", "stored", "without buffers"}


@pytest.mark.parametrize("option", OPTIONS)
def test_options(option):
    pair = both(toywalk, lambda env: logits(), frames_per_batch=350, total_frames=1050, **OPTIONS[option])
    assert pair[1].direct == (option not in INDIRECT)
    assert_same(pair)


@pytest.mark.filterwarnings("ignore:split_trajs=True produces")
def test_split_trajectories():
    assert_same(both(toywalk, Scripted, frames_per_batch=350, total_frames=1050, split_trajs=True), ends=False)


@pytest.mark.parametrize("form", ["padded", "cat"])
def test_whole_trajectories(form):
    pair = both(toywalk, Scripted, frames_per_batch=100, total_frames=4000, trajs_per_batch=3, traj_format=form)
    assert_same(pair, ends=False)


@pytest.mark.filterwarnings("ignore:.*is not exactly divisible")
def test_numbers_of_frames_are_rounded_up():
    pair = both(toywalk, Scripted, frames_per_batch=333, total_frames=700)
    assert [batch[1][0][0] for batch in batches(pair[1])] == [(5, 67)] * 3
    assert_same(both(toywalk, Scripted, frames_per_batch=333, total_frames=700))


def test_without_a_total_it_goes_on():
    pair = both(toywalk, Scripted, frames_per_batch=50, total_frames=-1)
    assert_same(pair, count=20)


def test_hooks():
    calls = []
    collector = BatchCollector(
        toywalk(),
        Scripted(toywalk()),
        frames_per_batch=10,
        total_frames=20,
        pre_collect_hook=lambda: calls.append("before"),
        post_collect_hook=lambda batch: calls.append(batch.shape),
    )
    list(collector)
    assert calls == ["before", (5, 2)] * 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"frames": 3}, TypeError, "frames"),
        ({"return_same_td": True}, ValueError, "memory of its own"),
        ({"num_collectors": 2}, TypeError, "num_collectors"),
    ],
)
def test_options_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        BatchCollector(toywalk(), None, frames_per_batch=10, **options)


def test_frames_per_batch_is_required():
    with pytest.raises(TypeError, match="frames_per_batch"):
        BatchCollector(toywalk())


# ---------------------------------------------------------------------- environments that are not written into


@pytest.mark.parametrize(
    "make",
    [
        lambda: transformed(toywalk()),
        lambda: toywalk(expose_state=True),
        lambda: transformed(toywalk(expose_state=True)),
    ],
)
def test_transforms_and_shown_states(make):
    pair = both(make, Remembering, frames_per_batch=350, total_frames=1050)
    assert not pair[1].direct
    assert_same(pair)


def test_a_function_makes_the_environment():
    pair = [
        kind(toywalk, None, frames_per_batch=350, total_frames=700, create_env_kwargs={"batch_size": [7]})
        for kind in (Collector, BatchCollector)
    ]
    assert_same(pair)


def test_an_interruptor_stops_a_batch():
    class Stops:
        calls = 0

        def collection_stopped(self):
            self.calls += 1
            return self.calls % 5 == 0

    pair = [
        kind(toywalk(), Scripted(toywalk()), frames_per_batch=50, total_frames=200, interruptor=Stops())
        for kind in (Collector, BatchCollector)
    ]
    assert_same(pair, ends=False)


# ---------------------------------------------------------------------- whose memory


@pytest.mark.parametrize(
    "make", [toywalk, lambda: transformed(toywalk()), lambda: ENVIRONMENTS["countdown"](batch_size=[5], seed=1)]
)
def test_every_batch_is_the_callers_own(make):
    collector = BatchCollector(make(), Remembering(make()), frames_per_batch=50)
    steps, kept = iter(collector), []
    for _ in range(5):
        batch = next(steps)
        kept.append((batch, shown(batch)))
    collector.reset()
    collector.reset(index=torch.tensor([1]))
    next(steps)
    assert all(shown(batch) == before for batch, before in kept)


def test_writing_into_a_batch_changes_nothing():
    one, other = (iter(BatchCollector(toywalk(), Remembering(toywalk()), frames_per_batch=50)) for _ in range(2))
    for _ in range(4):
        batch = next(other)
        assert shown(next(one)) == shown(batch)
        batch.apply_(lambda leaf: leaf.fill_(1))


def test_memory_lies_by_steps():
    batch = next(iter(BatchCollector(toywalk(), None, frames_per_batch=50)))
    for name, leaf in batch.items(True, True):
        assert leaf.movedim(1, 0).is_contiguous(), name
    assert len({leaf.untyped_storage().data_ptr() for leaf in batch.values(True, True)}) == len(
        list(batch.keys(True, True))
    )


def test_numbers_of_trajectories_never_come_twice():
    collector = BatchCollector(toywalk(), Scripted(toywalk()), frames_per_batch=500)
    batch = torch.cat(taken(collector, 3), -1)
    ids, ended = batch["collector", "traj_ids"], batch["next", "done"].squeeze(-1)
    assert torch.equal((ids[:, 1:] != ids[:, :-1]), ended[:, :-1])
    assert len(ids.unique()) == 5 + int(ended[:, :-1].sum())


# ---------------------------------------------------------------------- the rest of the interface


def test_resets_begin_new_episodes_and_trajectories():
    pair = both(toywalk, Scripted, frames_per_batch=50)
    iterators = [iter(one) for one in pair]
    assert shown(next(iterators[0])) == shown(next(iterators[1]))
    for arguments in ((), (torch.tensor([1, 3]),)):
        for one in pair:
            one.reset(*arguments)
        for _ in range(2):
            assert shown(next(iterators[0])) == shown(next(iterators[1]))


def test_next_and_shutdown():
    collector = BatchCollector(toywalk(), None, frames_per_batch=50, total_frames=100)
    assert collector.next().shape == (5, 10)
    assert collector.next().shape == (5, 10)
    assert collector.next() is None
    collector = BatchCollector(toywalk(), None, frames_per_batch=50)
    env = collector.env
    next(iter(collector))
    collector.shutdown()
    assert env.is_closed
    collector.shutdown()


def test_the_form_of_a_batch_is_told_before_one_is_collected():
    for make in (toywalk, lambda: transformed(toywalk())):
        pair = both(make, lambda env: logits(), frames_per_batch=50)
        assert shown(pair[0].fake_tensordict()) == shown(pair[1].fake_tensordict())
        assert_same(pair, count=1, ends=False)


def test_it_fills_a_replay_buffer():
    def buffer():
        return TensorDictReplayBuffer(storage=LazyTensorStorage(400, ndim=2), batch_size=16)

    pair = [
        kind(toywalk(), Scripted(toywalk()), frames_per_batch=50, total_frames=200, replay_buffer=buffer())
        for kind in (Collector, BatchCollector)
    ]
    assert [list(one) for one in pair] == [[None] * 4] * 2
    assert shown(pair[0].replay_buffer[:]) == shown(pair[1].replay_buffer[:])


def test_it_collects_in_a_thread_of_its_own():
    enough = threading.Event()
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(1000), batch_size=16)
    collector = BatchCollector(
        toywalk(),
        None,
        frames_per_batch=50,
        replay_buffer=buffer,
        post_collect_hook=lambda batch: len(buffer) > 200 and enough.set(),
    )
    collector.start()
    assert enough.wait(60)
    collector.async_shutdown()
    assert len(buffer) > 200


def test_kernels_and_tensors_give_the_same_batches():
    made = [
        list(batches(BatchCollector(make(batch_size=[9], seed=1), Scripted(toywalk([9])), frames_per_batch=900), 3))
        for make in TOYWALK.forms.values()
    ]
    assert all(one == made[0] for one in made)
    assert len(made) > 1
