"""TorchRL's transforms, collectors and ``GymWrapper`` on our environments, beside the bare fast side and references."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from environments import FORAGER, TOYWALK, CountdownFast, frozen, steps
from gymnasium.vector import SyncVectorEnv
from registered import registered
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
)
from torch import nn
from torchrl._utils import seed_generator
from torchrl.collectors import Collector, MultiAsyncCollector, MultiSyncCollector
from torchrl.data import Binary, Composite, LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import (
    ActionMask,
    CatFrames,
    DTypeCastTransform,
    EnvBase,
    EnvCreator,
    GymEnv,
    GymWrapper,
    ObservationNorm,
    ParallelEnv,
    RewardSum,
    StepCounter,
    TransformedEnv,
    UnsqueezeTransform,
    VecNorm,
    VecNormV2,
    default_info_dict_reader,
)
from torchrl.envs.transforms import Compose
from torchrl.envs.utils import check_env_specs
from torchrl.modules import EGreedyModule, MaskedCategorical, QValueModule

from simulacrum import bits
from simulacrum.collector import BatchCollector
from simulacrum.spec import Package
from simulacrum.vector import FastVectorEnv

GATES = Package.read(Path(__file__).resolve().parent / "packages" / "gates")
SHOWN: dict[str, tuple[Any, str]] = {  # environments, and what of theirs is transformed
    **{f"toywalk {form}": (make, "observation") for form, make in TOYWALK.forms.items()},
    "forager": (FORAGER.fast, "observation"),
    "countdown": (CountdownFast, "pair"),
}
ROWS, STEPS = 5, 150

# TorchRL's own words on a class that it means to replace, and on one that it calls experimental with a batch size
pytestmark = [
    pytest.mark.filterwarnings("ignore:This class is to be deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Support of VecNormV2:UserWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def quick_workers() -> Iterator[None]:
    """Fresh processes from one that has imported TorchRL: as safe as spawned ones, and started ten times as fast."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_forkserver_preload(["torchrl.envs", "torchrl.collectors", "simulacrum.fast"])
    multiprocessing.set_start_method("forkserver", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


@pytest.fixture
def spawned(quick_workers: None) -> Iterator[None]:
    """Workers that are spawned, as TorchRL does where nothing is said."""
    multiprocessing.set_start_method("spawn", force=True)
    yield
    multiprocessing.set_start_method("forkserver", force=True)


def beside(name: str, *transforms: Any) -> Iterator[tuple[TensorDictBase, TensorDictBase]]:
    """The steps of the bare environment and of the transformed one, under the same seeds and actions."""
    make, _ = SHOWN[name]
    bare, env = (make(batch_size=[ROWS], seed=1, expose_state=True) for _ in range(2))
    env = TransformedEnv(env, Compose(*transforms))
    return zip(steps(bare, STEPS), steps(env, STEPS), strict=True)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bits.same(one.numpy(), other.numpy())


# ---------------------------------------------------------------------- transforms


@pytest.mark.parametrize("padding", ["same", "constant"])
@pytest.mark.parametrize("own_axis", [False, True])
@pytest.mark.parametrize("name", SHOWN)
def test_frames_are_those_of_a_rows_own_episode(name: str, own_axis: bool, padding: str) -> None:
    key, frames, ended = SHOWN[name][1], 3, [0, 0]
    wide = [UnsqueezeTransform(-2, in_keys=[key])] if own_axis else []
    cat = CatFrames(frames, -2 if own_axis else -1, [key], padding=padding, padding_value=-7)
    seen: list[list[torch.Tensor]] = [[] for _ in range(ROWS)]
    for bare, got in beside(name, *wide, cat):
        for row, begins in enumerate((bare["clock", "t"] == 0).tolist()):
            first = bare[key][row]
            if begins:
                seen[row] = [first if padding == "same" else torch.full_like(first, -7)] * (frames - 1)
                seen[row].append(first)
            last = [*seen[row][1:], bare["next", key][row]]
            for shown, expected in ((got[key], seen[row]), (got["next", key], last)):
                assert same(shown[row], torch.stack(expected) if own_axis else torch.cat(expected))
            seen[row] = last
        over = bare["next", "done"]
        ended[0] += int(over.any())
        ended[1] += int(over.any() and not over.all())
    assert min(ended) > 1  # some rows ended while others went on


@pytest.mark.parametrize("padding", ["same", "constant"])
def test_frames_made_from_a_batch_are_those_of_the_environment(padding: str) -> None:
    """As a replay buffer makes them, from observations that it holds once: cut where episodes end in the batch."""
    keys: list[Any] = ["observation", ("next", "observation")]
    made: list[Any] = ["frames", ("next", "frames")]
    online = CatFrames(3, -1, keys[:1], made[:1], padding=padding)
    env = TransformedEnv(TOYWALK.fast(batch_size=[ROWS], seed=1), online)
    batch = next(iter(BatchCollector(env, env.rand_action, frames_per_batch=ROWS * STEPS)))
    assert batch["next", "done"].sum() > ROWS
    again = CatFrames(3, -1, keys, made, padding=padding)(batch.exclude(*made))
    for key in made:
        assert same(again[key], batch[key])


@pytest.mark.parametrize("name", SHOWN)
def test_observations_are_normalised_by_given_numbers(name: str) -> None:
    key = SHOWN[name][1]
    out = ["scaled"]
    norm = ObservationNorm(torch.tensor(0.25), torch.tensor(3.0), [key], out, standard_normal=True)
    for bare, got in beside(name, norm):
        for root, shown in ((bare, got), (bare["next"], got["next"])):
            assert same(shown["scaled"], (root[key] - torch.tensor(0.25)) / torch.tensor(3.0))
            assert frozen(shown.select(*root.keys(True, True))) == frozen(root)


def test_observations_are_normalised_by_numbers_that_were_measured() -> None:
    env = TransformedEnv(TOYWALK.fast(batch_size=[ROWS], seed=1), ObservationNorm(in_keys=["observation"]))
    torch.manual_seed(0)
    env.transform.init_stats(num_iter=STEPS, reduce_dim=(0, 1), cat_dim=1)
    bare = TOYWALK.fast(batch_size=[ROWS], seed=1)
    torch.manual_seed(0)
    seen, frames = [], 0
    while frames < STEPS:  # TorchRL counts rows, and its rollouts end with the first episode
        seen.append(bare.rollout(STEPS)["observation"])
        frames += seen[-1].shape[:2].numel()
    whole = torch.cat(seen, 1)
    assert same(env.transform.loc, -whole.mean((0, 1)) / whole.std((0, 1)))
    assert same(env.transform.scale, 1 / whole.std((0, 1)))


NORMS = {
    "first": partial(VecNorm, decay=0.99),
    "second": partial(VecNormV2, decay=0.99),
    "second, rows together": partial(VecNormV2, decay=0.99, reduce_batch_dims=True),
}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["toywalk tensor", "toywalk kernel", "forager"])
def test_running_statistics_are_of_what_the_bare_environment_shows(name: str, norm: str) -> None:
    """Each batch of observations is counted once, and where some rows end all rows once more, as the next root shows
    them."""
    key, partly, before, last = SHOWN[name][1], 0, torch.ones(ROWS, dtype=torch.bool), torch.zeros(0)
    inside, alone = (NORMS[norm](in_keys=[key]) for _ in range(2))

    def seen(td: TensorDictBase) -> torch.Tensor:
        shown: torch.Tensor = alone._step(td.select(key), td.select(key))[key]  # as an environment calls it
        return shown

    for bare, got in beside(name, inside):
        if before.any():
            first = seen(bare)
            assert same(got[key][before], first[before])
        if len(last):
            assert same(got[key][~before], last[~before])
        last = seen(bare["next"])
        assert same(got["next", key], last)
        before = bare["next", "done"].squeeze(-1)
        partly += int(before.any() and not before.all())
    assert partly > 1
    got, expected = (frozen(TensorDict(each.state_dict()["_extra_state"])) for each in (inside, alone))
    assert got == expected
    assert len(got) == 3


