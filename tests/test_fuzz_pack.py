"""Mutated packs and schemas: a result, or an error that names the file; never another exception.

SIMULACRUM_FUZZ is how many inputs each test makes up: by default few.
"""

import copy
import json
import os
import tempfile
from pathlib import Path

import pytest
from environments import TOYWALK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packed import SNAKE, packed, played, schema_of, seal

from simulacrum import export
from simulacrum.export import Pack, PackError
from simulacrum.trajectory import TrajectoryError

INPUTS = int(os.environ.get("SIMULACRUM_FUZZ", "40"))
many = settings(
    max_examples=INPUTS,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)

NUMBERS = st.one_of(
    st.integers(-3, 70),
    st.sampled_from([1 << 31, 1 << 53, (1 << 53) + 1, 1 << 63, (1 << 64) - 1, 1 << 64, -(1 << 63), 10**400]),
    st.floats(),
)
WORDS = st.sampled_from(
    [
        *("", "x", "7", "9007199254740993", "../x", "/x", "C:x", "\0", "\ud800", "a~b/c", "(", "#"),
        *("one", "two", "rows", "steps", "flat/one.json", "uint8", "float32", "float64"),
        *("integer", "number", "array", "object", "boolean", "$ref", "#/$defs/state", "#/$defs/action"),
        *("type", "items", "prefixItems", "minimum", "maximum", "minItems", "maxItems", "enum", "const", "pattern"),
        *("required", "properties", "additionalProperties"),
    ]
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS, st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def changed(draw, content):
    """JSON in which a few values are others, missing, twice, or exchanged for values from elsewhere in it."""
    root = [copy.deepcopy(content)]
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(list(places(root))))
        what = draw(st.integers(0, 3))
        if what == 0:
            holder[key] = draw(VALUES)
        elif what == 1 and holder is not root:
            del holder[key]
        elif what == 2:
            other, at = draw(st.sampled_from(list(places(root))))
            holder[key] = copy.deepcopy(other[at])
        elif isinstance(holder, list) and holder is not root:
            holder.insert(key, copy.deepcopy(holder[key]))
        elif isinstance(holder, dict):
            holder[draw(WORDS)] = draw(VALUES)
    return root[0]


def places(node, most=40):
    """Where values stand: some of each list, for lists are long and their items alike."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    for key in list(keys)[:most]:
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from places(node[key], 3 if isinstance(node[key], list) else most)


def damaged(draw, data):
    """Bytes that are cut off, or of which a few are others, gone, or new."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        what, some = draw(st.integers(0, 3)), draw(st.binary(max_size=4))
        end = {0: len(data), 1: at + len(some), 2: at, 3: draw(st.integers(at, len(data)))}[what]
        data = data[:at] + some + data[end:]
    return data


def written(content):
    return json.dumps(content).encode("utf-8", "surrogatepass")


def tried(function, folder):
    """What a function gives, or None where it refuses and names a file in the folder."""
    try:
        return function()
    except (PackError, TrajectoryError) as error:
        named = str(folder) in str(error)
    assert named
    return None


@pytest.fixture(scope="module", params=[TOYWALK, SNAKE], ids=lambda package: package.name)
def whole(request):
    with tempfile.TemporaryDirectory() as folder:
        yield packed(request.param, Path(folder) / "pack", 12)


FILES = ("manifest.json", "schema.json", "flat/one.json", "trajectories/one.json", "columns/one.parquet")


@given(data=st.data())
@many
def test_reading_a_mutated_pack_gives_a_pack_or_an_error(whole, data):
    name = data.draw(st.sampled_from(FILES))
    kept = {one: (whole / one).read_bytes() for one in ("manifest.json", name)}
    if name.endswith(".json") and data.draw(st.integers(0, 4)):
        new = written(data.draw(changed(json.loads(kept[name]))))
    else:
        new = damaged(data.draw, kept[name])
    sealed = name != "manifest.json" and data.draw(st.integers(0, 9))
    (whole / name).write_bytes(new)
    if sealed:
        seal(whole)  # so that what is read after sizes and digests is met too
    try:
        found = tried(lambda: export.read(whole), whole)
        assert found is None or isinstance(found, Pack)
        if found is not None:
            assert [entry.flat()["steps"] for entry in found.entries.values()] == [
                len(entry.trajectory().steps) for entry in found.entries.values()
            ]
    finally:
        for one, content in kept.items():
            (whole / one).write_bytes(content)


@pytest.fixture(scope="module", params=[TOYWALK, SNAKE], ids=lambda package: package.name)
def inputs(request):
    """A folder with a schema that lies alone and a trajectory, and the contents of both."""
    with tempfile.TemporaryDirectory() as folder:
        played(request.param, 12).save(Path(folder) / "run.json")
        (Path(folder) / "schema.json").write_bytes(schema_of(request.param).read_bytes())
        yield Path(folder)


@given(data=st.data())
@many
def test_exporting_by_a_mutated_schema_gives_a_pack_or_an_error(inputs, data):
    name = data.draw(st.sampled_from(["schema.json", "run.json"]))
    kept = (inputs / name).read_bytes()
    content = json.loads(kept)
    if data.draw(st.integers(0, 9)):
        if name == "schema.json":  # what a pack looks at
            content["$defs"] = data.draw(changed({part: content["$defs"][part] for part in ("state", "action")}))
            new = written(content)
        else:
            new = written(data.draw(changed(content)))
    else:
        new = damaged(data.draw, kept)
    (inputs / name).write_bytes(new)
    try:
        made = tried(
            lambda: export.export(inputs / "schema.json", [inputs / "run.json"], inputs / "pack", tell=str), inputs
        )
        if made is not None:
            assert export.read(inputs / "pack").content == made.content
        assert {path.name for path in inputs.iterdir()} <= {"run.json", "schema.json", "pack"}
    finally:
        (inputs / name).write_bytes(kept)
