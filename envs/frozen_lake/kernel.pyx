"""frozen_lake, the kernel form: loops over a block of lakes, written from spec.md."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        rows.cell[i] = START  # spec, reset 1


cdef inline int is_hole(int cell) noexcept nogil:
    cdef int k, hole = 0
    for k in range(<int>(sizeof(HOLES) / sizeof(HOLES[0]))):
        hole |= cell == <int>HOLES[k]
    return hole


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, row, column, ended, cell, hole, goal
    cdef double number[BLOCK]
    cdef int32_t direction[BLOCK]
    for i in range(BLOCK):
        direction[i] = <int32_t>rows.action[i]
    if SLIPPERY:  # spec, transition 1: the first sum above the number; where there is none, the first
        draw_uniform64(draw, SLIP, 0, number)
        for i in range(BLOCK):
            direction[i] = direction[i] - 1 + (number[i] >= SLIP_SUMS[0]) + (number[i] >= SLIP_SUMS[1])
            direction[i] = (direction[i] - 2 * (number[i] >= SLIP_SUMS[2])) & 3
    for i in range(BLOCK):
        cell = rows.cell[i]
        ended = is_hole(cell) | (cell == GOAL)
        row, column = cell // WIDTH, cell % WIDTH
        column = max(min(column + (direction[i] == 2) - (direction[i] == 0), WIDTH - 1), 0)  # spec, transition 2
        row = max(min(row + (direction[i] == 1) - (direction[i] == 3), HEIGHT - 1), 0)
        cell = cell if ended else row * WIDTH + column
        rows.cell[i] = cell
        hole, goal = is_hole(cell), cell == GOAL
        rows.reward[i] = <float>GOAL_REWARD if goal else <float>HOLE_REWARD if hole else <float>FROZEN_REWARD
        rows.reward[i] = <float>0.0 if ended else rows.reward[i]  # spec, transition 3
        rows.terminated[i] = hole | goal  # spec, transition 4


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        seen.observation[i] = rows.cell[i]


include "loop.pxi"
