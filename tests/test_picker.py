"""Picking episodes: what is said of each, which are picked, in which order, and what is written."""

import dataclasses
import gzip
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from environments import FORAGER, TOYWALK

from simulacrum import trajectory
from simulacrum.spec import Package
from simulacrum.trajectory import First, Metadata, Recorder, Step, Trajectory, TrajectoryError, picker, values
from simulacrum.trajectory.picker import Broken, Mark, Summary
from simulacrum.trajectory.summaries import CHUNK

SNAKE = Package.read(TOYWALK.path.parent / "snake").configured("tiny")


def played(package, steps, file=None, seed=7):
    env = Recorder(package.reference(), file)
    env.action_space.seed(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    env.close()
    return env


def summary(number=0, file="a.json", **values):
    given = {"id": "a/b-v0", "seed": 1, "episode": number, "steps": 1, "return_": 0.0, "returns": None}
    return Summary(Path(file), number, **{**given, "terminated": False, "truncated": False, **values})


def numbers(picked):
    return [one.number for one in picked]


@pytest.fixture
def file(tmp_path):
    played(TOYWALK, 500, tmp_path / "run.jsonl")
    return tmp_path / "run.jsonl"


# ---------------------------------------------------------------------- summaries


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
def test_a_summary_is_what_the_file_says(package, tmp_path):
    played(package, 430, tmp_path / "run.json.gz")
    episodes = trajectory.read(tmp_path / "run.json.gz", package).episodes
    found = list(picker.summaries([tmp_path / "run.json.gz"], package))
    assert len(found) == len(episodes) > 1
    for number, (one, episode) in enumerate(zip(found, episodes, strict=True)):
        assert (one.file, one.number, one.id) == (tmp_path / "run.json.gz", number, package.environment.id)
        assert (one.seed, one.episode, one.steps) == (episode.seed, episode.episode, len(episode.steps))
        rewards = np.array([step.reward for step in episode.steps], np.float64).reshape(len(episode.steps), -1)
        returns = [math.fsum(column) for column in rewards.T]
        assert one.return_ == pytest.approx(sum(returns), abs=1e-9)
        many = package.environment.agents is not None
        assert one.returns == (pytest.approx(returns, abs=1e-9) if many else None)
        last = episode.steps[-1]
        assert (one.terminated, one.truncated) == (last.terminated, last.truncated)
        assert one.broken is None
        state = values.stacked(package, [last.state])
        expected = [cause.__name__ for cause in package.checks.TERMINATIONS if cause(state)[0]]
        assert one.causes == (tuple(expected) if last.terminated else ())
        assert bool(one.causes) == last.terminated
    assert found[-1].kinds == ("unfinished",)
    assert len({one.kinds for one in found}) > 1


def test_a_return_is_summed_in_float64_and_in_order(tmp_path):
    rewards = [1e16, 1.0, -1e16, 0.1, 3.0]
    recorded = Trajectory(Metadata("a/b-v0", 0))
    recorded.begin(First(0, 0, {}))
    for t, reward in enumerate(rewards):
        recorded.add(Step(t, 0, 0, reward, False, False, {}))
    trajectory.write(recorded, tmp_path / "a.json")
    (one,) = picker.summaries([tmp_path / "a.json"])
    assert one.return_ == ((((1e16 + 1.0) - 1e16) + 0.1) + 3.0)
    recorded.add(Step(5, 0, 0, 1e308, False, False, {}))
    recorded.add(Step(6, 0, 0, 1e308, False, False, {}))
    trajectory.write(recorded, tmp_path / "a.json")
    with pytest.raises(TrajectoryError, match=r"a\.json: episode 0: the sum of its rewards is beyond float64"):
        list(picker.summaries([tmp_path / "a.json"]))


def test_agents_returns_are_summed_over_agents_as_well(tmp_path):
    played(SNAKE, 60, tmp_path / "run.json")
    first, *_ = picker.summaries([tmp_path / "run.json"], SNAKE)
    total = 0.0
    for one in first.returns:
        total += one
    assert first.return_ == total
    assert len(first.returns) == 3


def test_the_first_broken_invariant_is_told(tmp_path):
    recorded = played(TOYWALK, 60).trajectory
    steps = recorded.episodes[0].steps
    for number in (0, 2):  # too far from the start for so few steps
        steps[number] = steps[number]._replace(state={**steps[number].state, "position": 5})
    trajectory.write(recorded, tmp_path / "a.json")
    first, *others = picker.summaries([tmp_path / "a.json"], TOYWALK)
    assert first.broken == Broken("within_reach", 1)
    assert not any(one.broken for one in others)
    assert numbers(picker.broken([first, *others])) == [0]


def test_an_invariant_is_checked_in_every_state(tmp_path, monkeypatch):
    recorded = played(FORAGER, 1).trajectory
    state = recorded.episodes[0].state
    monkeypatch.setattr("simulacrum.trajectory.summaries.CHUNK", 7)
    assert CHUNK > 7
    for broken in (None, 0, 1, 6, 7, 8, 20):
        recorded.episodes.clear()
        recorded.begin(First(7, 0, {**state, "x": 0 if broken == 0 else 1}))
        for t in range(20):
            recorded.add(Step(t, 0, 0, 0.0, False, False, {**state, "x": 0 if broken == t + 1 else 1, "t": t + 1}))
        trajectory.write(recorded, tmp_path / "a.json")
        monkeypatch.setattr(FORAGER.checks, "INVARIANTS", [always, not_at_zero])
        (one,) = picker.summaries([tmp_path / "a.json"], FORAGER)
        assert one.broken == (None if broken is None else Broken("not_at_zero", broken))


def always(state):
    return state.t >= 0


def not_at_zero(state):
    if len(state.x) > 1 and (state.x == 0).any():
        raise IndexError("as a law that looks up a cell raises for all rows where one points nowhere")
    return state.x != 0


def test_a_law_of_another_shape_is_told(file, monkeypatch):
    monkeypatch.setattr(TOYWALK.checks, "INVARIANTS", [lambda state: True])
    with pytest.raises(TrajectoryError, match=r"checks\.py: <lambda>: expected bool \[\d+\], one a state, got \[\]"):
        list(picker.summaries([file], TOYWALK))


def test_without_a_package_less_is_known(file):
    plain, known = (list(picker.summaries([file], package)) for package in (None, TOYWALK))
    assert [dataclasses.replace(one, causes=()) for one in known] == plain
    assert {one.kinds for one in plain} == {("terminated",), ("truncated",), ("unfinished",)}
    assert {one.kinds for one in known} == {("goal",), ("truncated",), ("unfinished",)}


def test_the_package_may_be_found_by_the_metadata(tmp_path):
    for package in (TOYWALK, FORAGER):
        played(package, 60, tmp_path / f"{package.name}.json")
    by_id = {package.environment.id: package for package in (TOYWALK, FORAGER)}
    found = list(picker.summaries([tmp_path], lambda metadata: by_id[metadata.id]))
    assert {one.id for one in found} == set(by_id)


# ---------------------------------------------------------------------- files and folders


def test_folders_and_files_come_in_order_and_each_once(tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    for name in ("b.json", "a.jsonl", "c.json.gz", "d.jsonl.gz"):
        played(TOYWALK, 3, runs / name)
    (runs / "notes.txt").write_text("no trajectory")
    (runs / ".hidden.json").write_text("{")
    (runs / "deeper.json").mkdir()
    played(TOYWALK, 3, tmp_path / "z.json")
    seen = []
    found = list(
        picker.summaries([tmp_path / "z.json", runs, runs / "a.jsonl"], TOYWALK, lambda *done: seen.append(done))
    )
    assert [one.file.name for one in found] == ["z.json", "a.jsonl", "b.json", "c.json.gz", "d.jsonl.gz"]
    assert seen == [(number, 5) for number in range(6)]


OTHERS = {
    "report.json": b'{"package": "toywalk", "checks": []}',
    "list.json": b"[1, 2]",
    "lines.jsonl": b'{"step": 1}\n{"step": 2}\n',
    "packed.json.gz": gzip.compress(b"{}"),
}
WRONG = {
    "empty.json": b"",
    "empty.jsonl": b"",
    "cut.json": b'{"metadata": {"format": 1',
    "text.json": b"a",
    "half.json": b'{"metadata": {}}',
    "headless.json": b'{"episodes": []}',
    "headless.jsonl": b'{"first": {}}\n',
    "packed.json.gz": gzip.compress(b'{"metadata": 1}')[:-9],
    "not_packed.json.gz": b"{}",
}


@pytest.mark.parametrize("name", OTHERS)
def test_json_of_another_kind_is_passed_over_in_a_folder_alone(name, tmp_path):
    played(TOYWALK, 3, tmp_path / "run.json")
    (tmp_path / name).write_bytes(OTHERS[name])
    passed = []
    assert len(list(picker.summaries([tmp_path], TOYWALK, passed=passed.append))) == 1
    assert passed == [tmp_path / name]
    for paths in ([tmp_path / name], [tmp_path, tmp_path / name]):
        with pytest.raises(TrajectoryError, match=rf"{name}: (/|line 1)"):
            list(picker.summaries(paths, TOYWALK))


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_may_have_been_a_trajectory_is_an_error(name, tmp_path):
    played(TOYWALK, 3, tmp_path / "run.json")
    (tmp_path / name).write_bytes(WRONG[name])
    with pytest.raises(TrajectoryError, match=rf"{name}: (/|line 1)"):
        list(picker.summaries([tmp_path], TOYWALK))


def test_findings_and_reports_are_of_another_kind(tmp_path):
    files = [*(TOYWALK.path / "failures").glob("*.json"), *TOYWALK.path.glob("*.json")]
    for number, file in enumerate(files):
        (tmp_path / f"{number}.json").write_bytes(file.read_bytes())
    passed = []
    assert list(picker.summaries([tmp_path], TOYWALK, passed=passed.append)) == []
    assert len(passed) == len(files) > 0  # at least schema.json


def test_one_broken_file_of_a_thousand_is_named(tmp_path):
    played(TOYWALK, 3, tmp_path / "run.json")
    content = (tmp_path / "run.json").read_bytes()
    for number in range(1000):
        (tmp_path / f"{number:04d}.json").write_bytes(content)
    assert len(list(picker.summaries([tmp_path], TOYWALK))) == 1001
    (tmp_path / "0777.json").write_bytes(content.replace(b'"position":', b'"positron":', 1))
    with pytest.raises(TrajectoryError, match=r"0777\.json: /episodes/0/state: "):
        list(picker.summaries([tmp_path], TOYWALK))


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(TrajectoryError, match=r"none: expected a trajectory file, or a folder of them: it is not"):
        list(picker.summaries([tmp_path / "none"]))


def test_a_cut_off_file_is_summed_up_as_far_as_it_goes(file):
    whole = list(picker.summaries([file], TOYWALK))
    content = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(content[:40])[:-5])
    found = list(picker.summaries([file], TOYWALK))
    assert found[:-1] == whole[: len(found) - 1]
    assert "cut off: it has no end" in found[-1].cut_off
    assert found[-1].kinds == ("unfinished",)


# ---------------------------------------------------------------------- picks


def test_orders_are_stable():
    found = [summary(k, return_=value) for k, value in enumerate([1.0, 0.0, 1.0, 2.0, 0.0])]
    assert numbers(picker.worst(found)) == [1, 4, 0, 2, 3]
    assert numbers(picker.best(found)) == [3, 0, 2, 1, 4]
    assert numbers(picker.best(found, 2)) == [3, 0]
    found = [summary(k, steps=value) for k, value in enumerate([3, 1, 3, 2])]
    assert numbers(picker.longest(found)) == [0, 2, 3, 1]
    assert numbers(picker.shortest(found, 3)) == [1, 3, 0]


def test_a_sample_is_seeded_and_uniform():
    found = [summary(k) for k in range(6)]
    assert picker.sample(found, 3, 5) == picker.sample(found, 3, 5)
    assert picker.sample(found, 9) == found
    assert picker.sample([], 3) == []
    drawn = [tuple(numbers(picker.sample(found, 2, seed))) for seed in range(3000)]
    assert all(one < other for one, other in drawn)
    counts = np.array([drawn.count((one, other)) for one in range(6) for other in range(one + 1, 6)])
    assert ((counts - 200) ** 2 / 200).sum() < 36.1  # chi-squared, 14 degrees of freedom, p = 0.001


def test_one_of_each_kind_of_end():
    ends = [
        {"terminated": True, "causes": ("wall",)},
        {"terminated": True, "causes": ("wall",)},
        {"terminated": True, "truncated": True, "causes": ("wall",)},
        {"truncated": True},
        {},
        {"terminated": True},
        {"terminated": True, "causes": ("goal", "wall")},
        {},
    ]
    found = [summary(number, **one) for number, one in enumerate(ends)]
    assert [one.kinds for one in found[2:5]] == [("wall", "truncated"), ("truncated",), ("unfinished",)]
    assert numbers(picker.causes(found)) == [0, 2, 4, 5, 6]


def test_marks_name_episodes():
    found = [summary(k, seed=k % 2, episode=k // 2) for k in range(6)]
    marks = [Mark("a/b-v0", 1, 1, "one"), Mark("a/b-v0", 1, 1, "other"), Mark("c/d-v0", 0, 0), Mark("a/b-v0", 0, 2)]
    assert [(one.number, one.note) for one in picker.marked(found, marks)] == [(3, "one"), (4, "")]


# ---------------------------------------------------------------------- scores

FOUND = [summary(k, "runs/a.json") for k in range(2)] + [summary(0, "runs/b.json"), summary(0, "other/b.json")]


def scores_of(scores):
    return [one.score for one in picker.scored(FOUND, scores)]


def test_scores_are_by_file_or_by_episode():
    rest = {"runs/b.json": 3.0, "other/b.json": 4}
    assert scores_of({"a.json": 0.5, **rest}) == [0.5, 0.5, 3.0, 4.0]
    assert scores_of({"a.json": [0.1, 0.2], **rest}) == [0.1, 0.2, 3.0, 4.0]
    assert scores_of({"a.json#1": 0.2, "runs/a.json#0": 0.1, **rest}) == [0.1, 0.2, 3.0, 4.0]
    assert numbers(picker.highest(picker.scored(FOUND[:2], {"a.json": [0.1, 0.2]}), 1)) == [1]
    assert numbers(picker.highest(picker.scored(FOUND[:2], {"a.json": 1.0}))) == [0, 1]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"c.json": 1.0}, "'c.json': names none of the 3 files"),
        ({"b.json": 1.0}, "'b.json': names runs/b.json and other/b.json: write more of the path"),
        ({"a.json": [1.0]}, "'a.json': expected 2 scores, got 1"),
        ({"a.json#2": 1.0}, "'a.json#2': runs/a.json has 2 episodes, from 0 on"),
        ({"a.json#x": 1.0}, "'a.json#x': names none"),
        ({"a.json": 1.0, "a.json#0": 1.0}, "'a.json#0': episode 0 of runs/a.json has two scores"),
        ({"a.json": 1.0}, "expected a score of runs/b.json, episode 0: there is none"),
        ({}, "expected a score of runs/a.json, episode 0"),
    ],
)
def test_scores_that_do_not_fit_are_named(scores, message):
    with pytest.raises(TrajectoryError, match=rf"^scores: {re.escape(message)}"):
        picker.scored(FOUND, scores)


