"""``integrations/torchrl_ppo.py``: features, advantages, learning, checkpoints, interruptions, logs, the gate."""

import csv
import io
import os
import signal
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from environments import FORAGER, TOYWALK
from fabricated import copy_package, validated
from rich.console import Console
from tensordict import TensorDict

from simulacrum import bits
from simulacrum.collector import BatchCollector
from simulacrum.harness import discovery, fingerprint
from simulacrum.spec import Package

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "integrations"))

import torchrl_ppo  # noqa: E402
from ppo import evaluate, features, learner, logs  # noqa: E402
from ppo.policy import Acting, ActorCritic, Names  # noqa: E402
from ppo.settings import Settings  # noqa: E402
from ppo.trainer import PHASES, Trainer  # noqa: E402

SNAKE = Package.read(ROOT / "envs" / "snake")
WALK = Settings("simulacrum/toywalk-v0", instances=64, steps=32, frames=98_304)
SNAKES = Settings(
    "simulacrum/snake-v0", "tiny", 32, 16, 147_456, "cells", ((1, 2), (3, 15)), learning_rate=1e-2, gamma=0.9
)
FORAGE = Settings("simulacrum/forager-v0", instances=32, steps=16, frames=5_120, features="berries")


def fast(settings, instances=None, seed=None, **options):
    """The fast side beneath the gate."""
    package = {"toywalk": TOYWALK, "forager": FORAGER, "snake": SNAKE}[settings.environment[11:-3]]
    kind = package.configured(settings.config).forms["kernel"]
    size, seed = [instances or settings.instances], settings.seed if seed is None else seed
    return kind(batch_size=size, seed=seed, **{"expose_state": features.sees_state(settings), **options})


def trained(settings):
    """A trainer at the end of its run."""
    trainer = Trainer(fast(settings), settings)
    while not trainer.finished:
        trainer.iterate()
    return trainer


@pytest.fixture(scope="module")
def walk():
    return trained(WALK)


@pytest.fixture(scope="module")
def snakes():
    return trained(SNAKES)


@pytest.fixture(scope="module")
def forage():
    return trained(FORAGE)


# ---------------------------------------------------------------------- settings


def test_there_are_settings_for_every_environment_of_our_own():
    found = {path.stem: Settings.read(path) for path in torchrl_ppo.CONFIGS.glob("*.toml")}
    specs = {path.parent.name: Package.read(path.parent).spec for path in (ROOT / "envs").glob("*/spec.md")}
    assert found.keys() == {name for name, spec in specs.items() if spec.adopts is None}
    for settings in found.values():
        network = ActorCritic(settings, fast(settings, 1))
        assert network.actor.in_features == settings.hidden[-1]


def test_settings_are_checked(tmp_path):
    path = tmp_path / "walk.toml"
    path.write_text('environment = "a/b-v0"\nhidden = [8, 9]\nplanes = [[1, 2]]\nseed = 3\n')
    assert Settings.read(path, seed=4) == Settings("a/b-v0", hidden=(8, 9), planes=((1, 2),), seed=4)
    with pytest.raises(ValueError, match=r"environment and some of .*instances.*got \['instence'\]"):
        Settings.of({"environment": "a/b-v0", "instence": 3})
    with pytest.raises(ValueError, match="expected an environment"):
        Settings.of({"seed": 3})
    with pytest.raises(ValueError, match="steps: expected 1 or more, got 0"):
        Settings("a/b-v0", steps=0)
    with pytest.raises(ValueError, match="features: expected one of numbers, cells, berries, got 'numbrs'"):
        features.make_features(Settings("a/b-v0", features="numbrs"), torch.Size([2]))
    with pytest.raises(ValueError, match="planes: expected ranges"):
        features.make_features(Settings("a/b-v0", features="cells", planes=((3, 2),)), torch.Size([2]))


# ---------------------------------------------------------------------- features


def test_cells_become_planes():
    cells = torch.arange(256, dtype=torch.uint8).reshape(2, 8, 16)
    made = features.make_features(SNAKES, torch.Size([8, 16]))
    expected = [
        [float(first <= cell <= last) for first, last in SNAKES.planes for cell in row]
        for row in cells.flatten(1).tolist()
    ]
    assert made(cells).tolist() == expected
    assert made.size == len(expected[0])


