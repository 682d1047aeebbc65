"""orchard, the kernel form: loops over a block of orchards, written from spec.md."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    cdef int32_t drawn[BLOCK]
    for k in range(TREES):  # spec, reset 1
        draw_randint(draw, START, k, RIPE, drawn)
        for i in range(BLOCK):
            rows.ripeness[k][i] = drawn[i]
    for i in range(BLOCK):  # spec, reset 2
        rows.basket[i] = 0
        rows.fallen[i] = 0


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k, picked, ripe
    cdef uint8_t grows[BLOCK]
    cdef int held[BLOCK]  # the ripeness of the picked tree
    cdef int fell[BLOCK]
    for i in range(BLOCK):
        held[i] = 0
        fell[i] = 0
    for k in range(TREES):
        draw_bernoulli(draw, GROWTH, k, GROW_P, grows)
        for i in range(BLOCK):
            picked = rows.action[i] == k + 1
            ripe = rows.ripeness[k][i]
            held[i] += ripe if picked else 0  # spec, transition 1
            ripe = 0 if picked else ripe + grows[i]  # spec, transition 2
            fell[i] += ripe > RIPE  # spec, transition 3
            rows.ripeness[k][i] = 0 if ripe > RIPE else ripe
    for i in range(BLOCK):
        rows.basket[i] += held[i] > 0  # spec, transition 1
        rows.fallen[i] += fell[i]
        rows.reward[i] = <float>YIELDS[held[i]] if rows.action[i] else <float>0
        rows.reward[i] = rows.reward[i] - <float>FALL_COST * <float>fell[i]  # spec, transition 4
        rows.terminated[i] = (rows.basket[i] >= BASKET) | (rows.fallen[i] >= FALL_LIMIT)  # spec, transition 5


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i, k
    for k in range(TREES):
        for i in range(BLOCK):
            seen.observation[k][i] = <float>rows.ripeness[k][i] / <float>RIPE
    for i in range(BLOCK):
        seen.observation[TREES][i] = <float>rows.basket[i] / <float>BASKET
        seen.observation[TREES + 1][i] = <float>rows.t[i] / <float>MAX_STEPS


include "loop.pxi"