def rewarded(norm: Any) -> EnvBase:
    return TransformedEnv(TOYWALK.fast(batch_size=[2], seed=3), norm(in_keys=["reward"], decay=1.0))


@pytest.mark.parametrize("norm", [VecNorm, partial(VecNormV2, reduce_batch_dims=True)], ids=["first", "second"])
def test_workers_share_running_statistics(norm: Any) -> None:
    """Toywalk's rewards are whole numbers, so that their sums do not depend on the order in which workers come."""

    def sums() -> list[float]:
        """Count, sum and sum of squares."""
        values = [float(value) for value in creator.state_dict()["_extra_state"].values()]
        if norm is VecNorm:
            return [values[2], *values[:2]]
        return [values[2], values[0] * values[2], values[1] * values[2]]  # it keeps means

    creator = EnvCreator(partial(rewarded, norm))  # it makes one environment, and takes a step with it
    before, env = sums(), ParallelEnv(2, creator)
    try:
        env.set_seed(7)
        batch = env.rollout(60, break_when_any_done=False)
        counted = [after - one for after, one in zip(sums(), before, strict=True)]
    finally:
        env.close()
    rewards = []
    for seed, chosen in zip((7, seed_generator(7)), batch["action"], strict=True):
        bare = TOYWALK.fast(batch_size=[2], seed=seed)
        td = bare.reset()
        for action in chosen.unbind(1):
            stepped, td = bare.step_and_maybe_reset(td.set("action", action.clone()))
            rewards.append(stepped["next", "reward"].double())
    whole = torch.cat(rewards)
    assert len(whole) == 2 * 2 * 60
    assert len(whole.unique()) == 2
    expected = [len(whole), whole.sum().item(), whole.square().sum().item()]
    assert counted == (expected if norm is VecNorm else pytest.approx(expected, rel=1e-4))


