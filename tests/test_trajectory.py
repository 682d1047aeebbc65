"""Trajectory files: what is written is read, bit by bit, and what is wrong is named."""

import gzip
import json
import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import gymnasium
import jsonschema
import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulacrum import __version__, bits, checkout, trajectory
from simulacrum.errors import PackageError, SimulacrumError
from simulacrum.reference import state_of
from simulacrum.spec import Package
from simulacrum.trajectory import End, First, Metadata, Recorder, Step, Trajectory, TrajectoryError, schema, values
from simulacrum.trajectory.writing import kind_of

SNAKE = Package.read(TOYWALK.path.parent / "snake").configured("tiny")
FORMS = ["run.json", "run.jsonl", "run.json.gz", "run.jsonl.gz"]


def played(package, steps, file=None, seed=7):
    env = Recorder(package.reference(), file)
    env.action_space.seed(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return env


def edited(file, edit):
    """A file whose content, parsed, a function changes."""
    content = json.loads(file.read_text())
    edit(content)
    file.write_text(json.dumps(content))
    return file


@pytest.fixture
def file(tmp_path):
    played(TOYWALK, 100).save(tmp_path / "run.json")
    return tmp_path / "run.json"


@pytest.fixture
def lines(tmp_path):
    env = played(TOYWALK, 100, tmp_path / "run.jsonl")
    env.close()
    return tmp_path / "run.jsonl"


# ---------------------------------------------------------------------- recording


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
def test_a_recording_is_what_the_reference_did(package):
    recorded = played(package, 150).trajectory
    env, many = package.reference(), package.environment.agents is not None
    assert len(recorded.steps) == 150
    assert len(recorded.episodes) > 1
    for number, episode in enumerate(recorded.episodes):
        env.reset(seed=7 if number == 0 else None)
        assert (episode.seed, episode.episode) == (7, number)
        same_state(package, episode.state, state_of(env))
        for t, step in enumerate(episode.steps):
            action = np.array(step.action, package.environment.action_space.dtype) if many else step.action
            _, reward, terminated, truncated, info = env.step(action)
            assert (step.t, step.episode, step.terminated, step.truncated) == (t, number, terminated, truncated)
            assert step.reward == (info["rewards"].tolist() if many else reward)
            assert step.died == (info["died"].tolist() if many else None)
            same_state(package, step.state, state_of(env))
        assert episode.ended == (number < len(recorded.episodes) - 1)


def same_state(package, stored, state):
    shown = values.as_arrays(package, stored)
    for name, field in package.spec.fields.items():
        one, other = np.asarray(getattr(shown, name)), np.asarray(getattr(state, name), field.dtype)
        assert one.dtype == field.dtype
        assert bits.same(one, other), name


def test_metadata_say_where_it_comes_from():
    metadata = played(SNAKE, 1, seed=(1 << 64) - 1).trajectory.metadata
    assert metadata.id == "simulacrum/snake-v0"
    assert (metadata.seed, metadata.configuration, metadata.agents) == ((1 << 64) - 1, "tiny", 3)
    assert (metadata.source, metadata.instance, metadata.format) == ("reference", 0, 1)
    assert metadata.simulacrum == __version__
    assert metadata.created.endswith("+00:00")


def test_the_commit_is_that_of_the_package(tmp_path):
    import subprocess

    folder = tmp_path / "package"
    folder.mkdir()
    assert checkout.commit(folder) is None
    (folder / "a").write_text("a")

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True)

    git("init")
    git("add", "a")
    git("commit", "-m", "a")
    commit = git("rev-parse", "HEAD").stdout.strip()
    assert checkout.commit(folder) == commit
    (folder / "a").write_text("b")
    assert checkout.commit(folder) == f"{commit}-dirty"


def test_an_injected_state_begins_an_episode():
    env = played(TOYWALK, 3)
    snapshot = env.unwrapped.get_state()
    snapshot["clock"]["t"] = 20
    env.set_state(snapshot)
    env.step(1)
    assert [(len(one.steps), one.state["t"]) for one in env.trajectory.episodes] == [(3, 0), (1, 20)]
    assert env.trajectory.steps[-1].t == 20


def test_only_references_are_recorded():
    with pytest.raises(TypeError, match=r"expected a simulacrum\.ReferenceEnv"):
        Recorder(gymnasium.make("CartPole-v1"))


