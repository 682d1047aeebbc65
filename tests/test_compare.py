"""``simulacrum.compare``: what it takes, what it tells, saved findings, the command."""

import argparse
import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from compare_worlds import NEXT, SAME, walk, walks
from environments import TOYWALK
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from simulacrum.cli import codes, comparing
from simulacrum.compare import CompareError, Intended, Target, compare, replay
from simulacrum.compare.case import Case
from simulacrum.compare.intended import documented, read, stated
from simulacrum.compare.leaves import alike, leaves, spaces_of, ulps, unlike
from simulacrum.compare.pair import Pair
from simulacrum.compare.statistics import chi_square_tail, two_counts, two_samples
from simulacrum.compare.views import view_of
from simulacrum.errors import SimulacrumError, SpaceError
from simulacrum.vector import FastVectorEnv

WORLDS = Path(__file__).with_name("compare_worlds.py")


def outcomes(comparison):
    return {result.name: result.outcome for result in comparison.results}


def findings(comparison, check):
    return {finding.difference.subject: finding for finding in comparison.findings if finding.check == check}


def command(*arguments):
    """The command's exit code, with the parser that the command line has for it."""
    parser = argparse.ArgumentParser()
    comparing.add(parser.add_subparsers(required=True))
    told = parser.parse_args(["compare", *map(str, arguments)])
    try:
        return told.command(told)
    except SimulacrumError as error:
        return codes.complain(str(error))


def test_a_rounded_state_judges_nothing():
    def factory(num_envs, max_episode_steps=500):
        return gymnasium.make_vec("CartPole-v1", num_envs, max_episode_steps=max_episode_steps)

    names = ["lockstep", "terminal_observations", "flags"]
    comparison = compare("CartPole-v1", factory, state=["state=observation"], checks=names, quick=True)
    assert outcomes(comparison) == {
        "lockstep": "not_applicable",
        "terminal_observations": "not_applicable",
        "flags": "passed",
    }
    lockstep, terminal, flags = comparison.results
    assert "fewer digits than the reference keeps" in lockstep.notes[0]
    assert "ulps apart" in lockstep.notes[0]
    assert not terminal.counts["terminal observations"]
    assert flags.counts["transitions judged by clock"] > 1000


# what is known to be right: our own fast forms


@pytest.mark.parametrize("form", ["tensor", "kernel"])
def test_our_own_fast_forms_pass_as_an_envbase(form):
    def factory(num_envs, seed):
        return TOYWALK.forms[form](batch_size=[num_envs], seed=seed)

    comparison = compare(TOYWALK.reference, factory, quick=True)
    assert not comparison.findings, "\n".join(finding.text() for finding in comparison.findings)
    found = outcomes(comparison)
    assert found.pop("transition_table") == "not_applicable"
    assert set(found.values()) == {"passed"}
    counts = next(result.counts for result in comparison.results if result.name == "lockstep")
    assert counts["transitions"] > 2000
    assert counts["episodes"] > 20


@pytest.mark.parametrize("mode", AutoresetMode)
def test_our_own_vector_form_passes(mode):
    def factory(num_envs):
        return FastVectorEnv(TOYWALK.fast(batch_size=[num_envs]), autoreset_mode=mode)

    comparison = compare(TOYWALK.reference, factory, quick=True)
    assert not comparison.findings, "\n".join(finding.text() for finding in comparison.findings)
    assert outcomes(comparison)["lockstep"] == "passed"


def test_an_envbase_with_a_fault():
    class Wrong(TOYWALK.fast):
        def transition(self, state, action, draw):
            following, reward, terminated = super().transition(state, action, draw)
            return following, reward + (reward > 0), terminated

    comparison = compare(
        TOYWALK.reference, lambda num_envs: Wrong(batch_size=[num_envs]), quick=True, checks=["lockstep"]
    )
    assert set(findings(comparison, "lockstep")) == {"reward"}


def test_gymnasiums_blackjack_is_found_to_be_itself():
    checks = ["spaces", "seeds", "lockstep", "terminal_observations"]
    comparison = compare("Blackjack-v1", "gym:Blackjack-v1", checks=checks, quick=True)
    assert outcomes(comparison) == dict.fromkeys(checks, "passed")


# what other libraries give


