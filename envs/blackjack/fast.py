"""blackjack, the fast side: N hands at once, written from spec.md."""

from __future__ import annotations

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, NATURAL, SAB, Slots

HIT = 1
RANKS = 13  # spec, "Cards": ace, 2 to 10, and three faces
TEN = 10
LIMIT = 21
SOFT = 11  # the greatest total with which an ace counts as 11
STANDS = 17  # the dealer's sum
DRAWS = 10  # the most cards that a dealer draws: spec, "RNG slots"


@simulacrum.tensor_state
class State:
    player_total: Tensor  # [N] int8: the player's cards added up, an ace as 1
    player_ace: Tensor  # [N] bool: whether there is an ace among them
    player_cards: Tensor  # [N] int8: how many they are
    dealer_shows: Tensor  # [N] int8: the dealer's first card, 1 an ace
    dealer_total: Tensor  # [N] int8: the same of all the dealer's cards
    dealer_ace: Tensor  # [N] bool
    dealer_cards: Tensor  # [N] int8
    t: Tensor  # [N] int32: step counter, kept by the base class


class BlackjackFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        slots = (Slots.DEALER_SHOWS, Slots.DEALER_HIDES, Slots.PLAYER_FIRST, Slots.PLAYER_SECOND)
        shows, hides, first, second = (self.card(draw.randint(slot, RANKS)) for slot in slots)  # spec, reset 1 and 2
        two = torch.full_like(shows, 2)
        return State(
            player_total=first + second,
            player_ace=(first == 1) | (second == 1),
            player_cards=two,
            dealer_shows=shows,
            dealer_total=shows + hides,
            dealer_ace=(shows == 1) | (hides == 1),
            dealer_cards=two,
        )

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        hits = action == HIT
        cards = self.card(draw.randint(Slots.CARD, RANKS, shape=(DRAWS,)).T.contiguous()).unbind(0)

        player_total = state.player_total + cards[0] * hits  # spec, transition 1
        player_ace = state.player_ace | (hits & (cards[0] == 1))
        player_cards = state.player_cards + hits

        total, ace, number, draws = state.dealer_total, state.dealer_ace, state.dealer_cards, ~hits
        for card in cards:  # spec, transition 2
            draws = draws & (self.worth(total, ace) < STANDS)
            total = total + card * draws
            ace = ace | (draws & (card == 1))
            number = number + draws
        after = State(
            player_total=player_total,
            player_ace=player_ace,
            player_cards=player_cards,
            dealer_shows=state.dealer_shows,
            dealer_total=total,
            dealer_ace=ace,
            dealer_cards=number,
        )
        bust = player_total > LIMIT
        reward = torch.where(hits, self.bust_costs(bust), self.stuck_earns(after))
        return after, reward, bust | ~hits  # spec, transition 4

    def card(self, rank: Tensor) -> Tensor:
        """Spec, "Cards": the value of a drawn rank; int8."""
        return torch.clamp(rank + 1, max=TEN).to(torch.int8)

    def worth(self, total: Tensor, ace: Tensor) -> Tensor:
        """Spec, "Cards": the sum of a hand; int8 [N]."""
        return torch.add(total, ace & (total <= SOFT), alpha=10)

    def score(self, total: Tensor, ace: Tensor) -> Tensor:
        """Spec, transition 3: the sum, and 0 beyond 21; int8 [N]."""
        return torch.where(total > LIMIT, self.constant(0, torch.int8), self.worth(total, ace))

    def natural(self, total: Tensor, ace: Tensor, cards: Tensor) -> Tensor:
        """Spec, "Cards": whether a hand is an ace and a ten; bool [N]."""
        return ace & (total == SOFT) & (cards == 2)

    def bust_costs(self, bust: Tensor) -> Tensor:
        """Spec, transition 3, of a hit; float32 [N]."""
        return torch.where(bust, self.float32(-1.0), self.float32(0.0))

    def stuck_earns(self, state: State) -> Tensor:
        """Spec, transition 3, of a stick; float32 [N]."""
        own = self.score(state.player_total, state.player_ace)
        other = self.score(state.dealer_total, state.dealer_ace)
        reward = (own > other).to(torch.float32) - (own < other).to(torch.float32)
        natural = self.natural(state.player_total, state.player_ace, state.player_cards)
        if SAB:
            beaten = ~self.natural(state.dealer_total, state.dealer_ace, state.dealer_cards)
            reward = torch.where(natural & beaten, self.float32(1.0), reward)
        elif NATURAL:
            reward = torch.where(natural & (own > other), self.float32(1.5), reward)
        return reward

    def observation(self, state: State) -> tuple[Tensor, Tensor, Tensor]:
        usable = state.player_ace & (state.player_total <= SOFT)
        worth = self.worth(state.player_total, state.player_ace)
        return worth.to(torch.int64), state.dealer_shows.to(torch.int64), usable.to(torch.int64)


class BlackjackKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
