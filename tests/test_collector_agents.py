"""``BatchCollector`` with many agents in an instance: TorchRL's bits, and going on with them."""

import io
from pathlib import Path

import pytest
import torch
from collecting import assert_same, batches, both
from tensordict.nn import TensorDictModule
from torch import nn

from simulacrum.collector import BatchCollector
from simulacrum.errors import ActionError
from simulacrum.spec import Package

TINY = Package.read(Path(__file__).resolve().parent.parent / "envs" / "snake").configured("tiny")
FRAMES = {"frames_per_batch": 6 * 30, "total_frames": -1}


def snakes(seed=3):
    """Six boards of three snakes; an episode is 40 steps."""
    return TINY.fast(batch_size=[6], seed=seed)


class Drawn(nn.Linear):
    """An action, drawn by torch's generator, and the scores that it was drawn by, both an agent's."""

    def forward(self, observation):
        scores = super().forward(observation.flatten(-2).float())
        return torch.distributions.Categorical(logits=scores).sample(), scores


def policy(env):
    keys = [("agents", name) for name in ("observation", "action", "scores")]
    return TensorDictModule(Drawn(9, 4), in_keys=keys[:1], out_keys=keys[1:])


def test_batches_have_the_bits_of_torchrls():
    pair = both(snakes, policy, **FRAMES)
    assert pair[1].direct
    assert_same(pair, 3)
    batch = next(iter(pair[1]))
    assert batch["agents", "scores"].shape == (6, 30, 3, 4)
    assert batch["next", "agents", "terminated"].any()


class Counting(nn.Module):
    """A policy with memory of an agent's own: it counts each agent's steps in the episode, and acts by the count."""

    def forward(self, td):
        observation = td["agents", "observation"]
        count = td.get(("agents", "count"), torch.zeros(observation.shape[:-2], dtype=torch.int64)) + 1
        return td.set(("agents", "count"), count).set(("agents", "action"), count % 4)


def test_an_agents_memory_is_carried_and_cleared_as_torchrl_does():
    pair = both(snakes, lambda env: Counting(), **FRAMES)
    assert pair[1].direct
    assert_same(pair, 3)


def test_actions_are_checked():
    collector = BatchCollector(snakes(), lambda td: td.set(("agents", "action"), torch.full((6, 3), 4)), **FRAMES)
    assert collector.direct
    with pytest.raises(ActionError, match="action"):
        next(iter(collector))


def test_a_collector_that_loads_a_state_goes_on_with_its_bits():
    begun = both(snakes, policy, **FRAMES)[1]
    list(batches(begun, 2))
    file = io.BytesIO()
    torch.save({"collector": begun.state_dict(), "policy": begun.policy.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    env = snakes(seed=8)
    acting = policy(env)
    acting.load_state_dict(saved["policy"])
    other = BatchCollector(env, acting, **FRAMES)
    other.load_state_dict(saved["collector"])
    expected, got = list(batches(begun, 3)), list(batches(other, 3))
    assert expected == got
    assert any(b"\1" in batch[0]["next", "done"][2] for batch in got)