def test_a_name_may_have_the_sign_of_an_episode():
    (one,) = picker.scored([summary(0, "a#1.json")], {"a#1.json": 2.0})
    assert one.score == 2.0


def test_without_a_score_none_is_the_highest():
    with pytest.raises(TrajectoryError, match="episode 0 has no score: call scored"):
        picker.highest([summary()])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected a file of scores"),
        (b"[]", r"/: expected an object of scores by file, got \[\]"),
        (b'{"a.json": NaN}', "NaN is no number of JSON"),
        (b'{"a.json": 1e999}', "1e999 is beyond float64"),
        (b'{"a.json": true}', r"/a\.json: expected a number, got True"),
        (b'{"a/b.json": [0.5, "1"]}', r"/a~1b\.json/1: expected a number, got '1'"),
        (b'{"a.json": {}}', r"/a\.json: expected a number, got \{\}"),
    ],
)
def test_a_file_of_scores_that_is_none_is_named(content, message, tmp_path):
    (tmp_path / "scores.json").write_bytes(content)
    with pytest.raises(TrajectoryError, match=rf"scores\.json: .*{message}"):
        picker.read_scores(tmp_path / "scores.json")


def test_scores_are_read(tmp_path):
    (tmp_path / "scores.json").write_text(json.dumps({"a.json": [0.5, 1]}))
    assert picker.read_scores(tmp_path / "scores.json") == {"a.json": [0.5, 1]}
    with pytest.raises(TrajectoryError, match=r"none\.json: expected a file of scores: No such file"):
        picker.read_scores(tmp_path / "none.json")