# ---------------------------------------------------------------------- action masks

MASKED: dict[str, Any] = {"countdown": CountdownFast, **{f"gates {form}": make for form, make in GATES.forms.items()}}


def legal(batch: TensorDictBase) -> torch.Tensor:
    """Which actions were legal."""
    return batch["action_mask"].gather(-1, batch["action"].unsqueeze(-1))


@pytest.mark.parametrize("kind", [Collector, BatchCollector])
@pytest.mark.parametrize("name", MASKED)
def test_random_actions_keep_to_the_mask(name: str, kind: type[Collector]) -> None:
    """Of every row, also where rows begin anew; what the masked environment shows is what the bare one does."""
    env, bare = (MASKED[name](batch_size=[ROWS], seed=1) for _ in range(2))
    env = TransformedEnv(env, ActionMask())
    batch = next(iter(kind(env, env.rand_action, frames_per_batch=ROWS * STEPS)))
    assert legal(batch).all()
    actions = batch["action"].flatten()
    for action in range(3):
        allowed = batch["action_mask"][..., action].flatten()
        assert 0 < (actions[allowed] == action).sum() < allowed.sum()
    assert not batch["action_mask"].all()
    assert_replayed(bare, batch)


def test_a_collectors_own_random_actions_do_not() -> None:
    """TorchRL's ``policy=None`` draws from a copy of the specs, made when the collector is: no mask reaches it."""
    env = TransformedEnv(CountdownFast(batch_size=[ROWS], seed=1), ActionMask())
    assert not legal(next(iter(Collector(env, None, frames_per_batch=ROWS * STEPS)))).all()


