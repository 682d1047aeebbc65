"""What spec.md's tables say, and what is wrong with them."""

import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from gymnasium import spaces

from simulacrum.errors import SpecError
from simulacrum.spec import Spec
from simulacrum.spec.spaces import same_space

TEXT = """
| declares | value |
|---|---|
| `id` | `tests/sample-v3` |
| max_episode_steps | 2 * N |
| terminates | yes |
| truncates | no |
| draws | yes |
| forms | tensor |

| constant | value | scalable | meaning |
|---|---|---|---|
| N | 3 | yes | items |
| P | 0.1 | no | a float |
| TWICE | 2 * N | | of those above |

| state field | dtype | shape | bounds |
|---|---|---|---|
| place | int32 | [N] | [-N, N] |
| level | float32 | [] | [-inf, P * 3] |
| on | bool | [] | [0, 1] |
| t | int32 | [] | [0, 2 * N] |

| action | space |
|---|---|
| 0 stay, 1 go | Discrete(2) |

| observation | space |
|---|---|
| `seen`: what | Box(-1, inf, [2, N], float32) |
| `which`: of them | MultiDiscrete([N, 2]) |
| `bits`: flags | MultiBinary(N) |

| reward | dtype |
|---|---|
| 1 | float64 |

| slot | name | phase | index | distribution |
|---|---|---|---|---|
| 0 | START | reset | 0..N - 1 | randint(2 * N) |
| 7 | WIND | step | 0 | categorical([P, 1 - P]) |

| termination | meaning |
|---|---|
| `fell` | level < 0 |

| invariant | meaning |
|---|---|
| `bounded` | always |

| policy | expected return | standard deviation |
|---|---|---|
| go | 2.5 | 2 ** 2 |

| small world | constants | returns |
|---|---|---|
| whole | - | - |
| `tiny` | N = 2 - 1 | go = [-0.5, P] |

| example | state | action | draws | next state | reward | terminated | truncated | observation |
|---|---|---|---|---|---|---|---|---|
| 1 | place = [0, 1, 2]; level = 0.1; on = true; t = 4 | 1 | WIND = 1 | level = 0.1 + 0.2 | 0.1 | true | false | - |

| reset example | draws | state | observation |
|---|---|---|---|
| start | START = [0, 1, 2] | place = [1, 1, 1] | seen = [[0, 1, 2], [3, 4, 5]]; which = [2, 1]; bits = [1, 0, 1] |
"""
SPEC = Spec(TEXT)


def changed(old, new):
    """The specification with one passage changed."""
    assert TEXT.count(old) == 1, old
    return Spec(TEXT.replace(old, new))


# ---------------------------------------------------------------------- what is read


def test_declarations():
    assert SPEC.id == "tests/sample-v3"
    assert SPEC.max_episode_steps == 6
    assert [SPEC.declared(name) for name in ("terminates", "truncates", "draws")] == [True, False, True]
    assert SPEC.declares["forms"] == "tensor"
    assert changed("max_episode_steps | 2 * N", "max_episode_steps | none").max_episode_steps is None


def test_constants():
    assert SPEC.constants == {"N": 3, "P": 0.1, "TWICE": 6}
    assert SPEC.scalable == ["N"]


def test_state_fields():
    assert list(SPEC.fields) == ["place", "level", "on", "t"]
    place, level = SPEC.fields["place"], SPEC.fields["level"]
    assert (place.dtype, place.shape, place.low, place.high) == (np.dtype("int32"), (3,), -3, 3)
    assert (level.shape, level.low, level.high) == ((), -np.inf, np.float32(0.1) * np.float32(3))
    assert type(level.high) is np.float32


def test_spaces():
    assert same_space(SPEC.action_space, spaces.Discrete(2))
    expected = {
        "seen": spaces.Box(-1.0, np.inf, (2, 3), np.float32),
        "which": spaces.MultiDiscrete([3, 2]),
        "bits": spaces.MultiBinary(3),
    }
    assert same_space(SPEC.observation_space, spaces.Dict(expected))
    box = changed("Discrete(2)", "Box([-P, 0], [P, 1], [2], float64)").action_space
    assert same_space(box, spaces.Box(np.array([-0.1, 0.0]), np.array([0.1, 1.0]), (2,), np.float64))


