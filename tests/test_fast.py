"""The fast side: seeds and episodes, resets, ends, batch sizes, state in and out."""

import warnings
from dataclasses import replace

import pytest
import torch
from environments import (
    COUNTDOWN,
    FORAGER,
    TOYWALK,
    CountdownFast,
    CountdownReference,
    CountdownRows,
    Rows,
    Slots,
    actions,
    frozen,
    steps,
    trace,
)
from tensordict import TensorDict
from torchrl.envs.utils import check_env_specs

from simulacrum import FastEnv, tensor_state
from simulacrum.errors import SeedError, SpecError, StateError
from simulacrum.rng.tensor import Draw, instance_seeds
from simulacrum.rng.threefry import INSTANCE_COUNTER, seed_key, threefry2x32

RESETS = ["rows", "masked"]
PAIRS = [(CountdownReference, CountdownFast), (TOYWALK.reference, TOYWALK.fast), (FORAGER.reference, FORAGER.fast)]


class Endless(CountdownFast):
    environment = replace(COUNTDOWN, max_episode_steps=None)

    def transition(self, state, action, draw):
        return CountdownRows(left=state.left, gained=state.gained), state.gained, state.left < 0


def countdown(rows=4, **options):
    return CountdownFast(batch_size=[rows], **{"seed": 3, "expose_state": True, **options})


def masked(env, td, *rows):
    """A TensorDict that resets some rows."""
    mask = torch.zeros(env.numel(), dtype=torch.bool)
    mask[list(rows)] = True
    return td.clone().set("_reset", mask.reshape(*env.batch_size, 1))


def clock(env):
    """(episode, t) of each row."""
    values = env.get_state()["clock"]
    return list(zip(values["episode"].reshape(-1).tolist(), values["t"].reshape(-1).tolist(), strict=True))


# ---------------------------------------------------------------------- both sides


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize(("reference", "fast"), PAIRS)
def test_both_sides_agree_bit_by_bit(reference, fast, resets):
    rows = Rows(reference, fast(batch_size=[5], seed=1, resets=resets, expose_state=True))
    for action in actions(rows.fast, 30):
        rows.step(action)


@pytest.mark.parametrize("size", [(), (2, 3)], ids=str)
def test_both_sides_agree_for_every_batch_size(size):
    rows = Rows(CountdownReference, CountdownFast(batch_size=size, seed=1, expose_state=True))
    for action in actions(rows.fast, 12):
        rows.step(action)


@pytest.mark.parametrize("resets", RESETS)
@pytest.mark.parametrize("expose_state", [False, True])
@pytest.mark.parametrize("size", [(), (4,), (2, 3)], ids=str)
def test_check_env_specs_passes(size, expose_state, resets):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env_specs(CountdownFast(batch_size=size, expose_state=expose_state, resets=resets))


def test_batches_are_rows_counted_row_major():
    flat = trace(CountdownFast(batch_size=[6], seed=5), 8)
    grid = trace(CountdownFast(batch_size=[2, 3], seed=5), 8)
    for one, other in zip(flat, grid, strict=True):
        assert {name: (value[0], value[2]) for name, value in one.items()} == {
            name: (value[0], value[2]) for name, value in other.items()
        }
    single = [CountdownFast(seed=5, first_instance=row) for row in range(6)]
    whole = CountdownFast(batch_size=[6], seed=5)
    td = whole.reset()
    for row, env in enumerate(single):
        assert frozen(env.reset()) == frozen(td[row])


def test_a_batch_size_may_be_a_number():
    assert CountdownFast(batch_size=3).batch_size == CountdownFast(batch_size=[3]).batch_size == (3,)


@pytest.mark.parametrize("size", [0, (2, 0), -1, True, 2.0, "2", None, [[2]]], ids=str)
def test_a_batch_size_without_rows_or_of_no_numbers_is_refused(size):
    with pytest.raises(ValueError, match="batch_size: expected"):
        CountdownFast(batch_size=size)