def test_gymnasiums_vector_cartpole():
    comparison = compare("CartPole-v1", "gym:CartPole-v1", state=["state=state.T"], quick=True)
    found = outcomes(comparison)
    assert {name for name, outcome in found.items() if outcome == "failed"} == {"seeds", "batch_independence"}
    assert found["lockstep"] == found["flags"] == found["terminal_observations"] == "passed"
    assert "row i has the seed s + i" in findings(comparison, "seeds")
    small = findings(comparison, "seeds")["row i has the seed s + i"].case
    assert (small.rows, small.steps) == (2, 0)


def test_without_a_state_cartpole_is_compared_by_the_seed_of_one_row():
    comparison = compare("CartPole-v1", "gym:CartPole-v1", checks=["lockstep"], quick=True)
    (result,) = comparison.results
    assert result.outcome == "passed"
    assert any("one row alone" in note for note in result.notes)
    assert result.counts["transitions"] > 100


def test_envpools_taxi():
    pytest.importorskip("envpool", reason="EnvPool is not installed")
    comparison = compare("Taxi-v4", "envpool:Taxi-v3", checks=["seeds", "lockstep"], quick=True)
    assert outcomes(comparison)["seeds"] == "intended"
    assert set(findings(comparison, "lockstep")) == {"first observation"}


def test_envpools_frozen_lake():
    pytest.importorskip("envpool", reason="EnvPool is not installed")
    comparison = compare("FrozenLake-v1", "envpool:FrozenLake-v1", checks=["flags", "transition_table"], quick=True)
    assert outcomes(comparison)["transition_table"] == "passed"
    assert set(findings(comparison, "flags")) == {"terminated"}


def test_gymnaxs_cartpole():
    pytest.importorskip("gymnax", reason="gymnax is not installed")
    comparison = compare("CartPole-v1", "gymnax:CartPole-v1", checks=["spaces", "reset_modes"], quick=True)
    assert set(findings(comparison, "reset_modes")) == {"no declared mode", "final_obs"}


# what cannot be run is told


@pytest.mark.parametrize(
    ("reference", "candidate", "message"),
    [
        ("Nowhere-v0", "gym:CartPole-v1", "REFERENCE Nowhere-v0: it could not be made"),
        ("CartPole-v1", "gym:Nowhere-v0", "CANDIDATE gym:Nowhere-v0: it could not be made"),
        ("envpool:Taxi-v3", "gym:CartPole-v1", "REFERENCE: expected a Gymnasium ID"),
        ("CartPole-v1", "nowhere:function", "no module 'nowhere'"),
        ("CartPole-v1", "math:nothing", "math has no function nothing"),
        ("CartPole-v1", "nowhere.py:function", "no such file"),
        ("CartPole-v1", f"{WORLDS}:walk", "it could not be made: TypeError"),
        (f"{WORLDS}:walk", lambda num_envs: walk(), "expected a gymnasium.vector.VectorEnv or a torchrl EnvBase"),
        (lambda: 3, f"{WORLDS}:right", "expected a gymnasium.Env, got int"),
        (walk, lambda num_envs: walks(NEXT)(num_envs + 1), "expected num_envs 1, got 2"),
    ],
)
def test_what_cannot_be_made(reference, candidate, message):
    with pytest.raises(CompareError) as raised:
        compare(reference, candidate, checks=["spaces"])
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["envpool", "gymnax"])
def test_a_library_that_is_not_installed(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CompareError, match=f"pip install {name}"):
        compare("CartPole-v1", f"{name}:CartPole-v1")