def test_berries_are_mapped_around_the_agent():
    env = fast(FORAGE, 200)
    td = env.reset()
    for _ in range(20):
        td = env.step_and_maybe_reset(env.rand_action(td))[1]
    made = features.make_features(FORAGE, torch.Size([5]))
    rows = made(*(td[key] for key in made.keys))
    assert rows.shape == (200, made.size)
    eaten = 0
    for row, one in zip(rows.tolist(), td, strict=True):
        expected = [0.0] * made.size
        state = {name: value.tolist() for name, value in one["state"].items()}
        for x, y, live in zip(state["berry_x"], state["berry_y"], state["berry_live"], strict=True):
            expected[(y - state["y"] + 7) * 15 + (x - state["x"] + 7)] += live
            eaten += not live
        expected[225 + state["x"]] = expected[233 + state["y"]] = 1.0
        expected[241:] = one["observation"].tolist()
        assert row == expected
    assert eaten > 0


# ---------------------------------------------------------------------- advantages


def slow_advantages(reward, value, following, done, terminated, gamma, lmbda):
    """Of one row, from the definition: sums of discounted errors, to the end of episode, life or batch."""
    found = []
    for begin in range(len(reward)):
        total, weight = 0.0, 1.0
        for t in range(begin, len(reward)):
            total += weight * (reward[t] + gamma * following[t] * (not terminated[t]) - value[t])
            weight *= gamma * lmbda
            if done[t]:
                break
        found.append(total)
    return found


@pytest.mark.parametrize("settings", [WALK, SNAKES], ids=["one agent", "agents"])
def test_advantages_are_cut_at_deaths_and_bootstrapped_at_time_limits(settings):
    env, names = fast(settings), Names(fast(settings, 1))
    network = ActorCritic(settings, env)
    torch.manual_seed(3)
    torch.nn.init.normal_(network.critic.weight)
    acting = Acting(network, env)
    collector = BatchCollector(env, acting, frames_per_batch=settings.instances * 100, total_frames=-1)
    batch = next(iter(collector))
    torch.use_deterministic_algorithms(True)  # with which new memory holds NaN until it is written
    try:
        advantage, target = learner.advantages(learner.Batch(batch, names, ["observation"]), network, settings)
    finally:
        torch.use_deterministic_algorithms(False)
    ended, kinds = batch["next"], set()
    agents = env.environment.agents or 1
    assert advantage.shape == target.shape == (100, settings.instances * agents, 1)
    for instance in range(4):
        for agent in range(agents):
            pick = (instance, slice(None), *([agent] if names.agents else []))
            done, cut = ended["done"][instance, :, 0], ended["terminated"][instance, :, 0]
            if names.agents:
                cut = cut | ended["agents", "terminated"][(*pick, 0)]
            with torch.no_grad():
                value, following = (network.value(td[names.of("observation")][pick])[:, 0] for td in (batch, ended))
            parts = ended[names.reward][(*pick, 0)], value, following, done | cut, cut
            expected = slow_advantages(*(part.tolist() for part in parts), settings.gamma, settings.lmbda)
            row = instance * agents + agent
            assert advantage[:, row, 0].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-5)
            assert target[:, row, 0].tolist() == pytest.approx((advantage[:, row, 0] + value).tolist(), abs=1e-5)
            kinds |= {(bool(d), bool(c)) for d, c in zip(done, cut, strict=True)}
    assert {(False, False), (True, False), (False, True) if names.agents else (True, True)} <= kinds