def test_a_switch_that_is_none_is_refused():
    with pytest.raises(ValueError, match="validate_actions: expected None, True or False, got 'no'"):
        CountdownFast(validate_actions="no")


def test_an_unknown_way_of_resetting_is_refused():
    with pytest.raises(ValueError, match="resets: expected one of"):
        CountdownFast(resets="never")


# ---------------------------------------------------------------------- seeds


def test_an_int_seed_gives_every_instance_its_own():
    env = countdown(seed=9)
    env.reset()
    words = [threefry2x32(*seed_key(9), row, INSTANCE_COUNTER) for row in range(4)]
    assert [int(seed) % 2**64 for seed in env.instance_seeds] == [x0 << 32 | x1 for x0, x1 in words]
    assert torch.equal(env.get_state()["clock", "seed"], env.instance_seeds)


def test_an_episode_draws_with_its_own_seed_number_and_step():
    env = countdown()
    env.reset()
    for episode in range(3):
        draw = Draw.at(env.instance_seeds, torch.full((4,), episode), torch.zeros(4, dtype=torch.int64))
        assert torch.equal(env.get_state()["state", "left"], draw.randint(Slots.LEFT, 3) + 2)
        env.reset()


def test_workers_share_a_run_by_their_first_instance():
    whole = trace(countdown(4), 8)
    seeds = countdown(4).instance_seeds
    for first in (0, 2):
        part = countdown(2, first_instance=first)
        assert torch.equal(part.instance_seeds, seeds[first : first + 2])
    parts = [steps(countdown(4), 8), steps(countdown(4), 8)]
    assert [frozen(torch.cat([a[:2], b[2:]])) for a, b in zip(*parts, strict=True)] == whole


def test_set_seed_counts_from_the_first_instance_too():
    env = countdown(2, first_instance=2, seed=0)
    env.set_seed(3)
    assert torch.equal(env.instance_seeds, countdown(4).instance_seeds[2:])


def test_set_seed_takes_effect_at_the_next_full_reset():
    env = countdown(seed=1)
    td = env.reset()
    env.set_seed(3)
    assert torch.equal(env.instance_seeds, countdown(seed=1).instance_seeds)
    td = env.reset(masked(env, td, 0, 2), set_state=False)
    assert clock(env) == [(1, 0), (0, 0), (1, 0), (0, 0)]
    td = env.reset(masked(env, td, 0, 1, 2, 3), set_state=False)
    assert clock(env) == [(2, 0), (1, 0), (2, 0), (1, 0)]
    env.step(td.set("action", actions(env, 1)[0]))
    assert torch.equal(env.instance_seeds, countdown(seed=1).instance_seeds)
    assert frozen(env.reset()) == frozen(countdown(seed=3).reset())
    assert clock(env) == [(0, 0)] * 4
    env.reset()
    assert clock(env) == [(1, 0)] * 4


def test_construction_with_a_seed_is_set_seed():
    env = countdown(seed=8)
    env.set_seed(3)
    assert trace(env, 8) == trace(countdown(seed=3), 8)


@pytest.mark.parametrize("size", [(4,), (2, 2)], ids=str)
def test_a_tensor_holds_the_bits_of_the_instances_seeds(size):
    seeds = torch.tensor([0, -1, 2**63 - 1, -(2**63)])
    env = CountdownFast(batch_size=size, seed=seeds.reshape(size), expose_state=True)
    assert torch.equal(env.instance_seeds, seeds)
    rows = Rows(CountdownReference, env)
    assert [env.get_state()["clock"]["seed"] for env in rows.references] == [0, 2**64 - 1, 2**63 - 1, 2**63]
    kept = env.instance_seeds
    seeds += 1
    kept += 1
    assert env.instance_seeds.tolist() == [0, -1, 2**63 - 1, -(2**63)]


