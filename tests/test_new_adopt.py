"""``simulacrum new NAME --adopt ID``: a package around an environment that nobody here wrote."""

import json
import re

import pytest

from simulacrum.cli import main
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run
from simulacrum.harness.static_checks import run_static
from simulacrum.originals.survey import survey
from simulacrum.spec import Package

FAST = """
class LakeFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        return State(s=torch.zeros(draw.rows, dtype=torch.int32))

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        kinds = self.int32([0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 2])  # frozen, hole, goal
        row, column = state.s // 4, state.s % 4
        column = torch.where(action == 0, (column - 1).clamp(min=0), column)
        row = torch.where(action == 1, (row + 1).clamp(max=3), row)
        column = torch.where(action == 2, (column + 1).clamp(max=3), column)
        row = torch.where(action == 3, (row - 1).clamp(min=0), row)
        stuck = kinds[state.s.long()] > 0
        s = torch.where(stuck, state.s, 4 * row + column)
        kind = kinds[s.long()]
        reward = torch.where((kind == 2) & ~stuck, self.float32(1.0), self.float32(0.0))
        return State(s=s), reward, kind > 0

    def observation(self, state: State) -> Tensor:
        return state.s.long()
"""
CHECKS = """

def hole(state: Any) -> Rows:
    return np.isin(state.s, [5, 7, 11, 12])


def goal(state: Any) -> Rows:
    return state.s == 15


TERMINATIONS = [hole, goal]


def right_and_down(state: Any, observation: Any) -> NDArray[np.int64]:
    return np.array([1, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 2, 2, 0])[state.s]


POLICIES = [
    simulacrum.ScriptedPolicy(
        "right_and_down", right_and_down, expected_return=1.0, standard_deviation=0.0, return_range=(1.0, 1.0)
    )
]
MIN_SPEEDUP = 1.0
EXCUSES = {
    f"coverage FrozenLakeEnv.{function}: self.render() is executed": "nothing is rendered"
    for function in ("reset", "step")
}
"""

EXAMPLES = [
    "s = 14; t = 3 | 2 | STEP = 0.5 | s = 15 | 1.0 | true | false | 15 | the goal",
    "s = 15; t = 3 | 2 | STEP = 0.5 | s = 15 | 0.0 | true | false | 15 | stuck on the goal",
    "s = 5; t = 3 | 0 | STEP = 0.5 | s = 5 | 0.0 | true | false | 5 | stuck in a hole",
    "s = 0; t = 0 | 0 | STEP = 0.0 | s = 0 | 0.0 | false | false | 0 | at the left edge",
    "s = 0; t = 0 | 1 | STEP = 0.0 | s = 4 | 0.0 | false | false | 4 | down",
    "s = 0; t = 0 | 2 | STEP = 0.0 | s = 1 | 0.0 | false | false | 1 | right",
    "s = 0; t = 99 | 3 | STEP = 0.0 | s = 0 | 0.0 | false | true | 0 | at the upper edge, at the cap",
    "s = 1; t = 99 | 1 | STEP = 0.0 | s = 5 | 0.0 | true | true | 5 | into a hole, at the cap",
]


def made(tmp_path, name, original, *options):
    assert main(["new", name, "--adopt", original, "--directory", str(tmp_path), *options]) == 0
    return tmp_path / name


def test_a_package_is_filled_with_what_can_be_read(tmp_path, capsys):
    folder = made(tmp_path, "cab", "Taxi-v4", "--namespace", "me", "--option", "fickle_passenger=True")
    assert "Its reference is Taxi-v4, unmodified." in capsys.readouterr().out
    package = Package.read(folder)
    spec = package.spec
    assert (spec.id, spec.adopts, spec.max_episode_steps) == ("me/cab-v4", "gymnasium", 200)
    assert list(spec.fields) == ["fickle_step", "s", "t"]
    assert (spec.fields["s"].low, spec.fields["s"].high) >= (0, 400)
    assert [(slot.name, slot.phase, slot.distribution) for slot in spec.slots.values()] == [
        ("RESET", "reset", "uniform"),
        ("STEP_1", "step", "uniform"),
        ("STEP_2", "step", "randint"),
    ]
    assert spec.slots["RESET"].count == 2
    assert spec.slots["STEP_2"].at_most
    env = package.reference()
    assert env.adopts.options == {"fickle_passenger": True}
    assert (env.reset(seed=3)[0], env.get_state()["state"]["s"]) == (env.original.s, env.original.s)
    assert "WRITE" in (folder / "spec.md").read_text()


