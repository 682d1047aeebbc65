"""``FastVectorEnv`` against Gymnasium's ``SyncVectorEnv`` over references: bits, resets, seeds, memory, frames."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torchrl.envs import TransformedEnv
from vector_worlds import (
    DISABLED,
    LEDGE,
    MODES,
    NEXT_STEP,
    PAIRS,
    TOYWALK,
    actions_of,
    assert_same,
    assert_same_reset,
    assert_same_step,
    both,
    fast_vector,
)

from simulacrum.errors import ActionError, SeedError
from simulacrum.vector import FastVectorEnv

# ---------------------------------------------------------------------- the same as SyncVectorEnv over references


@pytest.mark.parametrize("rows", [1, 3, 7])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PAIRS)
def test_equals_sync_vector_env(name: str, mode: AutoresetMode, rows: int) -> None:
    sync, fast = both(name, rows, mode)
    assert_same_reset(fast.reset(seed=11), sync.reset(seed=11), mode)
    ended = 0
    for actions in actions_of(name, rows, 420 if rows == 1 else 200):
        expected = sync.step(actions)
        assert_same_step(fast.step(actions), expected, mode)
        over = expected[2] | expected[3]
        ended += int(over.sum())
        if mode is DISABLED and over.any():
            expected = sync.reset(options={"reset_mask": over})
            assert_same_reset(fast.reset(options={"reset_mask": over}), expected, mode)
    assert ended >= 2 * rows


@pytest.mark.parametrize(
    ("mode", "compiled"), [*((mode, False) for mode in MODES), (NEXT_STEP, True), (DISABLED, True)]
)
def test_masked_resets_and_graphs_give_the_same(mode: AutoresetMode, compiled: bool) -> None:
    plain, other = fast_vector("ledge", 3, mode), fast_vector("ledge", 3, mode, resets="masked")
    if compiled:
        plain.fast.compile(backend="aot_eager")
    assert_same(other.reset(seed=4), plain.reset(seed=4))
    for actions in actions_of("ledge", 3, 40):
        step = plain.step(actions)
        assert_same(other.step(actions), step)
        over = step[2] | step[3]
        if mode is DISABLED and over.any():
            options = {"reset_mask": over}
            assert_same(other.reset(options=options), plain.reset(options=options))


@pytest.mark.parametrize("mode", MODES)
def test_resets_equal_sync_vector_env(mode: AutoresetMode) -> None:
    """Every form of seed and mask, in the middle of episodes."""
    sync, fast = both("ledge", 3, mode)
    mask = np.array([True, False, True])
    forms: list[tuple[Any, Any]] = [
        (5, None),
        (None, None),
        ([7, 8, 2**63 - 1], None),
        (None, None),
        ([1, None, 3], None),
        ([None, None, None], None),
        (None, mask),
        (20, mask),
        ([30, 31, None], mask),
        ([None, 40, None], ~mask),
        (None, np.ones(3, np.bool_)),
        (0, None),
    ]
    actions = iter(actions_of("ledge", 3, 100))
    for seed, reset_mask in forms:
        options = [None if reset_mask is None else {"reset_mask": reset_mask.copy()} for _ in range(2)]
        expected = sync.reset(seed=seed, options=options[0])
        assert_same_reset(fast.reset(seed=seed, options=options[1]), expected, mode)
        for _ in range(3):
            step = next(actions)
            if mode is DISABLED and fast._over is not None and fast._over.any():
                break
            assert_same_step(fast.step(step), sync.step(step), mode)


def test_arrays_that_cannot_be_written_are_taken() -> None:
    env = fast_vector("toywalk", 2, DISABLED)
    seed, mask, actions = np.array([1, 2]), np.array([True, False]), np.array([0, 1])
    for array in (seed, mask, actions):
        array.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset(seed=seed)
        env.reset(options={"reset_mask": mask})
        env.step(actions)


def test_rows_outside_a_mask_stay_and_no_option_is_removed() -> None:
    env = fast_vector("ledge", 3, DISABLED)
    env.reset(seed=0)
    before = env.step([1, 1, 1])[0]
    options = {"reset_mask": np.array([False, True, False]), "other": 1}
    after, infos = env.reset(options=options)
    assert list(options) == ["reset_mask", "other"]
    for key in before:
        np.testing.assert_array_equal(after[key][[0, 2]], before[key][[0, 2]])
    assert after["place"][1, 1] == 0
    assert infos["_seed"].tolist() == infos["_half"].tolist() == [False, True, False]
    assert env.instance_episodes.tolist() == [0, 1, 0]
    assert infos["pair"][0].tolist() == [0, 0]


# ---------------------------------------------------------------------- seeds


def test_without_a_seed_the_environments_own_begin() -> None:
    seeds = torch.tensor([3, -1, 2**62], dtype=torch.int64)  # -1: the bits of 2**64 - 1
    env = FastVectorEnv(TOYWALK.fast(batch_size=[3], seed=seeds))
    unsigned = [3, 2**64 - 1, 2**62]
    assert env.instance_seeds.dtype == np.uint64
    assert env.instance_seeds.tolist() == unsigned
    observation, infos = env.reset()
    assert infos["seed"].dtype == np.uint64
    assert infos["seed"].tolist() == unsigned
    assert env.instance_episodes.tolist() == [0, 0, 0]
    for row, seed in enumerate(unsigned):
        np.testing.assert_array_equal(TOYWALK.reference().reset(seed=seed)[0], observation[row])
    env.reset()
    assert env.instance_episodes.tolist() == [1, 1, 1]


def test_a_first_reset_may_seed_some_rows() -> None:
    env = FastVectorEnv(TOYWALK.fast(batch_size=[3], seed=torch.tensor([5, 6, 7])))
    assert env.reset(seed=[None, 60, None])[1]["seed"].tolist() == [5, 60, 7]
    env.fast.set_seed(1)  # takes effect at the next full reset
    seeds = env.fast._next_seeds.tolist()
    env.reset(options={"reset_mask": np.array([True, False, False])})
    assert env.instance_episodes.tolist() == [1, 0, 0]
    assert env.reset(seed=[None, None, 9])[1]["seed"].view(np.int64).tolist() == [*seeds[:2], 9]


def test_the_greatest_seeds() -> None:
    env = fast_vector("toywalk", 2)
    assert env.reset(seed=2**64 - 2)[1]["seed"].tolist() == [2**64 - 2, 2**64 - 1]
    assert env.reset(seed=np.int64(4))[1]["seed"].tolist() == [4, 5]
    assert env.reset(seed=np.array([8, 6]))[1]["seed"].tolist() == [8, 6]


BAD_SEEDS = [-1, 2**64 - 1, 2**64, 1.0, "1", [1], [1, 2, 3], [1, -1], [1, 2**64], [1, 2.0], [1, "2"]]


@pytest.mark.parametrize("seed", BAD_SEEDS)
def test_seeds_out_of_range_are_refused(seed: Any) -> None:
    env = fast_vector("toywalk", 2)
    env.reset(seed=3)
    with pytest.raises(SeedError, match="seed"):
        env.reset(seed=seed)
    assert env.instance_seeds.tolist() == [3, 4]  # nothing has changed
    assert env.instance_episodes.tolist() == [0, 0]


def test_np_random_follows_an_int_seed() -> None:
    one, other = fast_vector("toywalk", 2), fast_vector("toywalk", 2)
    one.reset(seed=3)
    other.reset(seed=3)
    assert one.np_random_seed == 3
    assert one.np_random.integers(1 << 30) == other.np_random.integers(1 << 30)


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False], TypeError),
        (torch.tensor([True, False]), TypeError),
        (np.array([1, 0]), TypeError),
        (np.array([True]), ValueError),
        (np.array([[True, False]]), ValueError),
        (np.array([False, False]), ValueError),
    ],
)
def test_masks_that_are_none_are_refused(mask: Any, error: type[Exception]) -> None:
    env = fast_vector("toywalk", 2, DISABLED)
    env.reset(seed=0)
    with pytest.raises(error, match=r"options\['reset_mask'\]: expected a bool array of shape \(2,\)"):
        env.reset(options={"reset_mask": mask})


# ---------------------------------------------------------------------- when a step is out of place


@pytest.mark.parametrize("mode", MODES)
def test_nothing_works_before_a_reset(mode: AutoresetMode) -> None:
    env = FastVectorEnv(TOYWALK.fast(batch_size=[2], seed=0), autoreset_mode=mode, render_mode="ansi")
    for call in (lambda: env.step([0, 0]), env.render, lambda: env.instance_episodes):
        with pytest.raises(ResetNeeded, match="no episode has begun"):
            call()
    with pytest.raises(ResetNeeded, match="outside the mask"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(options={"reset_mask": np.array([True, True])})
    env.step([0, 0])


def test_a_row_that_is_over_cannot_be_stepped_without_autoreset() -> None:
    env = fast_vector("ledge", 3, DISABLED)
    env.reset(seed=0)
    while not (over := env._over).any():
        env.step([2, 0, 1])
    rows = over.nonzero()[0].tolist()
    assert 0 < len(rows) < 3
    state = env.fast.get_state()
    with pytest.raises(ResetNeeded) as caught:
        env.step([1, 1, 1])
    assert f"rows {rows} are over" in str(caught.value)
    assert "reset(options={'reset_mask': mask})" in str(caught.value)
    assert (env.fast.get_state() == state).all()
    env.reset(options={"reset_mask": ~over})  # the wrong ones
    with pytest.raises(ResetNeeded, match=f"rows \\{rows}"):
        env.step([1, 1, 1])
    env.reset(options={"reset_mask": over})
    env.step([1, 1, 1])


def test_a_waiting_rows_action_is_ignored_whatever_it_is() -> None:
    sync, fast = both("point", 3, NEXT_STEP)
    sync.reset(seed=0)
    fast.reset(seed=0)
    waiting, seen = np.zeros(3, np.bool_), 0
    for actions in actions_of("point", 3, 60):
        wild = actions.copy()
        wild[waiting] = [np.nan, 99.0]
        step = fast.step(wild)
        assert_same_step(step, sync.step(wild), NEXT_STEP)
        assert not step[1][waiting].any()
        seen += int(waiting.sum())
        waiting = step[2] | step[3]
        wild[~waiting] = np.nan
        if not waiting.all():
            with pytest.raises(ActionError, match=f"row {(~waiting).argmax()}"):
                fast.step(wild)
    assert seen > 10


def test_a_waiting_rows_action_need_not_fit_the_dtype() -> None:
    env = fast_vector("blink", 2)
    env.reset(seed=0)
    env.step([1, 1])
    env.step(np.array([2**63, 2**64 - 1], np.uint64))
    with pytest.raises(ActionError, match="got 9223372036854775808 in row 0"):
        env.step(np.array([2**63, 0], np.uint64))


# ---------------------------------------------------------------------- memory


def arrays(value: Any) -> list[np.ndarray]:
    """Every array that holds numbers."""
    if isinstance(value, dict):
        return arrays(list(value.values()))
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [array for part in value for array in arrays(part)]
    return [value] if isinstance(value, np.ndarray) else []


def spoil(value: Any) -> None:
    """Write to every array."""
    for array in arrays(value):
        array[...] = ~array if array.dtype == np.bool_ else array + 1 if array.dtype.kind in "iu" else np.nan


def assert_all_apart(value: Any) -> None:
    """No two arrays, and no two elements of one, share memory."""
    assert all(array.flags.c_contiguous for array in arrays(value))
    for one, other in itertools.combinations(arrays(value), 2):
        assert not np.may_share_memory(one, other)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["ledge", "point"])
def test_arrays_belong_to_the_caller(name: str, mode: AutoresetMode) -> None:
    """What was returned is never written again; what is written to it, or to actions and masks, changes nothing."""
    env, twin = fast_vector(name, 3, mode), fast_vector(name, 3, mode)
    seed, mask = np.array([4, 5, 6]), np.ones(3, np.bool_)
    kept = [(env.reset(seed=seed), copy.deepcopy(twin.reset(seed=seed)))]
    spoil(env.reset(seed=seed, options={"reset_mask": mask}))
    spoil([seed, mask])
    for k, actions in enumerate(actions_of(name, 3, 30)):
        step, expected = env.step(actions), twin.step(actions.copy())
        assert_same(step, expected)
        assert_all_apart(step)
        over = expected[2] | expected[3]
        kept.append((step, copy.deepcopy(expected)))
        if k % 2:
            assert_same(*kept[-2])
            spoil(kept.pop()[0])
        spoil(actions)
        if mode is DISABLED and over.any():
            mask = over.copy()
            first = env.reset(options={"reset_mask": mask})
            assert_same(first, twin.reset(options={"reset_mask": over}))
            assert_all_apart(first)
            spoil([mask, first])
    for one, other in kept:
        assert_same(one, other)


def test_numpy_sees_the_tensors_memory() -> None:
    env = fast_vector("toywalk", 2)
    env.reset(seed=0)
    outcomes: list[Any] = []
    step = env.fast.plain_step
    env.fast.plain_step = lambda *arguments: outcomes.append(step(*arguments)) or outcomes[-1]
    observation, _, terminated, *_ = env.step([0, 1])
    assert observation.ctypes.data == outcomes[0].observation["observation"].data_ptr()
    assert terminated.ctypes.data == outcomes[0].terminated.data_ptr()


# ---------------------------------------------------------------------- the attributes of a VectorEnv


@pytest.mark.parametrize("mode", MODES)
def test_attributes(mode: AutoresetMode) -> None:
    sync, fast = both("ledge", 3, mode)
    assert isinstance(fast, gymnasium.vector.VectorEnv)
    assert fast.num_envs == 3
    assert fast.unwrapped is fast
    assert fast.autoreset_mode is fast.metadata["autoreset_mode"] is mode
    assert FastVectorEnv(fast.fast, autoreset_mode=mode.value).autoreset_mode is mode
    for name in ("action_space", "observation_space", "single_action_space", "single_observation_space"):
        assert getattr(fast, name) == getattr(sync, name)
    assert fast.single_action_space is not LEDGE.action_space  # sampling here moves nobody else's generator
    assert fast.metadata["render_fps"] == sync.metadata["render_fps"]
    fast.metadata["render_modes"].append("mine")
    other = fast_vector("ledge", 2)
    assert other.metadata["render_modes"] == ["ansi", "rgb_array"]
    assert other.autoreset_mode is NEXT_STEP
    assert repr(fast) == "FastVectorEnv(num_envs=3)"
    fast.spec = gymnasium.envs.registration.EnvSpec("test/ledge-v0")
    assert repr(fast) == "FastVectorEnv(test/ledge-v0, num_envs=3)"
    assert other.spec is None
    fast.close()
    fast.close()
    assert fast.closed
    assert fast.fast.is_closed


@pytest.mark.parametrize("name", PAIRS)
def test_outputs_are_elements_of_their_spaces(name: str) -> None:
    env = fast_vector(name, 4)
    observation, _ = env.reset(seed=0)
    for actions in actions_of(name, 4, 70):
        assert observation in env.observation_space
        observation, rewards, terminated, truncated, _ = env.step(actions)
        assert rewards.dtype == np.float64
        assert terminated.dtype == truncated.dtype == np.bool_
        assert rewards.shape == terminated.shape == truncated.shape == (4,)


def test_arguments_out_of_place_are_refused() -> None:
    with pytest.raises(ValueError, match=r"batch_size: expected one size \[N\], got \[2, 3\]"):
        FastVectorEnv(TOYWALK.fast(batch_size=[2, 3]))
    with pytest.raises(ValueError, match="batch_size"):
        FastVectorEnv(TOYWALK.fast(batch_size=[]))
    env = TOYWALK.fast(batch_size=[2])
    with pytest.raises(TypeError, match="expected a FastEnv, bare of transforms, got TransformedEnv"):
        FastVectorEnv(TransformedEnv(env))
    with pytest.raises(ValueError, match="AutoresetMode"):
        FastVectorEnv(env, autoreset_mode="never")
    with pytest.raises(ValueError, match="render_mode: expected None or one of"):
        FastVectorEnv(env, render_mode="human")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["toywalk", "ledge"])
def test_copies_go_on_by_themselves(name: str, mode: AutoresetMode, copied: Any) -> None:
    env = fast_vector(name, 3, mode)
    env.spec = gymnasium.envs.registration.EnvSpec("test/env-v0")
    assert_same(copied(env).reset(), copied(env).reset())
    env.reset(seed=2)
    steps = actions_of(name, 3, 40)
    over = np.zeros(3, np.bool_)
    for actions in steps:
        if over.any():
            break
        over = np.logical_or(*env.step(actions)[2:4])
    if mode is DISABLED and over.any():
        env.reset(options={"reset_mask": over})
    twin = copied(env)
    assert twin.spec == env.spec
    state = twin.fast.get_state()
    expected = env.step(steps[0])
    assert (twin.fast.get_state() == state).all()
    assert_same(twin.step(steps[0]), expected)


# ---------------------------------------------------------------------- frames


@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["toywalk", "forager"])
def test_frames_equal_the_references(name: str, mode: AutoresetMode, render_mode: str) -> None:
    reference, fast = PAIRS[name]
    sync = SyncVectorEnv([lambda: reference(render_mode=render_mode)] * 2, autoreset_mode=mode)
    env = FastVectorEnv(fast(batch_size=[2]), autoreset_mode=mode, render_mode=render_mode)
    assert env.render_mode == render_mode
    sync.reset(seed=0)
    env.reset(seed=0)
    ended = False
    for actions in actions_of(name, 2, 150):
        assert_same(env.render(), sync.render())
        if ended:
            break
        sync.step(actions)
        ended = bool(np.logical_or(*env.step(actions)[2:4]).any())
    assert ended


def test_without_a_render_mode_nothing_is_drawn() -> None:
    env = fast_vector("toywalk", 2)
    env.reset()
    with pytest.warns(UserWarning, match="no render_mode was given"):
        assert env.render() is None
