"""Trajectories of the fast side: those of TensorDicts and batches equal those of the reference, byte by byte."""

import dataclasses
import time
import warnings

import numpy as np
import pytest
import torch
from environments import FORAGER, TOYWALK, CountdownFast, CountdownReference, MirrorFast
from tensordict import TensorDict
from torchrl.collectors import Collector
from torchrl.envs import RewardSum, SerialEnv, TransformedEnv

from simulacrum import trajectory
from simulacrum.collector import BatchCollector
from simulacrum.spec import Package
from simulacrum.trajectory import BatchRecorder, Recorder, TrajectoryError, from_tensordict, values

SNAKE = Package.read(TOYWALK.path.parent / "snake").configured("tiny")
FORMS = [(package, form) for package in (TOYWALK, FORAGER, SNAKE) for form in package.forms]
NAMES = [f"{package.name} {form}" for package, form in FORMS]
STEPS = 120
SEED = (1 << 64) - 3  # whose bits are a negative int64


def made(package, form, size=(3,), **options):
    return package.forms[form](size, seed=5, expose_state=True, **options)


def rolled(env, steps=STEPS, **options):
    torch.manual_seed(0)
    return env.rollout(steps, break_when_any_done=False, **options)


def collected(kind, env, steps=STEPS, batches=4, **options):
    """The batches of a collector."""
    torch.manual_seed(0)
    frames = env.batch_size.numel() * steps
    collector = kind(env, None, frames_per_batch=frames // batches, total_frames=frames, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [batch.clone() for batch in collector]
    collector.shutdown()
    return found


def reference_of(reference, row, metadata):
    """What a Recorder makes of the reference with the seeds and actions of a row [T] of a TensorDict."""
    many = reference.environment.agents is not None
    env, ended = Recorder(reference()), None
    actions = row["agents", "action"] if many else row["action"]
    for k in range(len(row)):
        seed, episode, t = (int(row["clock", name][k]) for name in ("seed", "episode", "t"))
        if ended is None:
            assert (episode, t) == (0, 0)
            env.reset(seed=seed % (1 << 64))
        elif ended:
            env.reset()
        action = actions[k].numpy()
        _, _, terminated, truncated, _ = env.step(action if action.ndim else action[()])
        ended = terminated or truncated
    return dataclasses.replace(env.trajectory, metadata=metadata)


def lines(recorded):
    """Every part as it stands in a file: so that -0.0 is not 0.0."""
    return [values.dumps(values.plain(part._asdict())) for part in recorded.parts()]


def same_as_the_references(reference, data, found, source):
    flat = data.reshape(-1, data.batch_size[-1])
    assert len(found) == len(flat)
    for number, (row, one) in enumerate(zip(flat, found, strict=True)):
        expected = reference_of(reference, row, one.metadata)
        assert len(one.steps) == len(row)
        assert lines(one) == lines(expected), number
        assert one == expected
        assert (one.metadata.source, one.metadata.instance) == (source, number)
        assert one.metadata.seed == int(row["clock", "seed"][0]) % (1 << 64)


# ---------------------------------------------------------------------- whole TensorDicts


@pytest.mark.parametrize("size", [(), (3,), (2, 2)], ids=str)
@pytest.mark.parametrize(("package", "form"), FORMS, ids=NAMES)
def test_a_rollout_is_what_the_references_did(package, form, size):
    env = made(package, form, size)
    data = rolled(env)
    found = from_tensordict(data, env)
    same_as_the_references(package.reference, data, found, form)
    assert sum(len(one.episodes) for one in found) > len(found)
    again = from_tensordict(data, package, source=form)
    assert [one.episodes for one in again] == [one.episodes for one in found]
    assert [one.metadata.source for one in again] == [form] * len(found)


@pytest.mark.parametrize("kind", [Collector, BatchCollector])
@pytest.mark.parametrize(("package", "form"), FORMS, ids=NAMES)
def test_a_batch_is_what_the_references_did(package, form, kind):
    env = made(package, form)
    (batch,) = collected(kind, env, batches=1)
    same_as_the_references(package.reference, batch, from_tensordict(batch, env), form)


def test_they_are_read_back(tmp_path):
    for package, form in FORMS:
        env = made(package, form)
        for one in from_tensordict(rolled(env), env):
            trajectory.write(one, tmp_path / "run.json")
            assert trajectory.read(tmp_path / "run.json", package) == one


@pytest.mark.parametrize("fast", [CountdownFast, MirrorFast])
def test_classes_without_a_package_are_taken(fast):
    env = fast([3], seed=2, expose_state=True)
    data = rolled(env, 20)
    found = from_tensordict(data, env)
    assert [len(one.steps) for one in found] == [20] * 3
    assert found[0].metadata.git_sha is None
    if fast is CountdownFast:
        same_as_the_references(CountdownReference, data, found, "tensor")


def test_lazy_stacks_transforms_and_devices_are_taken():
    env = made(TOYWALK, "tensor")
    plain = from_tensordict(rolled(env), env)
    for other in (made(TOYWALK, "tensor"), TransformedEnv(made(TOYWALK, "tensor"), RewardSum())):
        data = rolled(other, return_contiguous=False)
        assert [one.episodes for one in from_tensordict(data, other)] == [one.episodes for one in plain]


def test_seeds_are_the_u64_and_large_integers_are_as_the_recorder_has_them():
    seeds = torch.tensor(np.array([SEED, 7], np.uint64).view(np.int64))
    env = TOYWALK.fast([2], seed=seeds, expose_state=True)
    found = from_tensordict(rolled(env), env)
    assert [one.metadata.seed for one in found] == [SEED, 7]
    assert {episode.seed for episode in found[0].episodes} == {SEED}


def test_chosen_instances_alone_are_given():
    env = made(FORAGER, "tensor", (4,))
    data = rolled(env)
    whole = from_tensordict(data, env)
    assert [one.episodes for one in from_tensordict(data, env, instances=[3, 1])] == [
        whole[3].episodes,
        whole[1].episodes,
    ]
    for wrong in ([4], [-1]):
        with pytest.raises(TrajectoryError, match=rf"instances: expected rows in 0\.\.3, got {wrong[0]}"):
            from_tensordict(data, env, instances=wrong)


# ---------------------------------------------------------------------- where episodes begin


def test_an_injected_state_begins_an_episode_and_rows_may_begin_in_the_middle_of_one():
    env = made(TOYWALK, "tensor")
    td = env.reset()
    steps = []
    for k in range(6):
        if k == 3:  # the same clock, another position: only the state tells
            snapshot = env.get_state()
            snapshot["state", "position"][1] += 1
            td = env.reset(snapshot, set_state=True)
        if k == 5:
            snapshot = env.get_state()
            snapshot["clock", "t"][2] += 1
            td = env.reset(snapshot, set_state=True)
        done, td = env.step_and_maybe_reset(td.set("action", torch.full((3,), k % 2)))
        steps.append(done)
    data = torch.stack(steps, -1)
    with pytest.raises(TrajectoryError, match=r"row 1 of .*, t 3, and the next .*, t 3, elsewhere: .*injected=True"):
        from_tensordict(data, env)
    with pytest.raises(TrajectoryError, match=r"row 2 of .*, t 5, and the next .*, t 6, elsewhere: "):
        from_tensordict(data, env, instances=[2])
    found = from_tensordict(data, env, injected=True)
    assert [[(one.state["t"], len(one.steps)) for one in each.episodes] for each in found] == [
        [(0, 6)],
        [(0, 3), (3, 3)],
        [(0, 5), (6, 1)],
    ]
    later = from_tensordict(data[:, 2:], env, injected=True)
    assert later[0].episodes[0].state == found[0].steps[1].state
    assert later[0].steps == found[0].steps[2:]


def test_rows_that_were_filled_up_end_where_their_episode_did():
    for form in ("tensor", "kernel"):
        env = made(TOYWALK, form, (8,))
        data = rolled(env, 60, break_when_all_done=True)
        found = from_tensordict(data, env)
        assert all(len(one.episodes) == 1 and one.episodes[0].ended for one in found)
        assert len({len(one.steps) for one in found}) > 1
        for one, row in zip(found, data, strict=True):
            assert one.episodes == reference_of(TOYWALK.reference, row[: len(one.steps)], one.metadata).episodes


def test_padded_trajectories_of_a_collector_are_taken():
    (batch,) = collected(Collector, made(TOYWALK, "tensor"), batches=1, split_trajs=True)
    found = from_tensordict(batch, TOYWALK, source="tensor")
    assert [len(one.steps) for one in found] == batch["collector", "mask"].sum(-1).tolist()
    assert all(len(one.episodes) == 1 for one in found)


def test_a_reset_by_hand_begins_an_episode():
    env = made(TOYWALK, "tensor")
    data = torch.cat([rolled(env, 4), rolled(env, 3)], -1)  # the second begins by a reset
    found = from_tensordict(data, env)
    assert [[(one.episode, len(one.steps)) for one in each.episodes] for each in found] == [[(0, 4), (1, 3)]] * 3


# ---------------------------------------------------------------------- what is wrong


def transposed(data):
    return TensorDict(data.transpose(0, 1).to_dict(), batch_size=[*reversed(data.batch_size)])


@pytest.mark.parametrize(("package", "form"), FORMS, ids=NAMES)
@pytest.mark.parametrize(
    "disorder",
    [
        transposed,
        lambda data: data[:, ::2],
        lambda data: data[:, list(range(6))[::-1]],
        lambda data: data[:, [0, 3, 1, 5, 2, 4]],
        lambda data: data[:, [0, 1, 1, 2, 3, 4]],
    ],
    ids=["transposed", "every other", "reversed", "shuffled", "twice"],
)
def test_steps_that_are_out_of_order_are_refused(package, form, disorder, tmp_path):
    env = made(package, form, (4,))
    data = rolled(env, 6)
    assert from_tensordict(data, env)
    other = disorder(data)
    with pytest.raises(
        TrajectoryError, match=r"elsewhere: expected \[\*batch_size, T\], the steps last and in the order"
    ):
        from_tensordict(other, package, source=form)
    with pytest.raises(TrajectoryError, match="elsewhere: "):
        BatchRecorder(package, tmp_path / "runs", source=form).add(other)
    assert not (tmp_path / "runs").exists()
    assert from_tensordict(other, package, source=form, injected=True)


def test_a_batch_that_was_left_out_is_told(tmp_path):
    env = made(TOYWALK, "tensor")
    batches = collected(Collector, env, steps=24, batches=4)
    with BatchRecorder(env, tmp_path / "runs") as recorder:
        recorder.add(batches[0])
        with pytest.raises(TrajectoryError, match=r"row 0 of the TensorDict: a step led to .*, elsewhere: "):
            recorder.add(batches[2])
    with BatchRecorder(env, tmp_path / "injected", injected=True) as recorder:
        recorder.add(batches[0])
        recorder.add(batches[2])


@pytest.mark.parametrize("data", [None, {}, []], ids=repr)
def test_what_is_no_tensordict_is_told(data, tmp_path):
    expected = rf"expected a TensorDict \[\*batch_size, T\] .*, got {type(data).__name__}"
    with pytest.raises(TypeError, match=expected):
        from_tensordict(data, TOYWALK, source="tensor")
    with pytest.raises(TypeError, match=expected):
        BatchRecorder(TOYWALK, tmp_path / "runs", source="tensor").add(data)


def test_states_beyond_the_schema_are_kept_and_told_when_they_are_read(tmp_path):
    """What a faulty environment did can be recorded, and looked at."""
    env = made(TOYWALK, "tensor")
    data = rolled(env, 3)
    data["next", "state", "position"][:, -1] = 77
    trajectory.write(from_tensordict(data, env)[0], tmp_path / "run.json")
    assert trajectory.read(tmp_path / "run.json").steps[-1].state["position"] == 77
    with pytest.raises(TrajectoryError, match=r"/episodes/0/steps/2/state/position: 77 is greater than"):
        trajectory.read(tmp_path / "run.json", TOYWALK)


def test_what_is_missing_is_named_with_the_remedy():
    env = TOYWALK.fast([2], seed=1)
    with pytest.raises(TrajectoryError, match=r"lacks \('clock', 'seed'\).* more: make the env.*expose_state=True"):
        from_tensordict(env.rollout(3), env)
    env = made(TOYWALK, "tensor")
    data = rolled(env, 3)
    with pytest.raises(TrajectoryError, match=r"lacks 'action': give what env\.rollout or a collector gives"):
        from_tensordict(data.exclude("action"), env)
    with pytest.raises(TrajectoryError, match=r"lacks \('next', 'state', 'position'\): .*compact_obs"):
        from_tensordict(data.exclude(("next", "state")), env)


def test_what_is_of_another_form_is_named():
    env = made(TOYWALK, "tensor")
    data = rolled(env, 3)
    with pytest.raises(TrajectoryError, match=r"\('state', 'x'\)"):
        from_tensordict(data, FORAGER, source="tensor")
    with pytest.raises(TrajectoryError, match=r"'action' of the TensorDict: expected int64 \[3, 3\], got int32"):
        from_tensordict(data.clone().set("action", data["action"].int()), env)
    with pytest.raises(TrajectoryError, match=r"\('state', 'board'\).*expected uint8 \[2, 3, 26, 26\].*\[2, 3, 6, 7\]"):
        from_tensordict(made(SNAKE, "kernel", (2,)).rollout(3), SNAKE.origin.configured("classic"), source="kernel")
    with pytest.raises(
        TrajectoryError, match=r"expected a TensorDict \[\*batch_size, T\], the steps last .*, got \[\]"
    ):
        from_tensordict(data[0, 0], env)
    with pytest.raises(TrajectoryError, match=r"the steps last \(torch.stack\(steps, -1\)\), got \[3\] \[None\]"):
        from_tensordict(data[:, 0], env)
    with pytest.raises(TrajectoryError, match=r"the steps last .*, got \[3, 3\] \['time', None\]"):
        from_tensordict(data.transpose(0, 1), env)
    with pytest.raises(TrajectoryError, match="row 0 of the TensorDict: expected steps, got none"):
        from_tensordict(data[:, :0], env)


def test_who_made_it_has_to_be_known():
    data = rolled(made(TOYWALK, "tensor"), 3)
    with pytest.raises(TrajectoryError, match="source: expected one of tensor, kernel, got None"):
        from_tensordict(data, TOYWALK)
    with pytest.raises(TrajectoryError, match="got 'reference'"):
        from_tensordict(data, TOYWALK, source="reference")
    with pytest.raises(TypeError, match=r"expected a simulacrum\.FastEnv.* got SerialEnv"):
        from_tensordict(data, SerialEnv(2, made(TOYWALK, "tensor")))


# ---------------------------------------------------------------------- batch after batch


@pytest.mark.parametrize(("kind", "suffix"), [(Collector, ".jsonl"), (BatchCollector, ".jsonl.gz")])
@pytest.mark.parametrize(("package", "form"), FORMS, ids=NAMES)
def test_batches_are_joined_without_a_seam(package, form, kind, suffix, tmp_path):
    env = made(package, form)
    batches = collected(kind, env, batches=10)
    assert len(batches) == 10
    with BatchRecorder(env, tmp_path / "runs", suffix=suffix) as recorder:
        for batch in batches:
            recorder.add(batch)
    whole = from_tensordict(torch.cat(batches, -1), env)
    assert sorted(recorder.files.values()) == sorted((tmp_path / "runs").iterdir())
    for number, file in recorder.files.items():
        assert file.name == f"instance-{number:06d}{suffix}"
        found = trajectory.read(file, package)
        assert found.cut_off == ""
        assert found.metadata.instance == number
        assert found.episodes == whole[number].episodes
    same_as_the_references(package.reference, torch.cat(batches, -1), whole, form)


def test_chosen_instances_have_files(tmp_path):
    env = made(TOYWALK, "kernel", (6,))
    with BatchRecorder(env, tmp_path, instances=[5, 0]) as recorder:
        recorder.add(rolled(env, 10))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["instance-000000.jsonl", "instance-000005.jsonl"]


def interrupted(recorder, batches):
    for batch in batches:
        recorder.add(batch)
    raise KeyboardInterrupt


def test_an_interruption_leaves_what_was_written(tmp_path):
    env = made(TOYWALK, "tensor")
    batches = collected(BatchCollector, env)
    recorder = BatchRecorder(env, tmp_path)
    with pytest.raises(KeyboardInterrupt), recorder:
        interrupted(recorder, batches[:2])
    expected = from_tensordict(torch.cat(batches[:2], -1), env)
    for number in range(3):
        with pytest.warns(UserWarning, match="cut off"):
            found = trajectory.read(recorder.files[number], TOYWALK)
        assert found.episodes == expected[number].episodes
    with pytest.raises(TrajectoryError, match="the recorder is closed"):
        recorder.add(batches[2])


def test_a_batch_that_cannot_be_written_leaves_the_others_whole(tmp_path):
    env = made(FORAGER, "tensor")
    one, other, *_ = collected(BatchCollector, env)
    other["next", "reward"][2, 4] = float("nan")
    recorder = BatchRecorder(env, tmp_path)
    recorder.add(one)
    with pytest.raises(TrajectoryError, match="JSON has no number for what is at /reward: nan"):
        recorder.add(other)
    expected = from_tensordict(one, env)
    for number in range(3):
        with pytest.warns(UserWarning, match="cut off"):
            assert trajectory.read(recorder.files[number], FORAGER).episodes == expected[number].episodes


def test_a_first_batch_that_cannot_be_written_leaves_nothing(tmp_path):
    env = made(TOYWALK, "tensor")
    data = rolled(env, 5)
    data["next", "reward"][2, 4] = float("inf")
    for wrong in (data, data.exclude("state"), data[..., 0]):
        with pytest.raises(TrajectoryError):
            BatchRecorder(env, tmp_path / "runs").add(wrong)
    assert list(tmp_path.iterdir()) == []


def test_other_rows_other_names_and_folders_in_use_are_refused(tmp_path):
    env = made(TOYWALK, "tensor")
    recorder = BatchRecorder(env, tmp_path / "runs")
    recorder.add(rolled(env, 5))
    with pytest.raises(TrajectoryError, match="expected 3 rows, as in the batches before, got 2"):
        recorder.add(rolled(env, 5)[:2])
    recorder.close()
    recorder.close()
    with pytest.raises(TrajectoryError, match="runs is not empty: name another folder"):
        BatchRecorder(env, tmp_path / "runs")
    with pytest.raises(TrajectoryError, match=r"suffix: expected \.jsonl or \.jsonl\.gz, got '\.json'"):
        BatchRecorder(env, tmp_path / "new", suffix=".json")
    assert not (tmp_path / "new").exists()


def test_more_instances_than_open_files(tmp_path):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    env = made(TOYWALK, "tensor", (300,))
    data = rolled(env, 3)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        with BatchRecorder(env, tmp_path) as recorder:
            recorder.add(data)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(list(tmp_path.iterdir())) == 300


def test_ten_thousand_steps_take_less_than_two_seconds_each_way(tmp_path):
    env = made(FORAGER, "kernel", (1,))
    data = rolled(env, 10_000)
    for name in ("run.json", "run.jsonl"):
        begin = time.process_time()
        (found,) = from_tensordict(data, env)
        trajectory.write(found, tmp_path / name)
        written = time.process_time()
        assert len(trajectory.read(tmp_path / name, FORAGER).steps) == 10_000
        read = time.process_time()
        assert written - begin < 2
        assert read - written < 2
