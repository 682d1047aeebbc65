"""``BatchCollector``: seeds, weights, resuming with the same bits, and TorchRL's losses, advantages and buffers."""

import importlib.util
import io
from pathlib import Path

import pytest
import torch
from collecting import ENVIRONMENTS, Linear, Remembering, Scripted, batches, both, shown, transformed
from environments import FORAGER, TOYWALK
from tensordict import TensorDict
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SliceSampler, TensorDictReplayBuffer
from torchrl.envs import TransformedEnv, VecNormV2
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from simulacrum.collector import BatchCollector
from simulacrum.errors import StateError

INTEGRATION = Path(__file__).resolve().parent.parent / "integrations" / "fast_collector.py"


def toywalk(batch_size=(5,), seed=4, **options):
    return TOYWALK.fast(batch_size=list(batch_size), seed=seed, **options)


def linear(env):
    return TensorDictModule(Linear(2, 2), in_keys=["observation"], out_keys=["action"])


def following(collector, count=3):
    """What the next batches show."""
    return list(batches(collector, count))


# ---------------------------------------------------------------------- seeds


def test_a_seed_holds_from_the_next_full_reset():
    pair = both(toywalk, Scripted, frames_per_batch=200)
    assert pair[0].set_seed(9) == pair[1].set_seed(9)
    before = [following(one) for one in pair]
    assert before[0] == before[1]
    for one in pair:
        one.reset()
    after = [following(one) for one in pair]
    assert after[0] == after[1]
    assert torch.equal(pair[1].env.instance_seeds, toywalk(seed=9).instance_seeds)


# ---------------------------------------------------------------------- weights


def other_weights():
    policy = linear(None)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.mul_(-1)
    return policy


FORMS = {
    "weights": lambda policy: ([TensorDict.from_module(policy).data], {}),
    "weights=": lambda policy: ([], {"weights": TensorDict.from_module(policy).data}),
    "policy_or_weights=": lambda policy: ([], {"policy_or_weights": TensorDict.from_module(policy).data}),
    "module": lambda policy: ([policy], {}),
    "policy=": lambda policy: ([], {"policy": policy}),
    "dict": lambda policy: ([policy.state_dict()], {}),
    "nested dict": lambda policy: ([TensorDict.from_module(policy).data.to_dict()], {}),
    "weights_dict=": lambda policy: ([], {"weights_dict": {"policy": TensorDict.from_module(policy).data}}),
    "modules by name": lambda policy: ([], {"weights_dict": {"policy": policy}}),
}
TORCHRLS = ("weights", "weights=", "policy_or_weights=")  # what its collector for one process can do


@pytest.mark.parametrize("form", FORMS)
def test_new_weights_are_in_use_from_the_next_batch(form):
    pair = both(toywalk, linear, frames_per_batch=200)
    iterators = [iter(one) for one in pair]
    assert shown(next(iterators[0])) == shown(next(iterators[1]))
    for one, used in zip(pair, (form if form in TORCHRLS else TORCHRLS[0], form), strict=True):
        arguments, options = FORMS[used](other_weights())
        one.update_policy_weights_(*arguments, **options)
    expected, got = (shown(next(steps)) for steps in iterators)
    assert got == expected
    unchanged = both(toywalk, linear, frames_per_batch=200)[1]
    assert got != following(unchanged, 2)[1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"weights_dict": {"critic": {}}}, KeyError),
        ({"weights_dict": {"policy": {}}, "model_id": "policy"}, ValueError),
        ({"weights": {}, "weights_dict": {"policy": {}}}, ValueError),
        ({"weights": {}, "model_id": "critic"}, KeyError),
    ],
)
def test_weights_of_what_is_not_there_are_refused(options, error):
    collector = BatchCollector(toywalk(), linear(None), frames_per_batch=50)
    with pytest.raises(error):
        collector.update_policy_weights_(**options)


def test_a_policy_that_is_trained_in_place_needs_no_update():
    policy = linear(None)
    collector = BatchCollector(toywalk(), policy, frames_per_batch=50)
    steps = iter(collector)
    next(steps)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.zero_()
    assert not next(steps)["action"].any()  # the first of equal scores


# ---------------------------------------------------------------------- going on elsewhere

