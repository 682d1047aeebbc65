"""The article's JavaScript under Node: known answers of the generator, and the Python references' trajectories."""

import hashlib
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from test_rng_known_answers import (
    BERNOULLIS,
    BLOCKS,
    CATEGORICALS,
    EPISODE,
    EPISODE_KEYS,
    INSTANCE_SEEDS,
    PERMUTATIONS,
    RANDINTS,
    SEED,
    SEED_KEYS,
    SLOT,
    THRESHOLDS,
    WORDS,
    T,
)

from simulacrum.reference import state_of
from simulacrum.trajectory import Recorder

ROOT = Path(__file__).resolve().parent.parent
ARTICLE = ROOT / "docs" / "article"
SCRIPTS = Path(__file__).resolve().parent / "javascript"
NODE = shutil.which("node")
EDGE_SEEDS = [0, 1, 2**32 - 1, 2**32, 2**53 - 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1]
STREAMS, STEPS = 64, 1600

pytestmark = pytest.mark.skipif(
    NODE is None, reason="the article's JavaScript is tested with Node, and there is no node"
)


def node(script, *arguments, given=""):
    """The JSON that a script prints."""
    done = subprocess.run([NODE, SCRIPTS / script, *map(str, arguments)], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answers(*questions):
    return node("article_rng.cjs", given=json.dumps(questions))


def draws(name, index, *arguments):
    return [name, str(SEED), EPISODE, T, SLOT, index, *arguments]


# ---------------------------------------------------------------------- the generator


def test_blocks_and_keys():
    blocks = [("block", *key, *counter) for key, counter, _ in BLOCKS]
    assert answers(*blocks) == [list(output) for _, _, output in BLOCKS]
    assert answers(*(("seedKey", str(seed)) for seed, _ in SEED_KEYS)) == [list(key) for _, key in SEED_KEYS]
    keys = [("episodeKey", str(seed), episode) for seed, episode, _ in EPISODE_KEYS]
    assert answers(*keys) == [list(key) for _, _, key in EPISODE_KEYS]
    seeds = [("instanceSeed", str(seed), instance) for seed, instance, _ in INSTANCE_SEEDS]
    assert answers(*seeds) == [str(expected) for _, _, expected in INSTANCE_SEEDS]


def test_bits_and_uniforms():
    bits = [("bits64", str(SEED), EPISODE, T, slot, index) for slot, index, _ in WORDS]
    assert answers(*bits) == [str(x0 << 32 | x1) for _, _, (x0, x1) in WORDS]
    assert answers(*(("bits", *bit[1:]) for bit in bits)) == [x0 for _, _, (x0, _) in WORDS]
    assert answers(*(draws("uniform", index) for index in range(3))) == [
        0.7976628541946411, 0.5783258080482483, 0.023955821990966797
    ]  # fmt: skip
    assert answers(*(draws("uniform64", index) for index in range(3))) == [
        0.7976628568794878, 0.578325866812153, 0.023955823785505315
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "table"), [("randint", RANDINTS), ("bernoulli", BERNOULLIS), ("categorical", CATEGORICALS)]
)
def test_distributions(name, table):
    for argument, expected in table:
        assert answers(*(draws(name, index, argument) for index in range(len(expected)))) == expected, argument


def test_thresholds_and_permutations():
    assert answers(*(("thresholds", weights) for weights, _ in THRESHOLDS)) == [list(cuts) for _, cuts in THRESHOLDS]
    permutations = [draws("permutation", index, n) for n, index, _ in PERMUTATIONS]
    assert answers(*permutations) == [expected for _, _, expected in PERMUTATIONS]


# ---------------------------------------------------------------------- toywalk and forager, the third time