def test_spaces_that_cannot_be_compared():
    class Texts(gymnasium.Env):
        observation_space, action_space = spaces.Text(3), spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return "a", {}

    with pytest.raises(SpaceError, match="REFERENCE: observation space: expected Box"):
        compare(Texts, walks(NEXT))
    Texts.observation_space, Texts.action_space = spaces.Discrete(2), spaces.Dict(a=spaces.Discrete(2))
    with pytest.raises(SpaceError, match="REFERENCE: action space"):
        compare(Texts, walks(NEXT))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checks": ["nothing"]}, "checks: expected some of spaces"),
        ({"autoreset": "sometimes"}, "autoreset: expected next-step"),
        ({"state": ["state"]}, "expected ATTRIBUTE=SOURCE"),
        ({"state": ["velocity=state.T"]}, "reference CartPoleEnv has no attribute 'velocity'"),
        ({"state": ["state=velocity"]}, "CartPoleVectorEnv has no 'velocity'"),
        ({"state": ["state=state"]}, "with the 1 rows first, got [4, 1]"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(CompareError) as raised:
        compare("CartPole-v1", "gym:CartPole-v1", **{"checks": ["lockstep"], **options})
    assert message in str(raised.value)


def test_a_state_is_no_help_where_steps_are_random_and_seeds_are_tried():
    comparison = compare(walk, walks(NEXT), state=["position=state"], checks=["lockstep"], quick=True)
    (result,) = comparison.results
    assert (result.outcome, result.counts["transitions"] > 0) == ("passed", True)


def test_an_error_of_a_candidate_is_a_finding():
    class Broken(type(walks(NEXT)(1))):
        def step(self, actions):
            if self.num_envs == 8:
                raise RuntimeError("eight are too many")
            return super().step(actions)

    def factory(num_envs, max_episode_steps=9):
        return Broken(num_envs, max_episode_steps=max_episode_steps)

    comparison = compare(walk, factory, checks=["aliasing"], autoreset="next-step", quick=True)
    assert "eight are too many" in findings(comparison, "aliasing")["raised"].difference.message


# intended differences


def test_an_intended_difference_is_told_apart():
    known = [Intended("*", "flags", "trunc*", "limits are terminations here", "its manual")]
    comparison = compare(walk, walks(NEXT, "truncated is terminated"), checks=["flags"], quick=True, intended=known)
    (result,) = comparison.results
    meant = {finding.difference.subject: finding.intended for finding in result.findings}
    assert meant.pop("terminated") == ""
    assert meant == dict.fromkeys(meant, "limits are terminations here (its manual)")
    assert "truncated" in meant
    assert result.outcome == "failed"
    known.append(Intended("walks*", "flags", "terminated", "the same", "its manual"))
    comparison = compare(walk, walks(NEXT, "truncated is terminated"), checks=["flags"], quick=True, intended=known)
    assert not comparison.passed  # another candidate's
    known.append(Intended("*", "*", "terminated", "the same", "its manual"))
    comparison = compare(walk, walks(NEXT, "truncated is terminated"), checks=["flags"], quick=True, intended=known)
    assert (comparison.passed, outcomes(comparison)) == (True, {"flags": "intended"})


def test_what_is_documented_names_who_says_so():
    assert documented()
    assert all(one.source and one.reason for one in documented())


def test_intended_differences_are_read(tmp_path):
    assert stated("seeds/list*: why: because") == [Intended("*", "seeds", "list*", "why: because", "the caller")]
    file = tmp_path / "known.json"
    entry = {"candidate": "*", "check": "seeds", "subject": "x", "reason": "r", "source": "s"}
    file.write_text(json.dumps([entry]))
    assert stated(str(file)) == read(file) == [Intended(**entry)]
    for text in ("seeds", "seeds/x", "seeds: x", "/x:", str(tmp_path / "none.json")):
        with pytest.raises(CompareError):
            stated(text)
    for content in ("{", "3", json.dumps([{**entry, "reason": 1}]), json.dumps([{"check": "seeds"}])):
        file.write_text(content)
        with pytest.raises(CompareError, match=r"known\.json"):
            read(file)


# saved findings, and the command


def test_the_command_saves_findings_that_are_replayed(tmp_path, capsys):
    results, folder = tmp_path / "results.json", tmp_path / "found"
    arguments = (
        f"{WORLDS}:walk",
        f"{WORLDS}:wrong",
        "-k",
        "flags or spaces",
        "--quick",
        "--save",
        folder,
        "--json",
        results,
    )
    assert command(*arguments) == codes.FINDINGS
    printed = capsys.readouterr().out
    assert "failed          flags" in printed
    assert "passed          spaces" in printed
    assert "findings in flags." in printed
    content = json.loads(results.read_bytes())
    assert (content["passed"], [check["outcome"] for check in content["checks"]]) == (False, ["passed", "failed"])
    assert content["versions"]["gymnasium"] == gymnasium.__version__
    file = folder / "flags-truncated.json"
    assert f"simulacrum compare --replay {file}" in printed
    assert command("--replay", file) == codes.FINDINGS
    assert "It shows now:" in capsys.readouterr().out
    mended = json.loads(file.read_bytes())
    mended["candidate"]["text"] = f"{WORLDS}:right"
    file.write_text(json.dumps(mended))
    assert command("--replay", file) == codes.PASSED
    assert "does not show any more" in capsys.readouterr().out


def test_the_command_passes_and_takes_options(capsys):
    options = ("--candidate-option", "vectorization_mode=sync", "--reference-option", "max_episode_steps=20")
    assert command("CartPole-v1", "gym:CartPole-v1", "-k", "aliasing", "--quick", *options) == codes.PASSED
    assert "No finding." in capsys.readouterr().out
    intended = ("--intended", "seeds/*: it is so")
    assert command("CartPole-v1", "CartPole-v1", "-k", "seeds", "--quick", *intended) == codes.PASSED
    assert "No finding, but intended ones." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("CartPole-v1",), "expected REFERENCE and CANDIDATE"),
        (("CartPole-v1", "CartPole-v1", "-k", "nothing"), "-k 'nothing': expected parts of check names"),
        (("CartPole-v1", "CartPole-v1", "--intended", "x"), "--intended: expected"),
        (("CartPole-v1", "CartPole-v1", "--state", "x", "-k", "lockstep"), "--state: expected ATTRIBUTE=SOURCE"),
        (("--replay", "nowhere.json"), "nowhere.json: expected a finding"),
    ],
)
def test_the_command_says_what_it_cannot_run(arguments, message, capsys):
    assert command(*arguments) == codes.COULD_NOT_RUN
    assert message in capsys.readouterr().err