def test_the_loss_is_the_clipped_one():
    """Objective, entropy and the value's error by their formulas; their gradients reach all parameters alike."""
    env = fast(WALK, 8)
    network = ActorCritic(WALK, env)
    torch.manual_seed(5)
    seen, action = torch.rand(50, 2), torch.randint(2, (50,))
    old, advantage, target = -torch.rand(50) - 0.2, torch.randn(50, 1), torch.randn(50, 1)
    rows = TensorDict(
        {"observation": seen, "action": action, "action_log_prob": old, "advantage": advantage, "value_target": target},
        batch_size=[50],
    )
    losses = network.loss(WALK)(rows)
    hidden = network.hidden(seen)
    scores = network.actor(hidden).log_softmax(-1)
    ratio = (scores[torch.arange(50), action] - old).exp()
    gain = torch.minimum(ratio * advantage[:, 0], ratio.clamp(0.8, 1.2) * advantage[:, 0])
    expected = {
        "loss_objective": -gain.mean(),
        "loss_entropy": WALK.entropy * (scores.exp() * scores).sum(-1).mean(),
        "loss_critic": WALK.critic * (network.critic(hidden) - target).square().mean(),
    }
    for name, value in expected.items():
        assert losses[name].item() == pytest.approx(value.item(), rel=1e-4, abs=1e-6), name
    own = torch.autograd.grad(sum(losses[name] for name in expected), list(network.parameters()))
    for one, other in zip(own, torch.autograd.grad(sum(expected.values()), list(network.parameters())), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


# ---------------------------------------------------------------------- learning


def test_toywalk_goes_right_everywhere(walk):
    length, cap = 5, 60
    places = [[place / length, t / cap] for place in range(-length, length + 1) for t in range(cap)]
    logits = walk.network.actor(walk.network.hidden(torch.tensor(places)))
    assert logits.argmax(-1).unique().tolist() == [1]


def test_snakes_learn_to_eat(snakes):
    played = [
        evaluate.play(env, policy(env))
        for env, policy in (
            (fast(SNAKES, 64, seed=9, expose_state=True), lambda env: Acting(snakes.network, env)),
            (fast(SNAKES, 64, seed=9, expose_state=True), lambda env: env.rand_action),
        )
    ]
    own, random = played
    assert own.reward > random.reward + 0.2
    assert own.food > 1.2 * random.food
    assert own.terminated < 0.5 * random.terminated


def test_meals_are_told_apart():
    """Food on the boards is what there was, less what was eaten, and what grew again; corpses are the other meals."""
    env = fast(SNAKES, 64, seed=2, expose_state=True)
    played = evaluate.play(env, env.rand_action, steps=30)
    again = fast(SNAKES, 64, seed=2, expose_state=True)
    torch.manual_seed(0)
    td, meals = again.reset(), 0.0
    for _ in range(30):
        stepped, td = again.step_and_maybe_reset(again.rand_action(td))
        meals += (stepped["next", "agents", "reward"] > 0).double().mean().item() / 30
    assert played.food > 0
    assert played.corpses > 0
    torch.manual_seed(0)
    env = fast(SNAKES, 64, seed=2, expose_state=True)
    played = evaluate.play(env, env.rand_action, steps=30)
    assert played.food + played.corpses == pytest.approx(meals)
    assert played.returns is None  # episodes of 40 steps
    assert "food" in str(played)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a million agent-steps/s are promised where a GPU is present")
def test_a_gpu_trains_a_million_agent_steps_a_second():
    settings = Settings.read(torchrl_ppo.CONFIGS / "snake.toml", instances=128)
    trainer = Trainer(fast(settings), settings, "cuda")
    for _ in range(5):
        trainer.iterate()
    assert max(trainer.iterate()["steps_per_second"] for _ in range(10)) >= 1e6


# ---------------------------------------------------------------------- reference and fast


@pytest.mark.parametrize("greedy", [True, False], ids=["greedy", "sampled"])
@pytest.mark.parametrize("name", ["walk", "snakes", "forage"])
def test_a_trained_policy_plays_alike_in_reference_and_fast(name, greedy, request):
    trainer, instances = request.getfixturevalue(name), 6
    settings, names = trainer.settings, trainer.names
    env = fast(settings, instances, seed=11)
    generators, ends = [torch.Generator().manual_seed(1).get_state()] * 2, 0
    policy, td = Acting(trainer.network, env, greedy), env.reset()
    package = {"walk": TOYWALK, "forage": FORAGER, "snakes": SNAKE}[name].configured(settings.config)
    references = [package.reference() for _ in range(instances)]
    seeds = env.instance_seeds.numpy().view(np.uint64)
    shown = [one.reset(seed=int(seed))[0] for one, seed in zip(references, seeds, strict=True)]
    for _ in range(100):
        torch.set_rng_state(generators[0])
        td = policy(td)
        generators[0] = torch.get_rng_state()
        beside = entries(references, shown, td, policy, names)
        torch.set_rng_state(generators[1])
        policy(beside)
        generators[1] = torch.get_rng_state()
        for key in [*policy.in_keys, *policy.out_keys]:
            assert bits.same(td[key].numpy(), beside[key].numpy()), key
        stepped, td = env.step_and_maybe_reset(td)
        ended = stepped["next"]
        shown = []
        for row, one in enumerate(references):
            seen, reward, terminated, truncated, info = one.step(beside[names.action][row].numpy())
            if names.agents:
                assert bits.same(ended["agents", "terminated"][row, :, 0].numpy(), info["died"])
            rewards = info["rewards"] if names.agents else np.array([reward], np.float32)
            assert bits.same(ended[names.reward][row].numpy().ravel(), rewards)
            assert bits.same(ended[names.of("observation")][row].numpy(), seen)
            flags = [ended[flag][row].item() for flag in ("terminated", "truncated", "done")]
            assert flags == [terminated, truncated, terminated or truncated]
            ends += flags[-1]
            shown.append(one.reset()[0] if flags[-1] else seen)
    assert ends >= instances


def entries(references, shown, like, policy, names):
    """What the references show, and of their state what the policy reads, as a TensorDict."""
    td = TensorDict({}, batch_size=[len(references)])
    for key in policy.in_keys:
        values = shown if key == names.of("observation") else [one.get_state()["state"][key[1]] for one in references]
        td[key] = torch.from_numpy(np.stack([np.asarray(value) for value in values])).to(like[key].dtype)
    return td


# ---------------------------------------------------------------------- going on


def leaves(value, path=""):
    """The leaves of a checkpoint by their place, tensors as bytes; times are left out."""
    if isinstance(value, dict):
        return {k: v for key, one in value.items() if key != "seconds" for k, v in leaves(one, f"{path}/{key}").items()}
    if isinstance(value, (list, tuple)):
        return {k: v for key, one in enumerate(value) for k, v in leaves(one, f"{path}/{key}").items()}
    return {path: value.numpy().tobytes() if isinstance(value, torch.Tensor) else value}


@pytest.mark.parametrize("settings", [WALK, SNAKES, FORAGE], ids=["toywalk", "snake", "forager"])
def test_a_run_goes_on_with_the_same_bits(settings, tmp_path):
    whole = Trainer(fast(settings), settings)
    rows = [whole.iterate() for _ in range(6)]
    broken = Trainer(fast(settings), settings)
    for _ in range(3):
        broken.iterate()
    broken.save(tmp_path / "checkpoint.pt")
    torch.manual_seed(99)
    resumed = Trainer(fast(settings, seed=5), settings)
    resumed.load(tmp_path / "checkpoint.pt")
    timed = {*PHASES, "steps_per_second"}
    for row in rows[3:]:
        again = resumed.iterate()
        assert {k: repr(v) for k, v in again.items() if k not in timed} == {
            k: repr(v) for k, v in row.items() if k not in timed
        }
    assert leaves(resumed.state_dict()) == leaves(whole.state_dict())
    saved = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    for part in ("/generator", "/network/actor.weight", "/collector/running/rows/clock/t"):
        assert leaves(saved)[part] != leaves(whole.state_dict())[part], part
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_checkpoint_of_other_settings_is_refused():
    state = Trainer(fast(WALK), WALK).state_dict()
    longer = Settings.of({**WALK.as_dict(), "frames": 7, "checkpoint_seconds": 1.0})
    Trainer(fast(longer), longer).load_state_dict(state)
    other = Settings.of({**WALK.as_dict(), "gamma": 0.5})
    with pytest.raises(ValueError, match=r"gamma differ: \[0.99\] there, \[0.5\] here"):
        Trainer(fast(other), other).load_state_dict(state)
    with pytest.raises(ValueError, match=r"expected a batch size of \[64\], got \[3\]"):
        Trainer(fast(WALK, 3), WALK)


def logged(folder):
    """The rows of a run's CSV file."""
    with (folder / "log.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_interrupted_run_loses_nothing(tmp_path, monkeypatch):
    output = io.StringIO()
    console, iterate = Console(file=output), Trainer.iterate

    def interrupting(trainer):
        if trainer.iteration == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return iterate(trainer)

    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "iterate", interrupting)
        assert torchrl_ppo.train(Trainer(fast(WALK), WALK), tmp_path, console) is False
    assert signal.getsignal(signal.SIGTERM) is before
    going_on = Trainer(fast(WALK), WALK)
    going_on.load(tmp_path / "checkpoint.pt")
    assert going_on.iteration == 4
    with (tmp_path / "log.csv").open("a") as file:
        file.write("5,1,2,3\n")  # as by a run that was killed after its last checkpoint
    assert torchrl_ppo.train(going_on, tmp_path, console) is True
    rows = logged(tmp_path)
    assert [int(row["iteration"]) for row in rows] == list(range(1, 49))
    assert [int(row["frames"]) for row in rows] == [2048 * number for number in range(1, 49)]
    assert all(abs(sum(float(row[phase]) for phase in PHASES) - 1) < 1e-4 for row in rows)
    assert "steps/s (simulate" in output.getvalue()


def test_a_second_interruption_ends_at_once():
    with torchrl_ppo.Interrupted() as interrupted:
        assert not interrupted
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


# ---------------------------------------------------------------------- what is shown and written

ROW = {
    **{"iteration": 1, "frames": 2048, "reward": 0.5, "return": float("nan"), "entropy": 0.25},
    **{"steps_per_second": 1e5, "simulate": 0.05, "policy": 0.35, "learn": 0.6},
}


def test_a_log_gets_lines_at_times_and_a_terminal_a_bar():
    plain, screen = io.StringIO(), io.StringIO()
    with logs.Display(Console(file=plain), 4096) as display:
        display.show(ROW)
        display.show(ROW)
    line = "2,048 steps  reward +0.5000  entropy 0.25  100,000 steps/s (simulate 5% policy 35% learn 60%)"
    assert plain.getvalue().splitlines() == [line]
    with logs.Display(Console(file=plain), 4096, patience=0.0) as display:
        display.show({**ROW, "return": 4.0})
    assert "2,048 steps  return 4.000  reward" in plain.getvalue()
    console = Console(file=screen, force_terminal=True, width=200)
    with logs.Display(console, 4096) as display:
        display.show(ROW)
    assert "50%" in screen.getvalue()
    assert "\x1b[" in screen.getvalue()


def test_tensorboard_gets_scalars_where_it_is_installed(tmp_path, monkeypatch):
    written = []

    class Writer:
        def __init__(self, folder, filename_suffix):
            written.append((folder, filename_suffix))

        def add_scalar(self, name, value, step):
            written.append((name, value, step))

        def flush(self): ...

        def close(self): ...

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.SimpleNamespace(SummaryWriter=Writer))
    with logs.Logs(tmp_path) as made:
        made.add(ROW)
    assert written[0] == (str(tmp_path), ".0")
    assert ("reward", 0.5, 2048) in written
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)  # its import fails
    with logs.Logs(tmp_path) as made:
        made.add(ROW)
    assert logged(tmp_path)[0]["reward"] == "0.5"


