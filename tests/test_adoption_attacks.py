"""Adopted environments that are wrong, and what tells it."""

import copy
import json
import sys
from collections import deque, namedtuple
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from edited import edited_as
from environments import ENVS
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv, VectorWrapper

import simulacrum
from simulacrum import Adoption
from simulacrum.cli.new import new
from simulacrum.compare import CompareError, Target, compare, replay
from simulacrum.compare.pair import Pair
from simulacrum.compare.run import Run
from simulacrum.errors import SpecError
from simulacrum.harness import fingerprint, run
from simulacrum.harness.profile import QUICK
from simulacrum.originals import KeyedGenerator
from simulacrum.rng import Draw

PROFILE = replace(QUICK, processes=False)
ORIGINAL = '"FrozenLake8x8-v1" if HEIGHT * WIDTH == 64 else "FrozenLake-v1"'
STATE = "@dataclass\nclass State"


def messages(folder, *changes, base="frozen_lake"):
    """What the check ``adoption`` finds in a copy of a package with texts of ``reference.py`` replaced."""
    made = edited_as(folder / base, base, *((name, old, new) for name, old, new in changes))
    return " ".join(found.message for found in run(made, PROFILE, names=["adoption"]).checks[0].findings)


def functions(read, write="env.s = state.cell"):
    """The changes by which a lake's state is read and written by functions with these bodies."""
    text = f"def read(env):\n    {read}\n\n\ndef write(env, state):\n    {write}\n\n\n{STATE}"
    return ("reference.py", 'state={"cell": "s"}', "state=(read, write)"), ("reference.py", STATE, text)


# ---------------------------------------------------------------------- originals that keep more than their state


class Counted(FrozenLakeEnv):
    """The sixth step of an episode leads to the start, by a counter that no attribute of the state tells."""

    def reset(self, **arguments):
        self.steps = 0
        return super().reset(**arguments)

    def step(self, action):
        self.steps += 1
        seen, *others = super().step(action)
        if self.steps == 6:
            self.s = seen = 0
        return seen, *others


class Second(FrozenLakeEnv):
    """A second generator, seeded with the reset's seed."""

    def reset(self, *, seed=None, options=None):
        self.rng = np.random.default_rng(5)
        return super().reset(seed=seed, options=options)

    def step(self, action):
        return super().step((action + self.rng.integers(2)) % 4)


class Lagging(FrozenLakeEnv):
    """It shows the cell before, which it keeps."""

    def reset(self, **arguments):
        self.seen = super().reset(**arguments)[0]
        return self.seen, {}

    def step(self, action):
        before, (self.seen, *others) = self.seen, super().step(action)
        return before, *others


class Curriculum(FrozenLakeEnv):
    """From the third episode on its ice is not slippery: what comes depends on how many episodes there were."""

    episodes = 0

    def reset(self, **arguments):
        self.episodes += 1
        return super().reset(**arguments)

    def step(self, action):
        if self.episodes > 2:
            self.np_random.random()
            self.s = min(self.s + 1, 15)
            return self.s, 0.0, self.s == 15, False, {}
        return super().step(action)


@pytest.mark.parametrize("original", [Counted, Second, Lagging, Curriculum])
def test_a_hidden_part_of_the_state_is_found(tmp_path, original):
    name = f"attack/{original.__name__}-v0"
    gymnasium.register(name, entry_point=original, max_episode_steps=100)
    try:
        found = messages(tmp_path, ("reference.py", ORIGINAL, repr(name)))
    finally:
        del gymnasium.registry[name]
    assert "is another one in a fresh original that was put into the same state" in found


def test_a_read_that_changes_the_original_is_found(tmp_path):
    found = messages(tmp_path, *functions("env.P[0][0] = env.P[0][1]\n    return {'cell': env.s}"))
    assert "a new original whose state is neither read nor written" in found


def test_a_write_that_does_nothing_is_found(tmp_path):
    found = messages(tmp_path, *functions("return {'cell': env.s}", "pass"))
    assert "a fresh original that was put into the same state" in found


def test_an_action_mask_that_is_not_the_originals_is_found(tmp_path):
    wrong = "return original.action_mask((original.s + 1) % 500)"
    found = messages(tmp_path, ("reference.py", "return original.action_mask(original.s)", wrong), base="taxi")
    assert "action_mask" in found
    assert "a new original whose state is neither read nor written" in found


def test_a_package_with_masks_and_fields_that_the_table_does_not_tell_passes(tmp_path):
    assert messages(tmp_path, base="taxi") == ""


