"""TorchRL's replay buffers and losses on transitions of references, and ``integrations/torchrl_dqn.py``."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from environments import FORAGER, TOYWALK, CountdownFast, frozen
from fabricated import copy_package, validated
from gymnasium import spaces
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.data import (
    LazyMemmapStorage,
    LazyTensorStorage,
    PrioritizedSampler,
    RandomSampler,
    SliceSampler,
    TensorDictReplayBuffer,
)
from torchrl.data.replay_buffers.samplers import prioritized
from torchrl.modules import QValueModule
from torchrl.objectives import DQNLoss
from torchrl.objectives.value import GAE

from simulacrum.collector import BatchCollector
from simulacrum.harness import discovery, fingerprint
from simulacrum.spec import Package

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
sys.path.insert(0, str(ROOT / "integrations"))

import torchrl_dqn  # noqa: E402
from torchrl_dqn import Args, Trainer  # noqa: E402

PACKAGES = {"toywalk": TOYWALK, "forager": FORAGER}
GATES = Package.read(TESTS / "packages" / "gates")
ROWS, STEPS, CAPACITY, GAMMA = 6, 130, 600, 0.9
FLAGS = ("terminated", "truncated", "done")


def gathered(name: str, batches: int = 1) -> list[TensorDictBase]:
    """Batches [ROWS, STEPS] of random actions."""
    torch.manual_seed(0)
    env = PACKAGES[name].fast(batch_size=[ROWS], seed=3)
    collector = BatchCollector(env, None, frames_per_batch=ROWS * STEPS)
    return [batch for batch, _ in zip(collector, range(batches), strict=False)]


def of_references(name: str, batches: list[TensorDictBase]) -> TensorDict:
    """The transitions [ROWS, time] of references that are given the batches' actions, an episode after the other."""
    seeds = PACKAGES[name].fast(batch_size=[ROWS], seed=3).instance_seeds.numpy().view(np.uint64)
    actions, rows = torch.cat([batch["action"] for batch in batches], 1), []
    for seed, chosen in zip(seeds, actions.tolist(), strict=True):
        env, row = PACKAGES[name].reference(), []
        seen, _ = env.reset(seed=int(seed))
        for action in chosen:
            after, reward, terminated, truncated, _ = env.step(action)
            flags = {
                key: torch.tensor([value]) for key, value in zip(FLAGS, (terminated, truncated, False), strict=True)
            }
            flags["done"] = flags["terminated"] | flags["truncated"]
            ended = {"observation": torch.from_numpy(after), "reward": torch.tensor([reward], dtype=torch.float32)}
            row.append(
                TensorDict(
                    {"observation": torch.from_numpy(seen), "action": torch.tensor(action), "next": {**ended, **flags}}
                )
            )
            seen = env.reset()[0] if flags["done"] else after
        rows.append(torch.stack(row))
    return torch.stack(rows)


def shown(td: TensorDictBase, like: TensorDictBase) -> dict[Any, Any]:
    """The bits of what a reference shows too."""
    return frozen(td.select(*like.keys(True, True)))


# ---------------------------------------------------------------------- replay buffers

COMPILED = (
    prioritized.SumSegmentTreeFp32 is not None
)  # TorchRL's own binaries, which want the torch they were made with
needs_binaries = pytest.mark.skipif(not COMPILED, reason="TorchRL's binaries do not load with this torch")
SAMPLERS = {"uniform": RandomSampler, "prioritized": lambda: PrioritizedSampler(CAPACITY, alpha=0.7, beta=0.5)}
SAMPLED = ["uniform", pytest.param("prioritized", marks=needs_binaries)]


def storage(kind: str, folder: Path) -> Any:
    return LazyTensorStorage(CAPACITY) if kind == "memory" else LazyMemmapStorage(CAPACITY, scratch_dir=folder)