def test_nothing_is_recorded_before_the_first_reset(tmp_path):
    env = Recorder(TOYWALK.reference())
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(TrajectoryError, match=r"call reset\(\) first"):
        env.save(tmp_path / "a.json")
    env.close()


# ---------------------------------------------------------------------- writing and reading


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
def test_what_is_written_is_read(package, name, tmp_path):
    env = played(package, 150)
    env.save(tmp_path / name)
    found = trajectory.read(tmp_path / name, package)
    assert found == env.trajectory
    assert found.cut_off == ""
    assert trajectory.read(tmp_path / name) == found  # without the package's schema
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", FORMS)
def test_what_is_written_as_it_goes_is_the_same(name, tmp_path):
    played(TOYWALK, 100, tmp_path / name).close()
    played(TOYWALK, 100).save(tmp_path / f"whole-{name}")
    one, other = (trajectory.read(tmp_path / file, TOYWALK) for file in (name, f"whole-{name}"))
    assert one.episodes == other.episodes
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, f"whole-{name}"])


def test_files_are_valid_by_the_published_schema(file, lines):
    own = json.loads(schema.OWN.read_bytes())
    jsonschema.Draft202012Validator.check_schema(own)
    jsonschema.validate(json.loads(file.read_text()), own)
    validator = jsonschema.Draft202012Validator({**own, "$ref": "#/$defs/line"})
    for line in lines.read_text().splitlines():
        validator.validate(json.loads(line))


def test_a_seed_beyond_2_to_53_is_valid_by_the_published_schema(tmp_path):
    played(TOYWALK, 3, seed=(1 << 64) - 1).save(tmp_path / "run.json")
    content = json.loads((tmp_path / "run.json").read_text())
    assert content["metadata"]["seed"] == str((1 << 64) - 1)
    jsonschema.Draft202012Validator(json.loads(schema.OWN.read_text())).validate(content)


def test_lines_are_whole_as_soon_as_a_step_is_made(tmp_path):
    env = played(TOYWALK, 3, tmp_path / "run.jsonl")
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 5
    env.close()
    assert json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1]) == {"end": {"episodes": 1, "steps": 3}}
    with pytest.raises(TrajectoryError, match="it is closed"):
        env.step(0)


