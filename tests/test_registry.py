import functools
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

import gymnasium
import pytest
from fabricated import copy_package, validated

import simulacrum
from simulacrum import registry, render
from simulacrum.errors import GateError, PackageError
from simulacrum.harness import discovery, fingerprint
from simulacrum.harness.discovery import Known, known, read_id, remember, resolve

ID = "tests/toywalk-v0"


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """A state folder of the test's own, no source checkout, and Gymnasium's registry as it was afterwards."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.setattr(discovery, "ROOT", tmp_path / "checkout")
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.fixture
def folder(tmp_path):
    """A validated package, registered."""
    fingerprint.forget()  # other processes take their own
    made = validated(copy_package(tmp_path / "walk"))
    assert registry.register_known() == [ID]
    return made


@pytest.fixture
def checkout(tmp_path):
    """The envs folder of a source checkout."""
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "pyproject.toml").write_text("")
    return tmp_path / "checkout" / "envs"


def installed(tmp_path, monkeypatch, points):
    """A place on sys.path where a distribution has entry points; returns the place."""
    place = tmp_path / "site"
    info = place / "some_envs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-envs\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    sections = ["[console_scripts]", "a = b:c", "", "[simulacrum.envs]", *lines, ""]
    (info / "entry_points.txt").write_text("\n".join(sections))
    monkeypatch.syspath_prepend(str(place))
    return place


def python(code, **variables):
    """Run a program; what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---------------------------------------------------------------------- which environments are known


def test_the_three_sources_in_their_order(tmp_path, monkeypatch, checkout):
    place = installed(tmp_path, monkeypatch, {"x": "some_envs.inner.walk"})
    for inner in ("some_envs", "some_envs/inner"):
        (place / inner).mkdir()
        (place / inner / "__init__.py").write_text("raise RuntimeError('imported')")
    one = copy_package(place / "some_envs" / "inner" / "walk", "one/toywalk-v0")
    two = validated(copy_package(tmp_path / "two", "two/toywalk-v0"))
    three = copy_package(checkout / "three", "three/toywalk-v0")
    assert known() == [
        Known("one/toywalk-v0", one, "entry point"),
        Known("two/toywalk-v0", two, "validated here"),
        Known("three/toywalk-v0", three, "source checkout"),
    ]
    assert "some_envs" not in sys.modules


def test_an_entry_point_may_name_a_folder_of_packages(tmp_path, monkeypatch):
    place = installed(tmp_path, monkeypatch, {"x": "some_envs:anything"})
    folders = [copy_package(place / "some_envs" / name, f"{name}/toywalk-v0") for name in ("a", "b")]
    assert [one.path for one in known()] == folders


def test_an_entry_point_that_leads_nowhere_is_listed(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch, {"x": "not_there.walk"})
    (found,) = known()
    assert (found.id, found.path, found.source) == (None, None, "entry point")
    assert "entry point x" in found.problem
    assert "'not_there.walk'" in found.problem
    assert registry.register_known() == []


def test_entry_points_are_what_importlib_metadata_tells(tmp_path, monkeypatch):
    place = installed(tmp_path, monkeypatch, {"x": "a.b", "y": "c:d [extra]"})
    for group in ("console_scripts", "pytest11", "simulacrum.envs", "no.such.group"):
        expected = {(point.name, point.module) for point in metadata.entry_points(group=group)}
        assert set(discovery.entry_points(group, tuple(sys.path))) == expected, place


def test_a_folder_found_twice_is_known_once(tmp_path, checkout):
    folder = validated(copy_package(checkout / "walk"))
    (checkout / "link").symlink_to(folder)
    assert known() == [Known(ID, folder, "validated here")]


def test_the_index_bears_garbage_and_folders_that_are_gone(tmp_path, folder):
    index = tmp_path / "state" / "simulacrum" / "validated"
    for number, data in enumerate((b"", b"\0", b"\xff\xfe", b"relative/path", os.fsencode(tmp_path / "gone"), b"/")):
        (index / f"{number}.path").write_bytes(data)
    (index / "folder.path").mkdir()
    assert [one.path for one in known()] == [folder]
    (folder / "validation_report.json").unlink()
    assert known() == []