def test_a_single_observation_is_no_dict():
    assert same_space(TOYWALK.spec.observation_space, TOYWALK.environment.observation_space)


def test_slots():
    start, wind = SPEC.slots["START"], SPEC.slots["WIND"]
    assert (start.number, start.phase, start.count) == (0, "reset", 3)
    assert (start.distribution, start.arguments) == ("randint", (6,))
    assert (wind.number, wind.phase, wind.count) == (7, "step", 1)
    assert (wind.distribution, wind.arguments) == ("categorical", ([0.1, 0.9],))


def test_the_other_lists():
    assert SPEC.reward_dtype == np.float64
    assert SPEC.terminations == ["fell"]
    assert SPEC.invariants == ["bounded"]
    policy = SPEC.policies["go"]
    assert (policy.expected_return, policy.standard_deviation) == (2.5, 4.0)
    assert type(policy.standard_deviation) is float


def test_small_worlds():
    whole, tiny = SPEC.small_worlds
    assert (whole.name, whole.constants, whole.returns) == ("whole", {}, {})
    assert (tiny.name, tiny.constants, tiny.returns) == ("tiny", {"N": 1}, {"go": (-0.5, 0.1)})


def test_worked_transitions():
    (example,) = SPEC.examples
    assert example.name == "1"
    assert example.state["place"].dtype == np.int32
    assert example.state["place"].tolist() == [0, 1, 2]
    assert example.state["on"].dtype == np.bool_
    assert example.next_state["level"] == np.float32(0.1) + np.float32(0.2)
    assert example.next_state["level"].dtype == np.float32
    assert example.next_state["place"].tolist() == [0, 1, 2]
    assert example.next_state["t"] == 5
    assert example.next_state["t"].dtype == np.int32
    assert (example.draws, example.action, example.reward) == ({"WIND": 1}, 1, np.float64(0.1))
    assert (example.terminated, example.truncated, example.observation) == (True, False, None)


def test_worked_first_states():
    (example,) = SPEC.reset_examples
    assert example.draws == {"START": [0, 1, 2]}
    assert {name: value.tolist() for name, value in example.state.items()} == {"place": [1, 1, 1]}
    assert {name: value.dtype for name, value in example.observation.items()} == {
        "seen": np.float32,
        "which": np.int64,
        "bits": np.int8,
    }


@pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=lambda package: package.name)
def test_the_examples_environments_can_be_read_whole(package):
    spec = package.spec
    assert spec.id == package.environment.id
    assert len(spec.examples) > 10
    assert len(spec.reset_examples) > 1
    assert spec.policies.keys() == {policy.name for policy in package.checks.POLICIES}