def test_without_a_seed_one_comes_from_the_operating_system():
    torch.manual_seed(0)
    one = countdown(seed=None)
    torch.manual_seed(0)
    other = countdown(seed=None)
    assert len({*one.instance_seeds.tolist(), *other.instance_seeds.tolist()}) == 8
    other.set_seed(None)
    assert set(other.instance_seeds.tolist()).isdisjoint(one.instance_seeds.tolist())
    again = CountdownFast(batch_size=[4], seed=one.instance_seeds)
    assert frozen(again.reset()) == frozen(one.reset().exclude("state", "clock"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, r"seed: expected an integer in 0\.\.2\*\*64-1, got -1"),
        ({"seed": 2**64}, r"seed: expected an integer in 0\.\.2\*\*64-1"),
        ({"seed": 1.5}, "seed: expected an integer"),
        ({"seed": torch.zeros(3, dtype=torch.int64)}, r"int64 with 4 elements, got torch.int64 \[3\]"),
        ({"seed": torch.zeros(4, dtype=torch.int32)}, r"int64 with 4 elements, got torch.int32 \[4\]"),
        ({"first_instance": 1.0}, r"first_instance: expected an int, got 1\.0"),
        ({"first_instance": True}, "first_instance: expected an int, got True"),
        ({"first_instance": -1}, r"first_instance: expected instances in 0\.\.2\*\*32-1, got -1\.\.2"),
        ({"first_instance": 2**32 - 3}, r"got 4294967293\.\.4294967296"),
    ],
)
def test_seeds_out_of_range_are_refused(options, message):
    with pytest.raises(SeedError, match=message):
        countdown(**options)


def test_the_last_instance_and_the_greatest_seed_are_taken():
    env = countdown(first_instance=2**32 - 4, seed=2**64 - 1)
    expected = instance_seeds(2**64 - 1, torch.arange(2**32 - 4, 2**32))
    assert torch.equal(env.instance_seeds, expected)


def test_a_refused_seed_changes_nothing():
    env = countdown()
    with pytest.raises(SeedError):
        env.set_seed(-1)
    assert trace(env, 4) == trace(countdown(), 4)


# ---------------------------------------------------------------------- resets and ends


@pytest.mark.parametrize("resets", RESETS)
def test_a_mask_resets_its_rows_alone(resets):
    env = countdown(resets=resets)
    td = env.reset()
    td = env.step_mdp(env.step(td.set("action", actions(env, 1)[0])))
    before = env.get_state()
    told = env.reset(masked(env, td, 1, 3), set_state=False)
    assert clock(env) == [(0, 1), (1, 0), (0, 1), (1, 0)]
    for row in (0, 2):
        assert frozen(env.get_state()[row]) == frozen(before[row])
        assert frozen(told[row].select(*env.observation_keys)) == frozen(td[row].select(*env.observation_keys))
    begun = countdown()
    begun.reset()
    again = begun.reset()
    for row in (1, 3):
        assert frozen(told[row].select(*env.observation_keys)) == frozen(again[row].select(*env.observation_keys))


@pytest.mark.parametrize("rows", [(), (0,), (0, 1, 2, 3)], ids=str)
def test_both_ways_of_resetting_give_the_same_bits(rows):
    told = []
    for resets in RESETS:
        env = countdown(resets=resets)
        td = env.reset()
        td = env.step_mdp(env.step(td.set("action", actions(env, 1)[0])))
        told.append(frozen(env.reset(masked(env, td, *rows), set_state=False)))
    assert told[0] == told[1]
    assert trace(countdown(resets="rows"), 20) == trace(countdown(resets="masked"), 20)


def test_resets_by_rows_compute_the_finished_rows_alone():
    asked = []

    class Counting(CountdownFast):
        def initial(self, draw):
            asked.append(draw.rows)
            return super().initial(draw)

    env = Counting(batch_size=[50], seed=0)
    asked.clear()
    ended = [int(td["next", "done"].sum()) for td in steps(env, 6)]
    assert asked == [50, *(count for count in ended if count)]
    assert 0 < min(asked) < 50


