"""Reading packs: all of a pack is checked, and whatever is wrong is named by file and pointer."""

import hashlib
import json
import os
import re

import pyarrow
import pyarrow.parquet
import pytest
from environments import FORAGER, TOYWALK
from packed import SNAKE, packed, played, rewrite, seal

from simulacrum import export
from simulacrum.errors import SimulacrumError
from simulacrum.export import PackError
from simulacrum.export.reading import differs


@pytest.fixture
def pack(tmp_path):
    return packed(TOYWALK, tmp_path / "pack")


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, SNAKE], ids=lambda package: package.name)
def test_a_pack_holds_what_was_recorded(package, tmp_path):
    done = []
    pack = export.read(packed(package, tmp_path / "pack"), progress=lambda *at: done.append(at))
    assert done == [(1, 2), (2, 2)]
    assert pack.identity == (package.spec.id, package.config, package.spec.agents)
    recorded, found = played(package, 100).trajectory, pack.entries["one"].trajectory()
    assert found.metadata.seed == recorded.metadata.seed
    assert len(found.episodes) == len(recorded.episodes)
    for step, other in zip(found.steps, recorded.steps, strict=True):
        assert (step.t, step.reward, step.terminated, step.died) == (
            other.t,
            other.reward,
            other.terminated,
            other.died,
        )
        for name, field in package.spec.fields.items():
            if field.shape:
                assert step.state[name].dtype == field.dtype
                assert step.state[name].tolist() == other.state[name]
            else:
                assert step.state[name] == other.state[name]


def says(pack, message):
    with pytest.raises(PackError) as caught:
        export.read(pack)
    assert isinstance(caught.value, SimulacrumError)
    assert str(caught.value).startswith(f"{pack}/{message}"), caught.value


MANIFEST = {
    "/kind: expected": lambda c: c.pop("kind"),
    "/format: this version reads packs of format 1, got 2": lambda c: c.update(format=2),
    "/: 'entries' is a required property": lambda c: c.pop("entries"),
    "/: Additional properties are not allowed ('more'": lambda c: c.update(more=1),
    "/entries: [] should be non-empty": lambda c: c.update(entries=[]),
    "/entries/0/flat/sha256: 'x' does not match": lambda c: c["entries"][0]["flat"].update(sha256="x"),
    "/entries/1/steps: -1 is less than": lambda c: c["entries"][1].update(steps=-1),
    "/entries/1/steps: expected 100 of two.json, got 99": lambda c: c["entries"][1].update(steps=99),
    "/entries/0/seed: expected '7' of one.json, got '8'": lambda c: c["entries"][0].update(seed="8"),
    "/entries/0/source: expected 'reference' of one.json, got 'kernel'": lambda c: c["entries"][0].update(
        source="kernel"
    ),
    "/entries/0/trajectory/size: trajectories/one.json has": lambda c: c["entries"][0]["trajectory"].update(size=1),
    "/entries/0/flat/sha256: flat/one.json is not the file": lambda c: c["entries"][0]["flat"].update(sha256="0" * 64),
    "/entries/0/name: expected letters": lambda c: c["entries"][0].update(name="../one"),
    "/entries/0/flat/file: expected 'flat/one.json', got 'flat/two.json'": lambda c: c["entries"][0].update(
        flat=c["entries"][1]["flat"]
    ),
    "/entries: expected names in order": lambda c: c["entries"].reverse(),
    "/entries: expected names in order, each": lambda c: c["entries"].__setitem__(1, c["entries"][0]),
    "/columns/0/dtype: expected 'int32', got 'int16'": lambda c: c["columns"][0].update(dtype="int16"),
    "/columns: expected 14 items, got 13": lambda c: c["columns"].pop(),
    "/skipped: expected 0 items, got 1 (by the pack's schema.json)": lambda c: c["skipped"].append(
        {"name": "a", "dtype": "bool", "shape": []}
    ),
    "/columns/4/dtype: expected 'float64', got 'float32'": lambda c: c.update(reward={"dtype": "float64"}),
}


@pytest.mark.parametrize("message", MANIFEST)
def test_a_manifest_that_is_wrong_is_named(message, pack):
    rewrite(pack / "manifest.json", MANIFEST[message])
    says(pack, f"manifest.json: {message}")