def test_a_json_file_appears_when_it_is_whole(tmp_path):
    env = played(TOYWALK, 5, tmp_path / "run.json")
    assert not (tmp_path / "run.json").exists()
    env.close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    recorded = played(TOYWALK, 5).trajectory
    target = tmp_path / "run.json"
    target.write_text("old")
    recorded.add(recorded.steps[-1]._replace(reward=float("nan")))
    with pytest.raises(TrajectoryError, match="no number for what is at /reward: nan"):
        trajectory.write(recorded, target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("name", ["run", "run.csv", ".json", "run.gz"])
def test_other_names_are_refused(name, tmp_path):
    for function in (kind_of, trajectory.read, lambda file: Recorder(TOYWALK.reference(), file)):
        with pytest.raises(TrajectoryError, match=r"expected a file name that ends with \.json, \.jsonl"):
            function(tmp_path / name)


def test_a_step_needs_an_episode(tmp_path):
    with (
        trajectory.create(tmp_path / "a.jsonl", Metadata("a-v0", 0)) as writer,
        pytest.raises(TrajectoryError, match="call begin first"),
    ):
        writer.add(Step(0, 0, 0, 0.0, False, False, {}))


def test_ten_thousand_steps_take_less_than_two_seconds_each_way(tmp_path):
    env = played(FORAGER, 10_000)
    for name in ("run.json", "run.jsonl"):
        begin = time.process_time()
        env.save(tmp_path / name)
        written = time.process_time()
        assert len(trajectory.read(tmp_path / name, FORAGER).steps) == 10_000
        read = time.process_time()
        assert written - begin < 2
        assert read - written < 2


# ---------------------------------------------------------------------- numbers


@pytest.mark.parametrize("number", [1 << 53, (1 << 53) + 1, -(1 << 53) - 1, (1 << 64) - 1, 0, -5])
def test_integers_beyond_2_to_53_are_strings(number, tmp_path):
    metadata = Metadata("a-v0", abs(number), created="now", simulacrum="0")
    recorded = Trajectory(metadata)
    recorded.begin(First(abs(number), 0, {"x": number}))
    trajectory.write(recorded, tmp_path / "a.json")
    stored = json.loads((tmp_path / "a.json").read_text())
    expected = str(number) if abs(number) > 1 << 53 else number
    assert stored["episodes"][0]["state"]["x"] == expected
    found = trajectory.read(tmp_path / "a.json")
    assert found.metadata.seed == found.episodes[0].seed == abs(number)
    definition = schema.Definition({"$defs": {"x": {"type": "array", "items": {"type": "integer"}}}}, "x")
    assert definition.take([expected], "") == [number]


@pytest.mark.parametrize("text", ["12", "9007199254740992", "09007199254740993", "1e20", "9" * 22, "-"])
def test_other_strings_stay_strings_and_are_no_integers(text):
    assert values.big(text) == text
    definition = schema.Definition({"$defs": {"x": {"type": "object", "properties": {"y": {"type": "integer"}}}}}, "x")
    with pytest.raises(TrajectoryError, match=r"file: a/y: .*is not of type 'integer'"):
        definition.take({"y": text}, "file: a")


def test_arrays_of_every_kind_are_plain():
    arrays = {
        "a": np.array([True]),
        "b": np.array([1 << 60, 1]),
        "c": np.uint64((1 << 64) - 1),
        "d": (np.float32(0.5),),
    }
    assert values.plain(arrays) == {"a": [True], "b": [str(1 << 60), 1], "c": str((1 << 64) - 1), "d": [0.5]}
    with pytest.raises(TrajectoryError, match="got <object"):
        values.plain(object())


# ---------------------------------------------------------------------- what is wrong


CHANGES = {
    "/episodes/0/steps/1/state/position: 99 is greater than the maximum of 5": lambda c: step(c)["state"].update(
        position=99
    ),
    "/episodes/0/steps/1/state: 'position' is a required property": lambda c: step(c)["state"].pop("position"),
    "/episodes/0/steps/1/state/position: '1' is not of type": lambda c: step(c)["state"].update(position="1"),
    "/episodes/0/steps/1/state: Additional properties": lambda c: step(c)["state"].update(more=1),
    "/episodes/0/steps/1/action: 2 is greater": lambda c: step(c).update(action=2),
    "/episodes/0/steps/1/t: expected 1, got 4": lambda c: step(c).update(t=4),
    "/episodes/0/steps/1/episode: expected 0, got 1": lambda c: step(c).update(episode=1),
    "/episodes/0/steps/1: 'truncated' is a required property": lambda c: step(c).pop("truncated"),
    "/episodes/0/steps/1: Additional properties": lambda c: step(c).update(observation=[0]),
    "/episodes/0/steps/1/reward: expected none of several agents": lambda c: step(c).update(reward=[1.0]),
    "/episodes/0/steps/1/died: expected none of several agents": lambda c: step(c).update(died=[True]),
    "/episodes/0/steps/1/terminated: 1 is not of type": lambda c: step(c).update(terminated=1),
    "/episodes/0/steps/2: expected the first state of the next episode": lambda c: step(c).update(truncated=True),
    "/episodes/0/steps: expected a list, got int": lambda c: c["episodes"][0].update(steps=3),
    "/episodes/1/seed: -1 is less than the minimum": lambda c: c["episodes"][1].update(seed=-1),
    "/episodes/1: 5 is not of type 'object'": lambda c: c["episodes"].__setitem__(1, 5),
    "/metadata/format: this version of simulacrum reads format 1, got 2": lambda c: c["metadata"].update(format=2),
    "/metadata/id: expected 'simulacrum/toywalk-v0' of toywalk": lambda c: c["metadata"].update(id="a/b-v1"),
    "/metadata/agents: expected None of toywalk, got 2": lambda c: c["metadata"].update(agents=2),
    "/metadata/configuration: expected None of toywalk, got 'x'": lambda c: c["metadata"].update(configuration="x"),
    "/metadata/source: 'gpu' is not one of": lambda c: c["metadata"].update(source="gpu"),
    "/metadata: 'seed' is a required property": lambda c: c["metadata"].pop("seed"),
    "/: expected an object with metadata and a list of episodes": lambda c: c.pop("metadata"),
    "/: expected metadata and episodes alone": lambda c: c.update(more=1),
}


def step(content):
    return content["episodes"][0]["steps"][1]


@pytest.mark.parametrize("message", CHANGES)
def test_what_is_wrong_is_named_by_its_pointer(message, file):
    with pytest.raises(TrajectoryError) as caught:
        trajectory.read(edited(file, CHANGES[message]), TOYWALK)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert isinstance(caught.value, SimulacrumError)


def test_of_many_agents_each_has_a_reward(tmp_path):
    file = tmp_path / "run.json"
    played(SNAKE, 3).save(file)
    for name, value in (("reward", 1.0), ("reward", [0.0]), ("died", [True] * 4)):
        with pytest.raises(TrajectoryError, match=rf"/steps/1/{name}: expected a list of 3, one an agent"):
            trajectory.read(edited(file, lambda c: c["episodes"][0]["steps"][1].update({name: value})), SNAKE)  # noqa: B023
        played(SNAKE, 3).save(file)
    with pytest.raises(TrajectoryError, match=r"/state/board/1/2: 99 is greater"):
        trajectory.read(edited(file, lambda c: c["episodes"][0]["state"]["board"][1].__setitem__(2, 99)), SNAKE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected JSON"),
        (b"[]", "expected an object with metadata"),
        (b"[" * 100_000, "nested too deeply|expected JSON"),
        (b'{"metadata": NaN}', "NaN is no number of JSON"),
        (b"\xff\xfe\x00", "expected JSON"),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_what_is_no_trajectory_is_refused(content, message, suffix, tmp_path):
    file = tmp_path / f"a.{suffix}"
    file.write_bytes(content)
    with pytest.raises(TrajectoryError, match=r"^.*/a\.jsonl?: (line 1|/)") as caught:
        trajectory.read(file)
    if suffix == "json":
        assert caught.match(message)


def test_the_package_may_be_found_by_the_metadata(file):
    asked = []
    assert trajectory.read(file, lambda metadata: asked.append(metadata) or TOYWALK).metadata == asked[0]
    with pytest.raises(TrajectoryError, match="expected 'simulacrum/forager-v0' of forager"):
        trajectory.read(file, FORAGER)


# ---------------------------------------------------------------------- cut off


def test_cut_off_lines_are_read_up_to_the_last_whole_step(lines):
    whole = trajectory.read(lines, TOYWALK)
    data = lines.read_bytes()
    ends = [at for at, byte in enumerate(data) if byte == ord("\n")]
    for cut in (*range(ends[0], ends[4]), *ends[1:-1], len(data) - 2):
        lines.write_bytes(data[:cut])
        with pytest.warns(UserWarning, match="cut off: it has no end, and was read up to its last whole step"):
            found = trajectory.read(lines, TOYWALK)
        assert f"step, {len(found.steps)} in all" in found.cut_off
        assert found.steps == whole.steps[: len(found.steps)]
        kept = sum(end <= cut for end in ends) - 1 - len(found.episodes)
        assert len(found.steps) >= kept


def test_a_cut_off_compressed_file_is_read_as_far_as_it_goes(tmp_path):
    played(FORAGER, 200, tmp_path / "a.jsonl.gz").close()
    whole = trajectory.read(tmp_path / "a.jsonl.gz", FORAGER)
    data = (tmp_path / "a.jsonl.gz").read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(data[: len(data) // 2])
    with pytest.warns(UserWarning, match="cut off"):
        found = trajectory.read(tmp_path / "a.jsonl.gz", FORAGER)
    assert 50 < len(found.steps) < 200
    assert found.steps == whole.steps[: len(found.steps)]


def test_a_cut_off_json_file_is_refused(file, tmp_path):
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes())[:-20])
    file.write_bytes(file.read_bytes()[:-20])
    for broken in (file, packed):
        with pytest.raises(TrajectoryError, match=r"expected (JSON|a whole file)"):
            trajectory.read(broken)


def test_a_broken_line_in_the_middle_is_an_error(lines):
    content = lines.read_text().splitlines()
    content[5] = content[5][:-3]
    lines.write_text("\n".join(content))
    with pytest.raises(TrajectoryError, match="line 6: expected JSON"):
        trajectory.read(lines, TOYWALK)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda listed: listed.pop(1), "line 2, /: expected the first state of an episode"),
        (lambda listed: listed.pop(3), r"line 4, /t: expected 1, got 2"),
        (lambda listed: listed.append("{}"), "expected nothing after the line with the end"),
        (lambda listed: listed.__setitem__(-1, '{"end": {"episodes": 1, "steps": 1}}'), "/end: expected "),
        (lambda listed: listed.__setitem__(3, "5"), "line 4, /: expected an object, got int"),
        (lambda listed: listed.pop(0), "line 1, /metadata: None is not of type 'object'"),
    ],
)
def test_lines_out_of_place_are_named(edit, message, lines):
    content = lines.read_text().splitlines()
    edit(content)
    lines.write_text("\n".join(content))
    with pytest.raises(TrajectoryError, match=message):
        trajectory.read(lines, TOYWALK)