def test_policies_keep_to_the_mask() -> None:
    torch.manual_seed(0)
    scores = TensorDictModule(nn.Linear(2, 3), in_keys=["pair"], out_keys=["logits"])
    drawn = ProbabilisticTensorDictModule(
        {"logits": "logits", "mask": "action_mask"}, ["action"], distribution_class=MaskedCategorical
    )
    cast = DTypeCastTransform(torch.int32, torch.float32, in_keys=["pair"])
    values = TensorDictModule(nn.Linear(2, 3), in_keys=["pair"], out_keys=["action_value"])
    spec = CountdownFast(batch_size=[ROWS]).action_spec
    best = QValueModule(action_space="categorical", action_mask_key="action_mask")
    wandering = EGreedyModule(spec, eps_init=0.5, eps_end=0.5, action_mask_key="action_mask")
    for policy in (
        ProbabilisticTensorDictSequential(scores, drawn),
        TensorDictSequential(values, best),
        TensorDictSequential(values, best, wandering),
    ):
        env = TransformedEnv(CountdownFast(batch_size=[ROWS], seed=1), cast.clone())
        batch = next(iter(BatchCollector(env, policy, frames_per_batch=ROWS * STEPS)))
        assert legal(batch).all()
        assert len(batch["action"].unique()) > 1


def assert_replayed(env: EnvBase, batch: TensorDictBase) -> None:
    """The environment shows what a batch [rows, time] holds, when it is given the batch's actions."""
    td = env.reset()
    for got in batch.unbind(-1):
        stepped, td = env.step_and_maybe_reset(td.set("action", got["action"].clone()))
        expected = frozen(stepped)
        shown = frozen(got.select(*expected))
        assert shown == expected
        assert len(shown) > 9  # observations, flags, the reward


# ---------------------------------------------------------------------- collectors


def counted(first_instance: int = 0, rows: int = 2) -> EnvBase:
    """Rows of toywalk with their clocks, so that what a worker sends tells whose it is."""
    env = TOYWALK.fast(batch_size=[rows], seed=3, first_instance=first_instance, expose_state=True)
    return TransformedEnv(env, Compose(StepCounter(), RewardSum()))


@pytest.mark.parametrize("sync", [True, False], ids=["in step", "each at its own pace"])
def test_spawned_workers_gather_the_rows_of_one_process(sync: bool, spawned: None) -> None:
    parts = [partial(counted, first) for first in (0, 2)]
    collector = Collector(parts, None, frames_per_batch=64, total_frames=-1, num_collectors=2, sync=sync)
    assert isinstance(collector, MultiSyncCollector if sync else MultiAsyncCollector)
    whole = counted(rows=4)
    found: dict[int, list[TensorDictBase]] = {seed: [] for seed in whole.base_env.instance_seeds.tolist()}
    try:
        for gathered in collector:
            for row in gathered.clone().flatten(0, -2).unbind(0):
                (seed,) = row["clock", "seed"].unique().tolist()
                found[seed].append(row)
            lengths = [sum(len(piece) for piece in pieces) for pieces in found.values()]
            assert len(set(lengths)) == 1 or not sync
            if min(lengths) >= 150:
                break
    finally:
        collector.shutdown()
    batch: Any = torch.stack([torch.cat(pieces)[: min(lengths)] for pieces in found.values()])
    assert batch["next", "done"].any()
    assert_replayed(whole, batch)


@pytest.mark.parametrize("kind", [Collector, BatchCollector])
def test_what_a_thread_gathers_is_what_the_bare_environment_shows(kind: type[Collector]) -> None:
    enough, frames = threading.Event(), 10 * ROWS
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(100 * frames, ndim=2), batch_size=8)
    collector = kind(
        TOYWALK.fast(batch_size=[ROWS], seed=3),
        None,
        frames_per_batch=frames,
        total_frames=20 * frames,
        replay_buffer=buffer,
        post_collect_hook=lambda batch: enough.set() if len(buffer) >= 15 * frames else None,
    )
    collector.start()
    assert enough.wait(60)
    collector.async_shutdown()
    held = buffer[:]
    assert held["next", "done"].any()
    assert held.shape[0] == ROWS
    assert held.shape[1] >= 150
    assert_replayed(TOYWALK.fast(batch_size=[ROWS], seed=3), held)


