"""Named configurations: other constants, a module set and a report of their own."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium
import pytest
from fabricated import fabricated_report

import simulacrum
from simulacrum.cli import main
from simulacrum.errors import GateError, PackageError
from simulacrum.harness import checks, discovery, variants
from simulacrum.harness.checks import NAMES
from simulacrum.harness.context import Context
from simulacrum.harness.gate import Refusal, require_fresh_report
from simulacrum.harness.places import has_report, report_path
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.registry import make_reference
from simulacrum.spec import Package

ENVS = Path(__file__).resolve().parent.parent / "envs"
SNAKE = Package.read(ENVS / "snake")
NATIVE = (("kernel", "native", "cpu"),)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of snake under another ID, in a state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.setattr(discovery, "ROOT", tmp_path / "checkout")
    made = tmp_path / "snake"
    ignored = shutil.ignore_patterns("__pycache__", "validation_report*", "failures", "corpus", "trace.json")
    shutil.copytree(ENVS / "snake", made, ignore=ignored)
    for name in ("__init__.py", "spec.md"):
        text = (made / name).read_text()
        (made / name).write_text(text.replace("simulacrum/snake-v0", "tests/snake-v0"))
    return made.resolve()


def validated(folder, config):
    """Write a report that no battery made."""
    report = fabricated_report(folder, covers=NATIVE)
    package = Package.read(folder).configured(config)
    again = simulacrum.harness.report.new_report(package, report.profile, report.names)
    again.checks.extend(report.checks)
    again.write()


# ---------------------------------------------------------------------- packages


def test_the_first_configuration_is_the_one_by_default():
    assert list(SNAKE.spec.configurations) == ["classic", "tiny", "boards", "arena"]
    assert SNAKE.configured().config == "classic"
    assert SNAKE.configured() is SNAKE.configured("classic")


def test_constants_spaces_and_schema_follow():
    boards = SNAKE.configured("boards")
    module = boards.module()
    assert (module.HEIGHT, module.WIDTH, module.SNAKES, module.FOODS, module.LONGEST) == (360, 640, 256, 4096, 1024)
    assert boards.environment.agents == 256
    assert boards.environment.observation_space.shape == (256, 11, 11)
    assert boards.spec.fields["board"].shape == (360, 640)
    schema = json.loads(boards.files["schema.json"])["$defs"]
    assert schema["state"]["properties"]["turns"]["minItems"] == 256
    assert schema["state"]["properties"]["turns"]["items"]["maxItems"] == 1024
    assert schema["state"]["properties"]["head"]["items"]["maximum"] == 360 * 640 - 1
    assert schema["action"]["minItems"] == schema["reward"]["maxItems"] == schema["died"]["minItems"] == 256
    assert schema["trajectory"]["properties"]["steps"]["maxItems"] == 1000
    assert SNAKE.module().SNAKES == 3  # another module set


def test_only_other_constants_make_a_variant():
    assert not SNAKE.is_variant
    assert not SNAKE.configured("tiny").is_variant
    assert SNAKE.configured("classic").is_variant
    assert SNAKE.configured("tiny").origin is SNAKE
    assert SNAKE.configured("boards").target.endswith("snake --config boards")


@pytest.mark.parametrize("name", ["huge", "", "Boards"])
def test_an_unknown_configuration_is_refused_with_those_there_are(name):
    with pytest.raises(PackageError, match=r"expected one of \['classic', 'tiny', 'boards', 'arena'\]"):
        SNAKE.configured(name)


def test_a_package_without_configurations_has_none():
    walk = Package.read(ENVS / "toywalk")
    assert walk.configured() is walk
    with pytest.raises(PackageError, match="names no configurations"):
        walk.configured("boards")


def test_classes_and_environments_pickle_with_their_configuration():
    env = SNAKE.configured("classic").fast(batch_size=[2], seed=0)
    env.reset()
    again = pickle.loads(pickle.dumps(env))
    assert type(again) is type(env)
    assert again.environment.agents == 1
    assert (again.get_state() == env.get_state()).all()
    package = pickle.loads(pickle.dumps(SNAKE.configured("boards")))
    assert package is SNAKE.configured("boards")


def test_another_process_finds_the_configuration(tmp_path):
    file = tmp_path / "class.pickle"
    file.write_bytes(pickle.dumps(SNAKE.configured("classic").reference))
    program = f"import pickle; print(pickle.load(open({str(file)!r}, 'rb')).environment.agents)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


# ---------------------------------------------------------------------- the gate


def test_each_configuration_has_a_report_of_its_own(folder):
    assert not has_report(folder)
    validated(folder, "tiny")
    assert report_path(folder, "tiny").name == "validation_report.tiny.json"
    assert report_path(folder, "tiny").is_file()
    assert has_report(folder)
    assert require_fresh_report(folder, config="tiny")
    env = make_reference(folder, config="tiny")
    assert env.environment.agents == 3
    assert simulacrum.make_fast(folder, [2], config="tiny").reset()["agents"].batch_size == (2, 3)
    for config in (None, "classic", "boards"):
        with pytest.raises(GateError, match=f"--config {config or 'classic'}") as caught:
            require_fresh_report(folder, config=config)
        assert caught.value.reason is Refusal.NO_REPORT


def test_the_report_of_another_configuration_does_not_count(folder):
    validated(folder, "tiny")
    for suffix in (".json", ".sig"):
        own, other = (report_path(folder, name).with_suffix(suffix) for name in ("tiny", "classic"))
        shutil.copy(own, other)
    with pytest.raises(GateError) as caught:
        require_fresh_report(folder, config="classic")
    assert caught.value.reason is Refusal.OTHER_PACKAGE


def test_a_form_that_there_is_none_of_is_told_as_such(folder):
    validated(folder, "tiny")
    with pytest.raises(GateError, match='there is no tensor form: take form="kernel"'):
        simulacrum.make_fast(folder, [2], config="tiny", form="tensor")
    with pytest.raises(GateError, match='a kernel runs on the CPU: take device="cpu"'):
        simulacrum.make_fast(folder, [2], config="tiny", device="cuda")


def test_an_edited_package_refuses_in_every_configuration(folder):
    for config in ("tiny", "classic"):
        validated(folder, config)
    (folder / "render.py").write_text((folder / "render.py").read_text() + "\n# edited\n")
    for config in ("tiny", "classic"):
        with pytest.raises(GateError) as caught:
            require_fresh_report(folder, config=config)
        assert caught.value.reason is Refusal.PACKAGE_CHANGED


def test_gymnasium_takes_the_configuration(folder, monkeypatch):
    validated(folder, "tiny")
    identifier = "tests/snake-v0"
    gymnasium.register(
        identifier,
        entry_point="simulacrum.registry:make_reference",
        vector_entry_point="simulacrum.registry:make_vector",
        kwargs={"environment": str(folder)},
    )
    try:
        env = gymnasium.make(identifier, config="tiny")
        assert env.action_space.shape == (3,)
        assert env.reset(seed=0)[0].shape == (3, 3, 3)
        envs = gymnasium.make_vec(identifier, num_envs=2, config="tiny")
        assert envs.reset(seed=0)[0].shape == (2, 3, 3, 3)
        assert '"config": "tiny"' in env.spec.to_json()
    finally:
        del gymnasium.registry[identifier]


# ---------------------------------------------------------------------- the battery


@pytest.mark.parametrize("name", ["differential", "transitions", "batch_independence", "invariant_sweep"])
def test_a_variant_passes(name):
    result = run_check(name, SNAKE.configured("classic"), QUICK)
    assert (result.outcome, result.findings) == ("passed", [])


def test_what_is_covered_is_what_was_compared():
    result = run_check("differential", SNAKE.configured("classic"), QUICK)
    assert result.facts["covers"] == [["kernel", "native", "cpu"]]
    assert result.counts["agent transitions"] >= 3000
    assert result.counts["truncations"] > 0


def test_other_checks_say_where_they_run():
    result = run_check("coverage", SNAKE.configured("classic"), QUICK)
    assert result.outcome == "not_applicable"
    assert "with the constants as the configuration tiny has" in result.notes[0]


def test_memory_bounds_the_rows_of_a_variant():
    assert variants.rows_that_fit(SNAKE.configured("tiny"), 4096) == 4096
    assert 64 <= variants.rows_that_fit(SNAKE.configured("boards"), 4096) <= 256
    assert variants.rows_that_fit(SNAKE.configured("arena"), 4096) == 8


FAULTS = {  # in kernel.pyx, each of which shows only with other constants than tiny's
    "differential": ("rows.reward[a] = <float>REWARD_DEATH", "rows.reward[a] = <float>REWARD_DEATH + (SNAKES == 1)"),
    "transitions": ("rows.reward[a] = <float>REWARD_DEATH", "rows.reward[a] = <float>REWARD_DEATH + (SNAKES == 1)"),
}


@pytest.mark.parametrize("check", list(FAULTS))
def test_a_fault_that_only_a_variant_has_is_found_and_replays(check, folder, capsys):
    old, new = FAULTS[check]
    text = (folder / "kernel.pyx").read_text()
    assert old in text
    (folder / "kernel.pyx").write_text(text.replace(old, new))
    package = Package.read(folder)
    assert run_check("differential", package.configured("tiny"), QUICK).outcome == "passed"
    (finding,) = run_check(check, package.configured("classic"), QUICK).findings
    assert finding.field == "reward"
    assert "--config classic" in finding.replay
    assert main(["explain", finding.file]) == 1
    assert "reward" in capsys.readouterr().out


def test_rows_that_depend_on_each_other_are_found(folder):
    text = (folder / "kernel.pyx").read_text()
    include = 'include "loop.pxi"'
    assert include in text
    broken = text.replace("cdef void observation(", "cdef int calls = 0\n\n\ncdef void observation(", 1)
    start = broken.index("cdef void observation(")
    body = broken.index(":\n", start) + 2
    broken = broken[:body] + "    global calls\n    calls += 1\n" + broken[body:]
    broken = broken.replace(include, f"{include}\n").replace("cdef void transition(", "cdef void transition(", 1)
    (folder / "kernel.pyx").write_text(broken.replace("rows.reward[a] = 0", "rows.reward[a] = calls % 3 == 1"))
    assert "calls % 3" in (folder / "kernel.pyx").read_text()
    (finding,) = run_check("batch_independence", Package.read(folder).configured("classic"), QUICK).findings
    assert "shows another reward among" in finding.message


def test_a_variants_context_names_its_configuration():
    context = Context("differential", SNAKE.configured("boards"), QUICK)
    assert context.replay_command().endswith("snake --config boards -k differential --seed 0 --quick")


# ---------------------------------------------------------------------- configurations of an adopted environment


@pytest.fixture
def sab(tmp_path):
    """Edits files of a copy of blackjack; its configuration whose rules are other ones than the table's."""
    made = tmp_path / "blackjack"
    ignored = shutil.ignore_patterns("__pycache__", "validation_report*", "failures")
    shutil.copytree(ENVS / "blackjack", made, ignore=ignored)

    def edited(file="checks.py", old="", new=""):
        text = (made / file).read_text()
        assert old in text
        (made / file).write_text(text.replace(old, new))
        return Package.read(made).configured("sab")

    return edited


