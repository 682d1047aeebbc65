"""``Spec``: what the tables of a package's ``spec.md`` say, read and checked for sense."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces

from ..errors import SpecError
from .expressions import assignments, evaluate, parse_call
from .observations import joined, parts
from .rows import Example, Field, Policy, ResetExample, Slot, SmallWorld
from .spaces import Space
from .tables import Table, read_tables

T = TypeVar("T")
FIELD_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")
FLOATS = ("float32", "float64")
DISTRIBUTIONS = ("bits", "uniform", "randint", "bernoulli", "categorical", "permutation")
UNIFORM = "uniform"  # the policy that takes each legal action alike: a small world may state its return too
PLACE = re.compile(r"\[\d*\]")  # before what the observation table says of an element of a Tuple
CONFIGURATION = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
AT_MOST = "at most "  # before the indexes of a slot: not every one of them is drawn each time
FORMS = (("tensor",), ("kernel",), ("tensor", "kernel"))  # of the fast side, that a package may have
DECLARATIONS = ("id", "max_episode_steps", "terminates", "truncates", "draws", "forms")


class Spec:
    """The tables of a ``spec.md``. Every attribute is read when first asked for, and raises :class:`SpecError` with the
    table that is at fault.

    Example:
        >>> from simulacrum.spec import Package
        >>> spec = Package.read("envs/toywalk").spec
        >>> spec.id, spec.forms, spec.constants["L"]
        ('simulacrum/toywalk-v0', ('tensor', 'kernel'), 5)
        >>> spec.observation_space, spec.reward_dtype
        (Box(-1.0, 1.0, (2,), float32), dtype('float32'))
    """

    def __init__(self, text: str) -> None:
        self.tables = read_tables(text)

    def table(self, name: str) -> Table:
        """The table whose first header cell is ``name``. Raises :class:`SpecError` where there is none."""
        if name not in self.tables:
            raise SpecError(f"spec.md has no table {name!r}; it has {', '.join(map(repr, self.tables))}")
        return self.tables[name]

    def _rows(self, name: str, function: Callable[[dict[str, str]], T]) -> list[T]:
        """What a function makes of each row of a table (none where there is no such table), its errors located."""
        found: dict[str, T] = {}
        for row in self.tables[name].records() if name in self.tables else []:
            try:
                if row[name] in found:
                    raise SpecError("a second row of that name")
                found[row[name]] = function(row)
            except SpecError as error:
                line, label = self.tables[name].line, row.get("name", row[name])
                raise SpecError(f"spec.md, table {name!r} (line {line}), row {label!r}: {error}") from None
        return list(found.values())

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The constants by name, in order; each may use those above it."""
        values: dict[str, Any] = {}

        def read(row: dict[str, str]) -> None:
            values[row["constant"]] = evaluate(row["value"], values)

        self._rows("constant", read)
        return values

    @cached_property
    def scalable(self) -> list[str]:
        """The constants that a small world may shrink."""
        marks = self._rows("constant", lambda row: (row["constant"], row.get("scalable", "")))
        return [name for name, mark in marks if mark == "yes"]

    @cached_property
    def least(self) -> dict[str, Any]:
        """The least value that a constant may be given, of those for which one is stated."""
        rows = self.table("constant").records()
        return {row["constant"]: evaluate(row["least"], {}) for row in rows if row.get("least", "") not in ("", "-")}

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The state fields by name, in order; the last is ``t``."""
        self.table("state field")
        fields = {field.name: field for field in self._rows("state field", self._field)}
        if not fields or list(fields)[-1] != "t":
            raise SpecError(
                "spec.md, table 'state field': the last field must be t, the step counter of the base class"
            )
        return fields

    @property
    def state_bytes(self) -> int:
        """The bytes of one instance's state, in the dtypes of its fields."""
        return sum(field.dtype.itemsize * math.prod(field.shape) for field in self.fields.values())

    def _field(self, row: dict[str, str]) -> Field:
        dtype, shape = row["dtype"], evaluate(row["shape"], self.constants)
        if dtype not in FIELD_DTYPES:
            raise SpecError(f"expected a dtype of {FIELD_DTYPES}, got {dtype!r}")
        bounds = evaluate(row["bounds"], self.constants, np.dtype(dtype))
        if not isinstance(shape, list) or not isinstance(bounds, list) or len(bounds) != 2:
            raise SpecError(f"expected a shape [..] and bounds [low, high], got {row['shape']} and {row['bounds']}")
        if any(isinstance(bound, list) for bound in bounds):
            raise SpecError(f"expected numbers as bounds, got {row['bounds']}")
        return Field(row["state field"], np.dtype(dtype), tuple(shape), *bounds)

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """The slots by name, in order."""
        listed = self._rows("slot", self._slot)
        slots = {slot.name: slot for slot in listed}
        if len(slots) < len(listed):
            raise SpecError(f"spec.md, table 'slot': two slots have one name: {[slot.name for slot in listed]}")
        return slots

    def _slot(self, row: dict[str, str]) -> Slot:
        name, arguments = parse_call(row["distribution"], self.constants)
        if name not in DISTRIBUTIONS:
            raise SpecError(f"expected a distribution of {DISTRIBUTIONS}, got {name!r}")
        more, arguments = _uniform(arguments) if name == "uniform" else ({}, arguments)
        unknown = [argument for argument in arguments if isinstance(argument, str)]
        if unknown:
            raise SpecError(f"unknown names {unknown} in {row['distribution']!r}")
        if row["phase"] not in ("reset", "step"):
            raise SpecError(f"expected the phase reset or step, got {row['phase']!r}")
        index = row["index"].removeprefix(AT_MOST)
        last = evaluate(index.split("..")[-1], self.constants)
        number = evaluate(row["slot"], self.constants)
        at_most = index != row["index"]
        return Slot(row["name"], number, row["phase"], last + 1, name, tuple(arguments), at_most, **more)

    @cached_property
    def action_space(self) -> Space:
        """The action space."""
        rows = self.table("action").records()
        if len(rows) != 1:
            raise SpecError(f"action: expected one row, got {len(rows)}")
        return self._space(rows[0]["space"])

    @cached_property
    def observation_space(self) -> Space:
        """The observation space. A Dict where the rows begin with ``key:``, a Tuple where they do with ``[0]:`` and
        so on."""
        rows = self.table("observation").records()
        if len(rows) == 1 and ":" not in rows[0]["observation"]:
            return self._space(rows[0]["space"])
        keys, made = [row["observation"].split(":")[0].strip() for row in rows], self._rows("observation", self._part)
        places = [f"[{place}]" for place in range(len(rows))]
        if keys == places:
            return spaces.Tuple(made)
        if any(PLACE.fullmatch(key) for key in keys):
            raise SpecError(f"observation: expected rows that begin with {places}, as of a Tuple, got {keys}")
        return spaces.Dict(dict(zip(keys, made, strict=True)))

    def _part(self, row: dict[str, str]) -> Space:
        return self._space(row["space"])

    def _space(self, text: str) -> Space:
        try:
            return self._made_space(text)
        except (AssertionError, TypeError, ValueError) as error:
            raise SpecError(f"cannot make a space of {text!r}: {error}") from error

    def _made_space(self, text: str) -> Space:
        kind, arguments = parse_call(text, self.constants)
        if kind == "Box" and len(arguments) == 4:
            low, high, shape, dtype = arguments
            kind_dtype = np.dtype(dtype).type
            low, high = (np.broadcast_to(np.asarray(bound, kind_dtype), shape) for bound in (low, high))
            return spaces.Box(low, high, tuple(shape), kind_dtype)
        if kind == "MultiBinary" and len(arguments) == 1:
            return spaces.MultiBinary(arguments[0])
        counted: dict[str, Any] = {"Discrete": spaces.Discrete, "MultiDiscrete": spaces.MultiDiscrete}
        if kind not in counted or not 1 <= len(arguments) <= 2:
            raise SpecError(
                "expected Box(low, high, shape, dtype), Discrete(n), Discrete(n, start), MultiDiscrete([...]), "
                "MultiDiscrete([...], [starts]) or MultiBinary(n)"
            )
        return counted[kind](arguments[0], **({"start": arguments[1]} if len(arguments) == 2 else {}))

    @cached_property
    def reward_dtype(self) -> np.dtype[Any]:
        """The reward's dtype."""
        return np.dtype(self.table("reward").column("dtype")[0])

    @cached_property
    def declares(self) -> dict[str, str]:
        """The declarations by name."""
        values = {row["declares"]: row["value"] for row in self.table("declares").records()}
        missing = [name for name in DECLARATIONS if name not in values]
        if missing:
            raise SpecError(f"declares: missing {', '.join(missing)}")
        return values

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The forms of the fast side, ``tensor``, ``kernel``, or both."""
        forms = tuple(name.strip() for name in self.declares["forms"].split(","))
        if forms not in FORMS:
            known = "; ".join(", ".join(one) for one in FORMS)
            raise SpecError(f"declares forms: expected one of {known}, got {self.declares['forms']!r}")
        return forms

    @cached_property
    def id(self) -> str:
        """The environment's ID."""
        return self.declares["id"]

    @cached_property
    def max_episode_steps(self) -> int | None:
        """The step cap."""
        value: int | None = evaluate(self.declares["max_episode_steps"], self.constants)
        return value

    @property
    def adopts(self) -> str | None:
        """The distribution for pip from which an adopted environment comes; None where the rules are the package's."""
        return self.declares.get("adopts")

    def declared(self, name: str) -> bool:
        """Whether the environment ``terminates``, ``truncates`` or ``draws``."""
        value = self.declares[name]
        if value not in ("yes", "no"):
            raise SpecError(f"declares {name}: expected yes or no, got {value!r}")
        return value == "yes"

    @cached_property
    def agents(self) -> int | None:
        """How many agents share an instance; None where none are declared, and there is one."""
        value: int | None = evaluate(self.declares.get("agents", "none"), self.constants)
        return value

    @cached_property
    def configurations(self) -> dict[str, dict[str, Any]]:
        """The named configurations, with the constants that each replaces by name. The first is the one by default."""

        def read(row: dict[str, str]) -> tuple[str, dict[str, Any]]:
            name = row["configuration"]
            if not CONFIGURATION.fullmatch(name):
                raise SpecError("expected a name of letters, digits, - and _")
            values = {key: evaluate(cell, self.constants) for key, cell in assignments(row["constants"]).items()}
            unknown = [key for key in values if key not in self.scalable]
            self._check_least(values)
            if unknown:
                raise SpecError(f"constants {unknown}: expected constants whose scalable is yes, of {self.scalable}")
            return name, values

        return dict(self._rows("configuration", read))

    @cached_property
    def terminations(self) -> list[str]:
        """The names of the termination causes."""
        return self._rows("termination", lambda row: row["termination"])

    @cached_property
    def invariants(self) -> list[str]:
        """The names of the invariants."""
        return self._rows("invariant", lambda row: row["invariant"])

    @cached_property
    def symmetries(self) -> list[str]:
        """The names of the symmetries."""
        return self._rows("symmetry", lambda row: row["symmetry"])

    @cached_property
    def policies(self) -> dict[str, Policy]:
        """The scripted policies with their expected returns."""

        def read(row: dict[str, str]) -> Policy:
            mean, deviation = (
                evaluate(row[name], self.constants) for name in ("expected return", "standard deviation")
            )
            return Policy(row["policy"], float(mean), float(deviation))

        return {policy.name: policy for policy in self._rows("policy", read)}

    @cached_property
    def small_worlds(self) -> list[SmallWorld]:
        """The worlds that are small enough to be compared wholly."""
        return self._rows("small world", self._small_world)

    def _check_least(self, values: dict[str, Any]) -> None:
        """Raise :class:`SpecError` for values that constants may not be given."""
        for name, value in values.items():
            each = value if isinstance(value, list) else [value]  # of a list, its elements
            if name in self.least and not all(one >= self.least[name] for one in each):
                raise SpecError(
                    f"{name} = {value!r}: expected {self.least[name]} at least, as the table of constants says"
                )

    def _small_world(self, row: dict[str, str]) -> SmallWorld:
        constants = {name: evaluate(cell, self.constants) for name, cell in assignments(row["constants"]).items()}
        self._check_least(constants)
        fixed = [name for name in constants if name not in self.scalable]
        if fixed:
            raise SpecError(f"constants {fixed}: expected constants whose scalable is yes, of {self.scalable}")
        returns = {name: evaluate(cell, self.constants) for name, cell in assignments(row["returns"]).items()}
        for name, figures in returns.items():
            if name not in (*self.policies, UNIFORM):
                raise SpecError(f"returns: expected policies of {[*self.policies, UNIFORM]}, got {name!r}")
            if not isinstance(figures, list) or len(figures) != 2:
                raise SpecError(f"returns: expected {name} = [mean, standard deviation], got {figures!r}")
        return SmallWorld(
            row["small world"], constants, {name: (float(mean), float(sd)) for name, (mean, sd) in returns.items()}
        )

    @cached_property
    def examples(self) -> list[Example]:
        """The worked transitions."""
        return self._rows("example", self._example)

    @cached_property
    def reset_examples(self) -> list[ResetExample]:
        """The worked first states."""
        return self._rows("reset example", self._reset_example)

    def _reset_example(self, row: dict[str, str]) -> ResetExample:
        draws, state = self._draws(row["draws"]), self._state(row["state"])
        return ResetExample(row["reset example"], draws, state, self._seen(row))

    def _example(self, row: dict[str, str]) -> Example:
        state = self._state(row["state"])
        missing = [name for name in self.fields if name not in state]
        if missing:
            raise SpecError(f"state lacks {', '.join(missing)}")
        t = np.asarray(state["t"] + 1, self.fields["t"].dtype)
        after = {**state, "t": t, **self._state(row["next state"])}
        if after["t"] != t:
            raise SpecError(f"next state: t is {t}, one more than before, not {after['t']}")
        reward = np.array(evaluate(row["reward"], self.constants, self.reward_dtype), self.reward_dtype)
        died = None if self.agents is None else np.array(evaluate(row["died"], self.constants), np.bool_)
        for name, value in (("reward", reward), ("died", died)):
            wanted = () if self.agents is None else (self.agents,)
            if value is not None and value.shape != wanted:
                raise SpecError(f"{name}: expected the shape {wanted}, got {value.shape}")
        terminated, truncated = (bool(evaluate(row[name], self.constants)) for name in ("terminated", "truncated"))
        action = _exactly(row["action"], evaluate(row["action"], self.constants), self.action_space.dtype)
        return Example(
            row["example"],
            state,
            action,
            self._draws(row["draws"]),
            after,
            reward,
            terminated,
            truncated,
            self._seen(row),
            died,
        )

    def _state(self, text: str) -> dict[str, np.ndarray]:
        values = {}
        for name, cell in assignments(text).items():
            if name not in self.fields:
                raise SpecError(f"unknown state field {name!r} in {text!r}")
            field = self.fields[name]
            value = _exactly(f"{name} = {cell}", evaluate(cell, self.constants, field.dtype), field.dtype)
            if value.shape != field.shape:
                raise SpecError(f"{name} in {text!r}: expected the shape {field.shape}, got {value.shape}")
            values[name] = value
        return values

    def _draws(self, text: str) -> dict[str, Any]:
        values = {name: evaluate(cell, self.constants) for name, cell in assignments(text).items()}
        unknown = [name for name in values if name not in self.slots]
        if unknown:
            raise SpecError(f"unknown slots {unknown} in {text!r}")
        return values

    def _seen(self, row: dict[str, str]) -> Any:
        """The observation of an example, in the space's dtypes; None where the row gives none."""
        text = row.get("observation", "")
        if text in ("", "-"):
            return None
        space = self.observation_space
        if isinstance(space, (spaces.Dict, spaces.Tuple)):
            cells, label = assignments(text), "[{}]" if isinstance(space, spaces.Tuple) else "{}"
            stated = {label.format(part.place): part for part in parts(space)}
            if cells.keys() != stated.keys():
                raise SpecError(f"observation {text!r}: expected the keys {list(stated)}, got {list(cells)}")
            return joined(space, {part.name: self._array(cells[key], part.space) for key, part in stated.items()})
        return self._array(text, space)

    def _array(self, text: str, space: Space) -> np.ndarray:
        assert space.dtype is not None
        return _exactly(text, evaluate(text, self.constants, space.dtype), space.dtype)


def _exactly(text: str, value: Any, dtype: np.dtype[Any] | None) -> np.ndarray:
    """A value as an array; raises :class:`SpecError` where its dtype is one of integers, and would change it."""
    array = np.asarray(value)
    cast = array.astype(dtype)
    if cast.dtype.kind != "f" and not np.array_equal(cast, array):
        raise SpecError(f"{text!r}: expected values of {cast.dtype}, got {array.tolist()}")
    return cast


def _uniform(arguments: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """What ``uniform(dtype, [cuts])`` declares, either left out, and what it says beyond."""
    dtype = arguments.pop(0) if arguments and arguments[0] in FLOATS else FLOATS[0]
    cuts = arguments.pop(0) if arguments and isinstance(arguments[0], list) else []
    if not all(isinstance(cut, (int, float)) for cut in cuts) or sorted(cuts) != cuts:
        raise SpecError(f"expected cuts of a uniform as a list of numbers that grow, got {cuts}")
    if arguments:
        raise SpecError(f"expected uniform(), uniform(float64) or uniform(float64, [cut, ...]), got also {arguments}")
    return {"dtype": dtype, "cuts": tuple(float(cut) for cut in cuts)}, arguments
