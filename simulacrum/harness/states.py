"""Where states come from: legal ones from the spec's fields, near their bounds, near each other, near what was seen.

A state is legal where each field lies in its bounds and every invariant holds. States in which an episode has ended are
left out, since no API steps from one, unless a worked example does: then the spec says what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import SpecError
from ..spec import Field, Package
from .lockstep import FastRows
from .records import Record, concatenated, state_namespace, take
from .sources import EDGE_SEEDS, Actions, constant_numbers, seeds

POOL_ROWS, POOL_STEPS = 1024, 80
EDGE_EPISODES = (0, 1, 20, 2**31 - 1, 2**31, 2**32 - 1)
ROUNDS, BATCH = 16, 64  # of drawing candidates until enough of them are legal, so many at least each time


def rollout_states(package: Package, env: Any, rng: np.random.Generator, steps: int = POOL_STEPS) -> Record:
    """States and clocks [rows, ...] of rollouts of a fast environment, first ones and those before a step."""
    fast, rows = FastRows(package, env), env.numel()
    actions = Actions(package, rng, rows)
    now = fast.reset()
    kept = [now]
    for step in range(steps):
        _, now = fast.step(actions.next(now))
        if step % 4 == 3:
            kept.append(take(now, rng.random(rows) < 0.5))
    names = [name for name in now if name.startswith(("state.", "clock."))]
    return concatenated(kept, names)


class States:
    """Draws states and clocks, [rows, ...], around a pool of states that rollouts had.

    Args:
        package: whose spec gives fields, bounds and invariants.
        rng: what the draws follow from.
        pool: states and clocks, [rows, ...]; see :func:`rollout_states`.
    """

    def __init__(self, package: Package, rng: np.random.Generator, pool: Record) -> None:
        self.package, self.rng, self.pool = package, rng, pool
        fields = package.spec.fields
        self.fields = {f"state.{name}": field for name, field in fields.items() if name != "t"}
        self.last = _last_step(package)
        self.ended_too = steps_from_the_end(package)
        self.constants = constant_numbers(package)
        self._build: Callable[..., Any] | None = getattr(package.checks, "legal_states", None)
        self._known = {_key(self.pool, self.fields, row) for row in range(len(pool["clock.t"]))}

    def draw(self, rows: int, around: Record | None = None) -> Record:
        """Legal states [rows, ...] at most: changed and mixed ones of the pool (or of ``around``), and fresh ones."""

        def vary(missing: int) -> Record:
            return self._candidates(max(BATCH, 2 * missing), self.pool if around is None else around)

        if self._build is None:
            return self._some(rows, ROUNDS, vary)
        found = [self.built(max(1, rows // 2))]
        for some in (lambda missing: self._some(missing, 1, vary), self.built):
            missing = rows - sum(len(record["clock.t"]) for record in found)
            if missing:
                found.append(some(missing))
        return concatenated(found)

    def built(self, rows: int) -> Record:
        """Legal states [rows, ...] at most that the package's ``legal_states`` builds, with any clocks."""
        return self._some(rows, ROUNDS, self._built)

    def _some(self, rows: int, rounds: int, propose: Callable[[int], Record]) -> Record:
        """Legal ones [rows, ...] at most of what is proposed for those that are missing, in so many rounds at most."""
        found: list[Record] = []
        missing = rows
        for _ in range(rounds):
            proposed = propose(missing)
            found.append(take(proposed, np.flatnonzero(self.legal(proposed))[:missing]))
            missing -= len(found[-1]["clock.t"])
            if not missing:
                break
        return concatenated(found)

    def legal(self, states: Record) -> np.ndarray:
        """Which states are legal: bool [rows]."""
        view = state_namespace(self.package, states)
        rows = len(states["clock.t"])
        holds = np.ones(rows, np.bool_)
        for field in self.package.spec.fields.values():
            values = getattr(view, field.name)
            holds &= ((values >= field.low) & (values <= field.high)).reshape(rows, -1).all(axis=1)
        with np.errstate(all="ignore"):
            for invariant in self.package.checks.INVARIANTS:
                holds &= np.asarray(invariant(view))
            if not self.ended_too:
                for cause in self.package.checks.TERMINATIONS:
                    holds &= ~np.asarray(cause(view))
        return holds

    def reached(self, states: Record, row: int) -> str:
        """Whether a state of the pool, in words for a finding."""
        if _key(states, self.fields, row) in self._known:
            return "a state that rollouts reached"
        return "a generated state, which no rollout of this run reached"

    # ------------------------------------------------------------------ candidates

    def _built(self, rows: int) -> Record:
        assert self._build is not None
        values = {name: np.asarray(value) for name, value in self._build(self.rng, rows).items()}
        t = values.pop("t", self.rng.integers(min(1, self.last), self.last, rows, endpoint=True))
        states = {f"state.{name}": value for name, value in values.items()}
        return states | self._clocks({"clock.t": t}, rows)

    def _candidates(self, rows: int, pool: Record) -> Record:
        rng = self.rng
        states = take(pool, rng.integers(0, len(pool["clock.t"]), rows))
        other = take(self.pool, rng.integers(0, len(self.pool["clock.t"]), rows))
        way = rng.random(rows)
        for name, field in self.fields.items():
            states[name] = _where(way < 0.2, states[name], other[name], rng.random(rows) < 0.5)  # mixed
            fresh = self._values(field, rows)
            states[name] = _where(way > 0.9, states[name], fresh, np.ones(rows, np.bool_))  # fresh
            states[name] = _where((way > 0.2) & (way < 0.8), states[name], fresh, rng.random(rows) < 0.25)  # changed
        for edit in (self._one_element, self._equal_items, self._items_that_meet):
            edited = edit(states)
            chosen = rng.random(rows) < 0.4
            states.update({name: _where(chosen, states[name], edited[name], chosen) for name in edited})
        return {**states, **self._clocks(states, rows)}

    def _values(self, field: Field, rows: int) -> np.ndarray:
        """Values of a field [rows, *shape]: uniform, at the bounds and beside them, constants, and values seen."""
        rng, shape = self.rng, (rows, *field.shape)
        seen = self.pool[f"state.{field.name}"].reshape(-1)
        picked = seen[rng.integers(0, len(seen), shape)]
        if field.dtype.kind == "b":
            return np.where(rng.random(shape) < 0.5, rng.random(shape) < 0.5, picked)
        if field.dtype.kind == "f":
            return self._floats(field, shape, picked)
        low, high = int(field.low), int(field.high)
        uniform = rng.integers(low, high, shape, endpoint=True, dtype=np.int64 if high < 2**63 else np.uint64)
        edges = np.clip(np.array([low, low + 1, high - 1, high, 0]), low, high)
        values = rng.choice(edges, shape)
        way = rng.random(shape)
        return np.where(way < 0.4, uniform, np.where(way < 0.7, values, picked)).astype(field.dtype)

    def _floats(self, field: Field, shape: tuple[int, ...], picked: np.ndarray) -> np.ndarray:
        rng = self.rng
        low, high = (np.clip(bound, -1e6, 1e6) for bound in (field.low, field.high))
        special = np.concatenate([self.constants, -self.constants, [low, high, 0.0, -0.0]]).astype(field.dtype)
        special = special[(special >= low) & (special <= high)]
        uniform = (low + rng.random(shape) * (high - low)).astype(field.dtype)
        way = rng.random(shape)
        values = np.where(way < 0.3, uniform, np.where(way < 0.6, rng.choice(special, shape), picked))
        side = rng.choice(np.array([-np.inf, np.inf], field.dtype), shape)
        return np.where(rng.random(shape) < 0.3, np.nextafter(values, side), values).astype(field.dtype)

    def _one_element(self, states: Record) -> Record:
        """One field, at one place of an array, takes another value."""
        name, field = list(self.fields.items())[self.rng.integers(0, len(self.fields))]
        values, fresh = states[name].copy(), self._values(field, len(states["clock.t"]))
        if not field.shape:
            return {name: fresh}
        flat, new = values.reshape(len(values), -1), fresh.reshape(len(values), -1)
        place = self.rng.integers(0, flat.shape[1], len(flat))
        flat[np.arange(len(flat)), place] = new[np.arange(len(flat)), place]
        return {name: values}

    def _equal_items(self, states: Record) -> Record:
        """Items of arrays with one leading size become equal in every such field, or in each by chance."""
        edited: Record = {}
        for size in {field.shape[0] for field in self.fields.values() if field.shape}:
            rows = np.arange(len(states["clock.t"]))
            source, share = self.rng.integers(0, size, len(rows)), self.rng.random((len(rows), 1))
            target = self.rng.random((len(rows), size)) < share
            for name, field in self.fields.items():
                if field.shape and field.shape[0] == size:
                    values = states[name]
                    mask = target & (self.rng.random((len(rows), 1)) < 0.8)
                    one = values[rows, source][:, None]
                    edited[name] = np.where(mask.reshape(*mask.shape, *(1,) * (values.ndim - 2)), one, values)
        return edited

    def _items_that_meet(self, states: Record) -> Record:
        """Integer elements of arrays become a scalar field's value of the same bounds, or one beside it."""
        edited: Record = {}
        scalars = [(name, field) for name, field in self.fields.items() if not field.shape and field.dtype.kind in "iu"]
        for name, field in self.fields.items():
            alike = [one for one, other in scalars if (other.low, other.high) == (field.low, field.high)]
            if not field.shape or not alike:
                continue
            values, rows = states[name], len(states["clock.t"])
            chosen = np.stack([states[one] for one in alike])[self.rng.integers(0, len(alike), rows), np.arange(rows)]
            near = chosen.astype(np.int64) + self.rng.choice([-1, 0, 0, 1], rows)
            near = np.clip(near, int(field.low), int(field.high)).astype(field.dtype)
            mask = self.rng.random(values.shape) < self.rng.choice([0.2, 0.5, 1.0], (rows, *(1,) * (values.ndim - 1)))
            edited[name] = np.where(mask, near.reshape(-1, *(1,) * (values.ndim - 1)), values)
        return edited

    def _clocks(self, states: Record, rows: int) -> Record:
        """Clocks: t as it was, at its bounds or anywhere; any seed; any episode."""
        rng = self.rng
        t, way = states["clock.t"], rng.random(rows)
        edges = np.clip(np.array([0, 1, 2, self.last - 2, self.last - 1, self.last]), 0, self.last)
        t = np.where(way < 0.2, rng.choice(edges, rows), t)
        t = np.where(way > 0.8, rng.integers(0, self.last, rows, endpoint=True), t)
        seed = seeds(rng, rows)
        seed = np.where(rng.random(rows) < 0.1, rng.choice(np.array(EDGE_SEEDS, np.uint64), rows), seed)
        episode = rng.integers(0, 2**32, rows)
        episode = np.where(rng.random(rows) < 0.3, rng.choice(np.array(EDGE_EPISODES), rows), episode)
        return {"clock.seed": seed, "clock.episode": episode, "clock.t": t.astype(np.int64)}


def steps_from_the_end(package: Package) -> bool:
    """Whether a worked example steps from a state in which an episode has ended."""
    try:
        examples = package.spec.examples
    except SpecError:  # of a world with other constants, for which they were not worked out
        return False
    for example in examples:
        record = {f"state.{name}": value[None] for name, value in example.state.items() if name != "t"}
        record["clock.t"] = np.array([int(example.state["t"])])
        view = state_namespace(package, record)
        if any(bool(np.asarray(cause(view)).any()) for cause in package.checks.TERMINATIONS):
            return True
    return False


def _last_step(package: Package) -> int:
    """The greatest t from which a step may be made."""
    cap = package.environment.max_episode_steps
    return cap - 1 if cap is not None else min(int(package.spec.fields["t"].high), 2**32 - 2)


def _key(states: Record, names: Any, row: int) -> bytes:
    return b"".join(states[name][row].tobytes() for name in names) + int(states["clock.t"][row]).to_bytes(8, "little")


def _where(ways: np.ndarray, old: np.ndarray, new: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    mask = (ways & chosen).reshape(-1, *(1,) * (old.ndim - 1))
    return np.where(mask, new, old)