def test_an_option_that_is_none(capsys):
    with pytest.raises(SystemExit):
        command("CartPole-v1", "CartPole-v1", "--candidate-option", "x")
    assert "expected KEY=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"format": "another"},
        {"reference": "CartPole-v1"},
        {"candidate": {"text": 3, "options": {}}},
        {"candidate": {"text": "CartPole-v1", "options": []}},
        {"state": "x"},
        {"autoreset": "x"},
        {"finding": {}},
        {"finding": {"check": "flags", "subject": "x", "message": "x", "case": {}}},
    ],
)
def test_a_file_that_is_no_finding(change, tmp_path):
    comparison = compare(f"{WORLDS}:walk", f"{WORLDS}:wrong", checks=["flags"], quick=True)
    file = comparison.save(tmp_path)[0]
    replay(file)
    file.write_text(json.dumps(json.loads(file.read_bytes()) | change))
    with pytest.raises(CompareError):
        replay(file)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 0},
        {"rows": "1"},
        {"seed": -1},
        {"limit": 0},
        {"extra": []},
        {"probe": 1},
        {"actions": None},
        {"actions": {"dtype": "int64", "shape": [1, 3], "values": [[0, 0, 0]]}},
        {"actions": {"dtype": "int64", "shape": [2], "values": [0, 0]}},
        {"actions": {"dtype": "int64"}},
    ],
)
def test_a_case_that_cannot_be_read(change):
    case = Case("lockstep", 2, 5, np.array([[0, 1]]), None, {"judge": "seeded"})
    back = Case.read(json.loads(json.dumps(case.as_dict())))
    assert (back.as_dict(), back.actions.dtype) == (case.as_dict(), case.actions.dtype)
    with pytest.raises(CompareError, match="case"):
        Case.read(case.as_dict() | change)


def test_a_function_cannot_be_saved(tmp_path):
    comparison = compare(walk, walks(NEXT, "limit late"), checks=["flags"], quick=True)
    with pytest.raises(CompareError, match="name it by text"):
        comparison.save(tmp_path)


def test_it_is_reproducible():
    one, other = (
        compare(walk, walks(SAME, "terminal replaced"), checks=["terminal_observations"], quick=True, seed=7).findings
        for _ in range(2)
    )
    assert [finding.as_dict() for finding in one] == [finding.as_dict() for finding in other]


# the parts


def test_leaves_are_copies_by_name():
    array = np.arange(3)
    table = leaves({"a": array, "b": (1, {"c": np.float32(2)})})
    array[0] = 9
    assert list(table) == ["a", "b.0", "b.1.c"]
    assert table["a"].tolist() == [0, 1, 2]
    names = spaces_of(spaces.Dict(a=spaces.Discrete(2), b=spaces.Tuple([spaces.Discrete(3)])), "")
    assert list(names) == ["a", "b.0"]


def test_values_are_compared_in_the_candidates_dtype():
    assert alike(np.asarray(-1), np.float32(-1))
    assert alike(np.asarray(0.1), np.float32(0.1))
    assert not alike(np.asarray(0.1), np.float32(0.1) + np.float32(1e-8))
    assert not alike(np.float32(0.0), np.float32(-0.0))
    assert not alike(np.zeros(2), np.zeros(3))
    assert not alike(np.asarray(1.5), np.asarray(1))
    assert unlike({"0": np.asarray(3), "1": np.asarray(4)}, {"observation": np.array([3, 4], np.int32)}) is None
    assert unlike({"0": np.asarray(3), "1": np.asarray(4)}, {"observation": np.array([3, 5], np.int32)}) is not None