@pytest.mark.parametrize("sampler", SAMPLED)
@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("name", PACKAGES)
def test_buffers_hold_the_references_transitions(name: str, kind: str, sampler: str, tmp_path: Path) -> None:
    """Three batches are more than a buffer holds: the last transitions, around its end. Samples are what lies there."""
    buffer = TensorDictReplayBuffer(storage=storage(kind, tmp_path), sampler=SAMPLERS[sampler](), batch_size=64)
    batches = gathered(name, 3)
    for batch in batches:
        buffer.extend(batch.reshape(-1))
    whole = of_references(name, batches)
    assert all(int(whole["next", flag].sum()) > 0 for flag in FLAGS)
    flat = torch.cat([part.reshape(-1) for part in whole.split(STEPS, 1)])
    places = torch.arange(len(flat)) % CAPACITY
    held = torch.stack([flat[int((places == place).nonzero()[-1])] for place in range(CAPACITY)])
    assert shown(buffer[:], whole) == frozen(held)
    for _ in range(3):
        sample = buffer.sample()
        assert shown(sample, whole) == frozen(held[sample["index"]])


@pytest.mark.skipif(COMPILED, reason="TorchRL's binaries load with this torch")
def test_priorities_need_torchrls_binaries() -> None:
    """TorchRL's issue 3508: its wheel takes any torch, and its binaries only the one they were made with."""
    with pytest.raises(RuntimeError, match="SumSegmentTreeFp32 is not available"):
        PrioritizedSampler(CAPACITY, alpha=0.7, beta=0.5)