def test_lines_are_read_as_they_are_asked_for(lines):
    parts = trajectory.events(lines, TOYWALK)
    kinds = [type(next(parts)) for _ in range(3)]
    assert kinds == [Metadata, First, Step]
    assert list(parts)[-1] == End()


# ---------------------------------------------------------------------- the quick test agrees with jsonschema


LEAVES = [
    {"type": "integer", "minimum": -2, "maximum": 3},
    {"type": "number", "maximum": 1.5},
    {"type": "boolean"},
    {"type": "string"},
    {"enum": [1, "a"]},
    {"type": "integer", "exclusiveMinimum": 0},
    True,
    {"$ref": "#/$defs/other"},
]
NODES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(
            lambda items, low, high: {"type": "array", "items": items, "minItems": low, "maxItems": high},
            inner,
            st.integers(0, 2),
            st.integers(1, 3),
        ),
        st.builds(lambda parts: {"type": "array", "prefixItems": parts, "items": False}, st.lists(inner, min_size=1)),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(
            lambda parts, required, extra: {
                "type": "object",
                "properties": parts,
                "required": required,
                **({} if extra else {"additionalProperties": False}),
            },
            st.dictionaries(st.sampled_from("ab"), inner),
            st.lists(st.sampled_from("ab"), unique=True),
            st.booleans(),
        ),
    ),
    max_leaves=6,
)
NUMBERS = st.one_of(st.integers(-4, 5), st.sampled_from([0.5, 1.0, 2.5, True, False, None, "a", "12", ""]))
VALUES = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner)),
    max_leaves=8,
)