def policies(package):
    """How the streams act: at random, each action held, one action always, and as a scripted policy."""
    rng = np.random.default_rng(7)
    last = package.environment.action_space.n - 1
    scripted = package.checks.POLICIES[-1].policy
    held = [0]

    def hold(state, seen):
        if rng.random() < 0.1:
            held[0] = int(rng.integers(last + 1))
        return held[0]

    def follow(state, seen):
        batch = type(state)(**{name: np.asarray(value)[None] for name, value in vars(state).items()})
        return int(np.asarray(scripted(batch, seen[None])).item())

    return [
        lambda state, seen: int(rng.integers(last + 1)),
        hold,
        follow,
        lambda state, seen: 0,
        lambda state, seen: last,
    ]


def recorded(package, folder):
    """A recording of the reference over many seeds, and its observations."""
    seeds = EDGE_SEEDS + [int(seed) for seed in np.random.default_rng(3).integers(2**64, size=STREAMS, dtype=np.uint64)]
    env, seen, acting = Recorder(package.reference(), folder / "run.jsonl"), [], policies(package)
    for number, seed in enumerate(seeds[:STREAMS]):
        seen.append(env.reset(seed=seed)[0])
        act = acting[number % len(acting)]
        for step in range(STEPS):
            observation, _, terminated, truncated, _ = env.step(act(state_of(env.unwrapped), seen[-1]))
            seen.append(observation)
            if (terminated or truncated) and step + 1 < STEPS:
                seen.append(env.reset()[0])
    env.close()
    np.concatenate(seen).astype("<f4").tofile(folder / "seen.f32")
    return folder / "run.jsonl", folder / "seen.f32"


@pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=lambda package: package.name)
def test_both_implementations_do_what_the_reference_did(package, tmp_path):
    told = node("article_replay.cjs", package.name, *recorded(package, tmp_path))
    assert told["streams"] == STREAMS
    assert told["steps"] == STREAMS * STEPS >= 100_000
    assert min(told["terminated"], told["truncated"]) > 100, told


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return recorded(TOYWALK, tmp_path_factory.mktemp("recording"))


@pytest.mark.parametrize("edit", [("state", "t"), ("reward",), ("truncated",)])
def test_a_replay_tells_a_difference(edit, recording, tmp_path):
    run, seen = recording
    lines = run.read_text().splitlines()
    event = json.loads(lines[5000])
    inner = event[edit[0]] if len(edit) == 2 else event
    inner[edit[-1]] = 1 - inner[edit[-1]] if edit[-1] != "truncated" else not inner["truncated"]
    lines[5000] = json.dumps(event)
    run = tmp_path / "edited.jsonl"
    run.write_text("\n".join(lines))
    done = subprocess.run([NODE, SCRIPTS / "article_replay.cjs", "toywalk", run, seen], capture_output=True, text=True)
    assert done.returncode == 1
    assert edit[-1] in done.stderr


# ---------------------------------------------------------------------- the break-it lab


@pytest.fixture(scope="module")
def lab():
    """What each check finds of each fault: the transitions until then, or None."""
    return node("article_lab.cjs")


def test_nothing_is_found_without_a_fault(lab):
    assert set(lab["none"].values()) == {None}


def test_every_fault_is_found(lab):
    assert len(lab) > 10
    missed = [
        fault for fault, row in lab.items() if fault != "none" and not any(step is not None for step in row.values())
    ]
    assert missed == []


def test_what_the_text_says_of_the_lab(lab):
    finders = {fault: {check for check, step in row.items() if step is not None} for fault, row in lab.items()}
    assert not any(finders.keys() <= {fault for fault in finders if check in finders[fault]} for check in lab["none"])
    assert finders["below-zero"] == {"examples", "injected"}
    assert finders["short-seed"] == {"seeds"}
    assert finders["aliased"] == {"held"}
    assert finders["both-turn"] == finders["both-below"] == {"examples"}
    assert finders["large"] == {"lockstep", "crowd"}
    alone = {fault for fault in finders if "alone" in finders[fault]}
    crude = {"wrong-turn", "cap-late", "cap-early", "no-exhausted", "stale-t"}
    subtle = {"one-slip", "row-in-key", "any", "survivors", "pair", "large", "short-seed", "below-zero", "aliased"}
    assert crude <= alone
    assert not subtle & alone