@pytest.mark.parametrize(
    ("original", "observed"),
    [("CartPole-v1", "Box("), ("Blackjack-v1", "Tuple((Discrete(32)"), ("MountainCar-v0", "Box(")],
)
def test_every_kind_of_original_gives_a_package_that_can_be_read(tmp_path, original, observed):
    folder = made(tmp_path, "theirs", original)
    package = Package.read(folder)
    assert observed in (folder / "__init__.py").read_text()
    env = package.reference()
    seen, _ = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert package.spec.observation_space == env.observation_space
    assert package.spec.action_space == env.action_space
    json.loads((folder / "schema.json").read_text())
    told = [finding.message for context in run_static(package) for finding in context.findings]
    assert any("write initial from spec.md" in message for message in told)


def test_a_package_passes_once_a_person_has_written_the_rest(tmp_path):
    folder = made(tmp_path, "lake", "FrozenLake-v1", "--option", "is_slippery=False", "--state", "s")
    text = (folder / "fast.py").read_text()
    head = text[: text.index("class LakeFast")].replace(
        "from torch import Tensor", "import torch\nfrom torch import Tensor"
    )
    (folder / "fast.py").write_text(head + FAST)
    checks = (folder / "checks.py").read_text().replace("from numpy.typing", "import simulacrum\nfrom numpy.typing")
    (folder / "checks.py").write_text(checks + CHECKS)
    spec = (folder / "spec.md").read_text()
    ends = "| termination | meaning |\n|---|---|\n"
    spec = spec.replace(ends, f"{ends}| `hole` | on a hole |\n| `goal` | on the goal |\n")
    policies = "| policy | expected return | standard deviation | derivation |\n|---|---|---|---|\n"
    spec = spec.replace(policies, f"{policies}| `right_and_down` | 1.0 | 0.0 | exact: by hand |\n")
    examples = re.search(r"\| example \|.*\n\|[-|]*\n", spec)[0]
    spec = spec.replace(
        examples,
        examples + "".join(f"| {number} | {example} |\n" for number, example in enumerate(EXAMPLES)),
    )
    first = "| reset example | draws | state | observation |\n|---|---|---|---|\n"
    spec = spec.replace(first, f"{first}| the corner | RESET = 0.5 | s = 0; t = 0 | 0 |\n")
    spec = re.sub("(reset|step) [|] 0 [|] uniform.float64.", r"\1 | at most 0..0 | uniform(float64, [1.0])", spec)
    (folder / "spec.md").write_text(spec)
    names = (
        "spec_contract",
        "static_read",
        "worked_examples",
        "standard_api",
        "adoption",
        "differential",
        "transitions",
    )
    report = run(Package.read(folder), QUICK, names=(*names, "small_worlds", "coverage", "scripted_policies"))
    told = [finding.message for outcome in report.checks for finding in outcome.findings]
    assert told == []
    counts = {outcome.name: outcome.counts for outcome in report.checks}
    assert counts["adoption"]["table entries compared"] == 64
    assert counts["adoption"]["first states of the table compared"] > 1


def test_bad_calls_make_nothing_and_are_told(tmp_path, capsys):
    for arguments, message in (
        (["--adopt", "NoLake-v1"], "making the original raised NameNotFound"),
        (["--adopt", "FrozenLake-v1", "--option", "icy=True"], "unexpected keyword argument 'icy'"),
        (["--adopt", "FrozenLake-v1", "--kernel"], "expected --adopt without --kernel"),
        (["--adopt", "nowhere:Lake-v1"], "nowhere"),
        (["--option", "a=1"], "--option and --state are for --adopt ID"),
    ):
        assert main(["new", "lake", "--directory", str(tmp_path), *arguments]) == 2
        assert message in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(SystemExit):
        main(["new", "lake", "--adopt", "FrozenLake-v1", "--option", "slippery"])
    assert "expected KEY=VALUE, as is_slippery=False" in capsys.readouterr().err


def test_a_survey_finds_what_counts_the_steps_and_what_is_shown():
    pole = survey("CartPole-v1", {}, steps=200)
    assert pole.observation is None
    assert pole.calls["reset"][0].distributions == ["uniform(float64)"]
    assert len(pole.calls["reset"]) == 4
    assert "step" not in pole.calls
    assert pole.fields["state"].shape == (4,)
    assert pole.rewards == (1.0, 1.0)
    jack = survey("Blackjack-v1", {}, steps=400)
    assert jack.observation == "_get_obs"
    assert jack.fields["player"].dtype is None
    assert jack.calls["reset"][5].always is False