# ---------------------------------------------------------------------- split


@pytest.mark.parametrize("name", ["run.json", "run.jsonl", "run.json.gz", "run.jsonl.gz"])
@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
def test_each_pick_is_a_file_of_its_own(package, name, tmp_path):
    played(package, 200, tmp_path / name, seed=(1 << 64) - 1)
    whole = trajectory.read(tmp_path / name, package)
    picked = picker.best(picker.summaries([tmp_path / name], package))
    files = picker.split(picked, tmp_path / "deep" / "picks")
    suffix = name.removeprefix("run")
    assert [file.name for file in files] == [f"{k:03d}-run-episode-{p.number}{suffix}" for k, p in enumerate(picked)]
    assert sorted(files) == sorted((tmp_path / "deep" / "picks").iterdir())
    for one, file in zip(picked, files, strict=True):
        found = trajectory.read(file, package)
        assert found.episodes == [whole.episodes[one.number]]
        assert found.metadata == whole.metadata
        (again,) = picker.summaries([file], package)
        assert again == dataclasses.replace(one, file=file, number=0)


def test_picks_of_several_files_never_meet(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        played(TOYWALK, 30, tmp_path / folder / ("run" + "x" * 200 + ".json"), seed=ord(folder))
    picked = list(picker.summaries([tmp_path / "a", tmp_path / "b"], TOYWALK))
    files = picker.split([*picked, picked[0]], tmp_path / "picks")
    assert len(set(files)) == len(picked) + 1
    assert trajectory.read(files[-1]).episodes == trajectory.read(files[0]).episodes


def test_a_split_that_fails_leaves_nothing(file, tmp_path):
    picked = list(picker.summaries([file], TOYWALK))
    with pytest.raises(TrajectoryError, match="expected an episode 99: the file has changed since it was read"):
        picker.split([*picked, dataclasses.replace(picked[0], number=99)], tmp_path / "picks")
    file.write_bytes(file.read_bytes().replace(b'"t":3', b'"u":3'))
    with pytest.raises(TrajectoryError, match=r"line 6, /"):
        picker.split(picked, tmp_path / "picks")
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


def test_a_folder_in_use_is_left_alone(file, tmp_path):
    picked = picker.worst(picker.summaries([file], TOYWALK), 1)
    with pytest.raises(TrajectoryError, match="is not empty: name another folder"):
        picker.split(picked, tmp_path)
    (tmp_path / "empty").mkdir()
    (written,) = picker.split(picked, tmp_path / "empty")
    assert list((tmp_path / "empty").iterdir()) == [written]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("number", ["9" * 5000, "0" * 30, "-1", "1.0", "\u00b2"])
def test_a_number_of_an_episode_may_be_anything(number):
    with pytest.raises(TrajectoryError, match="names none of the 1 files") as caught:
        picker.scored([summary(file="a.json")], {f"a.json#{number}": 1.0})
    assert len(str(caught.value)) < 300