def test_terminated_and_truncated_are_told_apart_and_together():
    kinds = set()
    for td in steps(countdown(40), 6):
        after = td["next"]
        terminated, truncated = after["state", "left"] <= 0, after["clock", "t"] >= 3
        assert torch.equal(after["terminated"], terminated.unsqueeze(-1))
        assert torch.equal(after["truncated"], truncated.unsqueeze(-1))
        assert torch.equal(after["done"], (terminated | truncated).unsqueeze(-1))
        kinds.update(zip(terminated.tolist(), truncated.tolist(), strict=True))
    assert kinds == {(False, False), (False, True), (True, False), (True, True)}


def test_without_a_cap_no_episode_is_truncated():
    env = Endless(batch_size=[2], seed=0, expose_state=True)
    td = env.reset()
    td.set(("clock", "t"), torch.full((2,), 2**30))
    td = env.reset(td, set_state=True)
    for action in actions(env, 10):
        td = env.step(td.set("action", action))
        assert not td["next", "done"].any()
        td = env.step_mdp(td)


def test_a_step_shows_the_terminal_observation_and_then_the_next_first_one():
    env = countdown(30)
    td = env.reset()
    ends = 0
    for action in actions(env, 6):
        done, td = env.step_and_maybe_reset(td.set("action", action))
        over = done["next", "done"].squeeze(-1)
        ends += int(over.sum())
        assert torch.equal(done["next", "clock", "episode"], done["clock", "episode"])
        assert torch.equal(td["clock", "episode"], done["clock", "episode"] + over)
        assert torch.equal(done["next", "left"], done["next", "state", "left"].to(torch.int64))
        assert torch.equal(td["left"], td["state", "left"].to(torch.int64))
        assert (td["clock", "t"][over] == 0).all()
        assert (done["next", "clock", "t"] > 0).all()
        assert not any(td[name].any() for name in ("done", "terminated", "truncated"))
    assert ends > 10


def test_masks_and_infos_are_shown_and_specified():
    env = countdown(30)
    for td in steps(env, 6):
        for part in (td, td["next"]):
            left, t = part["state", "left"], part["clock", "t"].to(torch.int32)
            expected = torch.stack([torch.ones_like(left, dtype=torch.bool), left > 1, left > 2], -1)
            assert torch.equal(part["action_mask"], expected)
            assert torch.equal(part["info", "seen"], torch.stack([left, t], -1))
    assert env.observation_spec["action_mask"].shape == (30, 3)
    assert env.observation_spec["info", "seen"].dtype == torch.int32


def test_without_a_mask_and_infos_none_are_shown():
    env = TOYWALK.fast(batch_size=[2])
    assert set(env.reset().keys()) == {"observation", "done", "terminated", "truncated"}


def test_a_step_needs_an_episode():
    env = countdown()
    with pytest.raises(StateError, match=r"no episode has begun; call reset\(\) first"):
        env.step(TensorDict({"action": torch.zeros(4, dtype=torch.int64)}, [4]))
    with pytest.raises(StateError, match="no episode has begun"):
        env.get_state()


# ---------------------------------------------------------------------- classes


def test_a_class_without_an_environment_is_refused():
    with pytest.raises(SpecError, match=r"Bare.environment: expected a simulacrum.Environment"):

        class Bare(FastEnv[CountdownRows]):
            pass


def test_a_class_without_its_state_is_refused():
    with pytest.raises(SpecError, match=r"expected its State as a parameter: class Bare\(FastEnv\[State\]\)"):

        class Bare(FastEnv):
            environment = COUNTDOWN


def test_a_state_without_t_is_refused():
    @tensor_state
    class Timeless:
        left: torch.Tensor

    with pytest.raises(SpecError, match="expected a last field t"):

        class Bare(FastEnv[Timeless]):
            environment = COUNTDOWN
