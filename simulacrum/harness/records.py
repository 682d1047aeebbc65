"""What both sides show, as arrays by name: the form in which they are compared.

A *record* holds ``observation`` (or its parts: ``observation.key`` of a Dict, ``observation[0]`` of a Tuple),
``state.field``, ``clock.seed`` (uint64), ``clock.episode`` and ``clock.t`` (int64), where there are any ``action_mask``
and ``info.name``, and of a step also ``reward``, ``terminated`` and ``truncated``; each [rows, ...]. With many agents
``reward`` has an element for each of them, and so has ``died``: [rows, agents].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from tensordict import TensorDictBase

from .. import bits
from ..reference import ReferenceEnv, state_of
from ..spec import Package
from ..spec.agents import GROUP
from ..spec.observations import OBSERVATION, Part, joined, parts

Record = dict[str, np.ndarray]
FLAGS = ("terminated", "truncated")
OUTCOME = ("reward", *FLAGS, "died")
OWN = ("seed", "rewards", "died")  # of an info: these stand elsewhere in a record


class FormError(Exception):
    """A side gave a value that is not of the declared dtype or shape: which field, in which row, and what came."""

    def __init__(self, field: str, message: str, row: int | None = None) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message, self.row = field, message, row


def observation_names(package: Package) -> dict[str, spaces.Space[Any]]:
    """The observation's names in a record, with their spaces."""
    return {part.name: part.space for part in observation_parts(package)}


def observation_parts(package: Package) -> list[Part]:
    """The observation's parts, in order."""
    return parts(package.environment.observation_space)


def observation_record(package: Package, seen: Any) -> dict[str, Any]:
    """An observation, or a batch of them, by the names of a record. Raises :class:`FormError` for a Tuple's that is no
    tuple of as many elements; Gymnasium's spaces take lists and arrays for one."""
    space = package.environment.observation_space
    if isinstance(space, spaces.Tuple):
        _check_tuple(seen, len(space.spaces))
    return {part.name: part.of(seen) for part in parts(space)}


def _check_tuple(seen: Any, size: int) -> None:
    if not isinstance(seen, tuple) or len(seen) != size:
        got = f"one of {len(seen)}" if isinstance(seen, tuple) else repr(seen)
        raise FormError(OBSERVATION, f"expected a tuple of {size} elements, got {got}")


def fast_record(package: Package, td: TensorDictBase) -> Record:
    """The record of a TensorDict (a reset's, a root's, or a step's ``next``); state and clock where they are shown."""
    record: Record = {}
    batch = td.batch_size.numel()
    dims = len(td.batch_size)

    def put(name: str, value: Any) -> None:
        array = value.detach().cpu().numpy()
        record[name] = array.reshape(batch, *array.shape[dims:])

    shown = td if package.environment.agents is None else td.get(GROUP)
    for part in observation_parts(package):
        put(part.name, shown.get(part.key))
    if "clock" in td.keys():
        for group in ("state", "clock"):
            for name, value in td.get(group).items():
                put(f"{group}.{name}", value)
        record["clock.seed"] = record["clock.seed"].view(np.uint64)
    if "action_mask" in td.keys():
        put("action_mask", td.get("action_mask"))
    if "info" in td.keys():
        for name, value in td.get("info").items():
            put(f"info.{name}", value)
    if "reward" in shown.keys():
        put("reward", shown.get("reward").squeeze(-1))
        for name in FLAGS:
            put(name, td.get(name).squeeze(-1))
        if shown is not td:
            put("died", shown.get("terminated").squeeze(-1))
    return record


def action_key(package: Package) -> Any:
    """Where a TensorDict has the action."""
    return "action" if package.environment.agents is None else (GROUP, "action")


def reference_record(
    package: Package,
    envs: Sequence[ReferenceEnv[Any]],
    seen: Sequence[Any],
    infos: Sequence[Mapping[str, Any]],
    outcomes: Sequence[tuple[float, bool, bool]] | None = None,
) -> Record:
    """The record of some references: observations, infos, states, and of a step (reward, terminated, truncated)."""
    states = [state_of(env) for env in envs]
    clocks = [(env._seed, env._episode, state.t) for env, state in zip(envs, states, strict=True)]
    return stacked_record(package, states, clocks, seen, infos, outcomes)


