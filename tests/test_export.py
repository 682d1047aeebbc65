"""Export packs: what is written, that it is stable, and that nothing is lost or left behind."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow.parquet
import pytest
from environments import FORAGER, TOYWALK
from packed import PACKAGES, SNAKE, packed, played, rewrite, schema_of, tree

import simulacrum.export.folder
import simulacrum.export.writing
from simulacrum import export, trajectory
from simulacrum.export import PackError
from simulacrum.export.columns import Columns
from simulacrum.export.names import stem, unlike
from simulacrum.reference import state_of
from simulacrum.spec import Package
from simulacrum.trajectory import First, Metadata, Step, Trajectory, TrajectoryError

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = {
    "pack-manifest": ROOT / "simulacrum" / "export" / "manifest.schema.json",
    "pack-flat": ROOT / "simulacrum" / "export" / "flat.schema.json",
    "trajectory": ROOT / "simulacrum" / "trajectory" / "format.json",
}
OTHERS = [Package.read(ROOT / "tests" / "packages" / name) for name in ("board", "courier")]
by_name = pytest.mark.parametrize("package", [*PACKAGES, *OTHERS], ids=lambda package: package.name)


def read_quietly(file):
    return json.loads(file.read_text())


# ---------------------------------------------------------------------- what is written


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_published(name):
    assert (ROOT / "docs" / "schemas" / f"{name}.json").read_bytes() == SCHEMAS[name].read_bytes()
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMAS[name].read_bytes()))


@by_name
def test_every_file_is_valid_by_its_published_schema(package, tmp_path):
    pack = packed(package, tmp_path / "pack")
    manifest = read_quietly(pack / "manifest.json")
    validators = {name: jsonschema.Draft202012Validator(read_quietly(file)) for name, file in SCHEMAS.items()}
    validators["pack-manifest"].validate(manifest)
    for entry in manifest["entries"]:
        validators["pack-flat"].validate(read_quietly(pack / entry["flat"]["file"]))
    validators["trajectory"].validate(read_quietly(pack / "trajectories" / "one.json"))
    assert sorted(tree(pack)) == [
        *(f"columns/{name}.parquet" for name in ("one", "two")),
        *(f"flat/{name}.json" for name in ("one", "two")),
        *("manifest.json", "schema.json"),
        *(f"trajectories/{name}.json" for name in ("one", "two")),
    ]


@by_name
def test_flat_files_hold_every_scalar(package, tmp_path):
    recorded = played(package, 100).trajectory
    pack = export.read(packed(package, tmp_path / "pack"))
    flat, spec = pack.entries["one"].flat(), package.spec
    states = [state for one in recorded.episodes for state in (one.state, *(step.state for step in one.steps))]
    assert (flat["rows"], flat["steps"], flat["episodes"]) == (len(states), 100, len(recorded.episodes))
    for name, field in spec.fields.items():
        if field.shape:
            assert f"state_{name}" in flat["skipped"]
            assert f"state_{name}" not in flat
            continue
        texts = field.dtype.itemsize == 8 and max(abs(field.low), abs(field.high)) > 1 << 53
        expected = [state[name] for state in states]
        assert flat[f"state_{name}"] == ([str(value) for value in expected] if texts else expected)
        assert flat["dtypes"][flat["names"].index(f"state_{name}")] == field.dtype
    assert flat["t"] == [step.t for step in recorded.steps]
    for name in ("terminated", "truncated"):
        assert flat[name] == [getattr(step, name) for step in recorded.steps]
    assert flat["terminal_steps"] == [n for n, step in enumerate(recorded.steps) if step.terminated or step.truncated]
    for number, episode in enumerate(recorded.episodes):
        row, begin = flat["episode_first_row"][number], flat["episode_first_step"][number]
        assert row == begin + number
        assert flat["state_t"][row] == episode.state["t"]
        last = [episode, *episode.steps][-1].state
        assert flat["state_t"][row + flat["episode_steps"][number]] == last["t"]


@by_name
def test_rewards_are_those_of_the_environment_and_returns_their_sums(package, tmp_path):
    """The sum over agents is the very float that the reference gave, and the return adds them in float64."""
    flat = export.read(packed(package, tmp_path / "pack")).entries["one"].flat()
    env = package.reference()
    env.action_space.seed(7)
    env.reset(seed=7)
    total, rewards, returns = 0.0, [], []
    for _ in range(100):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total += reward
        rewards.append(reward)
        returns.append(total)
        if terminated or truncated:
            env.reset()
            total = 0.0
    assert flat["reward"] == rewards
    assert flat["cumulative_return"] == returns


def test_of_few_agents_each_has_its_columns(tmp_path):
    recorded = played(SNAKE, 100).trajectory.steps
    flat = export.read(packed(SNAKE, tmp_path / "pack")).entries["one"].flat()
    for agent in range(3):
        assert flat[f"action_{agent}"] == [step.action[agent] for step in recorded]
        assert flat[f"reward_{agent}"] == [step.reward[agent] for step in recorded]
        assert flat[f"died_{agent}"] == [step.died[agent] for step in recorded]
    assert "action" not in flat


def test_of_many_agents_what_they_do_is_skipped(tmp_path):
    metadata = Metadata("a/many-v0", 0, agents=17, created="", simulacrum="")
    recorded = Trajectory(metadata)
    recorded.begin(First(0, 0, {"x": 1}))
    recorded.add(Step(0, 0, [1] * 17, [0.5] * 17, False, False, {"x": 2}, [False] * 17))
    trajectory.write(recorded, tmp_path / "a.json")
    number = {"type": "integer", "minimum": 0, "maximum": 9}
    actions = {"type": "array", "items": number, "minItems": 17, "maxItems": 17}
    pack = export.export(lone_schema(tmp_path, number, actions), [tmp_path / "a.json"], tmp_path / "pack")
    flat = pack.entries["a"].flat()
    assert flat["skipped"] == ["action", "reward_of_agents", "died"]
    assert not {"action", "action_0", "reward_0", "died_0"} & flat.keys()
    assert flat["reward"] == [8.5]
    rows = pyarrow.parquet.read_table(pack.entries["a"].columns).to_pylist()
    assert [row["reward_of_agents"] for row in rows] == [None, [0.5] * 17]
    assert [row["action"] for row in rows] == [None, [1] * 17]


@by_name
def test_columns_skip_nothing(package, tmp_path):
    pack = export.read(packed(package, tmp_path / "pack"))
    table = pyarrow.parquet.read_table(pack.entries["two"].columns)
    env = package.reference()
    env.action_space.seed(((1 << 64) - 1) % (1 << 32))
    env.reset(seed=(1 << 64) - 1)
    rows = table.to_pylist()
    assert table["episode_seed"].type == "uint64"
    assert {row["episode_seed"] for row in rows} == {(1 << 64) - 1}
    at = 0

    def check_state():
        state = state_of(env)
        for name, field in package.spec.fields.items():
            stored = np.array(rows[at][f"state_{name}"], field.dtype)
            assert np.array_equal(stored, np.asarray(getattr(state, name), field.dtype)), name
            leaf = table.schema.field(f"state_{name}").type
            for size in field.shape:
                assert leaf.list_size == size
                leaf = leaf.value_type
            assert leaf.to_pandas_dtype() == field.dtype.type

    check_state()
    for _ in range(100):
        assert (rows[at]["t"] is None) == (state_of(env).t == 0)
        at += 1
        action = env.action_space.sample()
        _, reward, terminated, truncated, info = env.step(action)
        assert np.array_equal(rows[at]["action"], action)
        assert (rows[at]["reward"], rows[at]["terminated"], rows[at]["truncated"]) == (reward, terminated, truncated)
        if "rewards" in info:
            assert rows[at]["reward_of_agents"] == info["rewards"].tolist()
            assert rows[at]["died"] == info["died"].tolist()
        check_state()
        if terminated or truncated:
            at += 1
            env.reset()
            assert rows[at]["reward"] is rows[at]["action"] is rows[at]["terminated"] is None
            check_state()
    flat = pack.entries["two"].flat()
    assert [row["cumulative_return"] for row in rows if row["t"] is not None] == flat["cumulative_return"]
    assert [row["t"] for row in rows if row["t"] is not None] == flat["t"]
    assert json.loads(table.schema.metadata[b"simulacrum"])["seed"] == str((1 << 64) - 1)


def test_columns_are_written_in_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(simulacrum.export.columns, "AT_ONCE", 16)
    played(SNAKE, 100).save(tmp_path / "a.json")
    pack = export.export(schema_of(SNAKE), [tmp_path / "a.json"], tmp_path / "pack")
    file = pyarrow.parquet.ParquetFile(pack.entries["a"].columns)
    assert file.num_row_groups == 7
    assert file.metadata.num_rows == 103
    assert export.read(tmp_path / "pack").entries.keys() == {"a"}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@by_name
def test_javascript_reads_the_same(package, tmp_path):
    pack = export.read(packed(package, tmp_path / "pack"))
    program = ROOT / "tests" / "javascript" / "pack_reader.mjs"
    done = subprocess.run(["node", program, tmp_path / "pack"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert export.Identity(got["id"], got["configuration"], got["agents"]) == pack.identity
    for entry, shown in zip(pack.entries.values(), got["entries"], strict=True):
        flat, episodes = entry.flat(), entry.trajectory().episodes
        returns = [sum_of(package, episode) for episode in episodes]
        assert shown == {
            "name": entry.name,
            "columns": entry.columns.stat().st_size,
            **{name: flat[name] for name in ("rows", "steps", "episodes", "episode_seed", "terminal_steps", "skipped")},
            "returns": [np.float64(value).tobytes()[::-1].hex() for value in returns],
        }


def sum_of(package, episode):
    total, dtype = 0.0, package.spec.reward_dtype
    for step in episode.steps:
        total += float(np.add.accumulate(np.array(step.reward, dtype).reshape(-1))[-1])
    return total


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_finds_a_changed_return(tmp_path):
    from packed import seal

    pack = packed(TOYWALK, tmp_path / "pack")
    rewrite(pack / "flat" / "one.json", lambda flat: flat["cumulative_return"].__setitem__(50, 0.25))
    seal(pack)
    program = ROOT / "tests" / "javascript" / "pack_reader.mjs"
    done = subprocess.run(["node", program, pack], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cumulative_return 50" in done.stderr


# ---------------------------------------------------------------------- stable


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_same_inputs_give_the_same_bytes_in_any_form_and_order(package, tmp_path):
    env = played(package, 60)
    other = played(package, 60, seed=8)
    for folder, suffix in (("a", "json"), ("b", "jsonl.gz")):
        (tmp_path / folder).mkdir()
        for name, one in (("run", env), ("Run", other), ("more", env)):
            one.save(tmp_path / folder / f"{name}.{suffix}")
    packs = []
    for folder, backwards in (("a", False), ("a", True), ("b", True)):
        files = sorted((tmp_path / folder).glob("*.json*"), reverse=backwards)
        export.export(schema_of(package), files, tmp_path / f"pack-{len(packs)}")
        packs.append(tree(tmp_path / f"pack-{len(packs)}"))
    assert packs[0] == packs[1] == packs[2]
    assert str(tmp_path).encode() not in packs[0]["manifest.json"]


@by_name
def test_a_pack_exported_from_itself_is_the_same(package, tmp_path):
    pack = packed(package, tmp_path / "pack")
    before = tree(pack)
    export.export(pack / "schema.json", pack.glob("trajectories/*.json"), pack)
    assert tree(pack) == before
    assert [path.name for path in tmp_path.iterdir()] == ["pack"]


def test_inputs_of_one_name_are_all_kept(tmp_path):
    files = []
    for folder, seed in (("x", 1), ("y", 2), ("z", 3)):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "run.json")
        played(TOYWALK, 20, seed).save(files[-1])
    played(TOYWALK, 20, 4).save(tmp_path / "run-2.json")
    files.append(tmp_path / "run-2.json")
    made = []
    for order in (files, files[::-1], [files[2], files[3], files[0], files[1]]):
        pack = export.export(schema_of(TOYWALK), order, tmp_path / "pack")
        assert list(pack.entries) == ["run", "run-2", "run-3", "run-4"]
        assert pack.entries["run-2"].content["seed"] == "4"
        assert sorted(entry.content["seed"] for entry in pack.entries.values()) == ["1", "2", "3", "4"]
        made.append(tree(tmp_path / "pack"))
    assert made[0] == made[1] == made[2]


def test_a_file_given_twice_is_taken_once_and_told(tmp_path):
    played(TOYWALK, 5).save(tmp_path / "run.json")
    (tmp_path / "link.json").symlink_to("run.json")
    shutil.copy(tmp_path / "run.json", tmp_path / "copy.json")
    told = []
    files = [tmp_path / "run.json", tmp_path / "link.json", tmp_path / "copy.json"]
    pack = export.export(schema_of(TOYWALK), files, tmp_path / "pack", tell=told.append)
    assert list(pack.entries) == ["copy", "run"]
    assert told == [f"{tmp_path / 'link.json'} was given twice: it is taken once"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("run.json", "run"),
        ("run.jsonl.gz", "run"),
        ("a.b.json.gz", "a.b"),
        ("..json", "_"),
        (".hidden.json", "_hidden"),
        ("C:x\\y.json", "C_x_y"),
        ("a\nb.json", "a_b"),
        ("a\udcff.json", "a_"),
        ("NUL.json", "NUL_"),
        ("con.5.json", "con.5_"),
        ("caf\u0065\u0301.json", "caf\u00e9"),
        ("\u00e9" * 120 + ".json", "\u00e9" * 100),
        ("a .json", "a_"),
    ],
)
def test_names_are_portable(name, expected):
    assert stem(Path("folder", name)) == expected
    assert simulacrum.export.names.NAME.fullmatch(expected)


def test_names_are_unlike_also_where_case_does_not_count():
    assert unlike(["a", "A", "a-2", "a", "b"]) == ["a", "A-3", "a-2", "a-4", "b"]


def test_configurations_have_the_sizes_of_their_own(tmp_path):
    classic = Package.read(SNAKE.path, "classic")
    played(classic, 5).save(tmp_path / "run.json")
    pack = export.export(schema_of(SNAKE), [tmp_path / "run.json"], tmp_path / "pack")
    assert pack.identity == ("simulacrum/snake-v0", "classic", 1)
    assert (tmp_path / "pack" / "schema.json").read_bytes() == classic.files["schema.json"]
    assert export.read(tmp_path / "pack").content["fields"][0] == {"name": "board", "dtype": "uint8", "shape": [26, 26]}
    tiny = export.read(packed(SNAKE, tmp_path / "tiny"))
    assert (tiny.folder / "schema.json").read_bytes() == schema_of(SNAKE).read_bytes()


# ---------------------------------------------------------------------- a schema alone


def lone_schema(folder, x, action=None):
    """A schema of a state with a field x."""
    state = {"type": "object", "properties": {"x": x}, "required": ["x"]}
    definitions = {"state": state, "action": action or {"type": "integer", "minimum": 0, "maximum": 1}}
    (folder / "schema.json").write_text(json.dumps({"$defs": definitions}))
    return folder / "schema.json"


def one_step(folder, values, name="a.json"):
    """A trajectory file whose states hold two values of x."""
    metadata = Metadata("a/lone-v0", 5, created="", simulacrum="")
    recorded = Trajectory(metadata)
    recorded.begin(First(5, 0, {"x": values[0]}))
    recorded.add(Step(0, 0, 1, 1, False, True, {"x": values[1]}))
    trajectory.write(recorded, folder / name)
    return folder / name


def integer(low=None, high=None):
    bounds = {"minimum": low, "maximum": high}
    return {"type": "integer", **{name: bound for name, bound in bounds.items() if bound is not None}}


def array(items, length=None):
    return {"type": "array", "items": items, **({} if length is None else {"minItems": length, "maxItems": length})}


def mixed(first, rest=False):
    return {"type": "array", "prefixItems": first, "items": rest, "minItems": 1, "maxItems": 1}


NUMBER, TRUTH, FULL = {"type": "number"}, {"type": "boolean"}, (1 << 64) - 1


@pytest.mark.parametrize(
    ("x", "values", "dtype", "shape", "flat"),
    [
        (integer(0, 9), [1, 2.0], "int32", [], [1, 2]),
        (integer(), [-1, 1 << 60], "int64", [], ["-1", str(1 << 60)]),
        (integer(0, 1 << 40), [0, 1 << 40], "int64", [], [0, 1 << 40]),
        (integer(0, FULL), [0, FULL], "uint64", [], ["0", str(FULL)]),
        (NUMBER, [1, -0.0], "float64", [], [1.0, -0.0]),
        (TRUTH, [True, False], "bool", [], [True, False]),
        (array(TRUTH), [[], [True, False]], "bool", [None], None),
        (array(integer(), 2), [[1, 2], [3, 1 << 62]], "int64", [2], None),
        (array(array(NUMBER, 1), 2), [[[1], [2]], [[3], [4.5]]], "float64", [2, 1], None),
        (mixed([NUMBER]), [[1], [2.5]], "float64", [1], None),
    ],
)
def test_a_schema_alone_is_enough(x, values, dtype, shape, flat, tmp_path):
    file = one_step(tmp_path, values)
    export.export(lone_schema(tmp_path, x), [file], tmp_path / "pack")
    pack = export.read(tmp_path / "pack")
    assert pack.content["fields"] == [{"name": "x", "dtype": dtype, "shape": shape}]
    found = pack.entries["a"].flat()
    assert repr(found.get("state_x")) == repr(flat)
    assert found["skipped"] == (["state_x"] if flat is None else [])
    rows = pyarrow.parquet.read_table(pack.entries["a"].columns).to_pylist()
    assert [row["state_x"] for row in rows] == values


def test_pack_of_no_episode_and_of_an_empty_one(tmp_path):
    recorded = Trajectory(Metadata("a/lone-v0", 5, created="", simulacrum=""))
    trajectory.write(recorded, tmp_path / "none.json")
    recorded.begin(First(5, 0, {"x": 1}))
    trajectory.write(recorded, tmp_path / "first.json")
    files = [tmp_path / "none.json", tmp_path / "first.json"]
    export.export(lone_schema(tmp_path, {"type": "integer"}), files, tmp_path / "pack")
    pack = export.read(tmp_path / "pack")
    assert [entry.flat()["rows"] for entry in pack.entries.values()] == [1, 0]
    assert [len(entry.trajectory().episodes) for entry in pack.entries.values()] == [1, 0]


# ---------------------------------------------------------------------- what is refused leaves nothing behind


X = "/$defs/state/properties/x"
REFUSED = [
    (integer(0, 1), [1, 2], "a.json: /episodes/0/steps/0/state/x: 2 is greater than the maximum of 1 (by "),
    (integer(), [1, 1 << 63], "a.json: /episodes/0/steps/0/state/x: expected a finite number of int64, got 92233"),
    (array(integer(), 2), [[1, 2], [3]], "a.json: /episodes/0/steps/0/state/x: [3] is too short"),
    (array(integer(), 1), [[1], [1 << 63]], "a.json: /episodes/0/steps/0/state/x: expected finite numbers of int64"),
    ({"type": "string"}, [1, 1], f"schema.json: {X}/type: expected boolean or integer or number or array, got string"),
    ({**integer(), "pattern": "a"}, [1, 1], f"schema.json: {X}/pattern: a pack takes only "),
    ({"$ref": "#/$defs/y"}, [1, 1], f"schema.json: {X}/$ref: expected one of $defs, got y"),
    ({"$ref": "https://example.org/x"}, [1, 1], f"schema.json: {X}/$ref: expected a reference to another of $defs"),
    (integer("a"), [1, 1], f"schema.json: {X}/minimum: 'a' is not of type 'number'"),
    (array({"$ref": f"#{X}"}), [1, 1], f"schema.json: {X}/items/$ref: expected one of $defs"),
    ({"type": "array"}, [[1], [1]], f"schema.json: {X}/items/type: expected "),
    (mixed([integer(), TRUTH]), [[], []], f"schema.json: {X}/prefixItems: expected elements of one type and shape"),
    (mixed([integer()], TRUTH), [[], []], f"schema.json: {X}/prefixItems: expected elements of one type and shape"),
]


@pytest.mark.parametrize(("x", "values", "message"), REFUSED)
def test_what_does_not_fit_names_file_and_pointer(x, values, message, tmp_path):
    file, schema = one_step(tmp_path, values), lone_schema(tmp_path, x)
    with pytest.raises(PackError) as caught:
        export.export(schema, [file], tmp_path / "new" / "pack")
    assert message in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "schema.json"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.pop("state"), "/$defs/state: expected one of $defs"),
        (lambda c: c["state"].update(properties={}), "/$defs/state/properties: expected the state's fields"),
        (lambda c: c["state"].update({"$ref": "#/$defs/state"}), "/$defs/state/$ref: a pack takes only"),
        (lambda c: c.update(state={"$ref": "#/$defs/state"}), "/$defs/state/$ref: expected a reference to another"),
        (lambda c: c["state"].update(additionalProperties={"pattern": "a"}), "/additionalProperties: expected true or"),
        (
            lambda c: c.update(action=array({"$ref": "#/$defs/action"})),
            "/$defs/action: expected arrays of at most 8 axes",
        ),
    ],
)
def test_a_schema_that_leads_nowhere_is_named(edit, message, tmp_path):
    schema, file = lone_schema(tmp_path, {"type": "integer"}), one_step(tmp_path, [1, 1])
    rewrite(schema, lambda content: edit(content["$defs"]))
    with pytest.raises(PackError) as caught:
        export.export(schema, [file], tmp_path / "pack")
    assert str(caught.value).startswith(f"{schema}: /$defs/")
    assert message in str(caught.value)
    assert not (tmp_path / "pack").exists()


@pytest.mark.parametrize("content", [b"", b"5", b"[]", b'{"$defs": 5}', b"[" * 100_000, b"\xff", b'{"a": NaN}'])
def test_what_is_no_schema_is_named(content, tmp_path):
    (tmp_path / "schema.json").write_bytes(content)
    with pytest.raises(PackError, match=r"schema\.json: /"):
        export.export(tmp_path / "schema.json", [one_step(tmp_path, [1, 1])], tmp_path / "pack")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "schema.json"]


def test_a_pack_holds_one_environment_in_one_configuration(tmp_path):
    for package, name in ((TOYWALK, "a"), (FORAGER, "b"), (SNAKE, "c"), (Package.read(SNAKE.path, "classic"), "d")):
        played(package, 3).save(tmp_path / f"{name}.json")
    with pytest.raises(PackError, match=r"b\.json: /metadata/id: expected .*toywalk-v0' as the pack's others"):
        export.export(schema_of(TOYWALK), [tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "pack")
    with pytest.raises(PackError, match=r"d\.json: /metadata/configuration: expected 'tiny' as .*, got 'classic'"):
        export.export(schema_of(SNAKE), [tmp_path / "c.json", tmp_path / "d.json"], tmp_path / "pack")
    with pytest.raises(PackError, match=r"b\.json: /metadata/id: expected 'simulacrum/toywalk-v0' of .*schema\.json"):
        export.export(schema_of(TOYWALK), [tmp_path / "b.json"], tmp_path / "pack")
    assert not (tmp_path / "pack").exists()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda step: step.update(reward=1e308), "/episodes/0/steps/2/reward: expected a finite number of float32"),
        (
            lambda step: step["state"].update(energy=9),
            "/episodes/0/steps/2/state/energy: 9 is greater than",
        ),
        (lambda step: step.update(action=5), "/episodes/0/steps/2/action: 5 is greater than the maximum"),
        (lambda step: step["state"].pop("energy"), "/episodes/0/steps/2/state: 'energy' is a required property"),
    ],
)
def test_a_step_that_does_not_fit_is_named(edit, message, tmp_path):
    played(FORAGER, 5).save(tmp_path / "run.json")
    rewrite(tmp_path / "run.json", lambda content: edit(content["episodes"][0]["steps"][2]))
    opened = len(os.listdir("/dev/fd"))
    with pytest.raises(PackError) as caught:
        export.export(schema_of(FORAGER), [tmp_path / "run.json"], tmp_path / "pack")
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: {message}")
    assert len(os.listdir("/dev/fd")) == opened  # while the error is held, with all that led to it


def test_lines_are_named_by_their_number(tmp_path):
    played(TOYWALK, 5).save(tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    lines[3] = lines[3].replace('"position":', '"position":9')
    (tmp_path / "run.jsonl").write_text("\n".join(lines))
    with pytest.raises(PackError, match=r"run\.jsonl: line 4, /state/position: "):
        export.export(schema_of(TOYWALK), [tmp_path / "run.jsonl"], tmp_path / "pack")


def test_a_return_beyond_float64_is_named(tmp_path):
    file = one_step(tmp_path, [1, 1])
    step = {"t": 1, "episode": 0, "action": 1, "reward": 1.5e308, "terminated": False, "truncated": True}

    def edit(content):
        (first,) = content["episodes"][0]["steps"]
        first.update(reward=1.5e308, truncated=False)
        content["episodes"][0]["steps"].append({**step, "state": {"x": 1}})

    rewrite(file, edit)
    with pytest.raises(PackError, match=r"a\.json: /episodes/0/steps/1: the sum of the rewards up to here is inf"):
        export.export(lone_schema(tmp_path, {"type": "integer"}), [file], tmp_path / "pack")


def test_a_field_that_the_schema_does_not_name_is_refused(tmp_path):
    file = one_step(tmp_path, [1, 1])
    rewrite(file, lambda content: content["episodes"][0]["state"].update(y=1))
    with pytest.raises(PackError, match="/episodes/0/state: expected the fields x, got x, y"):
        export.export(lone_schema(tmp_path, {"type": "integer"}), [file], tmp_path / "pack")


def test_a_cut_off_input_is_taken_up_to_its_last_step_and_told(tmp_path):
    played(TOYWALK, 50).save(tmp_path / "run.jsonl")
    data = (tmp_path / "run.jsonl").read_bytes()
    (tmp_path / "run.jsonl").write_bytes(data[: len(data) // 2])
    told = []
    pack = export.export(schema_of(TOYWALK), [tmp_path / "run.jsonl"], tmp_path / "pack", tell=told.append)
    assert "cut off" in told[0]
    assert pack.entries["run"].content["cut_off"] is True
    assert 0 < export.read(tmp_path / "pack").entries["run"].flat()["steps"] < 50


@pytest.mark.parametrize("content", [b"", b"{", b'{"metadata": {"format": 2}, "episodes": []}', b"\x1f\x8b"])
def test_what_is_no_trajectory_leaves_nothing(content, tmp_path):
    played(TOYWALK, 5).save(tmp_path / "a.json")
    (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(TrajectoryError, match=r"b\.json: /"):
        export.export(schema_of(TOYWALK), [tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "pack")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


# ---------------------------------------------------------------------- the folder


def test_a_folder_of_other_things_is_let_be(tmp_path):
    played(TOYWALK, 5).save(tmp_path / "a.json")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "thesis.txt").write_text("years")
    for folder, message in (("docs", "is not empty"), ("a.json", "is no folder")):
        with pytest.raises(PackError, match=f"{folder} {message}: expected an empty folder or a pack"):
            export.export(schema_of(TOYWALK), [tmp_path / "a.json"], tmp_path / folder)
    pack = packed(TOYWALK, tmp_path / "pack")
    (pack / "notes.txt").write_text("mine")
    with pytest.raises(PackError, match=r"pack holds notes\.txt, which is no part of its pack"):
        export.export(schema_of(TOYWALK), [tmp_path / "a.json"], pack)
    assert (pack / "notes.txt").read_text() == "mine"
    assert (tmp_path / "docs" / "thesis.txt").read_text() == "years"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "docs", "pack"]


def no_pack(folder, kind):
    """What looks like an empty folder, or a pack, and is neither."""
    if kind != "folders":
        packed(TOYWALK, folder)
    if kind == "folders":
        (folder / "src").mkdir(parents=True)
    elif kind == "link":
        (folder / "link").symlink_to("../real")
    elif kind == "link of a known name":
        (folder / "flat").rename(folder.parent / "real" / "flat")
        (folder / "flat").symlink_to("../real/flat")
    elif kind == "link of a file":
        (folder / "flat" / "one.json").rename(folder.parent / "real" / "one.json")
        (folder / "flat" / "one.json").symlink_to("../../real/one.json")
    elif kind == "link of the manifest":
        (folder / "manifest.json").rename(folder.parent / "real" / "manifest.json")
        (folder / "manifest.json").symlink_to("../real/manifest.json")
    elif kind == "folder within":
        (folder / "flat" / "deeper").mkdir()
    elif kind == "another folder":
        (folder / "src").mkdir()
    else:
        os.mkfifo(folder / "pipe")


KINDS = ["folders", "link", "link of a known name", "link of a file", "link of the manifest", "folder within"]


@pytest.mark.parametrize("kind", [*KINDS, "another folder", "pipe"])
def test_folders_and_links_are_no_part_of_a_pack(kind, tmp_path):
    played(TOYWALK, 5).save(tmp_path / "a.json")
    (tmp_path / "real").mkdir()
    folder = tmp_path / "proj"
    no_pack(folder, kind)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PackError, match="expected an empty folder or a pack; name another folder by --output DIR"):
        export.export(schema_of(TOYWALK), [tmp_path / "a.json"], folder)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("exchange", [True, False])
def test_a_pack_is_replaced_as_a_whole(exchange, tmp_path, monkeypatch):
    if not exchange:
        monkeypatch.setattr(simulacrum.export.folder, "_exchanged", lambda *_: False)
    pack = packed(TOYWALK, tmp_path / "pack")
    played(FORAGER, 5).save(tmp_path / "new.json")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("pack")
    for name in ("link", "empty", "not/yet"):
        export.export(schema_of(FORAGER), [tmp_path / "new.json"], tmp_path / name)
        assert export.read(tmp_path / name).entries.keys() == {"new"}
    assert export.read(pack).entries.keys() == {"new"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link", "new.json", "not", "pack"]


@pytest.mark.parametrize("exchange", [True, False])
def test_interruption_leaves_the_old_pack(exchange, tmp_path, monkeypatch):
    pack = packed(TOYWALK, tmp_path / "pack")
    before = tree(pack)
    played(TOYWALK, 5).save(tmp_path / "new.json")
    if not exchange:
        monkeypatch.setattr(simulacrum.export.folder, "_exchanged", lambda *_: False)
        rename, interruptions = os.rename, [KeyboardInterrupt]

        def interrupted(one, other):
            if Path(other) == pack and interruptions:
                raise interruptions.pop()
            rename(one, other)

        monkeypatch.setattr(os, "rename", interrupted)
        stop = None
    else:

        def stop(done, total):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export.export(schema_of(TOYWALK), [tmp_path / "new.json"], pack, progress=stop)
    assert tree(pack) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.json", "pack"]


# ---------------------------------------------------------------------- without pyarrow


@pytest.fixture
def without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)


def test_without_pyarrow_there_are_no_columns(without_pyarrow, tmp_path):
    played(TOYWALK, 5).save(tmp_path / "a.json")
    files = [tmp_path / "a.json"]
    with pytest.raises(PackError, match=r'needs pyarrow: pip install "simulacrum\[parquet\]"'):
        export.export(schema_of(TOYWALK), files, tmp_path / "pack", columns="parquet")
    assert not (tmp_path / "pack").exists()
    assert not export.export(schema_of(TOYWALK), files, tmp_path / "pack").has_columns
    pack = export.read(tmp_path / "pack")
    assert pack.content["entries"][0]["columns"] is None
    assert not (tmp_path / "pack" / "columns").exists()
    with pytest.raises(PackError, match="needs pyarrow"):
        Columns(pack.rules.layout, pack.entries["a"].trajectory().metadata, print)


def test_columns_may_be_left_out(tmp_path):
    played(TOYWALK, 5).save(tmp_path / "a.json")
    assert not export.export(schema_of(TOYWALK), [tmp_path / "a.json"], tmp_path / "pack", columns="none").has_columns
    with pytest.raises(PackError, match="columns: expected one of auto, parquet, none, got 'csv'"):
        export.export(schema_of(TOYWALK), [tmp_path / "a.json"], tmp_path / "pack", columns="csv")
    with pytest.raises(PackError, match="expected at least one trajectory file"):
        export.export(schema_of(TOYWALK), [], tmp_path / "pack")
