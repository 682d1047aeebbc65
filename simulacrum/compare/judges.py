"""What a transition of a candidate must be: by references beside its rows, by a published table, by the time limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import bits
from .case import Difference
from .leaves import BARE, Leaves, alike, leaves, row_of, ulps, unlike
from .references import plain, put
from .views import Moment, View

if TYPE_CHECKING:
    from .pair import Pair

FIRST, LATER, TERMINAL = "first observation", "observation", "terminal observation"
UNTOLD = "no terminal observation was told"


class Judge:
    """Follows a candidate from its reset on, and tells what came otherwise than it should; counts what it judged."""

    how = ""

    def __init__(self, pair: Pair, rows: int, limit: int | None) -> None:
        self.pair, self.rows, self.limit = pair, rows, limit
        self.counts: Counter[str] = Counter()
        self.apart: dict[str, int] = {}  # by how many ulps values of a subject lay apart at most

    def start(self, view: View, seed: int, moment: Moment) -> Iterator[Difference]:
        """All rows have begun."""
        yield from ()

    def before(self, view: View, moment: Moment) -> None:
        """A step is about to be made; ``moment`` is the last one."""

    def after(self, view: View, step: int, actions: np.ndarray, moment: Moment) -> Iterator[Difference]:
        """A step was made."""
        yield from ()


class Beside(Judge):
    """A reference beside each row; a subclass says how it comes to be in the row's state."""

    def __init__(self, pair: Pair, rows: int, limit: int | None) -> None:
        super().__init__(pair, rows, limit)
        self.envs = pair.references(rows, limit)
        self.followed = np.ones(rows, bool)  # the rows whose reference is where they are

    def start(self, view: View, seed: int, moment: Moment) -> Iterator[Difference]:
        for row in range(self.rows):
            yield from self.began(row, 0, row_of(moment.observation, row), self.first_seed(view, seed, row))

    def first_seed(self, view: View, seed: int, row: int) -> int | None:
        """The seed of the row's reference."""
        return seed + row

    def began(self, row: int, step: int, seen: Leaves, seed: int | None = None) -> Iterator[Difference]:
        """A row began an episode."""
        raise NotImplementedError

    def after(self, view: View, step: int, actions: np.ndarray, moment: Moment) -> Iterator[Difference]:
        for row in range(self.rows):
            if moment.stepped[row] and self.followed[row]:
                yield from self.transition(row, step, actions[row], moment)
            if moment.began[row]:
                yield from self.began(row, step, row_of(moment.observation, row))

    def transition(self, row: int, step: int, action: np.ndarray, moment: Moment) -> Iterator[Difference]:
        """One transition of a row beside its reference's."""
        observation, reward, terminated, truncated, _ = self.envs[row].step(plain(action))
        assert moment.reward is not None
        assert moment.terminated is not None
        assert moment.truncated is not None
        self.counts["transitions"] += 1
        over = bool(terminated or truncated)
        told = moment.after(row)
        what = TERMINAL if over or moment.ended[row] else LATER
        if told is None:
            yield Difference(TERMINAL, UNTOLD, row, step, reference=str(observation))
        elif (found := unlike(leaves(observation), told)) is not None:
            yield differing(what, row, step, found)
            self.lost(row)
        if not alike(np.asarray(reward), moment.reward[row]):
            yield differing("reward", row, step, (BARE, np.asarray(reward), moment.reward[row]))
        for name, one, other in (
            ("terminated", terminated, moment.terminated[row]),
            ("truncated", truncated, moment.truncated[row]),
        ):
            if bool(one) != bool(other):
                both = f"(terminated, truncated) is {(bool(terminated), bool(truncated))}"
                yield Difference(name, f"the reference's {both}", row, step, str(bool(one)), str(bool(other)))
        if over != bool(moment.ended[row]):
            self.followed[row] = False
        elif over:
            self.counts["episodes"] += 1

    def lost(self, row: int) -> None:
        """A row's observation was another: its reference may no longer be where it is."""
        self.followed[row] = False


class Seeded(Beside):
    """References with the same seeds, which begin further episodes as the rows do."""

    how = "the reference with the same seed beside each row"

    def first_seed(self, view: View, seed: int, row: int) -> int | None:
        return self.pair.row_seeds(view, seed)[row]

    def began(self, row: int, step: int, seen: Leaves, seed: int | None = None) -> Iterator[Difference]:
        if step and not self.followed[row]:
            return
        observation, _ = self.envs[row].reset(seed=seed)
        self.counts["first observations"] += 1
        if (found := unlike(leaves(observation), seen)) is not None:
            yield differing(FIRST, row, step, found)
            self.followed[row] = False


class Found(Beside):
    """References with whatever seed gives the same first observation, where that determines all that follows."""

    how = "beside each row the reference with a seed that gives the same first observation, which determines the rest"

    def began(self, row: int, step: int, seen: Leaves, seed: int | None = None) -> Iterator[Difference]:
        number = self.pair.firsts.seed(seen)
        self.followed[row] = number is not None
        self.counts["first observations" if number is not None else "first observations without a seed"] += 1
        if number is not None:
            self.envs[row].reset(seed=number)
        elif self.pair.firsts.known:
            yield Difference(FIRST, "the reference gives no such first observation", row, step, "", shown(seen))