def test_many_writers_of_the_index_lose_nothing(tmp_path):
    folders = [copy_package(tmp_path / f"walk{number}", f"tests/walk{number}-v0") for number in range(20)]
    for folder in folders:
        (folder / "validation_report.json").write_text("{}")
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(remember, folders * 5))
    assert {one.path for one in known()} == set(folders)


@pytest.mark.parametrize(
    ("source", "identifier"),
    [
        (b'X = simulacrum.Environment(id="a/b-v1", action_space=None)', "a/b-v1"),
        (b'from simulacrum import Environment\nX = Environment("a/b.c-v12")', "a/b.c-v12"),
        (b'X = s.Environment(\n    id="walk-v0",\n)', "simulacrum/walk-v0"),
    ],
)
def test_an_id_is_read_without_running_anything(source, identifier):
    assert read_id(b"raise RuntimeError\n" + source) == identifier


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"def (",
        b"\0",
        b"\xff\xfe",
        b"(" * 10_000,
        b"-" * 100_000 + b"1",
        b"X = Environment(id=NAME)",
        b'X = Environment(id="a/b")',
        b'X = Environment(id=f"a/b-v{1}")',
        b'X = Environment(id="a b/c-v0")',
        b'X = Other(id="a/b-v0")',
    ],
)
def test_an_id_that_cannot_be_read_is_explained(source):
    with pytest.raises(PackageError, match=r"__init__\.py"):
        read_id(source)


def test_bad_packages_are_listed_and_left_out(tmp_path, checkout):
    good = copy_package(checkout / "good")
    for name, text in (("broken", "def ("), ("nameless", "ENVIRONMENT = None")):
        (copy_package(checkout / name) / "__init__.py").write_text(text)
    (checkout / "empty").mkdir()
    (checkout / "empty" / "spec.md").write_text("")
    listed = {one.path.name: one for one in known()}
    assert {name for name, one in listed.items() if one.problem} == {"broken", "nameless", "empty"}
    assert registry.register_known() == [ID]
    assert resolve(ID) == good
    assert resolve("broken") == checkout / "broken"  # so that `simulacrum validate broken` can say what is wrong


def test_importing_survives_bad_packages_and_a_bad_state_folder(tmp_path):
    index = tmp_path / "state" / "simulacrum" / "validated"
    folder = copy_package(tmp_path / "walk")
    (folder / "validation_report.json").write_text("{}")
    (folder / "__init__.py").write_bytes(b"\0\xff")
    remember(folder)
    (index / "x.path").write_bytes(b"\0")
    assert python("import simulacrum; print('fine')") == "fine"
    assert python("import simulacrum; print('fine')", XDG_STATE_HOME="/dev/null") == "fine"
    homeless = "import pathlib; pathlib.Path.home = lambda: (_ for _ in ()).throw(RuntimeError('no home'))"
    assert python(f"{homeless}\nimport simulacrum; print('fine')", XDG_STATE_HOME="") == "fine"


# ---------------------------------------------------------------------- what a name means


def test_a_path_comes_before_a_name_and_a_name_before_an_id(tmp_path, checkout, monkeypatch):
    named = copy_package(checkout / "walk", "tests/other-v0")
    by_id = copy_package(checkout / "folder", "simulacrum/walk-v0")
    assert resolve("walk") == named
    assert resolve("walk-v0") == resolve("simulacrum/walk-v0") == by_id
    assert resolve("other") == named
    here = copy_package(tmp_path / "cwd" / "walk", "tests/third-v0")
    monkeypatch.chdir(tmp_path / "cwd")
    assert resolve("walk") == here
    (tmp_path / "cwd" / "folder").mkdir()  # no package: the name goes on
    assert resolve("folder") == by_id
    assert resolve("./folder") == tmp_path / "cwd" / "folder"


