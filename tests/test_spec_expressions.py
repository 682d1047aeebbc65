"""The small arithmetic of spec.md's cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulacrum.errors import SpecError
from simulacrum.spec.expressions import assignments, evaluate, parse_call

CONSTANTS = {"N": 6, "GAINS": [0.1, 0.15, 0.3], "P": 0.1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        (" -N ", -6),
        ("2 * N + 1", 13),
        ("(N - 1) / 2", 2.5),
        ("N // 4", 1),
        ("2 ** N", 64),
        ("[N, 0.5, [1, 2]]", [6, 0.5, [1, 2]]),
        ("(1, 2)", [1, 2]),
        ("GAINS[2]", 0.3),
        ("GAINS", [0.1, 0.15, 0.3]),
        ("true", True),
        ("False", False),
        ("-inf", -np.inf),
        ("none", None),
        ("[]", []),
    ],
)
def test_values(text, value):
    found = evaluate(text, CONSTANTS)
    assert found == value
    assert type(found) is type(value)


def test_in_a_float_dtype_every_operation_is_done_in_it():
    one = evaluate("P * 3 + GAINS[1]", CONSTANTS, np.dtype(np.float32))
    assert type(one) is np.float32
    assert one == np.float32(0.1) * np.float32(3) + np.float32(0.15)
    assert one != np.float32(0.1 * 3 + 0.15)
    assert evaluate("[1, 0.1]", {}, np.dtype(np.float32)) == [np.float32(1), np.float32(0.1)]


@given(st.integers(-(2**31), 2**31 - 1))
def test_in_an_integer_dtype_numbers_stay_what_they_are(number):
    assert evaluate(f"{number} + 1", {}, np.dtype(np.int32)) == number + 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "UNKNOWN",
        "1 / 0",
        "GAINS[3]",
        "N[0]",
        "GAINS + 1",
        "'text'",
        "__import__('os')",
        "N if N else 1",
        "[x for x in GAINS]",
        "N.real",
        "lambda: 1",
        "1 < 2",
        "not true",
        "N @ N",
        "1; 2",
        "2 ** 65",
        "2 ** 64 * 2",
        "9 ** 9 ** 9",
        "[1] + 2",
        "[1] + [2]",
        "(" * 300 + ")" * 300,
    ],
)
def test_anything_else_is_an_error_that_shows_the_cell(text):
    with pytest.raises(SpecError, match="cannot read") as caught:
        evaluate(text, CONSTANTS)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("randint(2 * N + 1)", "randint", [13]),
        ("uniform()", "uniform", []),
        ("bits(32)", "bits", [32]),
        ("categorical([0.5, 0.5])", "categorical", [[0.5, 0.5]]),
        ("Box(-1, inf, [N, 2], float32)", "Box", [-1, np.inf, [6, 2], "float32"]),
    ],
)
def test_calls(text, name, arguments):
    assert parse_call(text, CONSTANTS) == (name, arguments)


NO_CALLS = ["", "randint", "randint(", "randint(n=5)", "a.b(5)", "randint(M + 1)", "randint(1 / 0)"]


@pytest.mark.parametrize("text", NO_CALLS)
def test_what_is_no_call_is_an_error_that_shows_the_cell(text):
    with pytest.raises(SpecError, match="cannot read") as caught:
        parse_call(text, CONSTANTS)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1; b = [2, 3]", {"a": "1", "b": "[2, 3]"}),
        ("a=1;", {"a": "1"}),
        ("", {}),
        (" - ", {}),
        ("none", {}),
    ],
)
def test_assignments(text, expected):
    assert assignments(text) == expected


def test_a_name_is_given_once():
    with pytest.raises(SpecError, match="'a = 1; a = 2' gives one name twice"):
        assignments("a = 1; a = 2")


@pytest.mark.parametrize("text", ["a", "a = 1; b", "= ; c"])
def test_what_is_no_assignment_is_an_error(text):
    with pytest.raises(SpecError, match="expected 'name = value; name = value'"):
        assignments(text)