def stacked_record(
    package: Package,
    states: Sequence[Any],
    clocks: Sequence[tuple[Any, int, int]],
    seen: Sequence[Any],
    infos: Sequence[Mapping[str, Any]],
    outcomes: Sequence[tuple[float, bool, bool]] | None = None,
) -> Record:
    """The same of states, (seed, episode, t), observations, infos and outcomes that were gathered row by row."""
    record: Record = {}
    observed = package.environment.observation_space
    if isinstance(observed, spaces.Tuple):
        for value in seen:
            _check_tuple(value, len(observed.spaces))
    for part in parts(observed):
        values = [part.of(value) for value in seen]
        record[part.name] = _stacked(part.name, values, np.dtype(part.space.dtype), part.space.shape or (), strict=True)
    for name, field in package.spec.fields.items():
        if name != "t":
            record[f"state.{name}"] = _stacked(
                f"state.{name}", [getattr(state, name) for state in states], field.dtype, field.shape
            )
    record["clock.seed"] = np.array([clock[0] for clock in clocks], np.uint64)
    record["clock.episode"] = np.array([clock[1] for clock in clocks], np.int64)
    record["clock.t"] = np.array([clock[2] for clock in clocks], np.int64)
    for name in infos[0] if infos else ():
        if name not in OWN:
            key = name if name == "action_mask" else f"info.{name}"
            record[key] = np.array([info[name] for info in infos])
    if outcomes is not None:
        agents = package.environment.agents
        rewards = [outcome[0] for outcome in outcomes] if agents is None else [info["rewards"] for info in infos]
        each = () if agents is None else (agents,)
        record["reward"] = _stacked("reward", rewards, np.dtype(package.environment.reward_dtype), each)
        record["terminated"] = np.array([outcome[1] for outcome in outcomes], np.bool_)
        record["truncated"] = np.array([outcome[2] for outcome in outcomes], np.bool_)
        if agents is not None:
            record["died"] = np.array([info["died"] for info in infos])
    return record


def _stacked(
    name: str, values: list[Any], dtype: np.dtype[Any], shape: tuple[int, ...], strict: bool = False
) -> np.ndarray:
    """Values of rows as one array of exactly this dtype and shape; raises :class:`FormError`."""
    try:
        array = np.array(values)
        if array.dtype != dtype:
            if strict and array.dtype.kind == "f":
                raise ValueError(f"expected {dtype}, got {array.dtype}")
            array = bits.exactly(array, dtype)
    except ValueError as error:
        raise FormError(name, str(error)) from None
    if array.shape[1:] != shape:
        raise FormError(name, f"expected the shape {shape} in each row, got {array.shape[1:]}")
    return array


def difference(reference: Record, fast: Record) -> tuple[str, int, Any, Any] | None:
    """The first difference of two records: (field, row, reference's value, fast's value); None where there is none."""
    names = sorted((name for name in reference if name in fast), key=_causes_first)
    absent = sorted(set(reference) ^ set(fast))
    if absent:
        side = "reference" if absent[0] in reference else "fast side"
        return absent[0], 0, f"only the {side} gives {absent[0]}", ""
    for name in names:
        one, other = reference[name], fast[name]
        if one.dtype != other.dtype or one.shape != other.shape:
            return name, 0, f"{one.dtype} {list(one.shape[1:])}", f"{other.dtype} {list(other.shape[1:])}"
        equal = bits.same_rows(one, other)
        if not equal.all():
            row = int(np.argmin(equal))
            return name, row, one[row], other[row]
    return None


def _causes_first(name: str) -> int:
    """Where a field stands among others that differ: the state, then what follows from it."""
    return 0 if name.startswith(("state.", "clock.")) else 1 if name in OUTCOME else 2


def take(record: Record, rows: Any) -> Record:
    """The record of some rows."""
    return {name: value[rows] for name, value in record.items()}


class Namespace:
    """A record's fields under a prefix as attributes, as ``checks.py`` takes a state."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)


def concatenated(records: Sequence[Record], names: Iterable[str] | None = None) -> Record:
    """The rows of some records behind each other, of all names of the first, or of these."""
    return {name: np.concatenate([record[name] for record in records]) for name in names or records[0]}


def state_namespace(package: Package, record: Record) -> Namespace:
    """The state of a record: the spec's fields as attributes [rows, ...], ``t`` in its own dtype."""
    values = {name[6:]: value for name, value in record.items() if name.startswith("state.")}
    return Namespace({**values, "t": record["clock.t"].astype(package.spec.fields["t"].dtype)})


def observation_of(package: Package, record: Record) -> Any:
    """The observation of a record: an array, or a dict or a tuple of arrays."""
    return joined(package.environment.observation_space, record)


def snapshot(package: Package, record: Record, row: int) -> dict[str, dict[str, Any]]:
    """State and clock of one row, as ``ReferenceEnv.set_state`` takes them."""
    state = {name[6:]: value[row] for name, value in record.items() if name.startswith("state.")}
    return {"state": state, "clock": {name: int(record[f"clock.{name}"][row]) for name in ("seed", "episode", "t")}}


def plain(value: Any) -> Any:
    """Arrays and NumPy scalars as lists and Python scalars, tuples as lists, for JSON."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def columns(records: Iterable[Record]) -> Record:
    """Records of successive steps stacked: [steps, rows, ...]."""
    listed = list(records)
    return {name: np.stack([record[name] for record in listed]) for name in listed[0]}
