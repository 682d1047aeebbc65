"""Many agents in one instance: what is declared, and how each API says what they see, get and do."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.utils import check_env_specs

import simulacrum
from simulacrum import bits
from simulacrum.errors import ActionError, OutputError, SpaceError, SpecError, StateError
from simulacrum.reference import state_of
from simulacrum.spec import Package
from simulacrum.spec.agents import agent_space
from simulacrum.vector import FastVectorEnv

ENVS = Path(__file__).resolve().parent.parent / "envs"
TINY = Package.read(ENVS / "snake").configured("tiny")
AGENTS, CAP = TINY.environment.agents, TINY.environment.max_episode_steps
ACTION = ("agents", "action")


def declared(**changes):
    form = {
        "id": "tests/many-v0",
        "agents": 3,
        "action_space": spaces.MultiDiscrete([4, 4, 4]),
        "observation_space": spaces.Box(0, 9, (3, 2), np.uint8),
        "max_episode_steps": 10,
    }
    return simulacrum.Environment(**{**form, **changes})


def fast(rows=4, seed=0, **options):
    return TINY.fast(batch_size=[rows], seed=seed, **options)


def random_actions(steps, rows, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 4, (steps, rows, AGENTS)))


def steps_of(env, actions, fused=True):
    """What steps show, and what is seen next: pairs of TensorDicts."""
    td = env.reset()
    for action in actions:
        td.set(ACTION, action)
        if fused:
            done, td = env.step_and_maybe_reset(td)
        else:
            done = env.step(td)
            td = env.maybe_reset(env.step_mdp(done))
        yield done.get("next").clone(), td.clone()


def same(one, other):
    leaves = {key for key in one.keys(True, True) if key in other.keys(True, True)}
    assert ("agents", "observation") in leaves
    return all(torch.equal(one[key], other[key]) for key in leaves)


# ---------------------------------------------------------------------- what is declared


@pytest.mark.parametrize("agents", [0, -1, 1.5, True, "3"])
def test_the_number_of_agents_is_a_positive_int(agents):
    with pytest.raises(SpecError, match="agents: expected None or an int of 1 or more"):
        declared(agents=agents)


@pytest.mark.parametrize(
    ("name", "space"),
    [
        ("action_space", spaces.Discrete(4)),
        ("action_space", spaces.MultiDiscrete([4, 4])),
        ("action_space", spaces.MultiDiscrete([4, 4, 5])),
        ("action_space", spaces.Box(np.array([0, 0, 1], np.float32), np.ones(3, np.float32))),
        ("observation_space", spaces.Box(0, 9, (2, 3), np.uint8)),
        ("observation_space", spaces.Dict({"seen": spaces.Box(0, 9, (4,), np.uint8)})),
    ],
)
def test_joint_spaces_are_those_of_so_many_agents_who_are_alike(name, space):
    with pytest.raises(SpaceError, match=r"first axis of 3|are alike"):
        declared(**{name: space})


@pytest.mark.parametrize(
    ("joint", "one"),
    [
        (spaces.MultiDiscrete([4, 4]), spaces.Discrete(4)),
        (spaces.MultiDiscrete([4, 4], start=[2, 2]), spaces.Discrete(4, start=2)),
        (spaces.MultiDiscrete([[4, 5], [4, 5]]), spaces.MultiDiscrete([4, 5])),
        (spaces.Box(-1, 2, (2, 3, 3), np.int32), spaces.Box(-1, 2, (3, 3), np.int32)),
        (spaces.MultiBinary((2, 5)), spaces.MultiBinary(5)),
        (spaces.Dict({"a": spaces.Box(0, 1, (2,))}), spaces.Dict({"a": spaces.Box(0, 1, ())})),
    ],
)
def test_one_agents_part_of_a_joint_space(joint, one):
    assert agent_space(joint) == one


def test_tensors_of_many_agents_are_refused():
    with pytest.raises(SpecError, match=r"has a kernel for its fast form.*docs/agents\.md"):

        class Many(simulacrum.FastEnv):
            environment = declared()


def test_a_kernel_of_many_agents_sees_one_row_at_a_time():
    cls = type(
        "Blocks", (TINY.fast,), {"__module__": TINY.fast.__module__, "environment": TINY.environment, "block": 128}
    )
    with pytest.raises(SpecError, match="block: expected 1, as a kernel of many agents needs"):
        cls.layout()


# ---------------------------------------------------------------------- the reference


def test_the_reward_is_the_sum_in_the_agents_order_and_deaths_end_nothing():
    env, rng = TINY.reference(), np.random.default_rng(0)
    env.reset(seed=1)
    died = 0
    for t in range(CAP):
        _, reward, terminated, truncated, info = env.step(rng.integers(0, 4, AGENTS))
        total = np.float32(0)
        for one in info["rewards"]:
            total = np.float32(total + one)
        assert reward == float(total)
        assert info["rewards"].dtype == np.float32
        assert info["died"].dtype == np.bool_
        assert not terminated
        assert truncated == (t == CAP - 1)
        died += info["died"].sum()
    assert died > 3


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("rewards", lambda state, rewards, died: (state, rewards.astype(np.float64), died)),
        ("rewards", lambda state, rewards, died: (state, rewards[:-1], died)),
        ("rewards", lambda state, rewards, died: (state, float(rewards.sum()), died)),
        ("died", lambda state, rewards, died: (state, rewards, died.astype(np.int64))),
        ("died", lambda state, rewards, died: (state, rewards, False)),
    ],
)
def test_rewards_and_deaths_of_another_form_are_an_error(name, broken, monkeypatch):
    transition = TINY.reference.transition
    monkeypatch.setattr(TINY.reference, "transition", lambda self, *given: broken(*transition(self, *given)))
    env = TINY.reference()
    env.reset(seed=0)
    with pytest.raises(OutputError, match=rf"reference\.py, {name}: expected an array of .* \[{AGENTS}\]"):
        env.step(np.zeros(AGENTS, np.int64))


# ---------------------------------------------------------------------- TorchRL's way


@pytest.mark.parametrize("options", [{}, {"expose_state": True}])
@pytest.mark.parametrize("batch_size", [[4], [2, 3], []])
def test_the_specs_are_torchrls(batch_size, options):
    env = TINY.fast(batch_size=batch_size, seed=0, **options)
    check_env_specs(env)
    assert env.action_keys == [ACTION]
    assert env.reward_keys == [("agents", "reward")]
    assert env.done_keys == ["done", "terminated", "truncated"]
    assert env.reset()["agents"].batch_size == torch.Size([*batch_size, AGENTS])
    assert env.rand_action(env.reset())[ACTION].shape == (*batch_size, AGENTS)


@pytest.mark.parametrize("other", [{"fused": False}, {"expose_state": True}, {"expose_state": True, "fused": False}])
def test_every_way_of_stepping_gives_the_same_bits(other):
    actions = random_actions(2 * CAP + 5, 4)
    options = {name: value for name, value in other.items() if name != "fused"}
    ways = steps_of(fast(), actions), steps_of(fast(**options), actions, other.get("fused", True))
    died = 0
    for (ended, now), (other_ended, other_now) in zip(*ways, strict=True):
        assert same(ended, other_ended)
        assert same(now, other_now)
        died += int(ended["agents", "terminated"].sum())
    assert died > 10


def test_what_is_seen_next_is_what_the_step_showed_unless_it_ended():
    env = fast()
    for t, (ended, now) in enumerate(steps_of(env, random_actions(CAP + 1, 4))):
        if t == CAP - 1:
            assert ended["truncated"].all()
            assert not now["agents", "terminated"].any()
            assert not torch.equal(ended["agents", "observation"], now["agents", "observation"])
        else:
            assert not ended["done"].any()
            assert torch.equal(ended["agents", "observation"], now["agents", "observation"])
            assert torch.equal(ended["agents", "terminated"], now["agents", "terminated"])
        assert not ended["terminated"].any()


def test_one_boards_end_leaves_the_others_as_they_are():
    env = fast(rows=3, expose_state=True)
    td = env.reset()
    td["clock", "t"] = torch.tensor([5, CAP - 1, 9])
    td = env.reset(td, set_state=True)
    td.set(ACTION, torch.zeros(3, AGENTS, dtype=torch.int64))
    done, now = env.step_and_maybe_reset(td)
    assert done["next", "done"].flatten().tolist() == [False, True, False]
    assert now["clock", "t"].tolist() == [6, 0, 10]
    assert now["clock", "episode"].tolist() == [0, 1, 0]
    for row in (0, 2):
        assert torch.equal(done["next", "agents", "observation"][row], now["agents", "observation"][row])
    bare = fast(rows=3)
    root = bare.reset(td.select("state", "clock"), set_state=True).exclude("state", "clock")
    root.set(ACTION, torch.zeros(3, AGENTS, dtype=torch.int64))
    bare_done, bare_now = bare.step_and_maybe_reset(root)
    assert same(bare_done["next"], done["next"])
    assert same(bare_now, now)


def test_what_a_policy_keeps_goes_on_and_is_cleared_where_a_board_ends():
    env = fast(rows=2, expose_state=False)
    td = env.reset()
    for t in range(CAP + 1):
        td.set(ACTION, torch.zeros(2, AGENTS, dtype=torch.int64))
        td.set(("agents", "memory"), torch.full((2, AGENTS, 5), 1.0 + t))
        td.set("plan", torch.full((2,), 1.0 + t))
        _, td = env.step_and_maybe_reset(td)
        assert td["agents", "memory"].unique().tolist() == [1.0 + t]  # all rows ended: TorchRL leaves them then
        assert td["plan"].tolist() == [1.0 + t] * 2
        assert torch.equal(td[ACTION], torch.zeros(2, AGENTS, dtype=torch.int64))


def test_transforms_and_rollouts():
    env = TransformedEnv(fast(), StepCounter())
    env.append_transform(RewardSum(in_keys=[("agents", "reward")], out_keys=[("agents", "episode_reward")]))
    rollout = env.rollout(CAP + 20, break_when_any_done=False)
    assert rollout.batch_size == torch.Size([4, CAP + 20])
    total = torch.zeros(4, AGENTS, 1)
    for t in range(CAP):  # in the order of the steps: sums of float32 in another order have other bits
        total = total + rollout["next", "agents", "reward"][:, t]
        assert torch.equal(rollout["next", "agents", "episode_reward"][:, t], total)
    assert rollout["next", "step_count"][:, CAP - 1].flatten().tolist() == [CAP] * 4


@pytest.mark.parametrize(
    "action",
    [
        torch.full((4, AGENTS), 4),
        torch.full((4, AGENTS), -1),
        torch.zeros(4, AGENTS, dtype=torch.int32),
    ],
)
def test_other_actions_are_refused_and_change_nothing(action):
    env = fast()
    td = env.reset()
    before = env.get_state()
    with pytest.raises(ActionError, match="action: expected"):
        env.step_and_maybe_reset(td.set(ACTION, action))
    assert (env.get_state() == before).all()


def test_multi_agent_losses_of_torchrl_train_on_it():
    from tensordict.nn import TensorDictModule, TensorDictSequential
    from torchrl.modules import MultiAgentMLP, ProbabilisticActor
    from torchrl.objectives import ClipPPOLoss, ValueEstimators

    torch.manual_seed(0)
    shape = fast().observation_spec["agents", "observation"].shape[-2:].numel()
    common = {"n_agents": AGENTS, "centralized": False, "share_params": True, "depth": 1, "num_cells": 8}

    def flat(net):
        return TensorDictSequential(
            TensorDictModule(lambda seen: seen.flatten(-2).float(), [("agents", "observation")], [("agents", "flat")]),
            net,
        )

    logits = MultiAgentMLP(shape, 4, **common)
    policy = flat(TensorDictModule(logits, [("agents", "flat")], [("agents", "logits")]))
    actor = ProbabilisticActor(
        policy,
        in_keys=[("agents", "logits")],
        out_keys=[ACTION],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
        log_prob_key=("agents", "log_prob"),
    )
    critic = flat(
        TensorDictModule(MultiAgentMLP(shape, 1, **common), [("agents", "flat")], [("agents", "state_value")])
    )
    with torch.no_grad():
        batch = fast().rollout(12, actor, break_when_any_done=False)
    ended = batch["next", "done"].unsqueeze(-2) | batch["next", "agents", "terminated"]
    batch["next", "agents", "done"] = ended
    loss = ClipPPOLoss(actor, critic)
    loss.set_keys(
        action=ACTION,
        sample_log_prob=("agents", "log_prob"),
        value=("agents", "state_value"),
        reward=("agents", "reward"),
        done=("agents", "done"),
        terminated=("agents", "terminated"),
        advantage=("agents", "advantage"),
        value_target=("agents", "value_target"),
    )
    loss.make_value_estimator(ValueEstimators.GAE, gamma=0.9, lmbda=0.9)
    with torch.no_grad():
        loss.value_estimator(batch, params=loss.critic_network_params, target_params=loss.target_critic_network_params)
    losses = loss(batch.reshape(-1))
    (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
    assert sum(float(one.grad.abs().sum()) for one in logits.parameters()) > 0


# ---------------------------------------------------------------------- injected states


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("head", -1, "snakes_on_board|rings_clean"),
        ("head", 0, "snakes_on_board"),
        ("length", 2, "snakes_on_board"),
        ("newest", 4, None),
        ("turns", 3, "rings_clean|snakes_on_board"),
        ("head", 10_000, r"state field head: expected values in"),
        ("length", -1, r"state field length: expected values in"),
    ],
)
def test_a_state_that_would_lead_a_kernel_astray_is_refused(name, value, message):
    env = fast(expose_state=True)
    td = env.reset()
    broken = td.clone()
    broken["state", name][1, 0] = value
    if message is None:  # any place of the ring is a legal one for a snake of one segment
        broken["clock", "t"].fill_(3)
        env.reset(broken, set_state=True)
        return
    with pytest.raises(StateError, match=message):
        env.reset(broken, set_state=True)
    assert torch.equal(env.get_state()["state", name], td["state", name])


# ---------------------------------------------------------------------- Gymnasium's vector API


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_the_vector_adapter_tells_what_the_references_tell(mode):
    rows = 3
    env = FastVectorEnv(fast(rows), autoreset_mode=mode)
    references = [TINY.reference() for _ in range(rows)]
    seen, _ = env.reset(seed=5)
    for row, reference in enumerate(references):
        assert bits.same(reference.reset(seed=5 + row)[0], seen[row])
    for action in random_actions(CAP, rows).numpy():
        seen, rewards, terminated, truncated, infos = env.step(action)
        told = [reference.step(one) for reference, one in zip(references, action, strict=True)]
        if mode == "SameStep" and truncated.any():
            seen = np.stack(infos["final_obs"])
        for row, (one, reward, _, cut, info) in enumerate(told):
            assert bits.same(one, seen[row])
            assert rewards[row] == reward
            assert bits.same(infos["rewards"][row], info["rewards"])
            assert infos["died"][row].tolist() == info["died"].tolist()
            assert truncated[row] == cut
        assert not terminated.any()
    assert truncated.all()
    if mode == "NextStep":
        _, rewards, _, _, infos = env.step(action)
        assert not rewards.any()
        assert not infos["_rewards"].any()


# ---------------------------------------------------------------------- PettingZoo


@pytest.fixture
def view():
    from simulacrum.parallel import ParallelView

    return ParallelView(TINY.reference())


@pytest.mark.filterwarnings("ignore:The old environment creation API:DeprecationWarning")
def test_pettingzoos_own_tests_pass(view):
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    from simulacrum.parallel import ParallelView

    parallel_api_test(view, num_cycles=2 * CAP)
    parallel_seed_test(lambda: ParallelView(TINY.reference()))


def test_the_view_is_the_reference_agent_by_agent(view):
    reference, rng = TINY.reference(), np.random.default_rng(2)
    joint, _ = reference.reset(seed=3)
    seen, infos = view.reset(seed=3)
    assert view.agents == [f"agent_{number}" for number in range(AGENTS)]
    assert infos["agent_0"] == {"seed": 3, "died": False}
    for t in range(CAP):
        for number, agent in enumerate(view.possible_agents):
            assert bits.same(seen[agent], joint[number])
        assert bits.same(view.state(), joint)
        action = rng.integers(0, 4, AGENTS)
        joint, _, _, truncated, info = reference.step(action)
        seen, rewards, terminations, truncations, infos = view.step(dict(zip(view.agents, action, strict=True)))
        assert list(rewards.values()) == info["rewards"].tolist()
        assert [one["died"] for one in infos.values()] == info["died"].tolist()
        assert not any(terminations.values())
        assert set(truncations.values()) == {truncated}
        assert bool(view.agents) == (t < CAP - 1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        view.step(dict.fromkeys(view.possible_agents, 0))


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ({"agent_0": 0}, r"missing \['agent_1', 'agent_2'\]"),
        ({"agent_0": 0, "agent_1": 0, "agent_2": 0, "agent_3": 0}, r"unknown \['agent_3'\]"),
        ({"agent_0": 0, "agent_1": 4, "agent_2": 0}, "action of agent_1: expected an element of Discrete"),
        ({"agent_0": 0, "agent_1": 0.5, "agent_2": 0}, "action of agent_1"),
    ],
)
def test_the_view_refuses_other_actions(view, actions, message):
    view.reset(seed=0)
    before = state_of(view.env).board.copy()
    with pytest.raises(ActionError, match=message):
        view.step(actions)
    assert bits.same(state_of(view.env).board, before)


def test_the_view_takes_a_bare_reference_of_many_agents():
    from simulacrum.parallel import ParallelView

    walk = Package.read(ENVS / "toywalk").reference()
    with pytest.raises(ValueError, match="declares none"):
        ParallelView(walk)
    with pytest.raises(TypeError, match="bare of wrappers"):
        ParallelView(gymnasium.wrappers.TimeLimit(TINY.reference(), 5))