# ---------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("attribute", "old", "new", "message"),
    [
        ("declares", "| forms | tensor |\n", "", "declares: missing forms"),
        ("constants", "| N | 3 |", "| N | 3 + |", r"cannot read '3 \+'"),
        ("constants", "| TWICE | 2 * N |", "| TWICE | 2 * LATER |", "unknown name 'LATER'"),
        ("fields", "| place | int32 |", "| place | int |", "row 'place': expected a dtype of"),
        ("fields", "| [-N, N] |", "| N |", r"row 'place': expected a shape \[..\] and bounds"),
        ("fields", "| [N] | [-N", "| N | [-N", r"row 'place': expected a shape \[..\] and bounds"),
        ("fields", "| t | int32 | [] | [0, 2 * N] |\n", "", "the last field must be t"),
        (
            "fields",
            "| state field | dtype |",
            "| state field | kind |",
            r"line 17: .* 'state field' has no column 'dtype'",
        ),
        ("fields", "| state field |", "| field |", "spec.md has no table 'state field'; it has 'declares', 'constant'"),
        ("slots", "randint(2 * N)", "uniformly(2)", "row 'START': expected a distribution of"),
        ("slots", "randint(2 * N)", "randint", "expected a call such as"),
        ("slots", "randint(2 * N)", "randint(M)", r"row 'START': unknown names \['M'\] in 'randint\(M\)'"),
        ("slots", "| reset | 0..N - 1", "| begin | 0..N - 1", "row 'START': expected the phase reset or step"),
        ("action_space", "Discrete(2)", "Discrete(0)", r"cannot make a space of 'Discrete\(0\)'"),
        ("action_space", "Discrete(2)", "Text(2)", r"'Text\(2\)': expected Box\(low, high, shape, dtype\), Discrete"),
        ("action_space", "Discrete(2)", "Box(0, 1, [2])", r"expected Box\(low, high, shape, dtype\)"),
        ("action_space", "Discrete(2)", "Box(0, 1, [2], float99)", r"cannot make a space of .*float99"),
        ("action_space", "Discrete(2)", "Box([0, 1, 2], 1, [2], float32)", "cannot make a space of"),
        ("action_space", "| 0 stay, 1 go | Discrete(2) |", "", "action: expected one row, got 0"),
        ("examples", "on = true; ", "", "row '1': state lacks on"),
        ("examples", "level = 0.1;", "levels = 0.1;", "unknown state field 'levels'"),
        ("examples", "place = [0, 1, 2]; level", "place = [0, 1]; level", r"place in .*: expected the shape \(3,\)"),
        ("examples", "place = [0, 1, 2]; level", "place = [0, 1, 2.5]; level", r"expected values of int32, got \[0"),
        ("examples", "place = [0, 1, 2]; level", "place = [0, 1, 2 ** 31]; level", "expected values of int32"),
        ("examples", "on = true", "on = 2", "expected values of bool, got 2"),
        ("examples", "| 1 | WIND", "| 0.5 | WIND", "'0.5': expected values of int64"),
        ("examples", "WIND = 1", "STORM = 1", r"unknown slots \['STORM'\]"),
        (
            "reset_examples",
            "bits = [1, 0, 1]",
            "bit = [1, 0, 1]",
            r"expected the keys .*got \['seen', 'which', 'bit'\]",
        ),
        ("reset_examples", "bits = [1, 0, 1]", "bits = [1, 0, 0.5]", "expected values of int8"),
        ("reset_examples", "which = [2, 1]; bits", "which [2, 1]; bits", "expected 'name = value; name = value'"),
        ("constants", "| TWICE | 2 * N |", "| P | 2 * N |", r"table 'constant' \(line 11\), row 'P': a second row"),
        ("slots", "| 7 | WIND |", "| 7 | START |", "table 'slot': two slots have one name"),
        ("slots", "| 7 | WIND |", "| 0 | WIND |", "row 'WIND': a second row of that name"),
        ("fields", "| [-N, N] |", "| [[0, 0, 0], N] |", r"expected numbers as bounds, got \[\[0, 0, 0\], N\]"),
        ("examples", "level = 0.1 + 0.2 |", "level = 0.1 + 0.2; t = 6 |", "t is 5, one more than before, not 6"),
        (
            "small_worlds",
            "| N = 2 - 1 |",
            "| P = 0.5 |",
            r"row 'tiny': constants \['P'\]: expected constants whose scalable",
        ),
        (
            "small_worlds",
            "| go = [",
            "| stay = [",
            r"row 'tiny': returns: expected policies of \['go', 'uniform'\], got 'stay'",
        ),
        (
            "small_worlds",
            "[-0.5, P]",
            "-0.5",
            r"row 'tiny': returns: expected go = \[mean, standard deviation\], got -0.5",
        ),
        ("policies", "| policy | expected return |", "| policy | returns |", "has no column 'expected return'"),
    ],
)
def test_a_fault_is_an_error_that_names_it(attribute, old, new, message):
    spec = changed(old, new)
    with pytest.raises(SpecError, match=message):
        getattr(spec, attribute)


def test_a_declaration_is_yes_or_no():
    with pytest.raises(SpecError, match="declares draws: expected yes or no, got 'maybe'"):
        changed("| draws | yes |", "| draws | maybe |").declared("draws")


def test_tables_that_may_lack_are_empty():
    spec = Spec("")
    assert (spec.constants, spec.slots, spec.policies, spec.examples, spec.invariants) == ({}, {}, {}, [], [])
    assert spec.small_worlds == []
    with pytest.raises(SpecError, match=r"spec\.md has no table 'declares'"):
        spec.id  # noqa: B018