@given(NODES, VALUES)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_definition_takes_what_jsonschema_takes(node, value):
    whole = {"$defs": {"node": node, "other": {"type": "array", "items": {"type": "number"}}}}
    valid = jsonschema.Draft202012Validator({**whole, "$ref": "#/$defs/node"}).is_valid(value)
    try:
        taken = schema.Definition(whole, "node").take(value, "file: ") == value
    except TrajectoryError:
        taken = False
    assert taken == valid


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
def test_whole_states_take_the_quick_way(package, monkeypatch):
    definition = schema.of_package(package.files["schema.json"], "state")
    monkeypatch.setattr(schema.Definition, "_judge", lambda *_: pytest.fail("left to jsonschema"))
    for one in played(package, 50).trajectory.steps:
        definition.take(one.state, "")


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"$ref": "#/$defs/state"}, "#/$defs/state refers to itself"),
        ({"$ref": "https://example.org/state"}, "it refers to 'https://example.org/state', which is not in it"),
    ],
)
def test_a_schema_that_cannot_be_resolved_is_told(definition, message):
    with pytest.raises(TrajectoryError, match=re.escape(message)):
        schema.of_package(json.dumps({"$defs": {"state": definition}}).encode(), "state").take(5, "")


def test_a_definition_may_hold_itself():
    tree = {"type": "object", "properties": {"inner": {"$ref": "#/$defs/state"}}, "additionalProperties": False}
    taken = schema.of_package(json.dumps({"$defs": {"state": tree}}).encode(), "state")
    assert taken.take({"inner": {"inner": {}}}, "") == {"inner": {"inner": {}}}
    with pytest.raises(TrajectoryError, match=r"^x/inner/inner: 5 is not of type 'object'"):
        taken.take({"inner": {"inner": 5}}, "x")


def test_a_schema_that_lacks_a_definition_is_told():
    with pytest.raises(TrajectoryError, match=r"expected \$defs/state"):
        schema.of_package(b"{}", "state")


