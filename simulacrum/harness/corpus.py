"""``corpus/transitions.jsonl`` of a package: the inputs that were the first to show something, one a line.

An input is a state, a clock and an action. The file is small, committed with the package and replayed before anything
else; it is no part of what a report vouches for, since it can only add to what is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ..fast.actions import ActionChecker
from ..spec import Package
from .places import writable_folder, write_atomically
from .records import Record, plain
from .values import expected, from_lists

FILE = Path("corpus") / "transitions.jsonl"
LIMIT = 400  # entries; what a corpus is beyond that is no longer small


class CorpusError(Exception):
    """A line of a corpus that cannot be read: which, and why."""


class Entry(NamedTuple):
    """One line: the state by field, (seed, episode, t), and the action."""

    state: Record
    clock: list[int]
    action: np.ndarray


def read(package: Package) -> tuple[Record, np.ndarray]:
    """The states and clocks [rows, ...] and actions [rows, ...] of a corpus, beside the package or in the state folder.

    Entries that are older than a change of the state's fields or of a shape are left out. Raises :class:`CorpusError`.
    """
    fields = {name: field for name, field in package.spec.fields.items() if name != "t"}
    space = package.environment.action_space
    entries = [entry for file in _files(package) for entry in _entries(package, file)]
    rows = len(entries)
    record: Record = {
        f"state.{name}": np.array([entry.state[name] for entry in entries], field.dtype).reshape(rows, *field.shape)
        for name, field in fields.items()
    }
    seed, episode, t = (np.array([entry.clock[place] for entry in entries], kind) for place, kind in enumerate("Qqq"))
    record |= {"clock.seed": seed, "clock.episode": episode, "clock.t": t}
    return record, np.array([entry.action for entry in entries], space.dtype).reshape(rows, *(space.shape or ()))


def add(package: Package, states: Record, actions: np.ndarray, rows: Sequence[int]) -> Path | None:
    """Append rows, as many as there is room for, and return the file; None where nothing was added."""
    file = writable_folder(package.path) / FILE
    lines = [line.decode() for line in file.read_bytes().splitlines()] if file.exists() else []
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


def _entries(package: Package, file: Path) -> Iterator[Entry]:
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            entry = _entry(package, line.decode())
        except (ValueError, RecursionError) as error:
            raise CorpusError(
                f"{file}:{number}: expected a state, a clock [seed, episode, t] and an action as JSON: {error} "
                "(delete the line, or the file: the next validation begins another)"
            ) from None
        if entry is not None:
            yield entry


def _entry(package: Package, line: str) -> Entry | None:
    """A line, in the spec's dtypes; None where it is of other fields or shapes. Raises ValueError for what is none."""
    content = json.loads(line)
    if not isinstance(content, dict) or not {"state", "clock", "action"} <= content.keys():
        raise expected("an object with state, clock and action", content)
    state, clock, space = content["state"], content["clock"], package.environment.action_space
    if not isinstance(state, dict):
        raise ValueError(f"state: {expected('an object', state)}")
    if not isinstance(clock, list) or len(clock) != 3 or not all(type(value) is int for value in clock):
        raise ValueError(f"clock: {expected('[seed, episode, t]', clock)}")
    if not all(0 <= value < 2**width for value, width in zip(clock, (64, 32, 32), strict=True)):
        raise ValueError(f"clock: {expected('a seed of 64 bits, an episode and t of 32 bits', clock)}")
    fields = {name: field for name, field in package.spec.fields.items() if name != "t"}
    if state.keys() != fields.keys():
        return None
    values = {name: _array(f"state, {name}", state[name], field.dtype) for name, field in fields.items()}
    action = _array("action", content["action"], np.dtype(space.dtype))
    if action.shape != (space.shape or ()) or any(values[name].shape != fields[name].shape for name in fields):
        return None
    ActionChecker(space, torch.device("cpu")).check_values(torch.from_numpy(action[None].copy()))
    return Entry(values, clock, action)


def _array(name: str, content: Any, dtype: np.dtype[Any]) -> np.ndarray:
    try:
        return from_lists(content, dtype)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _line(states: Record, actions: np.ndarray, row: int) -> str:
    state = {name[6:]: plain(value[row]) for name, value in states.items() if name.startswith("state.")}
    clock = [int(states[f"clock.{name}"][row]) for name in ("seed", "episode", "t")]
    return json.dumps({"state": state, "clock": clock, "action": plain(actions[row])})
