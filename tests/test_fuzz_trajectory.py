"""The readers of trajectories and scores take any bytes: a result, or a TrajectoryError that names file and place.

``SIMULACRUM_FUZZ=20000`` gives each property so many inputs; few by default.
"""

import contextlib
import gzip
import json
import os
import re
import shutil
import time
import warnings
from functools import lru_cache

import pytest
from environments import FORAGER, TOYWALK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulacrum import trajectory
from simulacrum.spec import Package
from simulacrum.trajectory import Recorder, Trajectory, TrajectoryError, picker, values

SNAKE = Package.read(TOYWALK.path.parent / "snake").configured("tiny")
PACKAGES = {"toywalk": TOYWALK, "forager": FORAGER, "snake": SNAKE}
FORMS = ("json", "jsonl", "json.gz", "jsonl.gz")
SECONDS = 5.0  # of the processor that one small input may take
LONGEST = 2000  # characters of a message
ODD = (  # as they stand in a file
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1E+400", "0e999", "1e308", "-0.0", "0.1", "1.0", "-1", "1e5"),
    *("9" * 5000, "1" * 25, "18446744073709551616", "-9223372036854775809", "4294967296", "0." + "1" * 5000, "[1e308]"),
    *('"18446744073709551615"', '"-9007199254740993"', '"9007199254740993"', '"1"', '""', '"\\ud800"', '"\\u0000"'),
    *("null", "true", "false", "[]", "{}", '{"t": 0}', "[[[]]]", '{"\\ud800/~\\n": [0]}', '"' + "x" * 5000 + '"'),
    *("[" * 70 + "]" * 70, "[" * 5000 + "]" * 5000, '{"a":' * 2000 + "0" + "}" * 2000, "[" * 30 + "]" * 30),
    *('"toywalk"', '"simulacrum/forager-v0"', '"../../x"', "[true]", "[0.0, 0.0, 0.0]", "[1e999, 1, 1]", "2", "0"),
)