def test_ulps():
    one = np.array([1.0, -1.0, 0.0], np.float32)
    assert ulps(one, np.nextafter(one, np.float32(2))) == 1
    assert ulps(np.float32([0.0]), np.float32([-0.0])) == 0
    tiny = np.nextafter(np.float32(0), np.float32(1))
    assert ulps(np.array([tiny]), np.array([-tiny])) == 2
    assert ulps(one, np.array([1, 2, np.nan], np.float32)) is None
    assert ulps(np.array([1]), np.array([2])) is None


def test_the_statistics_against_scipy():
    stats = pytest.importorskip("scipy.stats")
    assert chi_square_tail(30.0, 10) == pytest.approx(stats.chi2.sf(30.0, 10), rel=1e-9)
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=2000), rng.normal(0.1, size=3000)
    chance, _ = two_samples(one, other)
    assert chance == pytest.approx(stats.ks_2samp(one, other, method="asymp").pvalue, rel=0.15)
    table = np.array([[500, 400, 100], [450, 430, 120]])
    sides = [Counter(dict(zip("abc", row.tolist(), strict=True))) for row in table]
    assert two_counts(*sides)[0] == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, rel=1e-9)


@pytest.mark.parametrize("quantity", ["categories", "numbers"])
def test_the_statistics_seldom_raise_a_false_alarm(quantity):
    rng, chances = np.random.default_rng(1), []
    for _ in range(400):
        if quantity == "numbers":
            chances.append(two_samples(rng.random(300), rng.random(300))[0])
        else:
            draw = partial(rng.choice, list("abcdefgh"), 300)
            chances.append(two_counts(*(Counter(draw().tolist()) for _ in range(2)))[0])
    assert 0.005 < np.mean(np.array(chances) < 0.05) < 0.1


def test_the_old_name_of_terminal_observations_is_read():
    class Old(SyncVectorEnv):
        def step(self, actions):
            *rest, infos = super().step(actions)
            if "final_obs" in infos:
                infos["final_observation"], infos["_final_observation"] = (
                    infos.pop("final_obs"),
                    infos.pop("_final_obs"),
                )
            return *rest, infos

    def factory(num_envs, max_episode_steps=9):
        return Old([partial(walk, max_episode_steps)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)

    assert compare(walk, factory, checks=["terminal_observations"], quick=True).passed


def test_a_view_of_one_hot_actions():
    from torchrl.envs import GymEnv, SerialEnv

    env = SerialEnv(3, lambda: GymEnv("CartPole-v1"))
    view = view_of(env, 3)
    view.reset(seed=0)
    moment = view.step(np.array([0, 1, 0]))
    assert moment.observation["observation"].shape == (3, 4)
    assert moment.reward.tolist() == [1, 1, 1]
    view.close()


def test_other_action_spaces():
    class Boxes(gymnasium.Env):
        observation_space = spaces.Box(-9, 9, (2,), np.float64)
        action_space = spaces.Box(-1, 1, (2,), np.float32)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at = self.np_random.random(2)
            return self.at.copy(), {}

        def step(self, action):
            assert self.action_space.contains(action)
            self.at = np.clip(self.at + action, -9, 9)
            return self.at.copy(), float(self.at.sum()), bool(self.at[0] > 1.5), False, {}

    comparison = compare(Boxes, lambda num_envs: SyncVectorEnv([Boxes] * num_envs), quick=True)
    assert not comparison.findings, "\n".join(finding.text() for finding in comparison.findings)
    assert outcomes(comparison)["lockstep"] == "passed"


def test_what_was_found_out_about_a_pair():
    pair = Pair(Target("CliffWalking-v1"), Target("gym:CliffWalking-v1"))
    pair.prepare()
    assert (pair.varies, pair.draws, pair.determined, pair.limit) == (False, False, True, None)
    assert pair.firsts.known
    assert pair.firsts.plausible({"observation": np.asarray(36)})
    assert not pair.firsts.plausible({"observation": np.asarray(35)})
    comparison = compare("CliffWalking-v1", "gym:CliffWalking-v1", checks=["lockstep"], quick=True)
    assert "same first observation" in comparison.results[0].notes[0]
    assert comparison.results[0].counts["transitions"] > 1000
