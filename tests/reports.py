"""What stands beside a report on its page: results of faults, a sweep, and texts that would like to be more."""

from __future__ import annotations

from typing import Any

from simulacrum.harness.faults.matrix import Result
from simulacrum.harness.faults.summary import Summary

HOSTILE = "</script></style><img src=x onerror=alert(1)> ${title} & \" ' `"


def summary() -> Summary:
    """Faults of every group: found, not found with and without a reason, set aside."""
    results = [
        Result("the goal is one further", "domain", "rules", ["fast.py"], ["worked_examples"], 1),
        Result(HOSTILE, "domain", "rules", ["fast.py"], ["differential"], 3),
        Result("never found", "domain", "system", ["fast.py"]),
        Result("`a` -> `b`", "generic", "constant", ["fast.py"], ["coverage"], 2),
        Result("`b` -> `b`", "generic", "constant", ["fast.py"]),
        Result("both: misread", "both", "both sides", ["fast.py", "reference.py"], ["worked_examples"], 1),
        Result("both: unlike", "both", "both sides", ["fast.py", "reference.py"], alike=False),
    ]
    return Summary("tests/toywalk-v0", results, {"`b` -> `b`": f"it is the same {HOSTILE}"})


def group(size: int, threads: int, **rates: float) -> dict[str, Any]:
    """A group of a sweep, as ``simulacrum bench --json`` writes it."""
    timings = {form: {"steps per second": rate} for form, rate in rates.items()}
    return {"batch size": size, "threads": threads, "reference": {"steps per second": 1e5}, "forms": timings}


BENCH = {
    "format": 1,
    "complete": True,
    "groups": [
        group(1, 1, eager=5e3, kernel=1e5),
        group(4096, 1, eager=4e6, kernel=1e8),
        group(1, 2, eager=5e3, kernel=1e5),
        group(4096, 2, eager=6e6, kernel=2e8),
    ],
}