few = settings(
    max_examples=int(os.environ.get("SIMULACRUM_FUZZ", "40")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@lru_cache
def whole(name, form):
    """A valid file of a package: JSON or JSON Lines, not compressed."""
    import tempfile

    steps = {"toywalk": 70, "forager": 6, "snake": 4}[name]
    with tempfile.TemporaryDirectory() as place:
        env = Recorder(PACKAGES[name].reference(), f"{place}/run.{form}")
        env.action_space.seed(3)
        env.reset(seed=(1 << 64) - 1)
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        env.close()
        with open(f"{place}/run.{form}", "rb") as file:
            return file.read()


# ---------------------------------------------------------------------- what has to hold


def attempt(folder, form, data, name="toywalk"):
    """Give a file to everything that reads one."""
    folder = folder / form
    folder.mkdir(exist_ok=True)
    file = folder / f"run.{form}"
    file.write_bytes(data)
    begin = time.process_time()
    for package in (None, PACKAGES[name], lambda metadata: PACKAGES[name]):
        found = judged(file, lambda package=package: trajectory.read(file, package))
        summed = judged(file, lambda package=package: list(picker.summaries([file], package)))
        if summed is not None:
            assert found is not None
            assert [one.steps for one in summed] == [len(one.steps) for one in found.episodes]
            with contextlib.suppress(TrajectoryError):  # of another kind
                assert list(picker.summaries([folder], package)) == summed
        if found is not None:
            kept(folder, found, package, summed)
    judged(file, lambda: list(picker.summaries([folder], PACKAGES[name])))
    assert time.process_time() - begin < SECONDS


def judged(file, function):
    """What it gives; None where it is refused, as it has to be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of cut-off files
            return function()
    except TrajectoryError as error:
        message = str(error)
        assert message.startswith(f"{file}: "), message
        assert re.match(r"(line \d+|/|expected|episode \d+|'.*': )", message.removeprefix(f"{file}: ")), message
        assert len(message) < LONGEST
        assert message.encode()
        return None


def kept(folder, found, package, summed):
    """What was read is written and read again, whole and episode by episode."""
    again = folder / ".again.json"
    trajectory.write(Trajectory(found.metadata, found.episodes), again)
    assert told(trajectory.read(again, package)) == told(found)
    if summed:
        shutil.rmtree(folder / ".picks", ignore_errors=True)
        for one, file in zip(found.episodes, picker.split(summed, folder / ".picks"), strict=True):
            assert told(trajectory.read(file, package)) == told(Trajectory(found.metadata, [one]))


def told(found):
    """Every part as it stands in a file."""
    return [values.dumps(values.plain(part._asdict())) for part in found.parts()]


def packed(form, data):
    return gzip.compress(data, 1) if form.endswith("gz") else data


# ---------------------------------------------------------------------- inputs


@st.composite
def bytewise(draw, data):
    """Some bytes changed, cut out, put in, or everything cut off."""
    made = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(made) - 1)))
        kind = draw(st.sampled_from(["set", "flip", "cut", "drop", "insert", "double"]))
        if kind == "cut":
            del made[at:]
        elif kind == "drop":
            del made[at : at + draw(st.integers(1, 40))]
        elif kind == "insert":
            made[at:at] = draw(st.one_of(st.binary(min_size=1, max_size=8), st.sampled_from(ODD).map(str.encode)))
        elif kind == "double":
            made[at:at] = made[at : at + draw(st.integers(1, 200))]
        elif at < len(made):
            made[at] = draw(st.integers(0, 255)) if kind == "set" else made[at] ^ 1 << draw(st.integers(0, 7))
    return bytes(made)


@st.composite
def linewise(draw, data):
    """Lines swapped, dropped, doubled, or of another file."""
    lines = data.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        kind = draw(st.sampled_from(["swap", "drop", "double", "other", "blank"]))
        if kind == "swap":
            lines[one], lines[other] = lines[other], lines[one]
        elif kind == "drop" and len(lines) > 1:
            del lines[one]
        elif kind == "double":
            lines.insert(other, lines[one])
        elif kind == "other":
            strange = whole(draw(st.sampled_from([*PACKAGES])), "jsonl").splitlines(keepends=True)
            lines[one] = draw(st.sampled_from(strange))
        elif kind == "blank":
            lines.insert(one, draw(st.sampled_from([b"\n", b"{}\n", b"[]\n", b"null\n", b"\r\n", b'{"first":{}}\n'])))
    return b"".join(lines)


@st.composite
def valuewise(draw, data, lines):
    """A value anywhere replaced by an odd one, a name changed, dropped or added."""
    parts = data.splitlines() if lines else [data]
    for _ in range(draw(st.integers(1, 2))):
        number = draw(st.integers(0, len(parts) - 1))
        try:
            content = json.loads(parts[number])
        except (ValueError, RecursionError):
            return b"\n".join(parts)
        content = [content]
        at, key = content, 0
        while isinstance(at[key], (dict, list)) and at[key] and draw(st.integers(0, 5)):
            at = at[key]
            key = draw(st.sampled_from([*at])) if isinstance(at, dict) else draw(st.integers(0, len(at) - 1))
        odd, kind = draw(st.sampled_from(ODD)), draw(st.sampled_from(["set"] * 6 + ["drop", "rename", "add"]))
        if kind == "set" or at is content:
            at[key] = "\0odd"
        elif kind == "drop":
            del at[key]
        elif kind == "rename" and isinstance(at, dict):
            at[draw(st.text(max_size=5))] = at.pop(key)
        elif isinstance(at, dict):
            at[draw(st.sampled_from(["more", "first", "end", "metadata", "steps", "died", "t"]))] = "\0odd"
        else:
            at.insert(key, "\0odd")
        parts[number] = json.dumps(content[0]).replace('"\\u0000odd"', odd).encode() if content else b""
    return b"\n".join(parts)


NAMED = st.sampled_from([*PACKAGES])


# ---------------------------------------------------------------------- the properties


@few
@given(st.sampled_from(FORMS), st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode())))
def test_any_bytes(folder, form, data):
    attempt(folder, form, data)
    attempt(folder, form, packed(form, data))


@few
@given(st.sampled_from(FORMS), NAMED, st.data())
def test_files_with_other_bytes(folder, form, name, data):
    changed = data.draw(bytewise(whole(name, form.removesuffix(".gz"))))
    attempt(folder, form, packed(form, changed), name)


@few
@given(st.sampled_from(["jsonl", "jsonl.gz", "json"]), NAMED, st.data())
def test_files_with_other_lines(folder, form, name, data):
    changed = data.draw(linewise(whole(name, form.removesuffix(".gz"))))
    attempt(folder, form, packed(form, changed), name)


@few
@given(st.sampled_from(["json", "jsonl"]), NAMED, st.data())
def test_files_with_other_values(folder, form, name, data):
    attempt(folder, form, data.draw(valuewise(whole(name, form), form == "jsonl")), name)


@few
@given(st.sampled_from(["json.gz", "jsonl.gz"]), NAMED, st.data())
def test_compressed_files_that_are_damaged(folder, form, name, data):
    attempt(folder, form, data.draw(bytewise(packed(form, whole(name, form.removesuffix(".gz"))))), name)


@few
@given(
    st.one_of(
        st.binary(max_size=40),
        st.lists(
            st.tuples(
                st.sampled_from(
                    ["run.jsonl", "run.jsonl#0", "run.jsonl#1", "run.jsonl#9", "#", "/", "", "run", "\ud800"]
                ),
                st.one_of(
                    st.sampled_from(ODD), st.lists(st.sampled_from(ODD), max_size=3).map(lambda s: f"[{','.join(s)}]")
                ),
            ),
            max_size=3,
        ).map(lambda pairs: ("{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}").encode()),
    ),
    st.booleans(),
)
def test_scores(folder, data, compressed):
    run = folder / "scored" / "run.jsonl"
    if not run.exists():
        run.parent.mkdir()
        run.write_bytes(whole("toywalk", "jsonl"))
    found = list(picker.summaries([run], TOYWALK))
    file = folder / ("scores.json.gz" if compressed else "scores.json")
    file.write_bytes(packed("gz", data) if compressed else data)
    read = judged(file, lambda: picker.read_scores(file))
    if read is not None:
        picked = judged(file, lambda: picker.highest(picker.scored(found, read, str(file))))
        assert picked is None or len(picked) == len(found)
    file.unlink()