# ---------------------------------------------------------------------- the gate, the costs, the crowd

TEXTS = ["", "abc", "\u00e9" * 60, "x" * 55, "x" * 56, "x" * 64, "x" * 1000]


@pytest.fixture(scope="module")
def facts():
    return node("article_facts.cjs", given=json.dumps(TEXTS))


def test_digests_are_sha_256(facts):
    assert facts["digests"] == [hashlib.sha256(text.encode()).hexdigest() for text in TEXTS]


def test_the_gate_opens_for_what_was_validated_alone(facts):
    """Outcome, whether the gate opens, whether it opens with one character more, and why the battery failed."""
    assert facts["original"] == facts["comment"] == ["passed", True, False, ""]
    for edit, why in [("cost", "observation"), ("cap", "observation"), ("broken", "eight")]:
        outcome, opens, opens_later, reason = facts[edit]
        assert (outcome, opens, opens_later) == ("failed", False, False)
        assert why in reason
    assert facts["noReport"] is False


def test_the_scripted_policy_earns_what_the_spec_states(facts):
    assert abs(facts["greedy"]["mean"] - facts["stated"]["expected_return"]) < 5 * facts["greedy"]["error"]


def test_what_the_text_says_of_costs(facts):
    mean, error = facts["greedy"]["mean"], facts["greedy"]["error"]
    assert facts["dearer"]["no-index"] > mean + 10 * error  # "or, worse, they rise"
    assert facts["dearer"]["any"] < mean - 10 * error
    assert all(abs(facts["dearer"][fault] - mean) < error for fault in ("swapped", "aliased"))
    assert facts["stale"]["seen"] > 3 > 0 > facts["stale"]["truth"]
    assert facts["right"]["truth"] < 0


def test_what_the_text_says_of_the_crowd(facts):
    for fault, (alone, *_, crowd, _) in facts["crowd"].items():
        assert crowd > 0
        assert (alone > 0) == (fault == "wrong-turn")
    _, some, _, many = facts["crowd"]["pair"]
    assert many / 1024 < some / 16  # "fades again in a large batch"


# ---------------------------------------------------------------------- what is made from other files


def made(name):
    """A script of the article's folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ARTICLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_rules_are_those_of_the_specs():
    assert (ARTICLE / "rules.js").read_text() == made("rules").text(), "run: python docs/article/rules.py"


def test_the_figures_are_those_of_the_files():
    figures, page = made("figures"), (ARTICLE / "index.html").read_text()
    results = figures.read()
    assert figures.replaced(page, figures.block(results)) == page, "run: python docs/article/figures.py"
    for result in results:
        assert result["environment"] in ("simulacrum/toywalk-v0", "simulacrum/forager-v0")
        alone = next(group for group in result["groups"] if group["batch size"] == 1)
        # "A batch of one is slower as tensors than as plain Python"
        assert alone["forms"]["eager"]["ratio to reference"] < 1
        assert alone["forms"]["compiled"]["ratio to reference"] < 1


def test_what_a_fault_shows_is_what_it_replaces():
    """Each fault's source, as the page shows it, differs from what stands there otherwise."""
    program = """
    const { load } = require(process.argv[1]); const { faults } = load();
    console.log(JSON.stringify(faults.all.map((fault) => [fault.id, faults.source(fault)])));
    """
    done = subprocess.run([NODE, "-e", program, SCRIPTS / "load.cjs"], capture_output=True, text=True, check=True)
    for fault, sources in json.loads(done.stdout):
        assert sources, fault
        for _, name, was, now in sources:
            assert name in was and name in now and was != now, fault  # noqa: PT018
