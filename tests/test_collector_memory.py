"""The memory of ``BatchCollector``'s batches: used again when nobody can see it, and never while anybody can."""

import pytest
import torch
from collecting import Scripted, shown
from environments import TOYWALK
from tensordict import TensorDict

from simulacrum.collector import BatchCollector
from simulacrum.collector.memory import KEPT, Memories, Trajectories


def toywalk(**options):
    return TOYWALK.fast(batch_size=[5], seed=4, **options)


def addresses(batch):
    return {leaf.data_ptr() for leaf in batch.values(True, True)}


HOLDERS = {
    "the batch": lambda batch: batch,
    "a part": lambda batch: batch["next"],
    "a leaf": lambda batch: batch["next", "reward"],
    "what it is a view of": lambda batch: batch["action"]._base,
    "a slice": lambda batch: batch["next", "observation"][1:2, 3],
    "a flat view": lambda batch: batch["collector", "traj_ids"].detach(),
    "NumPy": lambda batch: batch["done"].numpy(),
    "memory": lambda batch: memoryview(batch["next", "done"].numpy()),
    "DLPack": lambda batch: torch.utils.dlpack.to_dlpack(batch["action"]),
    "storage": lambda batch: batch["action"].untyped_storage(),
    "autograd": lambda batch: torch.ones(1, requires_grad=True) * batch["observation"],
    "a selection": lambda batch: batch.select("action"),
    "an index": lambda batch: batch[2, 3],
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_anybody_can_see_is_not_written_again(holder):
    steps = iter(BatchCollector(toywalk(), Scripted(toywalk()), frames_per_batch=50))
    batch = next(steps)
    before, held = addresses(batch), HOLDERS[holder](batch)
    del batch
    for _ in range(4):
        later = next(steps)
        assert not before & addresses(later)
    del held


def test_what_nobody_can_see_is_used_again():
    steps = iter(BatchCollector(toywalk(), Scripted(toywalk()), frames_per_batch=50))
    seen = [frozenset(addresses(next(steps))) for _ in range(4)]
    assert len(set(seen)) == 1
    seen, batch = [], None
    for _ in range(6):
        batch = next(steps)  # the one before is held meanwhile
        seen.append(frozenset(addresses(batch)))
    assert len(set(seen)) == KEPT


@pytest.mark.parametrize(
    "change",
    [
        lambda batch: batch["action"].share_memory_(),
        lambda batch: batch["action"].set_(torch.zeros(3, dtype=torch.int64)),
        lambda batch: batch.share_memory_(),
        lambda batch: batch["observation"].mul_(torch.ones(1, requires_grad=True)),
    ],
)
def test_what_was_moved_or_has_a_gradient_is_not_used_again(change):
    steps = iter(BatchCollector(toywalk(), Scripted(toywalk()), frames_per_batch=50))
    other = iter(BatchCollector(toywalk(), Scripted(toywalk()), frames_per_batch=50))
    change(next(steps))
    next(other)
    for _ in range(3):
        batch = next(steps)
        assert shown(batch) == shown(next(other))
        assert not any(leaf.is_shared() or leaf.requires_grad for leaf in batch.values(True, True))


def test_a_policy_that_keeps_what_it_saw_keeps_it():
    kept = []

    def policy(td):
        kept.append((td, td["observation"].clone()))
        return td.set("action", torch.ones(5, dtype=torch.int64))

    steps = iter(BatchCollector(toywalk(), policy, frames_per_batch=50))
    for _ in range(4):
        next(steps)
    assert all(torch.equal(td["observation"], then) for td, then in kept)


def test_in_inference_mode_batches_are_its_own():
    collector = BatchCollector(toywalk(), None, frames_per_batch=50)
    with torch.inference_mode():
        assert next(iter(collector))["action"].is_inference()
    batch = next(iter(collector))
    assert not batch["action"].is_inference()
    batch["observation"].mul_(torch.ones(1, requires_grad=True))


def test_without_the_proof_all_memory_is_new(monkeypatch):
    monkeypatch.setattr("simulacrum.collector.memory.provable", lambda: False)
    made = []
    memories = Memories(lambda: made.append(None) or TensorDict({"a": torch.empty(3)}))
    for _ in range(3):
        memories.take()
    assert len(made) == 3


def test_trajectories_are_numbered_as_torchrl_numbers_them():
    class Pool:
        number = 7

        def state_dict(self):
            return {"traj_id": torch.tensor(self.number)}

        def load_state_dict(self, state):
            self.number = int(state["traj_id"])

    pool, ids = Pool(), torch.tensor([3, 4, 5, 6])
    trajectories = Trajectories(pool, ids)
    second, third = torch.empty(2, 4, dtype=torch.int64).unbind(0)
    trajectories.follow(ids, torch.tensor([[True], [False], [True], [False]]), second)
    trajectories.follow(second, torch.tensor([[False], [False], [True], [True]]), third)
    trajectories.give_back()
    assert second.tolist() == [7, 4, 8, 6]
    assert third.tolist() == [7, 4, 9, 10]
    assert pool.number == 11
