"""Spaces as TorchRL specs: for every supported space, both sides and both libraries agree; others are refused."""

import warnings

import numpy as np
import pytest
import torch
from environments import Rows, acting, actions, limits, showing
from gymnasium import spaces
from spaces_in_use import ACTIONS, LEAVES, NESTED, OBSERVATIONS, REFUSED, identify
from torchrl.envs.utils import check_env_specs

from simulacrum import Environment
from simulacrum.errors import SpaceError
from simulacrum.fast.specs import leaf_spec, torch_dtype
from simulacrum.spec.spaces import SUPPORTED_ACTIONS, SUPPORTED_OBSERVATIONS, SUPPORTED_PARTS

CPU = torch.device("cpu")
SIZES = [(), (2,), (2, 3)]


def spec_of(space, size=(2,)):
    return leaf_spec(space, torch.Size(size), CPU)


def elements(space, tensor):
    """The rows of a tensor as Gymnasium takes them."""
    rows = tensor.numpy().reshape(-1, *space.shape)
    return [rows[row, ...] for row in range(len(rows))]


# ---------------------------------------------------------------------- a spec says what its space says


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("space", LEAVES, ids=identify)
def test_shape_and_dtype_are_the_spaces(space, size):
    spec = spec_of(space, size)
    assert spec.shape == (*size, *space.shape)
    assert spec.dtype == torch_dtype(space.dtype)
    assert spec.zero().shape == spec.shape


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("space", LEAVES, ids=identify)
def test_what_a_spec_draws_is_in_the_space(space, size):
    spec = spec_of(space, size)
    for _ in range(20):
        drawn = spec.rand()
        assert drawn.shape == spec.shape
        assert drawn.dtype == spec.dtype
        assert bool(torch.as_tensor(drawn, dtype=torch.float64).isfinite().all())
        assert bool(spec.is_in(drawn))
        assert all(space.contains(row) for row in elements(space, drawn))


@pytest.mark.parametrize("space", LEAVES, ids=identify)
def test_what_a_space_draws_is_in_the_spec(space):
    space.seed(1)
    spec = spec_of(space)
    for _ in range(20):
        pair = np.stack([space.sample(), space.sample()])
        assert bool(spec.is_in(torch.from_numpy(np.asarray(pair, space.dtype))))


def beyond(bound, direction, dtype):
    """The next number of a dtype after each element of a bound; None where there is none."""
    if dtype.kind == "f":
        return None if np.isinf(bound).any() else np.nextafter(bound.astype(dtype), dtype.type(direction * np.inf))
    values = bound + direction
    lowest, highest = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return values.astype(dtype) if lowest <= values.min() and values.max() <= highest else None


@pytest.mark.parametrize("space", LEAVES, ids=identify)
def test_a_spec_ends_where_its_space_ends(space):
    spec = spec_of(space)
    for bound, direction in zip(limits(space), (-1, 1), strict=True):
        whole = np.stack([bound, bound]).astype(space.dtype)
        assert bool(spec.is_in(torch.from_numpy(whole)))
        outside = beyond(bound, direction, space.dtype)
        for place in [] if outside is None else np.ndindex(space.shape):
            crossed = whole.copy()
            crossed[(1, *place)] = outside[place]
            assert not bool(spec.is_in(torch.from_numpy(crossed))), crossed


SMALL = [space for space in LEAVES if space.dtype.kind != "f" and (limits(space)[1] - limits(space)[0]).max() < 10]


@pytest.mark.parametrize("space", SMALL, ids=identify)
def test_a_spec_draws_all_that_a_small_space_has(space):
    low, high = limits(space)
    drawn = torch.stack([spec_of(space).rand() for _ in range(400)]).numpy().reshape(-1, *space.shape)
    assert np.array_equal(drawn.min(axis=0), low)
    assert np.array_equal(drawn.max(axis=0), high)


def test_a_half_bounded_box_keeps_its_kind_through_specs():
    space = LEAVES[-1]
    spec = spec_of(space)
    for other in (spec.clone(), spec.expand(3, *spec.shape), spec.to("cpu"), spec[0], spec.unsqueeze(0)):
        assert bool(other.rand().isfinite().all())
        assert type(other) is type(spec)
    assert type(spec.to("meta")) is type(spec)
    assert spec.to(torch.float64).rand().dtype == torch.float64


def test_no_default_dtype_enters_a_spec():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        for space in LEAVES:
            assert spec_of(space).rand().dtype == torch_dtype(space.dtype)
    finally:
        torch.set_default_dtype(before)


# ---------------------------------------------------------------------- whole environments


