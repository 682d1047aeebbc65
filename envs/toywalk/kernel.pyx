"""toywalk, the kernel form: loops over a block of walks, written from spec.md."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    cdef int32_t start[BLOCK]
    draw_randint(draw, INIT_POSITION, 0, 2 * START_RANGE + 1, start)  # spec, reset 1
    for i in range(BLOCK):
        rows.position[i] = start[i] - START_RANGE


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, position
    cdef uint8_t slips[BLOCK]
    draw_bernoulli(draw, SLIP, 0, SLIP_P, slips)
    for i in range(BLOCK):
        position = rows.position[i] + (1 if rows.action[i] ^ slips[i] else -1)  # spec, transition 1: a slip turns it round
        position = min(max(position, -L), L)  # spec, transition 2
        rows.position[i] = position
        rows.reward[i] = <float>GOAL_REWARD if position == L else <float>STEP_REWARD  # spec, transition 3
        rows.terminated[i] = position == L  # spec, transition 4


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        seen.observation[0][i] = <float>rows.position[i] / <float>L
        seen.observation[1][i] = <float>rows.t[i] / <float>MAX_STEPS


include "loop.pxi"
