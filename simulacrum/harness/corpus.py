"""``corpus/transitions.jsonl`` of a package: the inputs that were the first to show something, one a line.

An input is a state, a clock and an action. The file is small, committed with the package and replayed before anything
else; it is no part of what a report vouches for, since it can only add to what is compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..spec import Package
from .places import writable_folder, write_atomically
from .records import Record, plain

FILE = Path("corpus") / "transitions.jsonl"
LIMIT = 400  # entries; what a corpus is beyond that is no longer small


class CorpusError(Exception):
    """A line of a corpus that cannot be read: which, and why."""


def read(package: Package) -> tuple[Record, np.ndarray]:
    """The states and clocks [rows, ...] and actions [rows, ...] of a corpus, beside the package or in the state folder.

    Entries that are older than a change of the state's fields are left out. Raises :class:`CorpusError`.
    """
    entries = [entry for file in _files(package) for entry in _entries(file)]
    fields = {name: field for name, field in package.spec.fields.items() if name != "t"}
    space = package.environment.action_space
    states: dict[str, list[Any]] = {f"state.{name}": [] for name in fields}
    clocks: list[list[int]] = []
    actions: list[Any] = []
    for entry in entries:
        if entry["state"].keys() != fields.keys():
            continue
        row = {name: np.asarray(entry["state"][name], field.dtype) for name, field in fields.items()}
        action = np.asarray(entry["action"], space.dtype)
        if any(row[name].shape != field.shape for name, field in fields.items()) or action.shape != (space.shape or ()):
            continue
        for name, value in row.items():
            states[f"state.{name}"].append(value)
        clocks.append(entry["clock"])
        actions.append(action)
    record: Record = {
        f"state.{name}": np.array(states[f"state.{name}"], field.dtype).reshape(len(actions), *field.shape)
        for name, field in fields.items()
    }
    seed, episode, t = (np.array([clock[place] for clock in clocks], kind) for place, kind in enumerate("Qqq"))
    record |= {"clock.seed": seed, "clock.episode": episode, "clock.t": t}
    return record, np.array(actions, space.dtype).reshape(len(actions), *(space.shape or ()))


def add(package: Package, states: Record, actions: np.ndarray, rows: Sequence[int]) -> Path | None:
    """Append rows, as many as there is room for, and return the file; None where nothing was added."""
    file = writable_folder(package.path) / FILE
    lines = file.read_text().splitlines() if file.exists() else []
    known = set(lines)
    new = [line for line in (_line(states, actions, row) for row in rows) if line not in known]
    new = new[: max(0, LIMIT - len(lines))]
    if not new:
        return None
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, ("\n".join([*lines, *new]) + "\n").encode())
    return file


def _files(package: Package) -> list[Path]:
    places = dict.fromkeys([package.path / FILE, writable_folder(package.path) / FILE])
    return [file for file in places if file.is_file()]


def _entries(file: Path) -> list[dict[str, Any]]:
    entries = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        try:
            entry = json.loads(line)
            state, clock = dict(entry["state"]), [int(value) for value in entry["clock"]]
            if len(clock) != 3 or not all(
                0 <= value < 2**bits for value, bits in zip(clock, (64, 32, 32), strict=True)
            ):
                raise ValueError("clock: expected [seed, episode, t]")
            entries.append({"state": state, "clock": clock, "action": entry["action"]})
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CorpusError(
                f"{file}:{number}: expected a state, a clock [seed, episode, t] and an action as JSON: {error!r} "
                "(delete the line, or the file: the next validation begins another)"
            ) from None
    return entries


def _line(states: Record, actions: np.ndarray, row: int) -> str:
    state = {name[6:]: plain(value[row]) for name, value in states.items() if name.startswith("state.")}
    clock = [int(states[f"clock.{name}"][row]) for name in ("seed", "episode", "t")]
    return json.dumps({"state": state, "clock": clock, "action": plain(actions[row])})
