"""A search for inputs that show something new, guided by what ``reference.py`` decided and where the state went.

An input is a state, a clock and an action; it shows *features*: the outcomes of decisions (with how often each was
taken, in coarse steps), pairs of outcomes in one transition, and coarse bins of the next state. An input with a
feature that none before it had is kept, and later inputs are drawn around those that were kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations

import numpy as np

from . import corpus
from .context import Context
from .decisions import Decisions
from .injection import Injector
from .laws import causes
from .records import Record, concatenated, take
from .sources import mixed_actions, random_actions
from .states import POOL_ROWS, States, rollout_states

Feature = Hashable


class Search:
    """The search on one package, every transition of it compared.

    Attributes:
        decisions: the counted reference.
        states: draws legal states.
        kept, kept_actions: the inputs that showed something new, [rows, ...], in the order in which they did.
    """

    def __init__(self, context: Context) -> None:
        package, rng = context.package, context.rng
        self.context, self.decisions = context, Decisions(package)
        pool = rollout_states(package, context.env(POOL_ROWS, int(rng.integers(0, 2**62))), rng)
        self.states = States(package, rng, pool)
        self.taken = np.zeros(len(self.decisions.outcomes), np.int64)
        self.kept, self.kept_actions = take(pool, slice(0)), random_actions(package.environment.action_space, rng, 0)
        self._seen: set[Feature] = set()
        self._paths: dict[tuple[tuple[int, int], ...], set[Feature]] = {}
        self._row_paths: list[tuple[tuple[int, int], ...]] = []
        self._injector = Injector(context, self.states.reached, self.decisions.reference, self._row_done)

    def replay(self) -> int:
        """The committed corpus, and the worked examples of the spec as far as they are legal; how many there were."""
        for states, actions in (self._corpus(), self._examples()):
            legal = np.flatnonzero(self.states.legal(states)) if len(actions) else np.zeros(0, np.int64)
            if len(legal):
                self.look(take(states, legal), actions[legal])
        return len(self.kept_actions)

    def round(self, rows: int) -> int:
        """Draw inputs, half of them around what was kept, and look at them; how many showed something new."""
        half = rows // 2 if len(self.kept_actions) else 0
        parts = [self.states.draw(rows - half)] + ([self.states.draw(half, self.kept)] if half else [])
        states = concatenated(parts)
        drawn = len(states["clock.t"])
        return self.look(states, mixed_actions(self.context.package, self.context.rng, drawn)) if drawn else 0

    def look(self, states: Record, actions: np.ndarray) -> int:
        """Compare one step of both sides from inputs [rows, ...], and keep those with a new feature; how many."""
        self._row_paths = []
        shown = self._injector.compare(states, actions)
        bins = self._bins(shown.ended)
        new = []
        for row, path in enumerate(self._row_paths):
            features = self._paths[path] | bins[row]
            if not features <= self._seen:
                self._seen |= features
                new.append(row)
        self.kept = {name: np.concatenate([self.kept[name], states[name][new]]) for name in self.kept}
        self.kept_actions = np.concatenate([self.kept_actions, actions[new]])
        self.context.count_causes(shown.ended)
        return len(new)

    def missed(self) -> list[int]:
        """The outcomes that no compared transition took."""
        return [number for number, times in enumerate(self.taken) if not times]

    def count_decisions(self) -> tuple[tuple[int, int], ...]:
        """Add up what was decided since the last time; the path that it was."""
        taken = self.decisions.taken
        for number, times in taken.items():
            self.taken[number] += times
        path = tuple(sorted((number, min(times, 4)) for number, times in taken.items()))
        self.decisions.begin()
        return path

    def _row_done(self, row: int) -> None:
        path = self.count_decisions()
        if path not in self._paths:
            self._paths[path] = {*path, *combinations([number for number, _ in path], 2)}
        self._row_paths.append(path)

    def _bins(self, ended: Record) -> list[set[Feature]]:
        """For each row the coarse bins of its next state, and its outcome: flags, causes, the sign of the reward."""
        package, rows = self.context.package, len(ended["reward"])
        columns: dict[str, np.ndarray] = {}
        for name, field in package.spec.fields.items():
            values = ended["clock.t"] if name == "t" else ended[f"state.{name}"].reshape(rows, -1)
            if name == "t" or not field.shape:
                values = values.reshape(rows)
                columns[name] = (values <= field.low) + 2 * (values >= field.high) + 4 * (values == 0)
            elif field.dtype.kind == "b":
                columns[name] = np.minimum(values.sum(axis=1), 8)
            else:
                columns[name] = (values == field.low).any(axis=1) + 2 * (values == field.high).any(axis=1)
        outcome = ended["terminated"] + 2 * ended["truncated"] + 4 * (ended["reward"] > 0).reshape(rows, -1).any(axis=1)
        if "died" in ended:
            columns["died"] = np.minimum(ended["died"].sum(axis=1), 8)
        for place, there in enumerate(causes(package, ended).values()):
            outcome = outcome + (8 << place) * there
        columns["outcome"] = outcome
        listed = {name: values.tolist() for name, values in columns.items()}
        return [{(name, values[row]) for name, values in listed.items()} for row in range(rows)]

    def _corpus(self) -> tuple[Record, np.ndarray]:
        """The corpus; a finding where it cannot be read."""
        try:
            return corpus.read(self.context.package)
        except corpus.CorpusError as error:
            self.context.fail(str(error))

    def _examples(self) -> tuple[Record, np.ndarray]:
        """The states and actions of the worked examples, with clocks of any seed."""
        package, rng = self.context.package, self.context.rng
        examples, space = package.spec.examples, package.environment.action_space
        copies = 4  # with other seeds, for other draws
        states: Record = {
            f"state.{name}": np.array([example.state[name] for example in examples] * copies, field.dtype)
            for name, field in package.spec.fields.items()
            if name != "t"
        }
        rows = len(examples) * copies
        states["clock.seed"] = rng.integers(0, 2**64, rows, dtype=np.uint64)
        states["clock.episode"] = rng.integers(0, 2**32, rows)
        states["clock.t"] = np.array([int(example.state["t"]) for example in examples] * copies, np.int64)
        return states, np.array([example.action for example in examples] * copies, space.dtype)