@needs_binaries
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_priorities_say_what_is_drawn(kind: str, tmp_path: Path) -> None:
    """A loss writes its errors into the sample; the buffer takes them as priorities, and samples by them."""
    sampler = PrioritizedSampler(CAPACITY, alpha=1.0, beta=1.0, eps=0.0)
    buffer = TensorDictReplayBuffer(storage=storage(kind, tmp_path), sampler=sampler, batch_size=CAPACITY)
    (batch,) = gathered("toywalk")
    buffer.extend(batch.reshape(-1)[:CAPACITY])
    held = buffer[:].clone()
    ended = held["next", "terminated"].squeeze(-1)
    held["index"] = torch.arange(CAPACITY)
    held["td_error"] = torch.where(ended, 2.0, 1e-5)
    buffer.update_tensordict_priority(held)
    sample = buffer.sample()
    assert sample["next", "terminated"].float().mean() > 0.95
    assert 0 < int(ended.sum()) < CAPACITY // 4  # uniform samples would hold as few
    drawn = held["td_error"][sample["index"]]
    torch.testing.assert_close(sample["priority_weight"], 1e-5 / drawn, rtol=1e-3, atol=0)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_slices_lie_within_an_episode(kind: str, tmp_path: Path) -> None:
    """Also where it runs over two batches: the same row and episode, one step after the other."""
    env = FORAGER.fast(batch_size=[ROWS], seed=3, expose_state=True)
    collector = BatchCollector(env, None, frames_per_batch=ROWS * 25)
    make = LazyTensorStorage if kind == "memory" else LazyMemmapStorage
    buffer = TensorDictReplayBuffer(
        storage=make(ROWS * 200, ndim=2),
        sampler=SliceSampler(slice_len=10, traj_key=("collector", "traj_ids")),
        batch_size=500,
    )
    for _, batch in zip(range(6), collector, strict=False):
        buffer.extend(batch)
    torch.manual_seed(0)
    slices, crossing = buffer.sample().reshape(50, 10), 0
    for part in slices.unbind(0):
        clock = part["clock"]
        assert len(clock["seed"].unique()) == len(clock["episode"].unique()) == 1
        assert clock["t"].diff().tolist() == [1] * 9
        assert frozen(part["next", "state"][:-1]) == frozen(part["state"][1:])
        assert frozen(part["next"][:-1].select("observation")) == frozen(part[1:].select("observation"))
        assert not part["next", "done"][:-1].any()
        crossing += len((part["index"][:, 0] // 25).unique()) > 1
    assert crossing > 0


@pytest.mark.parametrize("sampler", SAMPLED)
def test_buffers_are_saved_and_loaded(sampler: str, tmp_path: Path) -> None:
    buffers = [
        TensorDictReplayBuffer(
            storage=LazyMemmapStorage(CAPACITY, scratch_dir=tmp_path / part), sampler=SAMPLERS[sampler](), batch_size=32
        )
        for part in ("first", "second")
    ]
    first, second, third = gathered("toywalk", 3)
    buffers[0].extend(first.reshape(-1))
    sample = buffers[0].sample().set("td_error", torch.rand(32))
    buffers[0].update_tensordict_priority(sample)
    buffers[0].extend(second.reshape(-1))
    buffers[0].dumps(tmp_path / "saved")
    buffers[1].extend(third.reshape(-1)[:5])
    buffers[1].loads(tmp_path / "saved")
    found = []
    for buffer in buffers:
        torch.manual_seed(5)
        np.random.seed(5)  # noqa: NPY002 - from which TorchRL draws by priority
        found.append([frozen(buffer.sample()) for _ in range(3)])
        buffer.extend(third.reshape(-1))
        found[-1] += [frozen(buffer[:]), frozen(buffer.sample())]
    assert found[0] == found[1]


# ---------------------------------------------------------------------- losses


def critic(name: str, out: int) -> nn.Linear:
    torch.manual_seed(2)
    return nn.Linear(len(gathered(name)[0]["observation"][0, 0]), out)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", PACKAGES)
def test_the_dqn_loss_of_a_buffers_sample(name: str, double: bool) -> None:
    """Its bits are those of the references' transitions; its value is the formula's: terminations are worth nothing
    afterwards, truncations what the target says of the last observation."""
    batches = gathered(name, 3)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(3 * ROWS * STEPS), batch_size=3 * ROWS * STEPS)
    buffer.extend(torch.cat(batches, 1).reshape(-1))
    sample = buffer.sample()
    expected = of_references(name, batches).reshape(-1)[sample["index"]]
    assert all(0 < int(expected["next", flag].sum()) < len(expected) for flag in FLAGS)
    spec = PACKAGES[name].fast(batch_size=[ROWS]).action_spec
    network = critic(name, spec.space.n)
    values = TensorDictModule(network, in_keys=["observation"], out_keys=["action_value"])
    actor = TensorDictSequential(values, QValueModule(action_space="categorical"))
    loss = DQNLoss(actor, action_space="categorical", double_dqn=double)
    loss.make_value_estimator(gamma=GAMMA)
    other = nn.Linear(network.in_features, network.out_features)
    held = loss.target_value_network_params.flatten_keys(".")
    for key in ("weight", "bias"):
        (name_there,) = (name for name in held.keys() if name.endswith(key))
        held[name_there].data.copy_(getattr(other, key).data)
    got = loss(sample)["loss"]
    assert frozen(TensorDict({"loss": got.detach()})) == frozen(TensorDict({"loss": loss(expected)["loss"].detach()}))
    after = expected["next"]
    with torch.no_grad():
        best = (network if double else other)(after["observation"]).argmax(-1, keepdim=True)
        following = other(after["observation"]).gather(-1, best)
        wanted = after["reward"] + GAMMA * torch.where(after["terminated"], 0.0, following)
    chosen = network(expected["observation"]).gather(-1, expected["action"].unsqueeze(-1))
    error = (chosen - wanted).square().mean()
    torch.testing.assert_close(got, error, rtol=1e-5, atol=1e-6)
    own = torch.autograd.grad(error, list(network.parameters()))
    got.backward()
    for weight, gradient in zip(network.parameters(), own, strict=True):
        torch.testing.assert_close(weight.grad, gradient, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(sample["td_error"], (chosen - wanted).square().detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PACKAGES)
def test_gae_of_a_batch(name: str) -> None:
    """Against sums from the definition, over the references' transitions."""
    batches, lmbda = gathered(name, 3), 0.8
    batch: Any = torch.cat(batches, 1)
    expected, network = of_references(name, batches), critic(name, 1)
    module = GAE(gamma=GAMMA, lmbda=lmbda, value_network=TensorDictModule(network, ["observation"], ["state_value"]))
    with torch.no_grad():
        module(batch)
        value, following = (network(td["observation"])[..., 0] for td in (expected, expected["next"]))
    after = {key: expected["next", key][..., 0] for key in ("reward", "done", "terminated")}
    errors = after["reward"] + GAMMA * torch.where(after["terminated"], 0.0, following) - value
    for row in range(ROWS):
        total, found = 0.0, []
        for error, done in zip(errors[row].tolist()[::-1], after["done"][row].tolist()[::-1], strict=True):
            total = error + GAMMA * lmbda * total * (not done)
            found.append(total)
        assert batch["advantage"][row, :, 0].tolist() == pytest.approx(found[::-1], rel=1e-4, abs=1e-4)
    assert after["done"].sum() > ROWS


# ---------------------------------------------------------------------- the program

SHORT = Args(steps=3000, instances=8, rollout=5, memory=700, updates=2, batch=32, hidden=16)


class SeenGates(GATES.fast):  # type: ignore[misc, name-defined]
    """Gates, with the place as a Box."""

    environment = dataclasses.replace(GATES.fast.environment, observation_space=spaces.Box(0.0, 9.0, (1,), np.float32))

    def observation(self, state: Any) -> torch.Tensor:
        return state.place.to(torch.float32).unsqueeze(-1)


def trainer(make: Any = TOYWALK.forms["kernel"], args: Args = SHORT, seed: int = 0) -> Trainer:
    return Trainer(make(batch_size=[args.instances], seed=seed), args)


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The leaves of a checkpoint by their place, tensors as bytes."""
    if isinstance(value, dict):
        return {k: v for key, one in value.items() for k, v in leaves(one, f"{path}/{key}").items()}
    if isinstance(value, (list, tuple)):
        return {k: v for key, one in enumerate(value) for k, v in leaves(one, f"{path}/{key}").items()}
    return {path: value.numpy().tobytes() if isinstance(value, torch.Tensor) else value}


def test_toywalk_goes_right_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = trainer(args=Args(steps=30_000, instances=128, updates=20, batch=128, hidden=32, learning_rate=3e-3))
    assert torchrl_dqn.train(trained, tmp_path / "checkpoint.pt")
    assert len(capsys.readouterr().out.splitlines()) == 10
    length, cap = 5, 60
    places = [[place / length, t / cap] for place in range(-length, length) for t in range(cap)]
    rows = TensorDict({"observation": torch.tensor(places)}, batch_size=[len(places)])
    assert trained.actor(rows)["action"].unique().tolist() == [1]
    greedy, random = (
        torchrl_dqn.evaluate(TOYWALK.fast(batch_size=[500], seed=9), policy) for policy in (trained.actor, None)
    )
    assert greedy.returns is not None
    assert random.returns is not None
    assert greedy.returns > 4
    assert random.returns < -20


@pytest.mark.parametrize("name", ["toywalk kernel", "forager"])
def test_a_run_goes_on_in_a_fresh_process_with_the_same_bits(name: str, tmp_path: Path) -> None:
    """Environment, policy, target, optimiser, generator, and a replay buffer that is full, written around its end."""
    make = FORAGER.fast if name == "forager" else TOYWALK.forms["kernel"]
    whole = trainer(make)
    while not whole.finished:
        whole.iterate()
    expected = leaves(whole.state_dict())
    broken = trainer(make)
    while broken.frames < 1000:
        broken.iterate()
    broken.save(tmp_path / "checkpoint.pt")
    assert len(broken.buffer) == SHORT.memory
    program = f"""
import sys
sys.path[:0] = {[str(TESTS), str(ROOT / "integrations")]!r}
from pathlib import Path
import torch
torch.set_num_threads({torch.get_num_threads()})
from environments import FORAGER, TOYWALK
from torchrl_dqn import Args, Trainer
args = Args(**{dataclasses.asdict(SHORT)!r})
make = {"FORAGER.fast" if name == "forager" else 'TOYWALK.forms["kernel"]'}
trainer = Trainer(make(batch_size=[args.instances], seed=99), args)
trainer.load(Path({str(tmp_path / "checkpoint.pt")!r}))
while not trainer.finished:
    trainer.iterate()
trainer.save(Path({str(tmp_path / "end.pt")!r}))
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    ended = leaves(torch.load(tmp_path / "end.pt", weights_only=True))
    assert ended == expected
    begun = leaves(torch.load(tmp_path / "checkpoint.pt", weights_only=True))
    parts = ("/generator", "/frames", "/random/eps", "/collector/running/rows/clock/t", "/buffer/_writer/_cursor")
    for part in parts:
        assert begun[part] != ended[part], part
    for part in ("/loss", "/optimizer", "/buffer/_storage"):
        assert any(begun[key] != value for key, value in ended.items() if key.startswith(part)), part


def test_a_checkpoint_of_other_arguments_is_refused() -> None:
    state = trainer().state_dict()
    with pytest.raises(ValueError, match=r"gamma, steps differ: \[0.99, 3000\] there, \[0.5, 7\] here"):
        trainer(args=dataclasses.replace(SHORT, gamma=0.5, steps=7)).load_state_dict(state)


def test_all_actions_keep_to_the_mask(tmp_path: Path) -> None:
    """Those of the policy, the random ones, and the target's choice of what follows."""
    made = trainer(SeenGates, dataclasses.replace(SHORT, explore=0.1))
    while not made.finished:
        made.iterate()
    held = made.buffer[:]
    assert held["action_mask"].gather(-1, held["action"].unsqueeze(-1)).all()
    assert not held["action_mask"].all()
    assert frozen(held["next"].select("action_mask")).keys() == {"action_mask"}
    for policy in (made.actor, None):
        assert torchrl_dqn.evaluate(SeenGates(batch_size=[8], seed=2), policy).returns is not None


def test_other_spaces_are_refused() -> None:
    with pytest.raises(ValueError, match="expected a Box of observations and one Discrete action, got Dict"):
        trainer(CountdownFast)


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    iterate, path = Trainer.iterate, tmp_path / "checkpoint.pt"

    def interrupting(made: Trainer) -> dict[str, float]:
        if made.frames == 400:
            os.kill(os.getpid(), signal.SIGTERM)
        return iterate(made)

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "iterate", interrupting)
        assert not torchrl_dqn.train(trainer(), path)
    resumed = trainer(seed=5)
    resumed.load(path)
    assert resumed.frames == 440
    assert torchrl_dqn.train(resumed, path)
    whole = trainer()
    assert torchrl_dqn.train(whole, tmp_path / "other.pt")
    assert leaves(resumed.state_dict()) == leaves(whole.state_dict())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["checkpoint.pt", "other.pt"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package without a report."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(discovery, "ROOT", tmp_path / "checkout")
    monkeypatch.chdir(tmp_path)
    fingerprint.forget()
    return copy_package(tmp_path / "walk")


def test_the_program_from_end_to_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [str(folder), "--steps", "512", "--learning-rate", "0.01", "--threads", "1"]
    assert torchrl_dqn.main(given) == 1
    assert "simulacrum validate" in capsys.readouterr().err
    assert not Path("runs").exists()
    validated(folder)
    assert torchrl_dqn.main([*given, "--resume"]) == 1
    assert "train first" in capsys.readouterr().err
    assert torchrl_dqn.main(given) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "512 steps  reward" in printed[-3]
    assert [line.split()[0] for line in printed[-2:]] == ["greedy", "random"]
    assert torchrl_dqn.main(given) == 1
    assert "--resume" in capsys.readouterr().err
    assert torchrl_dqn.main([*given, "--resume"]) == 0  # it is at its end: it plays again
    assert capsys.readouterr().out.splitlines() == printed[-2:]
    assert torchrl_dqn.main([*given, "--gamma", "0.5", "--resume"]) == 1
    assert "gamma differ" in capsys.readouterr().err