PATHS = [
    ("../outside.json", "expected a relative path inside the pack"),
    ("flat/../../outside.json", "expected a relative path inside the pack"),
    ("/etc/passwd", "expected a relative path inside the pack"),
    ("C:/one.json", "expected a relative path inside the pack"),
    ("c:one.json", "expected a relative path inside the pack"),
    ("\\\\server\\one.json", "expected a relative path inside the pack"),
    ("flat\\one.json", "expected a relative path inside the pack"),
    ("flat/one.json\0.txt", "expected a relative path inside the pack"),
    ("", "expected a relative path inside the pack"),
    ("./flat/one.json", "expected a relative path inside the pack"),
    ("flat//one.json", "expected a relative path inside the pack"),
    ("flat", "expected a file, got 'flat', which is none"),
    ("flat/none.json", "expected a file of the pack, got 'flat/none.json': No such file"),
    ("flat/" + "x" * 5000, "expected a file of the pack"),
    ("flat/\udcff", "expected "),
    ("flat/link.json", "expected a file inside the pack, got 'flat/link.json', a link that leads out of it"),
    ("away/outside.json", "expected a file inside the pack, got 'away/outside.json', a link that leads out of it"),
    ("flat/round.json", "expected a file of the pack"),
    ("flat/pipe.json", "expected a file, got 'flat/pipe.json', which is none"),
]


@pytest.mark.parametrize(("path", "message"), PATHS)
@pytest.mark.parametrize("kind", ["flat", "trajectory", "columns"])
def test_a_path_that_leads_out_is_refused(path, message, kind, pack, tmp_path):
    (tmp_path / "outside.json").write_bytes((pack / "flat" / "one.json").read_bytes())
    (pack / "flat" / "link.json").symlink_to(tmp_path / "outside.json")
    (pack / "flat" / "round.json").symlink_to("round.json")
    (pack / "away").symlink_to(tmp_path)
    os.mkfifo(pack / "flat" / "pipe.json")
    rewrite(pack / "manifest.json", lambda content: content["entries"][0][kind].update(file=path))
    says(pack, f"manifest.json: /entries/0/{kind}/file: {message}")


def test_a_file_replaced_by_a_link_out_is_refused(pack, tmp_path):
    (pack / "schema.json").rename(tmp_path / "schema.json")
    (pack / "schema.json").symlink_to(tmp_path / "schema.json")
    says(pack, "manifest.json: /schema/file: expected a file inside the pack, got 'schema.json', a link that")


FLAT = {
    "/cumulative_return/50: expected ": lambda c: c["cumulative_return"].__setitem__(50, 0.25),
    "/reward/3: expected 10.0, got 'None'": lambda c: c["reward"].__setitem__(3, None),
    "/state_position/2: expected ": lambda c: c["state_position"].__setitem__(2, 99),
    "/terminated: expected 100 items, got 99": lambda c: c["terminated"].pop(),
    "/terminated/0: expected False, got '0'": lambda c: c["terminated"].__setitem__(0, 0),
    "/episode_seed/0: expected '7', got '7'": lambda c: c["episode_seed"].__setitem__(0, 7),
    "/: expected [": lambda c: c.pop("rows"),
    "/format: expected 1, got '2'": lambda c: c.update(format=2),
    "/skipped: expected 0 items, got 1 as": lambda c: c["skipped"].append("a"),
}


@pytest.mark.parametrize("message", FLAT)
def test_a_flat_file_that_is_not_the_trajectory_is_named(message, pack):
    rewrite(pack / "flat" / "one.json", FLAT[message])
    says(pack, "manifest.json: /entries/0/flat/size: ")
    seal(pack)
    says(pack, f"flat/one.json: {message}")


TRAJECTORY = {
    "/metadata/id: expected 'simulacrum/toywalk-v0' as the pack's": lambda c: c["metadata"].update(id="a/b-v0"),
    "/metadata/format: this version of simulacrum reads format 1": lambda c: c["metadata"].update(format=3),
    "/episodes/0/steps/1/state/position: 99 is greater than": lambda c: c["episodes"][0]["steps"][1]["state"].update(
        position=99
    ),
    "/: expected an object with metadata": lambda c: c.pop("episodes"),
}