class Stated(Beside):
    """References whose state is set to the row's before every step."""

    how = "the reference beside each row, its state set to the row's before every step"

    def __init__(self, pair: Pair, rows: int, limit: int | None) -> None:
        super().__init__(pair, rows, limit)
        self.rounded = False

    def began(self, row: int, step: int, seen: Leaves, seed: int | None = None) -> Iterator[Difference]:
        self.envs[row].reset(seed=seed)
        self.followed[row] = True
        yield from ()

    def before(self, view: View, moment: Moment) -> None:
        assert self.pair.links is not None
        for attribute, values in self.pair.links.read(view, moment).items():
            seen = BARE in self.pair.links.sources[attribute]  # an observation may have lost digits of the state
            for env, value in zip(self.envs, values, strict=True):
                self.rounded |= not put(env, attribute, np.asarray(value)) and seen

    def after(self, view: View, step: int, actions: np.ndarray, moment: Moment) -> Iterator[Difference]:
        for each in super().after(view, step, actions, moment):
            if not self.rounded:
                yield each
            else:
                self.counts[f"transitions from rounded states with another {each.subject}"] += 1
                self.apart[each.subject] = max(self.apart.get(each.subject, 0), each.ulps or 0)
        links = self.pair.links
        assert links is not None
        if self.rounded or links.observed:
            return
        for attribute, values in links.read(view, moment).items():
            for row in np.flatnonzero(moment.stepped & ~moment.began & self.followed):
                one, other = np.asarray(getattr(self.envs[row].unwrapped, attribute)), np.asarray(values[row])
                if not alike(one, other):
                    yield differing("state", int(row), step, (attribute, one, other))

    def lost(self, row: int) -> None:
        """Its state is set again before the next step."""


class Table(Judge):
    """The transition table ``P`` that the reference publishes."""

    how = "the reference's transition table P"

    def __init__(self, pair: Pair, rows: int, limit: int | None) -> None:
        super().__init__(pair, rows, limit)
        self.seen: Counter[tuple[int, int, int]] = Counter()  # (state, action, next state)
        self.states: list[int] = []

    def before(self, view: View, moment: Moment) -> None:
        self.states = moment.observation[BARE].ravel().tolist()

    def after(self, view: View, step: int, actions: np.ndarray, moment: Moment) -> Iterator[Difference]:
        for row in np.flatnonzero(moment.stepped).tolist():
            self.counts["transitions"] += 1
            self.counts["episodes"] += bool(moment.ended[row])
            yield from self.transition(row, step, int(actions[row]), moment)

    def transition(self, row: int, step: int, action: int, moment: Moment) -> Iterator[Difference]:
        """One transition, looked up."""
        assert self.pair.table is not None
        assert moment.reward is not None
        assert moment.terminated is not None
        state, told = self.states[row], moment.after(row)
        entries = self.pair.table.get(state, {}).get(action, ())
        reward, terminated = moment.reward[row], bool(moment.terminated[row])
        following = None if told is None else int(told[BARE].item())
        if following is not None:
            self.seen[state, action, following] += 1
        # in the order of what is held to be at fault where no entry fits: the next state, the reward, the flag
        fits: list[tuple[int, Any, bool]] = [
            (int(next_state), number, bool(over)) for chance, next_state, number, over in entries if chance > 0
        ]
        given = f"({following}, {reward!r}, {terminated})"
        for subject, tried in (
            (TERMINAL if moment.ended[row] else LATER, lambda one: following is None or one[0] == following),
            ("reward", lambda one: alike(np.asarray(one[1]), reward)),
            ("terminated", lambda one: one[2] == terminated),
        ):
            fits, before = [one for one in fits if tried(one)], fits
            if not fits:
                listed = ", ".join(map(str, sorted(set(before))))
                what = f"P[{state}][{action}] has no (next state, reward, terminated) {given}"
                yield Difference(subject, what, row, step, listed, given)
                return
        if told is None:
            yield Difference(TERMINAL, UNTOLD, row, step, str(sorted({one[0] for one in fits})))


class Clock(Judge):
    """The time limit: truncated in the last step of it, and in no other."""

    how = "the time limit"

    def __init__(self, pair: Pair, rows: int, limit: int | None) -> None:
        super().__init__(pair, rows, limit)
        self.number = np.zeros(rows, np.int64)

    def after(self, view: View, step: int, actions: np.ndarray, moment: Moment) -> Iterator[Difference]:
        limit = self.limit or self.pair.limit
        self.number[moment.stepped] += 1
        assert moment.truncated is not None
        assert moment.terminated is not None
        for row in np.flatnonzero(moment.stepped).tolist():
            at, truncated, terminated = int(self.number[row]), bool(moment.truncated[row]), bool(moment.terminated[row])
            self.counts["transitions"] += 1
            due = limit is not None and at >= limit
            self.counts["ends at the time limit"] += due
            if truncated != due and not (limit is not None and at > limit):
                what = f"step {at} of its episode, the time limit is {limit}, terminated is {terminated}"
                subject = "truncated where terminated too" if terminated else "truncated"
                yield Difference(subject, what, row, step, str(due), str(truncated))
        self.number[moment.began | moment.ended] = 0


JUDGES: dict[str, type[Judge]] = {"seeded": Seeded, "found": Found, "stated": Stated, "table": Table, "clock": Clock}


def differing(subject: str, row: int, step: int, found: tuple[str, np.ndarray, np.ndarray]) -> Difference:
    """A difference of two values, with how far floats lie apart."""
    name, one, other = found
    apart = ulps(one, other)
    part = "" if name == BARE else f" {name}"
    message = f"another value{part}" + (f", {apart:,} ulps of {other.dtype} apart at most" if apart else "")
    return Difference(subject, message, row, step, *bits.pair_shown(one, other), ulps=apart)


def shown(table: Leaves) -> str:
    """An observation for people."""
    if table.keys() == {BARE}:
        return bits.shown(table[BARE])
    return ", ".join(f"{name} {bits.shown(value)}" for name, value in table.items())