def test_two_packages_with_one_id_are_both_named(checkout, tmp_path):
    one, two = copy_package(checkout / "one"), validated(copy_package(tmp_path / "two"))
    registry.register_known()
    for make in (gymnasium.make, gymnasium.make_vec, lambda name: simulacrum.make_fast(name, [2]), resolve):
        with pytest.raises(PackageError, match="claim the ID") as caught:
            make(ID)
        assert str(one) in str(caught.value)
        assert str(two) in str(caught.value)
    problems = {entry.path: entry.problem for entry in known()}
    assert str(two) in problems[one]
    assert str(one) in problems[two]
    assert simulacrum.make_fast(two, [2]).batch_size == (2,)  # a path is no claim


def test_two_folders_of_one_name_are_both_named(checkout, tmp_path):
    one, two = copy_package(checkout / "walk", "a/a-v0"), validated(copy_package(tmp_path / "walk", "b/b-v0"))
    with pytest.raises(PackageError, match="claim the name") as caught:
        resolve("walk")
    assert str(one) in str(caught.value)
    assert str(two) in str(caught.value)
    assert resolve("a/a-v0") == one


def test_an_unknown_name_tells_what_is_known(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PackageError) as caught:
        simulacrum.make_fast("tests/toywolk-v0", [2])
    message = str(caught.value)
    assert str(tmp_path / "tests" / "toywolk-v0") in message
    assert f"known: {ID}" in message
    assert f"did you mean {ID}?" in message
    assert "simulacrum list" in message


# ---------------------------------------------------------------------- Gymnasium


def test_the_spec_survives_json_and_pickle(folder):
    spec = gymnasium.spec(ID)
    assert spec.max_episode_steps is None  # the step cap is the base classes'
    for again in (gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()), pickle.loads(pickle.dumps(spec))):
        assert again == spec
        env = gymnasium.make(again)
        assert env.reset(seed=3)[1]["seed"] == 3
        made = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        assert made.unwrapped.environment.id == ID


def test_make_gives_the_reference_with_its_render_modes(folder, recwarn):
    env = gymnasium.make(ID, render_mode="ansi")
    assert isinstance(env.unwrapped, simulacrum.ReferenceEnv)
    env.reset(seed=1)
    assert isinstance(env.render(), str)
    assert gymnasium.make(ID, render_mode="rgb_array_list").reset(seed=1)
    assert not [warning for warning in recwarn if "render" in str(warning.message)]
    assert registry.make_reference.metadata["render_modes"] == list(render.MODES) == list(registry.RENDER_MODES)
    assert registry.make_vector.metadata == registry.make_reference.metadata


def test_the_reference_asks_for_no_combination(folder):
    validated(folder, covers=[("tensor", "eager", "cuda")])
    assert gymnasium.make(ID).reset(seed=1)
    with pytest.raises(GateError, match="tensor eager cpu"):
        gymnasium.make_vec(ID)


def test_make_vec_gives_the_fast_side(folder):
    env = gymnasium.make_vec(ID, num_envs=3, seed=5, resets="masked", autoreset_mode="SameStep")
    from simulacrum.vector import FastVectorEnv

    assert isinstance(env, FastVectorEnv)
    assert env.num_envs == 3
    assert env.autoreset_mode is gymnasium.vector.AutoresetMode.SAME_STEP
    assert env.fast.resets == "masked"
    reference = gymnasium.make(ID)
    expected = [reference.reset(seed=seed)[0].tolist() for seed in (7, 8, 9)]
    assert env.reset(seed=7)[0].tolist() == expected
    again = gymnasium.make_vec(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, FastVectorEnv)
    assert again.num_envs == 3
    sync = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync")
    assert isinstance(sync, gymnasium.vector.SyncVectorEnv)
    assert sync.reset(seed=7)[0].tolist() == expected[:2]


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec, lambda name: simulacrum.make_fast(name, [2])])
def test_without_a_report_nothing_is_made(folder, make):
    (folder / "fast.py").write_text((folder / "fast.py").read_text() + "\n")
    with pytest.raises(gymnasium.error.Error, match=r"package changed.*\nrun: simulacrum validate") as caught:
        make(ID)
    assert isinstance(caught.value, GateError)