def test_all_checks_run_but_those_of_the_tables_constants(sab):
    package = sab()
    elsewhere = [name for name in NAMES if variants.check_of(name, package) is variants._elsewhere]
    assert elsewhere == [name for name in NAMES if name in variants.OF_THE_TABLE]
    assert variants.check_of("coverage", package) is checks.load("coverage")
    assert variants.check_of("coverage", SNAKE.configured("classic")) is variants._elsewhere


@pytest.mark.parametrize("name", ["auto_reset", "coverage", "replay"])
def test_a_configuration_of_other_rules_passes(name, sab):
    result = run_check(name, sab(), QUICK)
    assert (result.outcome, result.findings) == ("passed", [])


def test_a_fault_in_the_rules_of_a_configuration_is_found(sab):
    package = sab("fast.py", "torch.where(natural & beaten, ", "torch.where(natural, ")
    result = run_check("transitions", package, replace(QUICK, transitions=200_000))
    assert [finding.field for finding in result.findings] == ["reward"]


def test_an_excuse_that_names_a_configuration_is_held_to_it(sab):
    package = sab(old="a rule of the configuration sab, compared there", new="a rule of the configuration sab-too")
    assert run_check("coverage", package, QUICK).findings == []
    package = sab("checks.py", "EXCUSES = {", "EXCUSES = {\n    NEVER: 'a rule of the configuration sab',")
    package = sab(
        "checks.py", "EXCUSES = {", "NEVER = 'coverage BlackjackEnv.step: reward = 1.5 is executed'\nEXCUSES = {"
    )
    (finding,) = run_check("coverage", package, QUICK).findings
    assert "reward = 1.5 is executed: never so" in finding.message
    assert "its excuse in checks.py says that it is in this configuration" in finding.message


def test_what_other_configurations_find_is_kept_in_no_corpus(sab, tmp_path):
    package = sab()
    file = tmp_path / "blackjack" / "corpus" / "transitions.jsonl"
    before = file.read_bytes()
    assert run_check("guided_search", package, replace(QUICK, keeps=True)).outcome == "passed"
    assert file.read_bytes() == before


# ---------------------------------------------------------------------- the command line


def test_validate_takes_one_configuration_or_all(folder, capsys):
    assert main(["validate", str(folder), "-k", "batch_independence", "--quick", "--config", "classic"]) == 0
    shown = capsys.readouterr().out
    assert "configuration classic" in shown
    assert "configuration tiny" not in shown
    assert main(["validate", str(folder), "-k", "static_read", "--quick"]) == 0
    shown = capsys.readouterr().out
    assert all(f"configuration {name}" in shown for name in ("classic", "tiny", "boards", "arena"))
    assert main(["validate", str(folder), "-k", "static_read", "--config", "huge"]) == 2
    assert "expected one of ['classic', 'tiny', 'boards', 'arena']" in capsys.readouterr().err