# ---------------------------------------------------------------------- originals that are not what spec.md says


@pytest.mark.parametrize("name", ["numpy", "no-such-distribution"])
def test_adopts_must_name_the_distribution_of_the_original(tmp_path, name):
    found = messages(tmp_path, ("spec.md", "| `adopts` | gymnasium |", f"| `adopts` | {name} |"))
    assert f"which is in none of the {len(fingerprint.installed(name))} files of {name} that are here" in found


def test_an_original_of_the_packages_own_is_none(tmp_path):
    imported = "from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv"
    own = f"{imported}\n\n\nclass Own(FrozenLakeEnv):\n    pass\n\n\n{STATE}"
    found = messages(tmp_path, ("reference.py", ORIGINAL, "Own"), ("reference.py", STATE, own))
    assert "reference.Own, which is in none of the" in found
    named = ("spec.md", "| `adopts` | gymnasium |", "| `adopts` | itself |")
    assert messages(tmp_path / "named", ("reference.py", ORIGINAL, "Own"), ("reference.py", STATE, own), named) == ""


def test_an_edited_file_of_the_original_changes_the_fingerprint(tmp_path, monkeypatch):
    site, info = tmp_path / "site", tmp_path / "site" / "lakes-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "lakes.py").write_text("DEPTH = 1\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lakes\nVersion: 1.0\n")
    (info / "RECORD").write_text("lakes.py,,\nlakes-1.0.dist-info/METADATA,,\nlakes-1.0.dist-info/RECORD,,\n")
    monkeypatch.syspath_prepend(str(site))
    made = edited_as(tmp_path / "lake", "frozen_lake", ("spec.md", "| `adopts` | gymnasium |", "| `adopts` | lakes |"))
    before = fingerprint.adopted(made)
    assert before["lakes"] == "1.0"
    assert list(fingerprint.installed("lakes")) == ["lakes.py"]
    (site / "lakes.py").write_text("DEPTH = 2\n")
    fingerprint.forget()
    after = fingerprint.adopted(made)
    assert after["lakes"] == "1.0"
    assert fingerprint.moves(before, after) == [f"lakes files {before['lakes files']} -> {after['lakes files']}"]
    assert before["lakes files"] != after["lakes files"]


def test_of_an_editable_distribution_the_files_of_its_modules_count(tmp_path, monkeypatch):
    site, info, source = tmp_path / "site", tmp_path / "site" / "my_lakes-1.0.dist-info", tmp_path / "work" / "my_lakes"
    info.mkdir(parents=True)
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("raise RuntimeError('it is not imported')\n")
    (source / "map.txt").write_text("SFFG\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-lakes\nVersion: 1.0\n")
    (info / "RECORD").write_text("__editable___my_lakes_finder.py,,\nmy_lakes-1.0.dist-info/METADATA,,\n")
    (info / "direct_url.json").write_text(json.dumps({"url": "file:///somewhere", "dir_info": {"editable": True}}))
    monkeypatch.syspath_prepend(str(source.parent))
    monkeypatch.syspath_prepend(str(site))
    found = fingerprint.installed("my-lakes")
    assert found == {"my_lakes/__init__.py": source / "__init__.py", "my_lakes/map.txt": source / "map.txt"}


def test_gymnasiums_files_are_those_that_are_imported():
    files = {path.resolve() for path in fingerprint.installed("gymnasium").values()}
    assert {Path(module.__file__).resolve() for module in (gymnasium, sys.modules[FrozenLakeEnv.__module__])} <= files
    assert not any(".dist-info" in str(path) or path.suffix == ".pyc" for path in files)


# ---------------------------------------------------------------------- adoptions


class Drifting(gymnasium.Env):
    """Attributes that begin as integers, and a namedtuple."""

    Place = namedtuple("Place", "x y")
    action_space, observation_space = Discrete(2), Discrete(1)

    def reset(self, *, seed=None, options=None):
        self.place, self.speed, self.grid = self.Place(0, 0), 0, np.zeros(2, np.int64)
        return 0, {}


def test_a_written_value_is_not_cut_to_the_type_of_the_attribute():
    adoption = Adoption(Drifting, ["speed", "grid", "place"])
    env = adoption.make()
    env.reset()
    state = SimpleNamespace(speed=0.5, grid=np.array([0.25, 1.0]), place=(1, 2))
    adoption.write(env, state)
    assert env.speed == 0.5
    assert env.grid.tolist() == [0.25, 1.0]
    assert env.place == Drifting.Place(1, 2)
    assert isinstance(env.place, Drifting.Place)
    assert env.grid is not state.grid