CARRIED: dict[str, Any] = {  # transforms with a state of their own
    "frames": lambda: CatFrames(3, -1, ["observation"]),
    "statistics, first": lambda: VecNorm(in_keys=["observation"]),
    "statistics, second": lambda: VecNormV2(in_keys=["observation"]),
    "numbers": lambda: ObservationNorm(torch.tensor([0.5, 2.0]), torch.tensor(3.0), ["observation"]),
    "returns": lambda: Compose(StepCounter(), RewardSum()),
}


@pytest.mark.parametrize("name", CARRIED)
def test_transforms_go_on_from_a_checkpoint_with_the_same_bits(name: str, tmp_path: Path) -> None:
    def collector(seed: int) -> BatchCollector:
        env = TransformedEnv(TOYWALK.fast(batch_size=[ROWS], seed=seed), CARRIED[name]())
        return BatchCollector(env, env.rand_action, frames_per_batch=ROWS * 55)

    first, second = collector(1), collector(2)
    torch.manual_seed(0)
    steps_of_first = iter(first)
    before = next(steps_of_first)
    torch.save({"collector": first.state_dict(), "generator": torch.get_rng_state()}, tmp_path / "checkpoint.pt")
    expected = [frozen(next(steps_of_first)) for _ in range(3)]
    assert not before["next", "done"][:, -1].all()  # episodes go on over the checkpoint
    saved = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    second.load_state_dict(saved["collector"])
    torch.set_rng_state(saved["generator"])
    steps_of_second = iter(second)
    assert [frozen(next(steps_of_second)) for _ in range(3)] == expected


# ---------------------------------------------------------------------- GymEnv and GymWrapper on our IDs