@pytest.mark.parametrize("space", ACTIONS, ids=identify)
def test_check_env_specs_passes_for_every_action_space(space):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env_specs(acting(space)[1](batch_size=[3], seed=1))


@pytest.mark.parametrize("space", OBSERVATIONS, ids=identify)
def test_check_env_specs_passes_for_every_observation_space(space):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env_specs(showing(space)[1](batch_size=[3], seed=1))


@pytest.mark.parametrize("space", ACTIONS, ids=identify)
def test_both_sides_agree_for_every_action_space(space):
    reference, fast = acting(space)
    rows = Rows(reference, fast(batch_size=[3], seed=1, expose_state=True))
    for action in actions(rows.fast, 12):
        rows.step(action)


@pytest.mark.parametrize("space", OBSERVATIONS, ids=identify)
def test_both_sides_agree_for_every_observation_space(space):
    reference, fast = showing(space)
    rows = Rows(reference, fast(batch_size=[3], seed=1, expose_state=True))
    for action in actions(rows.fast, 12):
        td = rows.step(action)
        assert bool(fast(batch_size=[3]).observation_spec.is_in(td.select(*rows.fast.observation_keys)))


def test_batch_sizes_reach_every_spec():
    for size in SIZES:
        env = acting(spaces.MultiBinary([2, 3]))[1](batch_size=size)
        assert env.action_spec.shape == (*size, 2, 3)
        assert env.observation_spec.shape == size
        assert env.observation_spec["observation"].shape == (*size, 6)
        assert env.reward_spec.shape == (*size, 1)
        assert set(env.full_done_spec.keys()) == {"done", "terminated", "truncated"}
        assert all(spec.shape == (*size, 1) for spec in env.full_done_spec.values())


# ---------------------------------------------------------------------- what is refused, when the class is made


def declared(action_space, observation_space):
    return Environment("tests/refused-v0", action_space, observation_space, 5)


@pytest.mark.parametrize("space", [*REFUSED, *NESTED], ids=identify)
def test_other_action_spaces_are_refused(space):
    with pytest.raises(SpaceError) as caught:
        declared(space, spaces.Discrete(2))
    supported = SUPPORTED_ACTIONS if not isinstance(space, (spaces.Box, spaces.Discrete)) else "one of the dtypes bool"
    assert str(caught.value).startswith(f"action space: expected {supported}")


@pytest.mark.parametrize("space", REFUSED, ids=identify)
def test_other_observation_spaces_are_refused(space):
    with pytest.raises(SpaceError) as caught:
        declared(spaces.Discrete(2), space)
    supported = SUPPORTED_OBSERVATIONS if not isinstance(space, (spaces.Box, spaces.Discrete)) else "one of the dtypes"
    assert str(caught.value).startswith(f"observation space: expected {supported}")


@pytest.mark.parametrize("space", [*REFUSED, *NESTED], ids=identify)
@pytest.mark.parametrize("whole", [spaces.Dict, spaces.Tuple])
def test_other_parts_of_an_observation_are_refused(space, whole):
    good = spaces.Discrete(2)
    parts = {"good": good, "bad": space} if whole is spaces.Dict else [good, space]
    with pytest.raises(SpaceError) as caught:
        declared(good, whole(parts))
    where = "observation space, key 'bad'" if whole is spaces.Dict else "observation space, [1]"
    supported = SUPPORTED_PARTS if not isinstance(space, (spaces.Box, spaces.Discrete)) else "one of the dtypes"
    assert str(caught.value).startswith(f"{where}: expected {supported}")


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Dict({"in": spaces.Dict({"deep": spaces.Discrete(2)})}), "key 'in': expected Box, Discrete"),
        (spaces.Dict({}), "got an empty Dict"),
        (spaces.Tuple([]), "got an empty Tuple"),
        (spaces.Dict({"reward": spaces.Discrete(2)}), "the key 'reward' is TorchRL's or the framework's own"),
        (spaces.Dict({"info": spaces.Discrete(2)}), "the key 'info' is TorchRL's or the framework's own"),
        (spaces.Dict({"_reset": spaces.Discrete(2)}), "the key '_reset' is TorchRL's or the framework's own"),
        (spaces.Dict({1: spaces.Discrete(2)}), "expected keys that are strings, got 1"),
    ],
    ids=identify,
)
def test_dicts_that_cannot_be_shown_are_refused(space, message):
    with pytest.raises(SpaceError) as caught:
        declared(spaces.Discrete(2), space)
    assert message in str(caught.value)


def test_what_is_no_space_is_refused():
    with pytest.raises(SpaceError, match="action space: expected Discrete"):
        declared(2, spaces.Discrete(2))