class Failing(gymnasium.Env):
    """A sum of what was drawn; one step raises after it has changed it."""

    action_space, observation_space = Discrete(2), Discrete(10**6)
    failures = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.total = 0
        return 0, {}

    def step(self, action):
        self.total += 1 + int(self.np_random.integers(1000))
        if self.failures and action:
            self.failures -= 1
            raise OSError("once")
        return self.total, 0.0, False, False, {}


def test_a_step_that_raised_is_tried_again_from_the_state_before_it():
    env, other = (simulacrum.adopt(Failing, state=["total"], observation="total", max_episode_steps=9)() for _ in "ab")
    other.original.failures = 0
    for one in (env, other):
        one.reset(seed=3)
        one.step(0)
    with pytest.raises(OSError, match="once"):
        env.step(1)
    assert env.step(1) == other.step(1)
    assert env.get_state() == other.get_state()


class Buffered(Failing):
    """It shows one array, which it writes again at every step, in a dictionary."""

    observation_space = Box(0, 10**6, (1,), np.int64)

    def reset(self, **arguments):
        super().reset(**arguments)
        self.shown = {"total": np.zeros(1, np.int64)}
        return self.shown, {}

    def step(self, action):
        self.shown["total"][0] = super().step(0)[0]
        return self.shown, 0.0, False, False, {}


def test_what_translate_hands_on_is_a_copy():
    env = simulacrum.adopt(Buffered, state=["total"], translate=lambda shown: shown["total"], max_episode_steps=9)()
    first, _ = env.reset(seed=0)
    second = env.step(0)[0]
    kept = copy.deepcopy((first, second))
    env.step(0)
    assert first == kept[0] == 0
    assert second == kept[1]


def test_adoptions_that_are_none_are_told():
    with pytest.raises(
        SpecError, match=r"original: expected a Gymnasium ID or a class of gymnasium\.Env, got <function"
    ):
        Adoption(lambda: FrozenLakeEnv(), ["s"])
    with pytest.raises(SpecError, match="Patched: expected an Adoption, which has no subclasses"):
        type("Patched", (Adoption,), {})
    for rules in ((), ("step",), "step"):
        with pytest.raises(SpecError, match='rules: expected names of functions, "reset" and "step" among them'):
            Adoption("FrozenLake-v1", ["s"], rules=rules)
    with pytest.raises(SpecError, match='options: expected no render_mode "human"'):
        Adoption("FrozenLake-v1", ["s"], options={"render_mode": "human"})
    with pytest.warns(UserWarning, match="latest versioned"), pytest.raises(SpecError, match="ID with its version"):
        simulacrum.adopt("FrozenLake", state=["s"])


# ---------------------------------------------------------------------- the generator


def drawn(call):
    generator = KeyedGenerator()
    with generator.drawing(Draw.at(7, 0, 3), [1], "step"):
        return call(generator)


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.random(dtype=np.float32),  # a Python float, with which NumPy computes in float64
        lambda g: g.integers(0, 3, dtype=int),
        lambda g: g.integers(0, 2, dtype=bool),
        lambda g: g.integers(0, 2, dtype=np.bool_),
        lambda g: g.integers(0, 256, dtype=np.uint8),
        lambda g: g.choice(3, ()),
    ],
)
def test_types_are_numpys(call):
    ours, numpys = drawn(call), call(np.random.default_rng(0))
    assert type(ours) is type(numpys)
    assert type(ours * 0.1) is type(numpys * 0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.integers(0, 300, dtype=np.uint8),  # which would wrap around
        lambda g: g.integers(-1, 3, dtype=np.uint8),
        lambda g: g.integers(0, 3, dtype=bool),
        lambda g: g.integers(0, 3, dtype=float),
        lambda g: g.random(-1),
        lambda g: g.random(2.5),
        lambda g: g.uniform(0, np.inf),
        lambda g: g.choice(3.0),
    ],
)
def test_errors_are_numpys(call):
    with pytest.raises((TypeError, ValueError, OverflowError)) as numpys:
        call(np.random.default_rng(0))
    with pytest.raises(numpys.type):
        drawn(call)


def test_what_has_no_slices_is_shuffled():
    values = deque("abcdef")
    drawn(lambda g: g.shuffle(values))
    assert list(values) == drawn(lambda g: g.permutation(list("abcdef")).tolist())