@pytest.fixture(params=["toywalk", "forager"])
def identifier(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ID of a copy of an environment with a fabricated report."""
    return registered(tmp_path, monkeypatch, base=request.param)


def assert_episodes(batch: TensorDictBase, references: list[gymnasium.Env[Any, Any]], seeds: list[int]) -> int:
    """The rows of a batch [rows, time] are the references' episodes 1, 2 ... of the seeds, each step and its end; how
    many ended. (TorchRL's ``set_seed`` resets with the seed, and a rollout or a collector resets again.)"""
    ended = 0
    for row, env, seed in zip(batch.unbind(0), references, seeds, strict=True):
        env.reset(seed=seed)
        seen, _ = env.reset()
        for got in row.unbind(0):
            assert bits.same(got["observation"].numpy(), seen)
            action = got["action"].argmax(-1) if got["action"].ndim else got["action"]
            seen, reward, terminated, truncated, _ = env.step(int(action))
            after = got["next"]
            assert bits.same(after["observation"].numpy(), seen)
            assert bits.same(after["reward"].numpy(), np.array([reward], np.float32))
            assert [after[name].item() for name in ("terminated", "truncated")] == [terminated, truncated]
            assert after["done"].item() == (terminated or truncated)
            if terminated or truncated:
                ended, seen = ended + 1, env.reset()[0]
    return ended


@pytest.mark.parametrize("categorical", [False, True], ids=["one-hot", "categorical"])
def test_gym_env_shows_the_references_episodes(identifier: str, categorical: bool) -> None:
    env = GymEnv(identifier, categorical_action_encoding=categorical)
    env.set_seed(5)
    batch = env.rollout(400, break_when_any_done=False)
    assert batch["action"].shape == ((400,) if categorical else (400, env.action_spec.shape[-1]))
    assert assert_episodes(batch.unsqueeze(0), [gymnasium.make(identifier)], [5]) > 2
    check_env_specs(env)


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_gym_wrapper_shows_the_references_episodes(identifier: str, mode: str) -> None:
    """The fast side behind Gymnasium's vector API behind TorchRL's: seeds, terminal observations, first ones."""
    env = GymWrapper(gymnasium.make_vec(identifier, num_envs=ROWS, autoreset_mode=mode))
    assert isinstance((env.base_env if mode == "SameStep" else env)._env, FastVectorEnv)
    env.set_seed(5)
    batch = next(iter(Collector(env, env.rand_action, frames_per_batch=ROWS * 250)))
    references = [gymnasium.make(identifier) for _ in range(ROWS)]
    assert assert_episodes(batch, references, [5 + row for row in range(ROWS)]) > ROWS
    check_env_specs(env)


def test_gym_wrapper_takes_references_in_gymnasiums_own_loop(identifier: str) -> None:
    options: dict[str, Any] = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": "Disabled"}}
    env = GymWrapper(gymnasium.make_vec(identifier, num_envs=2, **options))
    env.set_seed(5)
    batch = env.rollout(250, break_when_any_done=False)
    assert assert_episodes(batch, [gymnasium.make(identifier) for _ in range(2)], [5, 6]) > 2


@pytest.mark.parametrize("identifier", ["toywalk"], indirect=True)
def test_spawned_workers_find_the_id(identifier: str, spawned: None) -> None:
    """Gymnasium's prefix imports simulacrum in the worker, which registers what is known on the machine."""
    env = GymEnv(f"simulacrum:{identifier}", num_workers=2)
    try:
        env.set_seed(5)
        batch = env.rollout(250, break_when_any_done=False)
    finally:
        env.close()
    assert assert_episodes(batch, [gymnasium.make(identifier) for _ in range(2)], [5, seed_generator(5)]) > 2


@pytest.mark.parametrize("rows", [None, ROWS], ids=["one", "many"])
def test_gym_wrapper_reads_masks(rows: int | None) -> None:
    shape = (3,) if rows is None else (rows, 3)
    spec = Composite(action_mask=Binary(3, shape, dtype=torch.bool), shape=shape[:-1])
    made = (
        GATES.reference() if rows is None else FastVectorEnv(GATES.fast(batch_size=[ROWS]), autoreset_mode="Disabled")
    )
    env = GymWrapper(made, categorical_action_encoding=True)
    env.set_info_dict_reader(default_info_dict_reader(["action_mask"], spec=spec))
    env = TransformedEnv(env, ActionMask())
    env.set_seed(5)
    batch = env.rollout(60, break_when_any_done=False)
    assert legal(batch).all()
    for number, row in enumerate(batch.reshape(-1, 60).unbind(0)):
        reference = GATES.reference()
        reference.reset(seed=5 + number)
        _, info = reference.reset()
        for got in row.unbind(0):
            assert bits.same(got["action_mask"].numpy(), info["action_mask"])
            *_, truncated, info = reference.step(int(got["action"]))
            assert bits.same(got["next", "action_mask"].numpy(), info["action_mask"])
            info = reference.reset()[1] if truncated else info
    check_env_specs(env)


def test_what_torchrl_refuses(identifier: str) -> None:
    """As docs/integrations.md lists it: where one of these works some day, the page has to say so."""
    with pytest.raises(RuntimeError, match="must be one of SAME_STEP or DISABLED"):
        GymWrapper(gymnasium.make_vec(identifier, num_envs=2))
    options: dict[str, Any] = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": "SameStep"}}
    env = GymWrapper(gymnasium.make_vec(identifier, num_envs=2, **options))
    with pytest.raises(KeyError, match="seed"):  # an info of resets alone
        env.rollout(300, break_when_any_done=False)
    with pytest.raises(AttributeError, match="dtype"):  # an info that is a Python int
        GymEnv(identifier).auto_register_info_dict()
    with pytest.raises(AssertionError):  # it checks zeros as the last observation, which are no one-hot of its own
        GymWrapper(SyncVectorEnv([GATES.reference] * 2, autoreset_mode="SameStep"))
