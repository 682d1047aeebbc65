"""cliff_walking, the kernel form: loops over a block of walks, written from spec.md."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        rows.cell[i] = START  # spec, reset 1


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, row, column, cell, falls
    cdef double number[BLOCK]
    cdef int32_t direction[BLOCK]
    for i in range(BLOCK):
        direction[i] = <int32_t>rows.action[i]
    if SLIPPERY:  # spec, transition 1: the first sum above the number chooses; the last one always is
        draw_uniform64(draw, SLIP, 0, number)
        for i in range(BLOCK):
            direction[i] = (direction[i] - 1 + (number[i] >= SLIP_SUMS[0]) + (number[i] >= SLIP_SUMS[1])) & 3
    for i in range(BLOCK):
        row, column = rows.cell[i] // WIDTH, rows.cell[i] % WIDTH
        row = max(min(row + (direction[i] == 2) - (direction[i] == 0), HEIGHT - 1), 0)  # spec, transition 2
        column = max(min(column + (direction[i] == 1) - (direction[i] == 3), WIDTH - 1), 0)
        cell = row * WIDTH + column
        falls = (cell > START) & (cell < GOAL)
        cell = START if falls else cell  # spec, transition 3
        rows.cell[i] = cell
        rows.reward[i] = <float>CLIFF_REWARD if falls else <float>STEP_REWARD  # spec, transition 4
        rows.terminated[i] = cell == GOAL  # spec, transition 5


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        seen.observation[i] = rows.cell[i]


include "loop.pxi"
