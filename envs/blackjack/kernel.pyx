"""blackjack, the kernel form: loops over a block of hands, written from spec.md."""

include "rows.pxi"

cdef enum:
    RANKS = 13  # ace, 2 to 10, and three faces
    LIMIT = 21
    SOFT = 11  # the greatest total with which an ace counts as 11
    STANDS = 17  # the dealer's sum


cdef inline void deal(Draw* draw, int slot, int index, int8_t* card) noexcept nogil:
    """Spec, "Cards": a card for each row."""
    cdef int i
    cdef int32_t rank[BLOCK]
    draw_randint(draw, slot, index, RANKS, rank)
    for i in range(BLOCK):
        card[i] = min(rank[i] + 1, 10)


cdef inline int8_t worth(int8_t total, uint8_t ace) noexcept nogil:
    """Spec, "Cards": the sum of a hand."""
    return total + (10 if ace & (total <= SOFT) else 0)


cdef inline int8_t score(int8_t total, uint8_t ace) noexcept nogil:
    """Spec, transition 3: the sum, and 0 beyond 21."""
    return 0 if total > LIMIT else worth(total, ace)


cdef inline uint8_t is_natural(int8_t total, uint8_t ace, int8_t cards) noexcept nogil:
    """Spec, "Cards": whether a hand is an ace and a ten."""
    return ace & (total == SOFT) & (cards == 2)


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    cdef int8_t one[BLOCK]
    cdef int8_t other[BLOCK]
    deal(draw, DEALER_SHOWS, 0, one)  # spec, reset 1
    deal(draw, DEALER_HIDES, 0, other)
    for i in range(BLOCK):
        rows.dealer_shows[i] = one[i]
        rows.dealer_total[i] = one[i] + other[i]
        rows.dealer_ace[i] = (one[i] == 1) | (other[i] == 1)
        rows.dealer_cards[i] = 2
    deal(draw, PLAYER_FIRST, 0, one)  # spec, reset 2
    deal(draw, PLAYER_SECOND, 0, other)
    for i in range(BLOCK):
        rows.player_total[i] = one[i] + other[i]
        rows.player_ace[i] = (one[i] == 1) | (other[i] == 1)
        rows.player_cards[i] = 2


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    cdef int8_t own, beside
    cdef uint8_t hits, natural, beaten
    cdef int8_t card[BLOCK]
    cdef int8_t earned[BLOCK]  # twice the reward: bytes apart from floats, so that the compiler keeps the loop in bytes
    deal(draw, CARD, 0, card)
    for i in range(BLOCK):  # spec, transition 1
        hits = rows.action[i] == 1
        rows.player_total[i] += card[i] if hits else 0
        rows.player_ace[i] |= hits & (card[i] == 1)
        rows.player_cards[i] += hits
    play(rows, draw, card)
    for i in range(BLOCK):  # spec, transitions 3 and 4
        hits = rows.action[i] == 1
        own = score(rows.player_total[i], rows.player_ace[i])
        beside = score(rows.dealer_total[i], rows.dealer_ace[i])
        earned[i] = 2 * ((own > beside) - (own < beside))
        natural = is_natural(rows.player_total[i], rows.player_ace[i], rows.player_cards[i])
        if SAB:
            beaten = is_natural(rows.dealer_total[i], rows.dealer_ace[i], rows.dealer_cards[i]) ^ 1
            earned[i] = 2 if natural & beaten else earned[i]
        elif NATURAL:
            earned[i] += natural & (earned[i] > 0)
        earned[i] = (0 - 2 * (own == 0)) if hits else earned[i]
        rows.terminated[i] = (own == 0) | (hits ^ 1)
    for i in range(BLOCK):
        rows.reward[i] = <float>earned[i] * <float>0.5


cdef inline void play(Rows* rows, Draw* draw, int8_t* card) noexcept nogil:
    """Spec, transition 2: the dealers draw, whose first cards are ``card``."""
    cdef int i, index = 0
    cdef uint8_t drawing = 0
    cdef uint8_t draws[BLOCK]
    for i in range(BLOCK):
        draws[i] = (rows.action[i] != 1) & (worth(rows.dealer_total[i], rows.dealer_ace[i]) < STANDS)
        drawing |= draws[i]
    while drawing:
        drawing = 0
        for i in range(BLOCK):
            rows.dealer_total[i] += card[i] if draws[i] else 0
            rows.dealer_ace[i] |= draws[i] & (card[i] == 1)
            rows.dealer_cards[i] += draws[i]
            draws[i] &= worth(rows.dealer_total[i], rows.dealer_ace[i]) < STANDS
            drawing |= draws[i]
        if drawing:
            index += 1
            deal(draw, CARD, index, card)


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        seen.observation_0[i] = worth(rows.player_total[i], rows.player_ace[i])
    for i in range(BLOCK):
        seen.observation_1[i] = rows.dealer_shows[i]
    for i in range(BLOCK):
        seen.observation_2[i] = rows.player_ace[i] & (rows.player_total[i] <= SOFT)


include "loop.pxi"