@pytest.mark.parametrize("message", TRAJECTORY)
def test_a_trajectory_that_does_not_fit_is_named(message, pack):
    rewrite(pack / "trajectories" / "one.json", TRAJECTORY[message])
    seal(pack)
    says(pack, f"trajectories/one.json: {message}")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": Infinity}', b"\xff\xfe", b"[" * 100_000, b"1" * 5000])
@pytest.mark.parametrize("name", ["manifest.json", "schema.json", "flat/one.json", "trajectories/one.json"])
def test_what_is_no_pack_is_refused(name, content, pack):
    (pack / name).write_bytes(content)
    if name != "manifest.json":
        seal(pack)
    says(pack, f"{name}: /")


@pytest.mark.parametrize("name", ["manifest.json", "schema.json", "flat/one.json", "columns/two.parquet"])
def test_a_file_that_is_missing_is_named(name, pack):
    (pack / name).unlink()
    says(pack, "manifest.json: ")
    with pytest.raises(PackError, match=re.escape(name)):
        export.read(pack)


def test_another_schema_is_told(pack):
    rewrite(pack / "schema.json", lambda c: c["$defs"]["state"]["properties"].update(x={"type": "integer"}))
    seal(pack)
    says(pack, "schema.json: /$defs/state/properties: expected the fields position, t")
    rewrite(pack / "schema.json", lambda c: c["$defs"]["state"]["properties"].pop("x"))
    rewrite(pack / "schema.json", lambda c: c["$defs"].update(action={"type": "number"}))
    seal(pack)
    says(pack, "schema.json: /$defs/action: expected int64 [], got what is float64 []")


def test_columns_that_are_not_the_trajectory_are_told(pack):
    file = pack / "columns" / "one.parquet"
    table = pyarrow.parquet.read_table(file)
    rewards = table["reward"].to_pylist()
    rewards[5] = 0.25
    changed = table.set_column(table.schema.get_field_index("reward"), "reward", pyarrow.array(rewards, "float32"))
    for other, message in (
        (changed, "column reward: expected what one.json has"),
        (table.drop_columns(["reward"]), "expected the columns, dtypes and metadata of the pack"),
        (table.replace_schema_metadata({}), "expected the columns, dtypes and metadata of the pack"),
        (table.slice(1), "column episode_seed: expected"),
        (None, "expected Parquet: "),
    ):
        if other is None:
            file.write_bytes(b"PAR1" + bytes(50) + b"PAR1")
        else:
            pyarrow.parquet.write_table(other, file)
        seal(pack)
        says(pack, f"columns/one.parquet: {message}")


def test_a_pack_may_be_rewritten_by_other_tools(pack):
    """Other spaces and forms of a number are the same content."""
    for name in ("one", "two"):
        file = pack / "flat" / f"{name}.json"
        content = json.loads(file.read_text(), parse_float=lambda text: int(float(text)))
        file.write_text(json.dumps(content, indent=4))
    seal(pack)
    assert export.read(pack).entries["one"].flat()["reward"][0].__class__ is int
    digest = hashlib.sha256((pack / "flat" / "one.json").read_bytes()).hexdigest()
    assert export.read(pack).entries["one"].content["flat"]["sha256"] == digest


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1.0, 1, None),
        (0.0, -0.0, "/: expected 0.0, got '-0.0'"),
        (True, 1, "/: expected True, got '1'"),
        (1, "1", "/: expected 1, got '1'"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "/a/1: expected 2, got '3'"),
        ([1], {"a": 1}, "/: expected [1], got \"{'a': 1}\""),
        (0.1, 10**400, "/: expected 0.1, got '1" + "0" * 79 + "'"),
        (None, None, None),
    ],
)
def test_differences_are_of_bits(one, other, expected):
    assert differs(one, other) == expected


def test_a_manifest_that_is_a_link_out_is_refused(pack, tmp_path):
    (pack / "manifest.json").rename(tmp_path / "manifest.json")
    (pack / "manifest.json").symlink_to(tmp_path / "manifest.json")
    says(pack, "manifest.json: expected a file inside the pack, got 'manifest.json', a link that leads out of it")


@pytest.mark.parametrize("name", ["notes.txt", "flat/three.json", "flat/deeper/one.json", "more/one.json"])
def test_a_file_that_is_not_listed_is_refused(name, pack):
    (pack / name).parent.mkdir(exist_ok=True)
    (pack / name).write_text("{}")
    with pytest.raises(PackError, match=r"manifest\.json: /entries: expected all files of the pack, but .* not listed"):
        export.read(pack)


def test_columns_that_are_there_are_listed(pack):
    rewrite(pack / "manifest.json", lambda content: content["entries"][0].update(columns=None))
    says(pack, "manifest.json: /entries: expected all files of the pack, but 'columns/one.parquet' is not listed")
    (pack / "columns" / "one.parquet").unlink()
    assert export.read(pack).entries["one"].columns is None


def test_a_pack_says_what_was_cut_off(pack):
    rewrite(pack / "manifest.json", lambda content: content["entries"][1].update(cut_off=True))
    says(pack, "flat/two.json: /cut_off: expected True, got 'False'")


@pytest.mark.parametrize("kind", ["flat", "trajectory"])
def test_what_was_changed_since_is_told(kind, pack):
    entry = export.read(pack).entries["one"]
    take = entry.flat if kind == "flat" else entry.trajectory
    assert take()
    file = pack / entry.content[kind]["file"]
    content = file.read_text()
    file.write_text(content.replace("-1.0", "-2.0"))
    with pytest.raises(PackError, match=rf"manifest\.json: entry 'one': /{kind}/sha256: .* its digest differs"):
        take()
    file.write_text(content + " ")
    with pytest.raises(PackError, match=rf"/{kind}/size: "):
        take()
