"""What the battery knows of blackjack beside the two implementations: each function takes a batch as arrays [N]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulacrum import ScriptedPolicy

from . import NATURAL, SAB

Rows = NDArray[np.bool_]
Ints = NDArray[np.int64]

DECK = np.minimum(np.arange(1, 14), 10)


def player_hand(state: Any) -> Rows:
    return _is_hand(state.player_total, state.player_ace, state.player_cards)


def player_hits_in_play(state: Any) -> Rows:
    """All cards but the last were 21 at most."""
    others = state.player_cards.astype(np.int64) - 1
    least = np.where(state.player_ace, others, 2 * others)
    return (state.player_total <= 21) | ((least <= 21) & (state.player_total <= 31))


def one_card_a_step(state: Any) -> Rows:
    return state.player_cards <= state.t + 2


def dealer_hand(state: Any) -> Rows:
    """The open card, and others: with an open ace any that there are."""
    hidden, others = (part.astype(np.int64) for part in (state.dealer_total, state.dealer_cards))
    hidden, others = hidden - state.dealer_shows, others - 1
    open_ace = state.dealer_shows == 1
    any_cards = state.dealer_ace & (hidden >= others) & (hidden <= 10 * others)
    return np.where(open_ace, any_cards, _is_hand(hidden, state.dealer_ace, others))


def dealer_plays_last(state: Any) -> Rows:
    played = (state.player_cards <= state.t + 1) & (_sum(state.dealer_total, state.dealer_ace) >= 17)
    return (state.dealer_cards == 2) | (played & (state.dealer_total <= 26))


def _is_hand(total: Any, ace: Any, cards: Any) -> Rows:
    """Whether so many cards, with an ace or without, can add up to a total."""
    total, cards = np.asarray(total, np.int64), np.asarray(cards, np.int64)
    with_ace = (total >= cards) & (total <= 10 * cards - 9)
    return np.where(ace, with_ace, (total >= 2 * cards) & (total <= 10 * cards))


def _sum(total: Any, ace: Any) -> Any:
    return total + np.where(ace & (total <= 11), 10, 0).astype(np.int64)


INVARIANTS = [player_hand, player_hits_in_play, one_card_a_step, dealer_hand, dealer_plays_last]


def bust(state: Any) -> Rows:
    return state.player_total > 21


def stuck(state: Any) -> Rows:
    """A step without a card."""
    return state.player_cards == state.t + 1


TERMINATIONS = [bust, stuck]


def legal_states(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Hands of cards that were dealt at random: a player who hits some times, and in half of them a dealer who has
    played."""
    deals = rng.choice(DECK, (rows, 24))
    own, dealer = _Hand(deals[:, 0], deals[:, 1]), _Hand(deals[:, 2], deals[:, 3])
    hits, plays = rng.integers(0, 5, rows), rng.random(rows) < 0.5
    for number in range(4):
        own.draw(deals[:, 4 + number], (hits > number) & (own.total <= 21))
    for number in range(10):
        dealer.draw(deals[:, 8 + number], plays & (_sum(dealer.total, dealer.ace) < 17))
    return {
        **{f"player_{name}": value for name, value in vars(own).items()},
        "dealer_shows": deals[:, 2].astype(np.int8),
        **{f"dealer_{name}": value for name, value in vars(dealer).items()},
    }


class _Hand:
    """Totals, aces and numbers of cards, [N] each."""

    def __init__(self, first: Any, second: Any) -> None:
        self.total = (first + second).astype(np.int8)
        self.ace = (first == 1) | (second == 1)
        self.cards = np.full(len(first), 2, np.int8)

    def draw(self, card: Any, which: Any) -> None:
        self.total = (self.total + np.where(which, card, 0)).astype(np.int8)
        self.ace = self.ace | (which & (card == 1))
        self.cards = (self.cards + which).astype(np.int8)


def always_stick(state: Any, observation: Any) -> int:
    return 0


def always_hit(state: Any, observation: Any) -> int:
    return 1


def as_the_dealer(state: Any, observation: Any) -> Ints:
    return (observation[0] < 17).astype(np.int64)


def careful(state: Any, observation: Any) -> Ints:
    own, shows, usable = observation
    enough = np.where((shows < 2) | (shows > 6), 17, np.where(shows >= 4, 12, 13))
    soft_enough = np.where(shows >= 9, 19, 18)
    return (own < np.where(usable == 1, soft_enough, enough)).astype(np.int64)


MOST = 1.5 if NATURAL and not SAB else 1.0

POLICIES = [
    ScriptedPolicy(
        "always_stick",
        always_stick,
        expected_return=-0.165541,
        standard_deviation=0.986154,
        return_range=(-1.0, MOST),
    ),
    ScriptedPolicy(
        "always_hit",
        always_hit,
        expected_return=-1.0,
        standard_deviation=0.0,
        return_range=(-1.0, -1.0),
    ),
    ScriptedPolicy(
        "as_the_dealer",
        as_the_dealer,
        expected_return=-0.058468,
        standard_deviation=0.971292,
        return_range=(-1.0, MOST),
    ),
    ScriptedPolicy(
        "careful",
        careful,
        expected_return=-0.025790,
        standard_deviation=0.978197,
        return_range=(-1.0, MOST),
    ),
]

MIN_SPEEDUP = 20.0

EXCUSES = {
    "coverage BlackjackEnv.reset: self.render() is executed": "the original is made without a render mode",
    "coverage BlackjackEnv.step: self.render() is executed": "the original is made without a render mode",
    "coverage BlackjackEnv.step: reward = 1.0 is executed": "a rule of the configuration sab, compared there",
}
