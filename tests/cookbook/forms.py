"""Runs the snippets: the same inputs through each form, what they give as arrays ``[N, ...]`` by variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from simulacrum.rng import Draw
from simulacrum.rng.tensor import Draw as BatchedDraw
from simulacrum.spec import Package

from .cases import CASES
from .package import WORLD, kernel_forms, method_name, places
from .page import Idiom

EDGE_FLOATS = (-9.0, -0.1, -0.0, 0.0, 1e-45, 0.1, 0.3, 1.0, 9.0)  # many of which are equal: ties, and both zeros
EDGE_SEEDS = (0, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1)
CLOCK = ("action", "seed", "episode", "t")

Given = dict[str, np.ndarray]


@dataclass(frozen=True)
class Inputs:
    """N rows: the state's fields as arrays by name, actions, and the clock that the draws are of."""

    fields: Given
    action: np.ndarray  # int64 [N]
    seed: np.ndarray  # uint64 [N]
    episode: np.ndarray  # int64 [N]
    t: np.ndarray  # int64 [N]

    @property
    def rows(self) -> int:
        return len(self.action)

    def of(self, rows: Any) -> Inputs:
        """Some of the rows."""
        fields = {name: value[rows] for name, value in self.fields.items()}
        return Inputs(fields, self.action[rows], self.seed[rows], self.episode[rows], self.t[rows])

    def with_values(self, values: Mapping[str, Any]) -> Inputs:
        """Some fields, the action or parts of the clock replaced: in all rows, or row by row where there is an axis of
        rows."""
        fields = dict(self.fields)
        clock = {name: np.full_like(getattr(self, name), values[name]) for name in CLOCK if name in values}
        for name, value in values.items():
            if name in CLOCK:
                continue
            old = fields[name]
            new = np.asarray(value, old.dtype)
            new = new.reshape(old.shape[1:]) if new.size == old[0].size else new
            fields[name] = np.broadcast_to(new, old.shape).copy()
        return replace(self, fields=fields, **clock)


def random_inputs(generator: np.random.Generator, rows: int) -> Inputs:
    """Rows within the bounds of the page's state, often at them; seeds, episodes and steps at their edges as well."""
    fields = {}
    for one in WORLD.fields.values():
        if one.name == "t":
            continue
        shape = (rows, *one.shape)
        if one.dtype == np.float32:
            near = generator.choice(np.array(EDGE_FLOATS, np.float32), shape)
            anything = generator.uniform(-9, 9, shape).astype(np.float32)
            fields[one.name] = np.where(generator.random(shape) < 0.7, near, anything)
        else:
            drawn = generator.integers(one.low, one.high, shape, endpoint=True)
            edges = np.where(generator.random(shape) < 0.5, one.low, one.high)
            fields[one.name] = np.where(generator.random(shape) < 0.25, edges, drawn).astype(one.dtype)
    fields["wall"] |= generator.random((rows, 1, 1)) < 0.2  # boards without a free cell
    seed = generator.integers(0, 2**64, rows, np.uint64)
    seed[generator.random(rows) < 0.2] = generator.choice(np.array(EDGE_SEEDS, np.uint64))
    clock = [generator.choice([0, 1, 20, 2**31, 2**32 - 1], rows) for _ in range(2)]
    return Inputs(fields, generator.integers(0, 4, rows), seed, clock[0], clock[1])


def run_reference(package: Package, idiom: Idiom, inputs: Inputs) -> Given:
    """The reference form, row by row. Floats must be float32 scalars, so that nothing was computed in double."""
    function = getattr(package.module("reference"), method_name(idiom, "reference"))
    rows = []
    for row in range(inputs.rows):
        values = {name: _plain(value[row]) for name, value in inputs.fields.items()}
        draw = Draw.at(int(inputs.seed[row]), int(inputs.episode[row]), int(inputs.t[row]))
        rows.append(function(SimpleNamespace(**values), int(inputs.action[row]), draw))
    found = {}
    for name, given in CASES[idiom.name].gives.items():
        found[name] = np.array([row[name] for row in rows], given.dtype)
        elements = np.array([row[name] for row in rows], object).reshape(-1)
        assert given.dtype != "float32" or {type(one) for one in elements} == {np.float32}, f"{name} is no float32"
    return found


def run_tensor(package: Package, idiom: Idiom, inputs: Inputs, form: str = "tensor") -> dict[str, torch.Tensor]:
    """The tensor form, or a trap in its place, on tensors that are the caller's."""
    return getattr(fast(package), method_name(idiom, form))(*tensors(package, inputs))


def fast(package: Package) -> Any:
    """An environment of the tensor form: what the methods' ``self`` is."""
    return package.forms["tensor"](batch_size=1, seed=0)


def tensors(package: Package, inputs: Inputs) -> tuple[Any, torch.Tensor, BatchedDraw]:
    """State, actions and draws as a transition is given them."""
    fields = {name: torch.from_numpy(value.copy()) for name, value in inputs.fields.items()}
    fields |= {name: torch.zeros(0) for name in ("snippet", "ints", "floats")}
    state = package.module("fast").State(**fields)
    seed, episode, t = (torch.from_numpy(one.copy()) for one in (inputs.seed.view(np.int64), inputs.episode, inputs.t))
    return state, torch.from_numpy(inputs.action.copy()), BatchedDraw.at(seed, episode, t)


def run_kernel(package: Package, idiom: Idiom, inputs: Inputs, form: str, block: int) -> Given:
    """A kernel form, through one step of an environment into which the inputs are injected."""
    env = package.forms["kernel"](batch_size=inputs.rows, seed=0, expose_state=True)
    td, number = env.reset(), kernel_forms(block)[idiom.name, form]
    for name, value in inputs.fields.items():
        td["state", name] = torch.from_numpy(value.copy())
    td["state", "snippet"] = torch.full((inputs.rows,), number, dtype=torch.int32)
    clock = {"seed": inputs.seed.view(np.int64), "episode": inputs.episode, "t": inputs.t}
    for name, value in clock.items():
        td["clock", name] = torch.from_numpy(value.copy())
    td = env.reset(td, set_state=True)
    td["action"] = torch.from_numpy(inputs.action.copy())
    after = env.step(td)["next", "state"]
    found = {name: after[name].numpy() for name in CASES[idiom.name].gives if name in WORLD.fields}
    for name, given, first in places(idiom):
        taken = after["floats" if given.dtype == "float32" else "ints"].numpy()[:, first : first + given.size]
        found[name] = taken.reshape(inputs.rows, *given.shape).astype(given.dtype)
    return {name: found[name] for name in CASES[idiom.name].gives}


def _plain(value: np.ndarray) -> Any:
    """One row's value as a reference has it: Python numbers, ``np.float32``, and lists of them."""
    if value.dtype == np.float32:
        return list(value) if value.ndim else value[()]
    return value.tolist()
