"""blackjack: a hand of cards against a dealer, from an endless deck.

Gymnasium's Blackjack-v1, unmodified, is the reference.

Goal: hold cards that sum to more than the dealer's, and to 21 at most.
Observation: a tuple: the player's sum, the dealer's open card (1 an ace, 10 also a face), 1 where an ace counts as 11.
Actions: 0 sticks, and the dealer plays; 1 hits, and gets a card.
Termination: the episode ends when the player sticks, or goes beyond 21.
"""

from enum import IntEnum

from gymnasium.spaces import Discrete, Tuple

import simulacrum

SAB = 0
NATURAL = 1


class Slots(IntEnum):
    DEALER_SHOWS = 0  # reset
    DEALER_HIDES = 1  # reset
    PLAYER_FIRST = 2  # reset
    PLAYER_SECOND = 3  # reset
    SUIT = 4  # reset, for the original's pictures only
    FACE = 5  # reset, for the original's pictures only
    CARD = 6  # step, for whoever draws


ENVIRONMENT = simulacrum.Environment(
    id="simulacrum/blackjack-v1",
    action_space=Discrete(2),  # 0 stick, 1 hit
    observation_space=Tuple((Discrete(32), Discrete(11), Discrete(2))),  # sum, the dealer's open card, a usable ace
    max_episode_steps=None,
    slots=Slots,
    reset_slots=set(Slots) - {Slots.CARD},
)