def test_copies_of_the_generator_are_closed_and_it_goes_through_default_rng():
    def play(generator):
        assert np.random.default_rng(generator) is generator
        for other in (copy.copy(generator), copy.deepcopy(generator)):
            with pytest.raises(simulacrum.errors.DrawError, match="expected draws within a reset or a step only"):
                other.random()
        return generator.random()

    assert drawn(play) == drawn(lambda g: g.random())


# ---------------------------------------------------------------------- new --adopt


def test_attributes_that_are_not_there_are_told(tmp_path):
    with pytest.raises(SpecError, match="FrozenLakeEnv: expected an attribute 'nope' after a reset"):
        new("lake", str(tmp_path), adopt="FrozenLake-v1", state=["nope"])
    assert not (tmp_path / "lake").exists()


def test_fields_have_names_that_python_takes(tmp_path):
    assert new("lake", str(tmp_path), adopt="FrozenLake-v1", state=["desc.size", "s"]) == 0
    text = (tmp_path / "lake" / "reference.py").read_text()
    compile(text, "reference.py", "exec")
    assert 'state={"desc_size": "desc.size", "s": "s"}' in text


@pytest.mark.parametrize("attribute", ["action_space", "np_random"])
def test_an_original_that_cannot_be_played_is_told(tmp_path, attribute):
    closed = type(
        "Closed", (Failing,), {attribute: property(lambda self: (_ for _ in ()).throw(AttributeError("none")))}
    )
    gymnasium.register("attack/Closed-v0", entry_point=closed)
    try:
        with pytest.raises(SpecError, match=r"attack/Closed-v0: .* raised AttributeError"):
            new("closed", str(tmp_path), adopt="attack/Closed-v0")
    finally:
        del gymnasium.registry["attack/Closed-v0"]


def test_an_original_that_leaves_the_process_is_told(tmp_path):
    gymnasium.register("attack/Leaving-v0", entry_point=type("Leaving", (Failing,), {"step": lambda *_: sys.exit(3)}))
    try:
        with pytest.raises(SpecError, match="playing the original raised SystemExit: 3"):
            new("leaving", str(tmp_path), adopt="attack/Leaving-v0")
    finally:
        del gymnasium.registry["attack/Leaving-v0"]


# ---------------------------------------------------------------------- compare


class Odd(VectorWrapper):
    """A batch of lakes whose steps do something else."""

    def __init__(self, num_envs, act):
        super().__init__(SyncVectorEnv([lambda: gymnasium.make("FrozenLake-v1")] * num_envs))
        self.act = act

    def step(self, actions):
        return self.act(super().step(actions))


def leave(result):
    raise SystemExit(0)


def raising(error):
    raise error


def fail(result):
    raise RuntimeError("no steps")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (leave, "raised SystemExit: 0"),  # which ended the command with the exit code of a pass
        (fail, "raised RuntimeError: no steps"),
        (lambda result: result[:4], "raised ValueError"),
        (lambda result: (*result[:4], None), "raised TypeError"),
        (lambda result: (*(value[:1] for value in result[:4]), {}), "raised IndexError"),
    ],
)
def test_a_candidate_that_cannot_be_run_is_told(act, told):
    with pytest.raises(CompareError, match=f"lakes or FrozenLake-v1 {told}"):
        compare("FrozenLake-v1", Target("lakes", factory=lambda num_envs: Odd(num_envs, act)), quick=True)


def test_an_error_in_a_check_beside_its_cases_is_told():
    run = Run(Pair(Target("FrozenLake-v1"), Target("gym:FrozenLake-v1")), 0, True, {}, {})
    for error, text in ((SystemExit(0), "SystemExit: 0"), (KeyError("final"), "KeyError: 'final'")):
        with pytest.raises(CompareError, match=f"spaces: gym:FrozenLake-v1 or FrozenLake-v1 raised {text}"):
            run.check("spaces", lambda run, error=error: raising(error))


@pytest.mark.parametrize("labels", [5, ["one"], ["one", 2], "ab"])
def test_a_saved_finding_with_other_labels_is_told(tmp_path, labels):
    source = next(iter(sorted((ENVS.parent / "docs" / "comparisons" / "gymnasium-cartpole").glob("*.json"))))
    content = json.loads(source.read_text())
    content["finding"]["labels"] = labels
    (tmp_path / "finding.json").write_text(json.dumps(content))
    with pytest.raises(CompareError, match="finding: labels: expected two texts"):
        replay(tmp_path / "finding.json")