def test_an_id_that_is_taken_or_that_gymnasium_refuses_is_left_alone(folder, tmp_path, monkeypatch):
    spec = gymnasium.registry[ID]
    assert registry.register_known() == []
    assert gymnasium.registry[ID] is spec
    gymnasium.register("other/name", entry_point="a:b")
    monkeypatch.setattr(registry, "known", lambda: [Known("other/name-v3", None, ""), Known("a b-v1", None, "")])
    assert registry.register_known() == []


def test_gymnasium_makes_a_reference_without_torch(folder):
    code = f"""
import sys, gymnasium
env = gymnasium.make("simulacrum:{ID}")
env.reset(seed=1)
env.step(env.action_space.sample())
print(*sorted({{"torch", "torchrl", "tensordict", "markdown_it", "rich", "jsonschema"}} & set(sys.modules)))
"""
    assert python(code) == ""


# ---------------------------------------------------------------------- make_fast, and workers


def test_make_fast_passes_its_options_on(folder):
    env = simulacrum.make_fast(
        "walk", (2, 3), seed=7, first_instance=4, resets="masked", validate_actions=False, expose_state=True
    )
    whole = simulacrum.make_fast(ID, 10, seed=7)
    assert env.batch_size == (2, 3)
    assert env.resets == "masked"
    assert env.validate_actions is False
    assert env.instance_seeds.tolist() == whole.instance_seeds.tolist()[4:]
    assert ("state", "position") in env.reset().keys(True)


@pytest.mark.parametrize("compiled", [True, {"backend": "eager"}, {}])
def test_compiled_is_a_combination_of_its_own(tmp_path, compiled):
    folder = validated(copy_package(tmp_path / "walk"), covers=[("tensor", "eager", "cpu")])
    simulacrum.make_fast(folder, [2])
    with pytest.raises(GateError, match="tensor compiled cpu"):
        simulacrum.make_fast(folder, [2], compile=compiled)
    validated(folder)
    assert simulacrum.make_fast(folder, [2], compile=compiled)._compile_options is not None


def _rollouts(data):
    """What a pickled factory and a pickled environment show in 20 steps."""
    import torch

    factory, made = pickle.loads(data)
    shown = []
    for env in (factory(), made):
        env.set_seed(11)
        shown.append(env.rollout(20, lambda td: td.set("action", torch.ones(4, dtype=torch.int64))).get("next"))
    return [nested["observation"].tolist() for nested in shown]


def test_factories_and_environments_work_in_spawned_workers(folder):
    data = pickle.dumps((functools.partial(simulacrum.make_fast, ID, [4]), simulacrum.make_fast(ID, [4])))
    expected = _rollouts(data)
    assert expected[0] == expected[1]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_rollouts, (data,)) == expected


def test_public_names_are_pinned():
    assert simulacrum.__all__ == [
        "AdoptedEnv",
        "Adoption",
        "BatchCollector",
        "Environment",
        "FastEnv",
        "Fault",
        "GateError",
        "KernelEnv",
        "ReferenceEnv",
        "ScriptedPolicy",
        "SimulacrumError",
        "Symmetry",
        "__version__",
        "adopt",
        "make_fast",
        "tensor_state",
    ]
    assert [name for name in simulacrum.__all__ if not hasattr(simulacrum, name)] == []
    from simulacrum import harness

    assert harness.__all__ == ["Report", "require_fresh_report", "run"]
    assert [name for name in harness.__all__ if not hasattr(harness, name)] == []
    with pytest.raises(AttributeError, match="nothing"):
        simulacrum.nothing  # noqa: B018


def test_the_checkouts_own_environments_are_registered():
    ids = json.loads(python("import json, simulacrum, gymnasium; print(json.dumps(list(gymnasium.registry)))"))
    assert {"simulacrum/toywalk-v0", "simulacrum/forager-v0"} <= set(ids)