RESUMED = {
    "bare": (toywalk, linear),
    "a policy's memory": (toywalk, lambda env: Remembering(env)),
    "transforms": (lambda **options: transformed(toywalk(**options)), linear),
    "a state of a transform's own": (
        lambda **options: TransformedEnv(toywalk(**options), VecNormV2(in_keys=["observation"])),
        linear,
    ),
    "shown state": (lambda **options: toywalk(expose_state=True, **options), linear),
    "masks and infos": (lambda **options: ENVIRONMENTS["gates"](batch_size=[5], **{"seed": 4, **options}), Scripted),
    "draws": (lambda **options: FORAGER.fast(batch_size=[5], **{"seed": 4, **options}), lambda env: None),
    **{
        form: (lambda make=make, **options: make(batch_size=[5], **{"seed": 4, **options}), linear)
        for form, make in TOYWALK.forms.items()
    },
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_fresh_collector_goes_on_with_the_same_bits(name):
    make, policy = RESUMED[name]
    first = BatchCollector(make(), policy(make()), frames_per_batch=350, total_frames=3500)
    before = following(first, 2)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    expected = following(first, 4)
    second = BatchCollector(make(seed=99), policy(make()), frames_per_batch=350, total_frames=3500)
    following(second, 1)
    second.load_state_dict(torch.load(file))
    if isinstance(second.policy, Scripted):
        second.policy.calls = 1 + 2 * 70  # TorchRL saves nothing of a function; it was called once to learn its keys
    assert following(second, 4) == expected
    assert before[-1] != expected[0]
    assert first._frames == second._frames == 2 * 350 + 4 * 350


def test_a_state_is_a_copy():
    collector = BatchCollector(toywalk(), None, frames_per_batch=50)
    state = collector.state_dict()
    before = {key: value.clone() for key, value in TensorDict(state["running"]["begins"]).items(True, True)}
    following(collector)
    collector.reset()
    assert all(
        torch.equal(value, before[key]) for key, value in TensorDict(state["running"]["begins"]).items(True, True)
    )
    again = BatchCollector(toywalk(), None, frames_per_batch=50)
    again.load_state_dict(state)
    again.reset()
    assert all(
        torch.equal(value, before[key]) for key, value in TensorDict(state["running"]["begins"]).items(True, True)
    )


def test_seeds_that_wait_for_a_reset_are_saved():
    first, second = (BatchCollector(toywalk(), None, frames_per_batch=50) for _ in range(2))
    first.set_seed(9)
    second.load_state_dict(first.state_dict())
    first.reset()
    second.reset()
    assert torch.equal(second.env.instance_seeds, toywalk(seed=9).instance_seeds)
    assert following(first) == following(second)
    third = BatchCollector(toywalk(), None, frames_per_batch=50)
    third.set_seed(7)
    third.load_state_dict(first.state_dict())
    third.reset()
    assert torch.equal(third.env.instance_seeds, toywalk(seed=9).instance_seeds)


def test_a_state_of_another_size_is_refused():
    state = BatchCollector(toywalk(), None, frames_per_batch=50).state_dict()
    with pytest.raises(StateError, match=r"\[7\].*\[5\]"):
        BatchCollector(toywalk([7]), None, frames_per_batch=70).load_state_dict(state)


def test_states_of_torchrls_collector_and_ours_load_in_each_other():
    pair = both(toywalk, linear, frames_per_batch=50)
    states = [one.state_dict() for one in pair if following(one)]
    for one, state in zip(pair, states[::-1], strict=True):
        following(one)
        one.load_state_dict(state)
        assert one._frames == 150
        following(one)
        assert one._frames == 300


# ---------------------------------------------------------------------- TorchRL's other parts


def actor_critic():
    torch.manual_seed(1)
    scores = TensorDictModule(nn.Linear(2, 2), in_keys=["observation"], out_keys=["logits"])
    draw = ProbabilisticTensorDictModule(
        in_keys=["logits"], out_keys=["action"], distribution_class=Categorical, return_log_prob=True
    )
    value = TensorDictModule(nn.Linear(2, 1), in_keys=["observation"], out_keys=["state_value"])
    return ProbabilisticTensorDictSequential(scores, draw), value


def learned(batch, policy, value):
    """The advantages of a batch, PPO's losses and their gradients."""
    GAE(gamma=0.99, lmbda=0.95, value_network=value)(batch)
    losses = ClipPPOLoss(policy, value)(batch)
    (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
    gradients = [weight.grad for part in (policy, value) for weight in part.parameters()]
    return shown(batch), {name: loss.detach().numpy().tobytes() for name, loss in losses.items()}, gradients


@pytest.mark.parametrize("flat", [False, True])
def test_advantages_and_losses_are_those_of_torchrls_batches(flat):
    results = []
    for kind in (Collector, BatchCollector):
        policy, value = actor_critic()
        torch.manual_seed(3)
        env = toywalk([12])
        batch = next(iter(kind(env, policy, frames_per_batch=12 * 70, auto_register_policy_transforms=False)))
        results.append(learned(batch.reshape(-1) if flat else batch, policy, value))
    (batch, losses, gradients), (other, other_losses, other_gradients) = results
    assert batch == other
    assert losses == other_losses
    assert all(torch.equal(one, two) for one, two in zip(gradients, other_gradients, strict=True))


def test_replay_buffers_hold_what_torchrls_batches_would_put_there():
    held = []
    for one in both(toywalk, Scripted, frames_per_batch=350):
        buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(1000, ndim=2),
            sampler=SliceSampler(slice_len=4, traj_key=("collector", "traj_ids")),
            batch_size=32,
        )
        steps = iter(one)
        for _ in range(2):
            buffer.extend(next(steps))
        torch.manual_seed(0)
        held.append((shown(buffer[:]), shown(buffer.sample())))
    assert held[0] == held[1]


def test_a_program_that_trains_on_its_batches_learns():
    spec = importlib.util.spec_from_file_location("fast_collector", INTEGRATION)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    torch.manual_seed(0)
    rewards = program.train(TOYWALK.fast(batch_size=[64], seed=0), batches=15)
    assert len(rewards) == 15
    assert rewards[-1] > rewards[0] + 0.3