# ---------------------------------------------------------------------- the program


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A package without a report, and settings for it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(discovery, "ROOT", tmp_path / "checkout")
    monkeypatch.chdir(tmp_path)
    fingerprint.forget()
    made = copy_package(tmp_path / "walk")
    (tmp_path / "short.toml").write_text(
        f'environment = "{made}"\ninstances = 8\nsteps = 4\nframes = 64\nevaluation_instances = 2\n'
    )
    return made


def test_the_gate_is_asked_first(folder, capsys, monkeypatch):
    assert torchrl_ppo.main(["short.toml"]) == 1
    assert "simulacrum validate" in capsys.readouterr().err
    assert not Path("runs").exists()
    assert torchrl_ppo.main(["not_there"]) == 1
    assert "expected one of forager, snake, toywalk, or the path of a TOML file" in capsys.readouterr().err
    asked = []
    with monkeypatch.context() as patched:
        patched.setattr(torchrl_ppo, "require_fresh_report", lambda *given, **named: asked.append((given, named)))
        patched.setattr(torchrl_ppo, "make_env", lambda *given, **named: asked.append("environment"))
        with pytest.raises(AttributeError):  # there is no environment to train on
            torchrl_ppo.main(["snake"])
    assert asked == [(("simulacrum/snake-v0",), {"strict": True, "config": "boards"}), "environment"]


def test_the_program_from_end_to_end(folder, capsys):
    validated(folder)
    threads = ["--threads", "1"]
    assert torchrl_ppo.main(["short.toml", "--resume", *threads]) == 1
    assert "train first" in capsys.readouterr().err
    assert torchrl_ppo.main(["short.toml", "--frames", "32", *threads]) == 0
    assert "32 steps in" in capsys.readouterr().out
    assert torchrl_ppo.main(["short.toml", *threads]) == 1
    assert "--resume" in capsys.readouterr().err
    assert torchrl_ppo.main(["short.toml", "--resume", *threads]) == 0
    printed = capsys.readouterr().out
    assert "64 steps in" in printed
    assert [line.split()[0] for line in printed.splitlines()[-3:]] == ["greedy", "sampled", "random"]
    assert torchrl_ppo.main(["short.toml", "--evaluate", *threads]) == 0
    assert capsys.readouterr().out.splitlines() == printed.splitlines()[-3:]
    rows = logged(Path("runs/short"))
    assert [row["frames"] for row in rows] == ["32", "64"]
