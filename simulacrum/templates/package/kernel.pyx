"""newenv, the kernel form: loops over a block of climbs.

Written from spec.md, never from the other forms. rows.pxi is made from spec.md when this file is built, and declares the
constants, the slots, the rows and the draws; docs/kernels.md of simulacrum describes them.
"""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    cdef int32_t start[BLOCK]
    draw_randint(draw, START, 0, START_RUNGS, start)
    for i in range(BLOCK):
        rows.height[i] = start[i]  # spec, reset 1


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, climbs, height
    cdef uint8_t gust[BLOCK]
    draw_bernoulli(draw, GUST, 0, GUST_P, gust)
    for i in range(BLOCK):
        climbs = rows.action[i]
        height = rows.height[i] + ((-1 if gust[i] else 1) if climbs else 0)  # spec, transition 1: who holds on stays
        height = min(max(height, 0), TOP)  # spec, transition 2
        rows.height[i] = height
        rows.reward[i] = <float>CLIMB_REWARD if climbs else <float>HOLD_REWARD  # spec, transition 3
        if height == TOP:
            rows.reward[i] = <float>TOP_REWARD
        rows.terminated[i] = height == TOP  # spec, transition 4


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        seen.observation[0][i] = <float>rows.height[i] / <float>TOP
        seen.observation[1][i] = <float>rows.t[i] / <float>MAX_STEPS


include "loop.pxi"
