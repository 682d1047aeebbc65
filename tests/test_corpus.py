"""What stands in a corpus is read without loss, or refused by file and line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited import changed

from simulacrum.harness import corpus
from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

GOOD = {"state": {"position": 1}, "clock": [1, 2, 3], "action": 1}


def holding(folder: Path, *lines: Any, base: str = "toywalk") -> Package:
    """A package with a corpus: lines as bytes, or as what JSON makes of them."""
    package = changed(folder / "package", base=base)
    file = package.path / corpus.FILE
    file.parent.mkdir()
    file.write_bytes(b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in lines))
    return package


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({**GOOD, "clock": [float("inf"), 2, 3]}, r"clock: expected \[seed, episode, t\]"),
        ({**GOOD, "clock": [1.5, 2, 3]}, "clock: expected"),
        ({**GOOD, "clock": [True, 2, 3]}, "clock: expected"),
        ({**GOOD, "clock": [1, 2, 2**32]}, "clock: expected a seed of 64 bits"),
        ({**GOOD, "clock": 1}, "clock: expected"),
        *(
            ({**GOOD, "state": {"position": value}}, "state, position: expected values of int32")
            for value in ("abc", None, 0.9, True, 99999999999999, [[1], [1, 2]], {})
        ),
        ({**GOOD, "state": [["position", 1]]}, "state: expected an object"),
        *(({**GOOD, "action": value}, "action: expected values of int64") for value in ("x", {}, 0.5, True, None)),
        ({**GOOD, "action": 7}, r"action: expected elements of Discrete\(2\), got 7"),
        ([1, 2], "expected an object with state, clock and action"),
        (b"\xff\xfe\x00", "can't decode"),
        (b"[" * 100_000, "recursion"),
        (b"9" * 5000, "4300 digits"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_told_with_its_place(tmp_path: Path, line: Any, message: str) -> None:
    package = holding(tmp_path, GOOD, line)
    with pytest.raises(corpus.CorpusError, match=message) as raised:
        corpus.read(package)
    told = str(raised.value)
    assert told.startswith(
        f"{package.path / corpus.FILE}:2: expected a state, a clock [seed, episode, t] and an action"
    )
    assert "delete the line" in told


def test_floats_may_be_any_and_round_to_their_dtype(tmp_path: Path) -> None:
    state = {"cargo": [0, 1, 2], "speed": 0.1, "lamp": True, "total": 3}
    line = {"state": state, "clock": [0, 0, 0], "action": [1, -0.5]}
    states, actions = corpus.read(holding(tmp_path, line, base="courier"))
    assert states["state.speed"].tolist() == [np.float32(0.1)]
    assert actions.dtype == np.float32
    assert actions.tolist() == [[1.0, -0.5]]


def test_a_line_ends_where_json_lines_do(tmp_path: Path) -> None:
    odd = b'{"note": "\xe2\x80\xa8", ' + json.dumps(GOOD).encode()[1:]  # a line separator of Unicode
    package = holding(tmp_path, odd, GOOD)
    states, actions = corpus.read(package)
    assert len(actions) == 2
    corpus.add(package, {**states, "clock.t": states["clock.t"] + 1}, actions, [0])
    assert (package.path / corpus.FILE).read_bytes().count(b"\n") == 3
    assert len(corpus.read(package)[1]) == 3


@pytest.mark.parametrize("check", ["guided_search", "coverage"])
def test_a_check_ends_with_one_finding_that_says_what_to_do(check: str, tmp_path: Path) -> None:
    package = holding(tmp_path, {**GOOD, "action": 7})
    result = run_check(check, package, replace(QUICK, search=(1, 64, 5)))
    (finding,) = result.findings
    assert finding.message.startswith(f"{package.path / corpus.FILE}:1: expected a state")
    assert finding.message.endswith("(delete the line, or the file: the next validation begins another)")