def test_states_are_shown_in_the_dtypes_of_the_spec():
    state = values.as_arrays(SNAKE, played(SNAKE, 2).trajectory.steps[-1].state)
    assert isinstance(state, SimpleNamespace)
    assert state.board.dtype == np.uint8
    assert state.t.dtype == np.int32
    assert state.t == 2


# ---------------------------------------------------------------------- what is huge, deep, or no number


LINE = '{"t": 0, "episode": 0, "action": %s, "reward": %s, "terminated": false, "truncated": false, "state": %s}'


def one_step(lines, action="1", reward="-1.0", state='{"position": 0, "t": 1}'):
    """The file with another first step."""
    content = lines.read_text().splitlines()
    content[2] = LINE % (action, reward, state)
    lines.write_text("\n".join(content))
    return lines


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"reward": "1e999"}, "line 3: expected JSON: 1e999 is beyond float64"),
        ({"reward": "-1e999"}, "line 3: expected JSON: -1e999 is beyond float64"),
        ({"reward": "9" * 400}, r"line 3: expected JSON: 9{20}\.\.\. \(400 characters\) is no integer of 64 bits"),
        ({"action": "1" * 5000}, r"line 3: expected JSON: 1{20}\.\.\. \(5000 characters\) is no integer of 64 bits"),
        ({"action": "18446744073709551616"}, "line 3: expected JSON: 18446744073709551616 is no integer of 64 bits"),
        ({"action": "[" * 65 + "]" * 65}, "line 3: expected JSON: it is nested too deeply"),
        ({"state": "[" * 100_000 + "]" * 100_000}, "line 3: expected JSON: it is nested too deeply"),
        ({"state": '{"a":' * 100_000 + "0" + "}" * 100_000}, "line 3: expected JSON: it is nested too deeply"),
        ({"state": '{"position": "\\ud800", "t": 1}'}, r"line 3, /state/position: '\\ud800' is not of type"),
        ({"state": '{"position": 0, "t": 1, "\\ud800": 1}'}, r"line 3, /state: Additional .*\('\\ud800' was"),
        ({"state": '"' + "x" * 10_000 + '"'}, r"line 3, /state: 'x{70,80} \.\.\. .*is not of type 'object'"),
        ({"reward": "NaN"}, "line 3: expected JSON: NaN is no number of JSON"),
    ],
)
def test_numbers_and_texts_that_no_trajectory_holds_are_named(values, message, lines):
    with pytest.raises(TrajectoryError, match=message) as caught:
        trajectory.read(one_step(lines, **values), TOYWALK)
    assert len(str(caught.value)) < 500
    assert str(caught.value).encode()


def test_rewards_as_whole_numbers_are_floats(lines):
    found = trajectory.read(one_step(lines, reward="-9223372036854775809"), TOYWALK)
    assert found.steps[0].reward == -9223372036854775809.0
    assert type(found.steps[0].reward) is float
    trajectory.write(found, lines.with_name("again.json"))
    assert trajectory.read(lines.with_name("again.json"), TOYWALK) == found


def test_a_pointer_can_be_printed_whatever_a_name_is(tmp_path):
    node = {"type": "object", "additionalProperties": {"type": "integer"}}
    definition = schema.Definition({"$defs": {"x": node}}, "x")
    for name, shown in {
        "\ud800": r"\ud800",
        "a\x1b[2J": r"a\x1b[2J",
        "~/": "~0~1",
        "x" * 500: "x" * 80 + " ... ",
    }.items():
        with pytest.raises(TrajectoryError) as caught:
            definition.take({name: "a"}, "file: ")
        assert str(caught.value).startswith(f"file: /{shown}")
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("part", ['"x', "[", "1", "[0,"], ids=["text", "depth", "digits", "list"])
def test_a_line_of_100_mb_takes_bounded_time(part, lines):
    value = part + part[-1] * 100_000_000 if len(part) < 3 else part + "0," * 5_000_000 + "0]"
    begin = time.process_time()
    with pytest.raises(TrajectoryError, match="line 3"):
        trajectory.read(one_step(lines, state=value), TOYWALK)
    assert time.process_time() - begin < 20


def test_texts_that_are_not_utf_8_are_refused(lines):
    lines.write_bytes(lines.read_text().encode("utf-16"))
    with pytest.raises(TrajectoryError, match=r"line 1: expected (JSON|the metadata)"):
        trajectory.read(lines)


