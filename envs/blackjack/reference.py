"""The reference of blackjack: Gymnasium's Blackjack-v1, unmodified, and how its state is read and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import simulacrum

from . import ENVIRONMENT, NATURAL, SAB


@dataclass
class State:
    player_total: int  # the player's cards added up, an ace as 1
    player_ace: bool  # whether there is an ace among them
    player_cards: int  # how many they are
    dealer_shows: int  # the dealer's first card, 1 an ace
    dealer_total: int  # the same of all the dealer's cards
    dealer_ace: bool
    dealer_cards: int
    t: int = 0  # step counter, kept by the base class


def read(original: Any) -> dict[str, Any]:
    """What the rules tell of the original's two lists of cards."""
    player, dealer = original.player, original.dealer
    return {
        "player_total": sum(player),
        "player_ace": 1 in player,
        "player_cards": len(player),
        "dealer_shows": dealer[0],
        "dealer_total": sum(dealer),
        "dealer_ace": 1 in dealer,
        "dealer_cards": len(dealer),
    }


def write(original: Any, state: State) -> None:
    """Give the original two hands of such cards: which they are does not matter to its rules."""
    original.player = hand(state.player_total, state.player_ace, state.player_cards)
    shows, total, number = state.dealer_shows, state.dealer_total - state.dealer_shows, state.dealer_cards - 1
    original.dealer = [shows, *hand(total, state.dealer_ace and shows != 1, number, least=1 if state.dealer_ace else 2)]


def hand(total: int, ace: bool, number: int, least: int = 2) -> list[int]:
    """So many cards of this total: an ace first where there is one, then the highest cards that leave the others at
    ``least``, which is 1 where further aces change nothing."""
    if ace:
        return [1, *hand(total - 1, False, number - 1, least=1)]
    cards: list[int] = []
    for left in reversed(range(number)):
        cards.append(min(10, total - sum(cards) - left * least))
    return cards


class BlackjackReference(simulacrum.AdoptedEnv[State]):
    """A hand of cards against a dealer, from an endless deck.

    Goal: hold cards that sum to more than the dealer's, and to 21 at most.
    Observation: a tuple: the player's sum, the dealer's open card (1 an ace, 10 also a face), 1 where an ace counts as
    11.
    Actions: 0 sticks, and the dealer plays; 1 hits, and gets a card.
    Termination: the episode ends when the player sticks, or goes beyond 21.
    """

    environment = ENVIRONMENT
    adopts = simulacrum.Adoption(
        "Blackjack-v1",
        state=(read, write),
        options={"sab": bool(SAB), "natural": bool(NATURAL)},
        rules=(
            *("reset", "step", "_get_obs", "_hand_sum_and_usable_ace", "draw_card", "draw_hand", "usable_ace"),
            *("sum_hand", "is_bust", "score", "is_natural", "cmp"),
        ),
    )
