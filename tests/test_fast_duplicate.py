"""Copies of TensorDicts with every bit."""

import torch
from tensordict import TensorDict

from simulacrum.fast.copying import duplicate


def test_a_copy_keeps_the_sign_of_zero_and_shares_nothing():
    inner = TensorDict({"b": torch.tensor([[1.5], [-0.0]])}, [2, 1])
    data = TensorDict({"a": torch.tensor([-0.0, 2.0]), "inner": inner, "none": TensorDict({}, [2])}, [2], device="cpu")
    copy = duplicate(data)
    assert copy.batch_size == data.batch_size
    assert copy["inner"].batch_size == inner.batch_size
    assert set(copy.keys()) == {"a", "inner", "none"}
    assert torch.signbit(copy["a"]).tolist() == [True, False]
    assert torch.signbit(copy["inner", "b"]).tolist() == [[False], [True]]
    data["a"].fill_(9)
    assert copy["a"].tolist() == [0.0, 2.0]


def test_tensordicts_own_copy_loses_it():
    """When this fails, tensordict has mended clone(): duplicate is not needed any more."""
    data = TensorDict({"a": torch.tensor([-0.0])}, [], device="cpu")
    assert not torch.signbit(data.clone()["a"]).any()