def test_brackets_in_texts_are_no_depth(lines):
    found = trajectory.read(one_step(lines, state='{"a": "' + "[{" * 500 + '"}'))
    assert found.steps[0].state == {"a": "[{" * 500}


def test_what_a_field_cannot_hold_is_named():
    with pytest.raises(TrajectoryError, match=r"state field t: expected int32 \[\]: .*out of bounds"):
        values.stacked(TOYWALK, [{"position": 0, "t": 1}, {"position": 0, "t": 1 << 40}])
    with pytest.raises(TrajectoryError, match=r"state field position: expected int32 \[\]: "):
        values.as_arrays(TOYWALK, {"position": [1, 2], "t": 1})


def test_an_unknown_package_is_told_with_the_place(file):
    def find(metadata):
        raise PackageError(f"no {metadata.id}")

    with pytest.raises(TrajectoryError, match=r"run\.json: /metadata: no simulacrum/toywalk-v0"):
        trajectory.read(file, find)


# ---------------------------------------------------------------------- what contradicts itself


def swapped(content):
    steps = content["episodes"][0]["steps"]
    steps[3]["state"], steps[7]["state"] = steps[7]["state"], steps[3]["state"]


@pytest.mark.parametrize("package", [FORAGER, None], ids=["package", "none"])
@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (swapped, r"/episodes/0/steps/3/state/t: expected 4, the state after step t = 3, got 8"),
        (
            lambda c: c["episodes"][0]["steps"][3]["state"].update(t=1),
            r"/episodes/0/steps/3/state/t: expected 4, the state after step t = 3, got 1",
        ),
        (lambda c: c["episodes"][0]["state"].update(t=1), r"/episodes/0/steps/0/t: expected 1, got 0"),
        (lambda c: c["metadata"].update(seed=8), r"/episodes/0/seed: expected 8, the seed of the metadata, got 7"),
    ],
)
def test_what_contradicts_itself_is_named(edit, message, package, tmp_path):
    played(FORAGER, 10).save(tmp_path / "run.json")
    with pytest.raises(TrajectoryError, match=message):
        trajectory.read(edited(tmp_path / "run.json", edit), package)


def test_later_episodes_may_have_other_seeds(tmp_path):
    env = played(TOYWALK, 100)
    env.reset(seed=8)
    env.save(tmp_path / "run.json")
    assert trajectory.read(tmp_path / "run.json", TOYWALK) == env.trajectory


# ---------------------------------------------------------------------- a full disk


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_told_with_the_file(name, tmp_path):
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        played(TOYWALK, 5000, tmp_path / name).close()
    assert caught.value.filename == str(tmp_path / name)


@pytest.mark.parametrize("bound", [1, 4096])
@pytest.mark.parametrize("name", FORMS)
def test_a_file_that_does_not_fit_is_told_and_leaves_nothing(name, bound, tmp_path):
    """In a process that may write small files alone: the name is that of the file, not of what is written beside it."""
    played(TOYWALK, 2000).save(tmp_path / "source.json")
    (tmp_path / "out").mkdir()
    code = """if True:
        import resource, sys
        from simulacrum import trajectory
        source, target, bound = sys.argv[1:]
        found = trajectory.read(source)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(bound),) * 2)
        try:
            if "streamed" in target:
                with trajectory.create(target, found.metadata) as writer:
                    for part in found.parts():
                        writer.begin(part) if isinstance(part, trajectory.First) else writer.add(part)
            else:
                trajectory.write(found, target)
        except OSError as error:
            print(error.strerror, error.filename, sep="|")
    """
    for target in (tmp_path / "out" / name, tmp_path / "out" / f"streamed-{name}"):
        command = [sys.executable, "-c", code, str(tmp_path / "source.json"), str(target), str(bound)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stdout == f"File too large|{target}\n", done.stderr
        left = [target.name] if "streamed" in target.name and "jsonl" in name else []
        assert [one.name for one in (tmp_path / "out").iterdir()] == left


def test_a_file_that_cannot_be_made_is_named(tmp_path):
    for name in FORMS:
        with pytest.raises(FileNotFoundError) as caught:
            trajectory.create(tmp_path / "none" / name, Metadata("a/b-v0", 1))
        assert caught.value.filename == str(tmp_path / "none" / name)
