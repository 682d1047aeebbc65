"""gates, the kernel form."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    cdef uint64_t keys[GATES * BLOCK]
    cdef int32_t order[GATES * BLOCK]
    draw_permutation(draw, ORDER, 0, GATES, keys, order)
    for k in range(GATES):
        for i in range(BLOCK):
            rows.order[k][i] = order[k * BLOCK + i]
            rows.open[k][i] = 1
    for i in range(BLOCK):
        rows.place[i] = 0


cdef inline bint goes_on(Rows* rows, int i) noexcept nogil:
    return rows.place[i] < GATES and rows.open[rows.place[i]][i]


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    for i in range(BLOCK):
        rows.reward[i] = 0
        rows.terminated[i] = 0
        if rows.action[i] == 0 and rows.place[i] > 0:  # spec, transitions 1 and 2
            rows.place[i] -= 1
        elif rows.action[i] == 2 and goes_on(rows, i):
            rows.reward[i] = <float>(rows.order[rows.place[i]][i] + 1)
            rows.place[i] += 1
    for k in range(GATES):  # spec, transition 3
        draw_bernoulli(draw, OPEN, k, OPEN_P, rows.open[k])


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i, k
    for i in range(BLOCK):
        seen.observation[i] = rows.place[i]
        seen.action_mask[0][i] = rows.place[i] > 0
        seen.action_mask[1][i] = 1
        seen.action_mask[2][i] = goes_on(rows, i)
        seen.open[i] = 0
        for k in range(GATES):
            seen.open[i] += rows.open[k][i]


include "loop.pxi"
