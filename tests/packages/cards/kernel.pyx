"""cards, the kernel form."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    cdef int32_t first[BLOCK]
    cdef uint8_t luck[BLOCK]
    draw_randint(draw, FIRST, 0, CARDS, first)
    draw_bernoulli(draw, LUCK, 0, LUCK_P, luck)
    for i in range(BLOCK):
        rows.total[i] = 1 + first[i]
        rows.lucky[i] = luck[i]


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, total
    cdef int32_t card[BLOCK]
    draw_randint(draw, CARD, 0, CARDS, card)
    for i in range(BLOCK):
        total = rows.total[i] + (1 + card[i] if rows.action[i] == 1 else 0)  # spec, transition 1
        rows.total[i] = total
        rows.reward[i] = 0
        if total == TARGET:  # spec, transition 2
            rows.reward[i] = 2 if rows.lucky[i] else 1
        elif total > TARGET:
            rows.reward[i] = -1
        rows.terminated[i] = total >= TARGET


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        seen.observation_0[i] = rows.total[i]
        seen.observation_1[0][i] = <float>rows.total[i] / <float>TARGET
        seen.observation_1[1][i] = <float>rows.t[i] / <float>CAP
        seen.observation_2[i] = rows.lucky[i]


include "loop.pxi"
